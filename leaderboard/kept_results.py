"""What a service keeps in memory, so that equal views of different people are computed once.

All of it is bounded in bytes: how many results fit depends on the benchmark.
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
_JUDGED, _ESTIMATES, _CONTROL_TERMS = 8 * _MEGABYTE, 8 * _MEGABYTE, 16 * _MEGABYTE
_DEFAULTS, _LEADERBOARDS, _MISSES = 2 * _MEGABYTE, 12 * _MEGABYTE, 1 * _MEGABYTE
_DERIVED = 8 * _MEGABYTE
_BENCHMARKS = 256 * _MEGABYTE
"""All bundled ones come to 165; one that is larger is kept by itself."""
_FEW = 4
"""So many are kept of what every ranking of a benchmark needs, however large they are."""
_TEXTS = 4_000
"""Bytes that a result and its key have beside arrays, about."""
_OF_LLM = 64
"""Bytes that a leaderboard has for each LLM beside arrays, about."""


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
        """Keep at most 65 MB or so beside benchmarks, or so many times less."""
        self.loaded: SharedCache[LoadedBenchmark] = SharedCache(
            _BENCHMARKS // share, lambda found: found.nbytes, least=1, grows=True
        )
        self.matrices: SharedCache[NDArray[np.float32]] = SharedCache(_JUDGED // share, bytes_of, least=_FEW)
        self.margins: SharedCache[Margins] = SharedCache(_JUDGED // share, bytes_of, least=_FEW)
        self.estimates: SharedCache[Rating] = SharedCache(_ESTIMATES // share, _own_bytes, grows=True)
        self.defaults: SharedCache[Ranking] = SharedCache(_DEFAULTS // share, _with_texts)
        self.leaderboards: SharedCache[Leaderboard] = SharedCache(_LEADERBOARDS // share, _of_leaderboard)
        self.derived: SharedCache[Any] = SharedCache(_DERIVED // share, _with_texts)
        self.missed: SharedCache[Mask] = SharedCache(_MISSES // share, _with_texts)
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


def _own_bytes(found: Rating) -> int:
    """Return the bytes of win rates without those of who meets whom, which many of them share."""
    shared = bytes_of(found.duels.meetings) if isinstance(found, BradleyTerry) else 0
    return bytes_of(found) - shared


def _with_texts(found: object) -> int:
    return _TEXTS + bytes_of(found)


def _of_leaderboard(found: Leaderboard) -> int:
    """Return the bytes of a leaderboard without its benchmark's, which all of them share."""
    arrays = bytes_of((found.ranking, found.default, found.changes, found.correlations))
    return _TEXTS + _OF_LLM * len(found.llms) + arrays
