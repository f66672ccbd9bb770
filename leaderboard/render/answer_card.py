"""The card over a ranking: who it is, why, how reliable that is, and what would change it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from leaderboard.answer import Answer, ReadCriterion
from leaderboard.reading import Badge
from leaderboard.render.html import render


class Part(StrEnum):
    """The rows of the card, by their labels."""

    WHY = "Why"
    TURNS = "What would change it"
    CHEAPEST = "Cheapest of these"
    DEFAULT = "Without your criteria"


WAITING = "…"
"""In the place of what is still being worked out."""
_CHIPS = 8
_KINDS: Mapping[Badge, str] = {
    Badge.COUNTED: "counted",
    Badge.STYLE: "style",
    Badge.WORDING: "wording",
    Badge.LEFT_OUT: "doubtful",
    Badge.DOUBTFUL: "doubtful",
}
"""What the style sheet calls each badge."""


def answer_card(answer: Answer, link: str, accent: str, *, waiting: Collection[Part] = ()) -> str:
    """Return an answer as HTML.

    Args:
        link: Where the first LLM's name leads; empty for no link.
        accent: CSS colour of the card's edge and of the link.
        waiting: What is still being worked out: its place is kept, so that nothing below moves when it comes.
    """
    parts = {
        Part.WHY: answer.why,
        Part.TURNS: answer.turns,
        Part.CHEAPEST: answer.cheapest,
        Part.DEFAULT: answer.by_default,
    } | dict.fromkeys(waiting, WAITING)
    read = [item for item in answer.reliability if item.reading is not None]
    return render(
        "answer",
        answer=answer,
        tail=f"{answer.tail[2:3].upper()}{answer.tail[3:]}",
        link=link,
        accent=accent,
        rows=[{"label": label, "text": text} for label, text in parts.items() if text],
        chips=[_chip(item) for item in read[:_CHIPS]],
        more=len(read[_CHIPS:]),
    )


def _chip(item: ReadCriterion) -> dict[str, str]:
    reading = item.reading
    if reading is None:
        return {}
    kind = _KINDS[reading.badge]
    return {
        "criterion": f"“{item.criterion}”",
        "badge": reading.badge,
        "kind": kind,
        "note": reading.sentence,
    }


CRITERIA_BOX, RANKING = "say-what-you-like", "ranking"
"""The marks on the page where its box for criteria and its ranking are."""


def anchor(name: str) -> str:
    """Return the mark of this name, which links of the page lead to."""
    return render("anchor", name=name)


def skip_links() -> str:
    """Return links to what a person comes for; they are seen when a keyboard reaches them."""
    places = (CRITERIA_BOX, "Skip to your criteria"), (RANKING, "Skip to the ranking")
    return render("skip_links", places=places)


def invitation() -> str:
    """Return the link to the box for criteria."""
    return render("invitation", name=CRITERIA_BOX)
