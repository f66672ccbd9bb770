"""The error of the offline jobs; each message is one clear sentence shown as it stands."""

from collections.abc import Iterable
from pathlib import Path

from crm.llm.settings import no_llm_message
from parsing.messages import shown


class PrecomputeError(ValueError):
    """What this package raises on purpose: bad input, or a job that cannot go on.

    What the message quotes of strange text is made fit to be shown.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shown(message))


def file_error(path: Path, reason: str, row: int | None = None) -> PrecomputeError:
    """Return the error for a file or folder that cannot be read: the file, the row and the reason."""
    return PrecomputeError(f"{path}{'' if row is None else f', row {row}'}: {reason}")


def unknown_llm(name: str, place: str, known: Iterable[str]) -> PrecomputeError:
    """Return the error for an LLM that is not there, with the names most like it."""
    return PrecomputeError(no_llm_message(name, place, known))
