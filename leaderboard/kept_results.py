"""What a service keeps in memory, so that equal views of different people are computed once.

What is large is bounded in bytes: how many of them fit depends on the benchmark.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leaderboard.benchmark import LoadedBenchmark
from leaderboard.cache import CacheFigures, SharedCache, bytes_of
from leaderboard.result import Leaderboard
from leaderboard.statistics.bradley_terry import BradleyTerry
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.ranking import Estimate, Ranking
from leaderboard.statistics.win_rate import Mask

Rating: TypeAlias = Estimate | BradleyTerry
"""Win rates with what intervals are made from."""

_MEGABYTE = 1_000_000
_JUDGED, _ESTIMATES, _CONTROL_TERMS = 32 * _MEGABYTE, 24 * _MEGABYTE, 32 * _MEGABYTE
_FEW = 4
"""So many are kept of what every ranking of a benchmark needs, however large they are."""
_RANKINGS, _LEADERBOARDS, _MISSES = 64, 256, 256
_DERIVED = 16 * _MEGABYTE
_TEXTS = 4_000
"""Bytes that a derived result has beside its arrays, about."""


class KeptResults:
    """The caches of one service.

    Attributes:
        loaded: Benchmarks by slug and date.
        matrices: What judges say of responses against the baseline's.
        margins: What judges say of responses by themselves.
        estimates: Win rates with what intervals are made from.
        defaults: Rankings under ∅.
        leaderboards: Of judges that need no time.
        derived: What is worked out of a whole leaderboard for its page.
        missed: Which LLMs miss a must.
        control_terms: What a control takes out of win rates.
    """

    def __init__(self, share: int = 1) -> None:
        """Keep at most 140 MB or so beside benchmarks, or so many times less."""
        self.loaded: SharedCache[LoadedBenchmark] = SharedCache(_FEW)
        self.matrices: SharedCache[NDArray[np.float32]] = SharedCache(_JUDGED // share, bytes_of, least=_FEW)
        self.margins: SharedCache[Margins] = SharedCache(_JUDGED // share, bytes_of, least=_FEW)
        self.estimates: SharedCache[Rating] = SharedCache(_ESTIMATES // share, bytes_of)
        self.defaults: SharedCache[Ranking] = SharedCache(_RANKINGS // share)
        self.leaderboards: SharedCache[Leaderboard] = SharedCache(_LEADERBOARDS // share)
        self.derived: SharedCache[Any] = SharedCache(
            _DERIVED // share, lambda found: _TEXTS + bytes_of(found)
        )
        self.missed: SharedCache[Mask] = SharedCache(_MISSES // share)
        self.control_terms: SharedCache[NDArray[np.float64]] = SharedCache(
            _CONTROL_TERMS // share, bytes_of, least=_FEW
        )

    def figures(self) -> dict[str, CacheFigures]:
        """Return what the caches have done, by what they keep."""
        caches: dict[str, SharedCache[Any]] = {
            "benchmarks": self.loaded,
            "matrices": self.matrices,
            "margins": self.margins,
            "estimates": self.estimates,
            "default rankings": self.defaults,
            "leaderboards": self.leaderboards,
            "derived": self.derived,
            "requirements": self.missed,
            "control terms": self.control_terms,
        }
        return {name: cache.figures() for name, cache in caches.items()}
