"""What can go wrong with criteria and judges, each in one sentence that tells how to fix it.

The classes are as many as callers act on differently; what only needs to be shown is a ``CRMError``.
"""

from __future__ import annotations

from parsing.messages import shown


class CRMError(ValueError):
    """Base of the errors a person can fix: their message is shown to them as it stands.

    What it quotes of strange text is made fit for that.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shown(message))


class CriterionError(CRMError):
    """Criteria that cannot be read, or that a judge cannot take; shown beside the criteria."""


class UnavailableError(CRMError):
    """A package, checkpoint or endpoint that a judge or LLM needs and cannot have: another can be chosen."""


class ConfigError(CRMError):
    """A file or a name of judges or LLMs that cannot be used; the message never holds a key's value."""


class RepresentationMissingError(CRMError):
    """A judge that reads stored representations was asked about responses that have none of its kind."""


_MAX_CHARACTERS = 160


def one_line(said: BaseException | str) -> str:
    """Return the first line of a message, short enough for a sentence."""
    text = f"{type(said).__name__} {said}" if isinstance(said, KeyError) else str(said)
    lines = (line.strip() for line in text.splitlines())
    first = next(filter(None, lines), type(said).__name__)
    return first.rstrip(".:") if len(first) <= _MAX_CHARACTERS else f"{first[:_MAX_CHARACTERS].rstrip()}…"
