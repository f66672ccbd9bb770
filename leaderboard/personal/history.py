"""A person's past choices between responses, as their history tells them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.personal.choice import Answer

MOST_USED = 200
"""Choices that are learnt from; of more, so many are taken, evenly spread over the history."""
MOST_CHARACTERS = 20_000
"""Characters of one response."""

SAME = "both answers are the same"
EMPTY = "an answer is empty"
LONG = f"an answer has more than {MOST_CHARACTERS:,} characters"
NOT_GONE_ON_WITH = "an answer was made anew, but none of them was gone on with"
MANY = f"only {MOST_USED} are used, evenly spread over the file"


@dataclass(frozen=True, slots=True)
class PastChoice:
    """One choice between two responses to a query.

    Attributes:
        query: What was asked; may be blank.
        first: A response.
        second: The other.
        answer: What the person chose.
        turns: Turns of the person in the conversation that it comes from; only the last is the query.
    """

    query: str
    first: str
    second: str
    answer: Answer
    turns: int = 1


@dataclass(frozen=True)
class History:
    """What a file of past choices holds.

    Attributes:
        form: What kind of file it was taken for, in words.
        choices: Those that can be learnt from, in the file's order.
        left_out: Why others cannot, and how many of them.
    """

    form: str
    choices: tuple[PastChoice, ...]
    left_out: tuple[tuple[str, int], ...] = ()

    @property
    def n_found(self) -> int:
        """Number of choices in the file."""
        return len(self.choices) + sum(count for _, count in self.left_out)

    @property
    def n_multi_turn(self) -> int:
        """Number of choices at the end of a conversation of several turns."""
        return sum(choice.turns > 1 for choice in self.choices)


def sifted(form: str, found: Iterable[PastChoice], ambiguous: int = 0) -> History:
    """The history without the choices from which nothing can be learnt.

    Args:
        form: What kind of file it is.
        found: All choices of the file.
        ambiguous: How many more there were of which it is not known what was chosen.
    """
    reasons = Counter({NOT_GONE_ON_WITH: ambiguous})
    kept: list[PastChoice] = []
    for choice in found:
        if reason := _useless(choice):
            reasons[reason] += 1
        else:
            kept.append(choice)
    used = _spread(kept)
    reasons[MANY] = len(kept) - len(used)
    return History(form, used, tuple((reason, count) for reason, count in reasons.items() if count))


def _useless(choice: PastChoice) -> str:
    """Why nothing can be learnt from a choice; empty where it can."""
    texts = (choice.first.strip(), choice.second.strip())
    if not all(texts):
        return EMPTY
    if texts[0] == texts[1]:
        return SAME
    return LONG if max(map(len, texts)) > MOST_CHARACTERS else ""


def _spread(choices: Sequence[PastChoice]) -> tuple[PastChoice, ...]:
    """At most ``MOST_USED`` of the choices, first and last among them."""
    if len(choices) <= MOST_USED:
        return tuple(choices)
    places = np.linspace(0, len(choices) - 1, MOST_USED).round().astype(int)
    return tuple(choices[place] for place in places)
