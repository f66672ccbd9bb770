"""Kendall's τ-b and its p-value without SciPy's statistics, whose import takes longer than most rankings."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

_EXACT = 33
"""Up to so many items the p-value is exact, if none are tied."""
_BLOCK_CELLS = 1_000_000

_Ranks = NDArray[np.float64]


def tau_b(first: _Ranks, second: _Ranks) -> tuple[float, float]:
    """Return τ-b of two rankings and its two-sided p-value, as ``scipy.stats.kendalltau`` does.

    The p-value is exact for few items, or hardly any discordant pairs, without ties (Kendall 1970,
    chapter 5), else that of the normal approximation.

    Args:
        first, second: Ranks ``[n]``, neither of them all tied.
    """
    n = len(first)
    pairs = n * (n - 1) // 2
    ahead = _concordant_less_discordant(first, second)
    tied, tied_too = (_tied(ranks) for ranks in (first, second))
    untied, untied_too = pairs - _pairs(tied), pairs - _pairs(tied_too)
    tau = ahead / math.sqrt(untied) / math.sqrt(untied_too)
    has_ties = untied < pairs or untied_too < pairs
    discordant = (pairs - abs(ahead)) // 2
    if not has_ties and (n <= _EXACT or discordant <= 1):
        return _within_one(tau), _exact(n, discordant)
    return _within_one(tau), float(2 * ndtr(-abs(ahead) / math.sqrt(_variance(n, tied, tied_too))))


def _concordant_less_discordant(first: _Ranks, second: _Ranks) -> int:
    """Return how many more pairs are in the same order than in the other."""
    found, step = 0, max(1, _BLOCK_CELLS // len(first))
    for start in range(0, len(first), step):
        one, other = (np.sign(ranks[start : start + step, np.newaxis] - ranks) for ranks in (first, second))
        found += int(np.vdot(one, other))
    return found // 2


def _tied(ranks: _Ranks) -> NDArray[np.int64]:
    """Return how many items share each rank that several share."""
    sizes = np.unique(ranks, return_counts=True)[1]
    return np.asarray(sizes[sizes > 1], dtype=np.int64)


def _pairs(tied: NDArray[np.int64]) -> int:
    return int(np.sum(tied * (tied - 1) // 2))


def _variance(n: int, tied: NDArray[np.int64], tied_too: NDArray[np.int64]) -> float:
    """Return the variance under chance of concordant less discordant pairs (Kendall 1970, chapter 4)."""
    (once, pairs, triples), (once_too, pairs_too, triples_too) = (
        (
            float(np.sum(sizes * (sizes - 1.0) * (2 * sizes + 5))),
            float(_pairs(sizes)),
            float(np.sum(sizes * (sizes - 1.0) * (sizes - 2))),
        )
        for sizes in (tied, tied_too)
    )
    all_pairs = n * (n - 1.0)
    free = (all_pairs * (2 * n + 5) - once - once_too) / 18
    return free + 2 * pairs * pairs_too / all_pairs + triples * triples_too / (9 * all_pairs * max(1, n - 2))


def _exact(n: int, discordant: int) -> float:
    """Return how probable so few or so many discordant pairs are under chance."""
    if 4 * discordant == n * (n - 1):
        return 1.0
    at_most = np.zeros(discordant + 1)
    at_most[0] = 1.0
    for size in range(2, n + 1):  # the next item is ahead of 0 to size − 1 others, each as likely
        summed = np.cumsum(at_most)
        summed[size:] -= summed[:-size].copy()
        at_most = summed / size
    return float(min(1.0, 2 * at_most.sum()))


def _within_one(tau: float) -> float:
    return min(1.0, max(-1.0, tau))
