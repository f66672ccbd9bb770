"""What a judge doubts about a ranking, in words for a page, a table and a file."""

from __future__ import annotations

from collections.abc import Iterable

from crm.protocol import Doubt


def doubt_sentence(doubt: Doubt) -> str:
    """The doubt with the criterion it is about: “Do not rely on “in Finnish” in this ranking. …”."""
    if doubt.criterion is None:
        return doubt.reason
    return f"Do not rely on “{doubt.criterion}” in this ranking. {doubt.reason}"


def doubts_in_brief(doubts: Iterable[Doubt]) -> str:
    """All doubts in one line for a table's head: the criteria, or the reason where it is the whole list."""
    about = [doubt.reason if doubt.criterion is None else f"“{doubt.criterion}”" for doubt in doubts]
    return f"Doubtful: {'; '.join(about)}" if about else ""
