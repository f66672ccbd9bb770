"""A person's replies to an interview, and which of them speak for a line of the checklist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crm.criteria import Polarity
from leaderboard.personal.interview import MILD
from leaderboard.personal.material import Material
from leaderboard.personal.questions import NO_PREFERENCE, Question


@dataclass(frozen=True, eq=False)
class Reply:
    """A question and the index of the option that was taken."""

    question: Question
    option: int

    @property
    def text(self) -> str:
        """The option in its fixed wording."""
        return self.question.options[self.option]


def speaking_for(index: int, polarity: Polarity, material: Material, replies: Sequence[Reply]) -> list[str]:
    """Texts of the options taken that go with a criterion, closest first.

    An option goes with it where the utility of its criteria correlates with that of the criterion, over the
    benchmark's responses, by more than ``MILD``: beyond that, the interview's model takes it for a wish.

    Args:
        index: Of the criterion in the library.
        polarity: Whether the person wants or avoids it.
        material: The benchmark's.
        replies: What was answered.
    """
    taken = [reply for reply in replies if reply.text != NO_PREFERENCE]
    close = [(_likeness(reply, index, polarity, material), reply.text) for reply in taken]
    return [text for likeness, text in sorted(close, key=lambda item: -item[0]) if likeness > MILD]


def _likeness(reply: Reply, index: int, polarity: Polarity, material: Material) -> float:
    weights = reply.question.weights[reply.option]
    product = weights @ material.gram
    length = (product @ weights) * material.gram[index, index]
    return float(polarity.sign * product[index] / np.sqrt(max(length, np.finfo(float).tiny)))
