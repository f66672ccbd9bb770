"""The error of the offline jobs; each message is one clear sentence shown as it stands."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

_MAX_NAMES_LISTED = 8


class PrecomputeError(ValueError):
    """What this package raises on purpose: bad input, or a job that cannot go on."""


def file_error(path: Path, reason: str, row: int | None = None) -> PrecomputeError:
    """Return the error for a file or folder that cannot be read: the file, the row and the reason."""
    return PrecomputeError(f"{path}{'' if row is None else f', row {row}'}: {reason}")


def unknown_llm(name: str, place: str, known: Iterable[str]) -> PrecomputeError:
    """Return the error for an LLM that is not there, with the names most like it."""
    names = {known_name.casefold(): known_name for known_name in known}
    close = [names[match] for match in get_close_matches(name.casefold(), names)]
    listed = ", ".join(map(repr, close or sorted(names.values())[:_MAX_NAMES_LISTED]))
    hint = f"did you mean {listed}?" if close else f"there are, among others, {listed}."
    return PrecomputeError(f"There is no LLM {name!r} in {place}; {hint}")
