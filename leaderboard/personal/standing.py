"""What the posterior says of the ranking, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.personal.pairs import Shown
from leaderboard.personal.person import Person

TOP = 3
_DRAWS = 500


@dataclass(frozen=True, eq=False)
class Standing:
    """The places of L LLMs as far as a person's choices tell them.

    Attributes:
        order: Indices of the LLMs, best first, by their mean place ``[L]``.
        agreement: Expected share of pairs of LLMs that the order has the right way round; (1 + τ) / 2 of
            Kendall's τ. About 0.5 before the first choice.
        top: Expected share of the order's first ``TOP`` that are among the first ``TOP`` of the true ranking.
    """

    order: NDArray[np.intp]
    agreement: float
    top: float


def standing(person: Person, shown: Shown) -> Standing:
    """Places by win rate under draws of the person's weights."""
    score = shown.scores(person.sample(_DRAWS))
    places = (-score).argsort(axis=1).argsort(axis=1)
    order = places.mean(axis=0).argsort(kind="stable")
    ordered = score[:, order]
    first, second = np.triu_indices(len(order), 1)
    right = (ordered[:, first] > ordered[:, second]) + 0.5 * (ordered[:, first] == ordered[:, second])
    size = min(TOP, len(order))
    return Standing(
        order=order,
        agreement=float(right.mean()) if len(first) else 1.0,
        top=float((places[:, order[:size]] < size).mean()),
    )
