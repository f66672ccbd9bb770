"""A history as arrays: how what was chosen and what was rejected stand under the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.history import PastChoice
from leaderboard.personal.library import LibraryCriterion
from leaderboard.personal.material import Material
from leaderboard.personal.saliency import met

DECIDED = (Answer.FIRST, Answer.SECOND)
"""Answers that prefer one response; the others are ties."""


@dataclass(frozen=True, eq=False)
class Past:
    """A history ready to be learnt from.

    Attributes:
        material: How its responses stand under the library; any number of rows.
        choices: What was chosen.
        benchmark: The material of the benchmark whose responses the lines are chosen on.
        library: The criteria of both.
    """

    material: Material
    choices: tuple[Choice, ...]
    benchmark: Material
    library: Sequence[LibraryCriterion]

    def only(self, mask: NDArray[np.bool_]) -> Past:
        """Some of the choices ``[C]``."""
        kept = tuple(choice for choice, wanted in zip(self.choices, mask, strict=True) if wanted)
        return replace(self, choices=kept)

    def ahead(self) -> NDArray[np.float64]:
        """Margins of the chosen over the rejected response of each decided choice ``[D, K + 1]``."""
        chosen, rejected = self.sides()
        return chosen - rejected

    def met(self, signs: NDArray[np.float64], indices: Sequence[int]) -> tuple[NDArray[np.float64], ...]:
        """f of chosen and of rejected responses under some criteria with their polarity, each ``[D, J]``."""
        chosen, rejected = (met(side[:, indices] * signs) for side in self.sides())
        return chosen, rejected

    def sides(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Relative margins of the chosen and of the rejected responses, ties left out, ``[D, K + 1]``."""
        places = [_chosen_first(choice) for choice in self.choices if choice.answer in DECIDED]
        query, chosen, rejected = np.array(places, dtype=np.intp).reshape(-1, 3).T
        relative = self.material.relative
        return relative[chosen, query].astype(np.float64), relative[rejected, query].astype(np.float64)


def past_of(
    choices: Sequence[PastChoice], past: Material, benchmark: Material, library: Sequence[LibraryCriterion]
) -> Past:
    """Past choices with what ``past_material`` made of them."""
    places = tuple(Choice(Pair(query, 0, 1), choice.answer) for query, choice in enumerate(choices))
    return Past(past, places, benchmark, library)


def _chosen_first(choice: Choice) -> tuple[int, int, int]:
    """Query, row of the chosen and row of the rejected response of a decided choice."""
    pair = choice.pair
    if choice.answer is Answer.FIRST:
        return pair.query, pair.first, pair.second
    return pair.query, pair.second, pair.first
