"""How much of the queries LLMs answered: who answered too few of them to be ranked by these alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.statistics.win_rate import Mask


@dataclass(frozen=True, eq=False)
class Answered:
    """What L LLMs answered of the queries in use.

    Attributes:
        n: [L], number of queries that each answered.
        in_use: Number of queries in use.
        by_anybody: Number of those that at least one of them answered.
    """

    n: NDArray[np.int64]
    in_use: int
    by_anybody: int

    @classmethod
    def of(cls, present: Mask, used: Mask) -> Answered:
        """Count the answers [L, Q] that are there to the queries [Q] in use."""
        there = present[:, used]
        return cls(there.sum(axis=1), int(used.sum()), int(there.any(axis=0).sum()))

    @property
    def share(self) -> NDArray[np.float64]:
        """[L], share of the queries in use."""
        return np.asarray(self.n / max(1, self.in_use))

    def too_few(self, least: float) -> Mask:
        """[L], who answered less than this share of what anybody answered.

        Queries that nobody answered, or not the baseline, keep no one from being ranked.
        """
        return np.asarray(self.n < least * self.by_anybody)
