"""A person's replies to an interview, and which of them speak for a line of the checklist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crm.criteria import Polarity
from crm.protocol import Floats
from leaderboard.personal.interview import MILD
from leaderboard.personal.material import Material
from leaderboard.personal.questions import Question


@dataclass(frozen=True, eq=False)
class Reply:
    """An answer to a question.

    Attributes:
        question: The question.
        option: Index of the option that was taken.
        text: The option as the person read it.
    """

    question: Question
    option: int
    text: str


@dataclass(frozen=True)
class Support:
    """An option taken that goes with a criterion.

    Attributes:
        text: As the person read it.
        named: Whether the option asks for this very criterion.
    """

    text: str
    named: bool


def support_for(
    index: int, polarity: Polarity, material: Material, replies: Sequence[Reply]
) -> list[Support]:
    """The options taken that go with a criterion, those that ask for it first, then the closest.

    An option goes with it where the utility of its criteria correlates with that of the criterion, over the
    benchmark's responses, by more than ``MILD``: beyond that, the interview's model takes it for a wish.

    Args:
        index: Of the criterion in the library.
        polarity: Whether the person wants or avoids it.
        material: The benchmark's.
        replies: What was answered.
    """
    found: list[tuple[float, Support]] = []
    for reply in replies:
        weights = reply.question.weights[reply.option] * polarity.sign
        named = bool(weights[index] > 0)
        likeness = _likeness(weights, index, material)
        if named or likeness > MILD:
            found.append((likeness, Support(reply.text, named)))
    return [support for _, support in sorted(found, key=lambda item: (not item[1].named, -item[0]))]


def _likeness(weights: Floats, index: int, material: Material) -> float:
    """Correlation of the utility under some weights with that under one criterion; 0 under none."""
    product = weights @ material.gram
    length = (product @ weights) * material.gram[index, index]
    return float(product[index] / np.sqrt(length)) if length > 0 else 0.0
