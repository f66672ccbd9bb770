"""What a ranking rests on: what is judged of which queries, and the win rates that come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from leaderboard.judged import Judged
from leaderboard.kept_results import Rating
from leaderboard.request import Request
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.win_rate import Mask

_SUREST = 1e-6
"""Probabilities nearer to 0 or 1 are no surer than this."""


@dataclass(frozen=True, eq=False)
class Scored:
    """What a ranking rests on.

    Attributes:
        judged: What the judge says of the responses, as far as it is known.
        counted: The queries ``[Q]`` on which LLMs are compared.
        under_floor: The LLMs ``[L]`` that are left out of the ranking; None if none is.
        missed: How many musts each LLM misses ``[L]``.
        rate: What ``rated`` asks.
    """

    request: Request
    judged: Judged
    counted: Mask
    under_floor: Mask | None
    missed: NDArray[np.int64]
    rate: Callable[[Request, Judged, Mask], Rating]

    def rated(self, counted: Mask | None = None) -> Rating:
        """Return the win rates behind the ranking, with what intervals are made from.

        Of the same request they are computed once; nobody may write to them.

        Args:
            counted: The queries ``[Q]`` that they rest on, by default those on which LLMs are compared.

        Raises:
            LeaderboardError: There are none.
        """
        return self.rate(self.request, self.judged, self.counted if counted is None else counted)

    @property
    def answered(self) -> Mask:
        """The counted queries with a verdict on each LLM's response ``[L, Q']``."""
        found = self.judged.present if isinstance(self.judged, Margins) else ~np.isnan(self.judged)
        return np.asarray(found[:, self.counted])

    @property
    def weights(self) -> NDArray[np.float64]:
        """How much each query counts ``[Q]``, 0 where LLMs are not compared on it."""
        weights = self.request.weighting.weights
        return np.asarray(self.counted * (1.0 if weights is None else weights), dtype=np.float64)

    @property
    def standing(self) -> NDArray[np.float64]:
        """How each response stands ``[L, Q]``, in log-odds: a difference is that of one being preferred.

        NaN without a verdict.
        """
        if isinstance(self.judged, Margins):
            return np.asarray(self.judged.asked - self.judged.taken_off, dtype=np.float64)
        return np.asarray(logit(np.clip(self.judged, _SUREST, 1 - _SUREST)), dtype=np.float64)
