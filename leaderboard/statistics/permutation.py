"""Could two rankings be so alike by chance? Permutation tests of the measures of ``correlation``.

Under chance every order of the reference is equally likely. What a measure comes to then depends on nothing
but the number of LLMs and the ties in both rankings, so it is drawn once for all pairs of rankings alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from leaderboard.statistics.correlation import (
    PERSISTENCE,
    Ranks,
    kendall_tau,
    ndcg,
    rank_biased_overlap,
    rbo_depths,
    shared_by_ties,
    spearman_rho,
    top_membership,
    weighted_tau,
)

DRAWS = 1999
_SEED = 0
_ROUNDING = 1e-9

# Pairs of LLMs in all the orders that are looked at together, which bounds memory.
_BLOCK_CELLS = 2_000_000


class Measure(StrEnum):
    """A measure of how alike two rankings are."""

    KENDALL = "Kendall τ"
    NDCG = "NDCG"
    RBO = "RBO"
    WEIGHTED_TAU = "Weighted τ"
    SPEARMAN = "Spearman ρ"

    @property
    def column(self) -> str:
        """Its name in a file."""
        return self.name.lower()

    @property
    def is_signed(self) -> bool:
        """Whether it tells opposite orders (negative) from unrelated ones (0)."""
        return self in {Measure.KENDALL, Measure.WEIGHTED_TAU, Measure.SPEARMAN}

    @property
    def is_symmetric(self) -> bool:
        """Whether it is the same whichever of two rankings is the reference."""
        return self not in {Measure.NDCG, Measure.WEIGHTED_TAU}


_FUNCTIONS: Mapping[Measure, Callable[[Ranks, Ranks], float]] = {
    Measure.KENDALL: lambda predicted, reference: kendall_tau(predicted, reference)[0],
    Measure.NDCG: ndcg,
    Measure.RBO: rank_biased_overlap,
    Measure.WEIGHTED_TAU: weighted_tau,
    Measure.SPEARMAN: spearman_rho,
}


def likeness(measure: Measure, predicted: Ranks, reference: Ranks) -> float:
    """The measure of two rank vectors [n], as ``correlation`` defines it."""
    return _FUNCTIONS[measure](predicted, reference)


def p_value(measure: Measure, predicted: Ranks, reference: Ranks) -> float:
    """How often chance would make two rankings [n] at least so alike.

    For τ, weighted τ and ρ two-sided, for NDCG and RBO, which have no opposite, one-sided. Kendall's is
    SciPy's, exact for few LLMs without ties; of the others (1 + draws at least so extreme) / (1 + all
    draws), which is never 0 (Phipson & Smyth 2010). 1 where a ranking has all LLMs tied.
    """
    if measure is Measure.KENDALL:
        return kendall_tau(predicted, reference)[1]
    if np.ptp(predicted) == 0 or np.ptp(reference) == 0:
        return 1.0
    found = likeness(measure, predicted, reference)
    drawn = _by_chance(measure, tuple(np.sort(predicted).tolist()), tuple(np.sort(reference).tolist()))
    extreme = np.abs(drawn) >= abs(found) - _ROUNDING if measure.is_signed else drawn >= found - _ROUNDING
    return float((1 + extreme.sum()) / (1 + len(drawn)))


@lru_cache(maxsize=256)
def _by_chance(
    measure: Measure, predicted: tuple[float, ...], reference: tuple[float, ...]
) -> NDArray[np.float64]:
    """The measure [DRAWS] of the ranks in orders drawn at random."""
    fixed, moved = np.array(predicted), np.array(reference)
    rng = np.random.default_rng(_SEED)
    orders = rng.permuted(np.tile(np.arange(len(moved)), (DRAWS, 1)), axis=1)
    if measure is Measure.WEIGHTED_TAU:
        return weighted_taus(fixed, moved, orders)
    by_place = kernel(measure, fixed, moved)
    drawn: NDArray[np.float64] = by_place[np.arange(len(moved)), orders].sum(axis=1)
    return drawn


def kernel(measure: Measure, predicted: Ranks, reference: Ranks) -> NDArray[np.float64]:
    """K [n, n] such that the measure is Σᵢ K[i, j(i)] where LLM i of the prediction is j(i) of the reference.

    NDCG, RBO and ρ are sums over LLMs, which makes thousands of orders as cheap as looking up n numbers each.
    """
    n = len(predicted)
    if measure is Measure.SPEARMAN:
        first, second = (rankdata(ranks) - (n + 1) / 2 for ranks in (predicted, reference))
        return np.outer(first, second) / math.sqrt((first @ first) * (second @ second))
    if measure is Measure.NDCG:
        places = np.arange(n)
        gain = shared_by_ties(reference, np.exp2(-places) - np.exp2(-float(n)))
        discount = 1 / np.log2(places + 2)
        ideal = gain @ shared_by_ties(reference, discount)
        return np.outer(shared_by_ties(predicted, discount), gain) / ideal
    depth = rbo_depths(n)
    first, second = top_membership(predicted, depth), top_membership(reference, depth)
    size = np.sqrt(np.sum(first**2, axis=1) * np.sum(second**2, axis=1))
    weight = (1 - PERSISTENCE) * PERSISTENCE ** (depth - 1) / size
    summed: NDArray[np.float64] = (first * weight[:, np.newaxis]).T @ second
    return summed


def weighted_taus(predicted: Ranks, reference: Ranks, orders: NDArray[np.integer]) -> NDArray[np.float64]:
    """Weighted τ [B] of the prediction with the reference in each of the orders [B, n]."""
    position = rankdata(predicted) - 1
    upper, lower = np.triu_indices(len(position), 1)
    weight = 1 / (position[upper] + position[lower] + 2)
    ahead = np.sign(position[lower] - position[upper])
    untied_predicted = weight @ np.abs(ahead)
    found = np.empty(len(orders))
    step = max(1, _BLOCK_CELLS // max(1, len(weight)))
    for start in range(0, len(orders), step):
        moved = reference[orders[start : start + step]]
        ahead_too = np.sign(moved[:, lower] - moved[:, upper])
        untied_reference = np.abs(ahead_too) @ weight
        found[start : start + step] = (ahead_too @ (weight * ahead)) / np.sqrt(
            untied_predicted * untied_reference
        )
    return found
