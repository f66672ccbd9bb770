"""How much the queries of a category or topic count for one person, as typed and as links carry it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from leaderboard.errors import TopicWeightError

HEAVIEST = 100.0
"""Of a topic; beyond it the other topics count for nothing anyway."""


@dataclass(frozen=True, slots=True)
class TopicWeight:
    """How much every query of a category or topic counts, where the others count 1.

    Attributes:
        name: Of a category or topic.
        weight: From 0, which leaves its queries out, to ``HEAVIEST``.

    Raises:
        TopicWeightError: The weight is out of range.
    """

    name: str
    weight: float

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= HEAVIEST:
            raise TopicWeightError(
                f"The weight of {self.name!r} must be a number from 0 to {HEAVIEST:g}, not {self.weight:g}."
            )

    def __str__(self) -> str:
        """``Arts & Culture=2``, which ``parse`` reads."""
        return f"{self.name}={self.number}"

    @property
    def number(self) -> str:
        """The weight without loss, ``2`` rather than ``2.0``."""
        return str(int(self.weight)) if float(self.weight).is_integer() else repr(float(self.weight))

    @classmethod
    def parse(cls, text: str) -> TopicWeight:
        """Read ``NAME=WEIGHT``.

        Raises:
            TopicWeightError: It is not written so, or the weight is out of range.
        """
        name, _, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not name.strip() or math.isnan(weight):
            raise TopicWeightError(
                f"The topic weight {text!r} cannot be read: write NAME=NUMBER, as in “Arts & Culture=2”."
            )
        return cls(name, weight)


def read_topic_weights(texts: Iterable[str]) -> tuple[TopicWeight, ...]:
    """Weights written as ``NAME=WEIGHT``; of a name that comes twice the last counts.

    Raises:
        TopicWeightError: One of them cannot be read.
    """
    return tuple({item.name: item for item in map(TopicWeight.parse, texts)}.values())
