"""Three answers to one question, side by side, with what each verdict rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

from markupsafe import Markup

from crm.embedded.evidence import Evidence, can_be_marked
from leaderboard.render.html import render
from leaderboard.render.responses import markdown_html
from leaderboard.sentences import listed
from leaderboard.three_answers import AmountInAnswer, Role, ShownAnswer, ShownQuestion, ThreeLLMs

LONG = 500
"""Characters from which on an answer is cut."""
_LINES = 10
_HOW_MUCH = ((0.03, "far less"), (0.15, "clearly less"), (0.35, "less"), (0.5, "slightly less"))
"""Up to these probabilities that an answer is preferred to the best one's, it suits so."""
_ORDINALS = ("Second", "Third")


@dataclass(frozen=True)
class Whose:
    """Whose ranking it is that the three answers show."""

    titles: Mapping[str, str]
    personal: bool

    @property
    def whom(self) -> str:
        """Whom answers suit."""
        return "you" if self.personal else "most people"


def three_answers_html(question: ShownQuestion, three: ThreeLLMs, whose: Whose) -> str:
    """Return three answers as HTML: who, why, the counts, and the text with what is counted marked."""
    best = whose.titles[three.best]
    return render(
        "three_answers",
        answers=[
            {
                "role": _role(answer.role, three, whose),
                "title": whose.titles[answer.llm],
                "first": answer.role is Role.BEST,
                "counts": [amount_in_words(amount) for amount in answer.amounts],
                "why": verdict_in_words(answer, best, whose.whom, len(question.answers) - 1),
                "text": None if answer.text is None else _laid_out(answer),
                "long": answer.text is not None and _is_long(answer.text),
            }
            for answer in question.answers
        ],
    )


def marked_in_words(question: ShownQuestion) -> str:
    """Return what is marked in the texts: “Marked: emojis and list items.”; empty where nothing is."""
    amounts = {
        item.counted.unit: item for answer in question.answers for item in answer.amounts if item.amount
    }
    units = [unit for unit, item in amounts.items() if can_be_marked(item.counted)]
    has_text = any(answer.text for answer in question.answers)
    return f"Marked in the answers: {listed(units)}." if units and has_text else ""


def amount_in_words(amount: AmountInAnswer) -> str:
    """Return an amount in one answer: “1 emoji”, “14.2 words a sentence”."""
    counted, value = amount.counted, amount.amount
    written = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
    if counted.is_measure:
        return f"{written} {counted.unit}"
    return f"{written} {counted.unit_of(value)}"


def verdict_in_words(answer: ShownAnswer, best: str, whom: str, n_others: int) -> str:
    """Return how well an answer suits a person beside the best one's, with the reasons; empty if unknown."""
    if isnan(answer.prob):
        return ""
    because = f": {', '.join(answer.reasons)}" if answer.reasons else ""
    if answer.role is Role.BEST:
        others, rest = ("both others", "others") if n_others > 1 else ("the other", "other")
        how = f"better than {others}" if answer.prob > 1 / 2 else f"no better than the {rest} here"
    else:
        less = next((words for most, words in _HOW_MUCH if answer.prob <= most), "")
        how = f"{less} than {best}’s answer" if less else f"as well as {best}’s answer or better"
    return f"Suits {whom} {how}{because}."


def _role(role: Role, three: ThreeLLMs, whose: Whose) -> str:
    if role is Role.CONTRAST:
        return "For contrast"
    if role is Role.BEST:
        return "Best for you" if whose.personal else "Best by default"
    place = three.place
    how_good = (
        "Best" if place == 1 else _ORDINALS[place - 2] if place - 2 < len(_ORDINALS) else f"No. {place}"
    )
    return f"{how_good} {'by default' if three.by_default or not whose.personal else 'for you'}"


def _laid_out(answer: ShownAnswer) -> Markup:
    evidence = Evidence.of(amount.counted for amount in answer.amounts)
    return Markup(markdown_html(answer.text or "", evidence))


def _is_long(text: str) -> bool:
    return len(text) > LONG or text.count("\n") >= _LINES
