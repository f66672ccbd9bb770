"""Past choices, what of a file was left out, and what every reader of an export offers.

A reader yields choices and counts what it passes over by reason; whether a choice teaches anything is looked
at here, for all of them alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from leaderboard.elicitation.choice_model import ChoiceOutcome

MAX_CHOICES = 200
"""Choices that are learnt from; of more, so many are taken, evenly spread over the history."""
MAX_CHARACTERS = 20_000
"""Characters of one response."""

SAME = "both answers are the same"
EMPTY = "an answer is empty"
LONG = f"an answer has more than {MAX_CHARACTERS:,} characters"
DAMAGED = "cannot be read"
TOO_MANY = f"only {MAX_CHOICES} are used, evenly spread over the file"
OTHER_PEOPLE = "by other people"


@dataclass(frozen=True, slots=True)
class PastChoice:
    """One choice between two responses to a query.

    Attributes:
        query: What was asked; may be blank.
        turns: Turns of the person in the conversation that it comes from; only the last is the query.
        person: Who chose, as the file says it; empty where it does not.
        llms: Who answered first and second, as the file names them; empty where it does not.
        moment: When the choice was made, in seconds; None where the file does not say.
    """

    query: str
    first: str
    second: str
    outcome: ChoiceOutcome
    turns: int = 1
    person: str = ""
    llms: tuple[str, str] = ("", "")
    moment: float | None = None


@dataclass(frozen=True)
class ChoiceHistory:
    """What a file of past choices holds.

    Attributes:
        form: What kind of file it was taken for, in words.
        choices: Those that can be learnt from, in the file's order.
        left_out: Why others cannot, and how many of them.
        people: Who chose in the file, and how often, those first who did most; empty where it does not say.
    """

    form: str
    choices: tuple[PastChoice, ...]
    left_out: tuple[tuple[str, int], ...] = ()
    people: tuple[tuple[str, int], ...] = ()

    @property
    def n_found(self) -> int:
        """Number of choices in the file."""
        return len(self.choices) + sum(count for _, count in self.left_out)

    @property
    def n_multi_turn(self) -> int:
        """Number of choices at the end of a conversation of several turns."""
        return sum(choice.turns > 1 for choice in self.choices)


LeftOut = Counter[str]
"""Reasons why something in a file is no choice, and how often."""


@dataclass(frozen=True)
class ExportForm:
    """A form in which another program gives away its JSON.

    Attributes:
        name: What such a file is called in a sentence: “an export of …”.
        recognises: Whether a JSON value has this form.
        choices: Yields the choices in such a value and counts what it passes over.
        nothing: Why there may be no choice in one, and what tells a choice.
    """

    name: str
    recognises: Callable[[object], bool]
    choices: Callable[[object, LeftOut], Iterator[PastChoice]]
    nothing: str


def usable_choices(
    form: str, found: Iterable[PastChoice], left_out: LeftOut | None = None, person: str = ""
) -> ChoiceHistory:
    """Return the choices that teach something as a history.

    Args:
        left_out: What the reader counts while ``found`` is read.
        person: Whose choices are taken; empty for everybody's.
    """
    useless = LeftOut()
    people: Counter[str] = Counter()
    kept: list[PastChoice] = []
    others = 0
    for choice in found:
        reason = why_useless(choice)
        if choice.person and not reason:
            people[choice.person] += 1
        if person and choice.person != person:
            others += 1
        elif reason:
            useless[reason] += 1
        else:
            kept.append(choice)
    used = _evenly_spread(kept)
    reasons = (left_out or LeftOut()) + useless
    reasons[OTHER_PEOPLE], reasons[TOO_MANY] = others, len(kept) - len(used)
    counts = tuple((reason, count) for reason, count in reasons.items() if count)
    return ChoiceHistory(form, used, counts, tuple(people.most_common()))


def why_useless(choice: PastChoice) -> str:
    """Return why nothing can be learnt from a choice; empty where it can."""
    texts = (choice.first.strip(), choice.second.strip())
    if not all(texts):
        return EMPTY
    if texts[0] == texts[1]:
        return SAME
    return LONG if max(map(len, texts)) > MAX_CHARACTERS else ""


def in_time(choices: Iterable[PastChoice]) -> list[PastChoice]:
    """Return choices in the order of time; the sort is stable: without times they stay in their order."""
    return sorted(choices, key=lambda choice: choice.moment or 0.0)


def earlier_and_later(
    choices: Sequence[PastChoice], share: float
) -> tuple[tuple[PastChoice, ...], tuple[PastChoice, ...]]:
    """Return a person's choices, and apart from them a share of the last, on queries not asked before.

    Args:
        choices: In the order of time.
    """
    start = len(choices) - int(share * len(choices))
    earlier = tuple(choices[:start])
    asked = {choice.query for choice in earlier if choice.query.strip()}
    return earlier, tuple(choice for choice in choices[start:] if choice.query not in asked)


def moment_of(value: object) -> float | None:
    """Return a point in time as seconds: of a number, of a time, or of its text in ISO 8601; else None."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.timestamp()
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def _evenly_spread(choices: Sequence[PastChoice]) -> tuple[PastChoice, ...]:
    """Return at most ``MAX_CHOICES`` of the choices, first and last among them."""
    if len(choices) <= MAX_CHOICES:
        return tuple(choices)
    places = np.linspace(0, len(choices) - 1, MAX_CHOICES).round().astype(int)
    return tuple(choices[place] for place in places)
