"""The named errors of this package; each message is one clear sentence that may be shown to the user."""

from collections.abc import Iterable

from parsing.messages import shown


class DatabaseError(Exception):
    """Base of every error this package raises on purpose, and what it raises where nothing else can be done.

    The database cannot be opened, another process holds it, stored bytes are damaged, or what is to be stored
    does not fit what is there. What the message quotes is made fit to be shown.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shown(message))


class NotFoundError(DatabaseError):
    """What was asked for by name is not stored: a benchmark, LLM, query, pool, its topics, preferences."""


class BundleError(DatabaseError):
    """A benchmark bundle is malformed; the message names the member at fault."""


def known(names: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: those that are known."""
    listed = ", ".join(repr(name) for name in names)
    return f"known are {listed}" if listed else "none is stored yet"
