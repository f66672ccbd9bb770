"""How alike two rankings are: Kendall's τ, NDCG, RBO, weighted τ and Spearman's ρ.

Definitions: Jia et al. 2025 (section 6.5) for Kendall; "Personalized RewardBench" 2026 (appendix C) for the
others. Every function takes two rank vectors [n] over the same LLMs, smaller is better, on any scale: only
the order and the ties count. Those definitions know no ties and no degenerate rankings; here

- tied LLMs share the places they take up, and nothing depends on their names or their order in the input;
- if all LLMs are tied in both rankings (one LLM always is), the order is the same and τ, weighted τ and ρ
  are 1; if they are all tied in only one, it says nothing of the other and they are 0. The p-value is then 1.

Could two rankings be so alike by chance? Permutation tests of the measures of ``correlation``.

Under chance every order of the reference is equally likely. What a measure comes to then depends on nothing
but the number of LLMs and the ties in both rankings, so it is drawn once for all pairs of rankings alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.kendall import tau_b
from leaderboard.statistics.ranks import competition_ranks, last_ranks, mid_ranks

PERSISTENCE = 0.8

Ranks = NDArray[np.float64]
RankedLLMs = Mapping[str, float] | Sequence[str]


@dataclass(frozen=True)
class Correlations:
    """Agreement of a predicted with a reference ranking on the LLMs they share.

    Attributes:
        tau: Kendall's τ-b, −1 to 1.
        p_value: two-sided, of τ = 0; exact for few LLMs without ties.
        ndcg: 0 to 1; 1 for the reference's own order.
        rbo: 0 to ``highest_rbo(n)``, since the sum ends after n LLMs.
        weighted_tau: −1 to 1, swaps near the top count more.
        spearman: Spearman's ρ, −1 to 1.
    """

    tau: float
    p_value: float
    ndcg: float
    rbo: float
    weighted_tau: float
    spearman: float
    n: int


def correlate(predicted: RankedLLMs, reference: RankedLLMs) -> Correlations:
    """Compare two rankings on the LLMs that occur in both.

    Args:
        predicted: rank by LLM (smaller is better, equal means tied), or LLMs best first.
        reference: likewise.

    Raises:
        LeaderboardError: if no LLM occurs in both; if a sequence names an LLM twice; if a rank is not a
            finite number.
    """
    predicted_ranks, reference_ranks = _as_ranks(predicted), _as_ranks(reference)
    common = [llm for llm in predicted_ranks if llm in reference_ranks]
    if not common:
        raise LeaderboardError(
            "The two rankings share no LLM: compare rankings that name the same LLMs in the same way."
        )
    first = np.array([predicted_ranks[llm] for llm in common], dtype=np.float64)
    second = np.array([reference_ranks[llm] for llm in common], dtype=np.float64)
    tau, p_value = kendall_tau(first, second)
    return Correlations(
        tau=tau,
        p_value=p_value,
        ndcg=ndcg(first, second),
        rbo=rank_biased_overlap(first, second),
        weighted_tau=weighted_tau(first, second),
        spearman=spearman_rho(first, second),
        n=len(common),
    )


def kendall_tau(first: Ranks, second: Ranks) -> tuple[float, float]:
    """Return kendall's τ-b and its two-sided p-value, symmetric in its arguments."""
    degenerate = _degenerate(first, second)
    if degenerate is not None:
        return degenerate, 1.0
    return tau_b(first, second)


def spearman_rho(first: Ranks, second: Ranks) -> float:
    """Return spearman's ρ on mean ranks, symmetric in its arguments."""
    degenerate = _degenerate(first, second)
    if degenerate is not None:
        return degenerate
    one, other = mid_ranks(first), mid_ranks(second)
    return 1.0 if np.array_equal(one, other) else float(np.corrcoef(one, other)[0, 1])


def ndcg(predicted: Ranks, reference: Ranks) -> float:
    """NDCG of the predicted order; relevance n − zero-based position in the reference, gain 2^relevance − 1.

    Gains are divided by 2^n throughout, which cancels and cannot overflow. Tied LLMs share the mean gain of
    their places in the reference, and the mean discount of their places in the prediction, as if every order
    within the tie were equally likely (McSherry & Najork 2008). Not symmetric.
    """
    places = np.arange(len(predicted))
    gain = shared_by_ties(reference, np.exp2(-places) - np.exp2(-float(len(predicted))))
    discount = 1 / np.log2(places + 2)
    ideal = gain @ shared_by_ties(reference, discount)
    return min(1.0, float(gain @ shared_by_ties(predicted, discount) / ideal))


def rank_biased_overlap(first: Ranks, second: Ranks, persistence: float = PERSISTENCE) -> float:
    """RBO truncated at the n LLMs: (1 − p) Σ_{d=1..n} p^(d−1) A_d, symmetric in its arguments.

    A_d is the overlap of the two top d, divided by d. An LLM whose tie reaches across depth d is in the top d
    in part, and A_d is normalised like a cosine so that a ranking agrees fully with itself (RBO^b of Corsi &
    Urbano 2024). Depths whose weight is below rounding are left out.

    Raises:
        LeaderboardError: if ``persistence`` is not in (0, 1).
    """
    if not 0 < persistence < 1:
        raise LeaderboardError(f"The persistence of RBO lies between 0 and 1, but it is {persistence}.")
    depth = rbo_depths(len(first), persistence)
    in_first, in_second = top_membership(first, depth), top_membership(second, depth)
    overlap = np.sum(in_first * in_second, axis=1)
    agreement = overlap / np.sqrt(np.sum(in_first**2, axis=1) * np.sum(in_second**2, axis=1))
    return float((1 - persistence) * np.sum(persistence ** (depth - 1) * agreement))


def rbo_depths(n: int, persistence: float = PERSISTENCE) -> NDArray[np.int64]:
    """Return the depths d at which RBO looks at n LLMs, from 1."""
    negligible = math.ceil(math.log(np.finfo(np.float64).eps) / math.log(persistence))
    return np.arange(1, min(n, negligible) + 1)


def highest_rbo(n: int) -> float:
    """RBO of a ranking of n LLMs with itself, 1 − pⁿ: what a truncated RBO is to be read against."""
    return 1 - PERSISTENCE**n


def weighted_tau(predicted: Ranks, reference: Ranks) -> float:
    """Weighted τ (Shieh 1998); the pair at predicted zero-based positions r and s weighs 1 / (r + s + 2).

    Not symmetric: the weights follow the prediction, in which tied LLMs stand at their mean position. A tied
    pair is neither concordant nor discordant and is left out of its ranking's share of the normalisation, as
    in τ-b; without ties this is the published formula.
    """
    degenerate = _degenerate(predicted, reference)
    if degenerate is not None:
        return degenerate
    order = np.argsort(predicted)
    position, other = mid_ranks(predicted)[order] - 1, reference[order]
    agreement = untied_predicted = untied_reference = 0.0
    for index in range(len(order) - 1):
        weight = 1 / (position[index] + position[index + 1 :] + 2)
        ahead = np.sign(position[index + 1 :] - position[index])
        ahead_too = np.sign(other[index + 1 :] - other[index])
        agreement += weight @ (ahead * ahead_too)
        untied_predicted += weight @ ahead
        untied_reference += weight @ np.abs(ahead_too)
    return float(agreement / math.sqrt(untied_predicted * untied_reference))


def _as_ranks(ranking: RankedLLMs) -> Mapping[str, float]:
    """Rank by LLM, from ranks or from an order."""
    if isinstance(ranking, Mapping):
        for llm, rank in ranking.items():
            if not math.isfinite(rank):
                raise LeaderboardError(
                    f"The rank of “{llm}” is {rank}: leave the LLM out or give it a number."
                )
        return ranking
    ranks = {llm: float(place) for place, llm in enumerate(ranking, start=1)}
    if len(ranks) < len(ranking):
        twice = next(llm for place, llm in enumerate(ranking, start=1) if ranks[llm] != place)
        raise LeaderboardError(f"“{twice}” is listed twice: name each LLM once.")
    return ranks


def _degenerate(first: Ranks, second: Ranks) -> float | None:
    """Return the correlation by convention where all LLMs are tied in a ranking; None where it is defined."""
    flat_first, flat_second = bool(np.all(first == first[0])), bool(np.all(second == second[0]))
    if flat_first or flat_second:
        return float(flat_first and flat_second)
    return None


def shared_by_ties(ranks: Ranks, value_at_place: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each LLM [n], the mean value of the places that it and those tied with it take up."""
    _, group = np.unique(ranks, return_inverse=True)
    means = np.bincount(np.sort(group), weights=value_at_place) / np.bincount(group)
    return means[group]


def top_membership(ranks: Ranks, depth: NDArray[np.int64]) -> NDArray[np.float64]:
    """To what part each LLM is among the top d, [depths, n] in [0, 1]."""
    ahead = competition_ranks(ranks) - 1
    tied = last_ranks(ranks) - ahead
    return np.clip((depth[:, np.newaxis] - ahead) / tied, 0, 1)


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


def rank_agreement(measure: Measure, predicted: Ranks, reference: Ranks) -> float:
    """Return the measure of two rank vectors [n], as ``correlation`` defines it."""
    return _FUNCTIONS[measure](predicted, reference)


def p_value(measure: Measure, predicted: Ranks, reference: Ranks) -> float:
    """Return how often chance would make two rankings [n] at least so alike.

    For τ, weighted τ and ρ two-sided, for NDCG and RBO, which have no opposite, one-sided. Kendall's is
    SciPy's, exact for few LLMs without ties; of the others (1 + draws at least so extreme) / (1 + all
    draws), which is never 0 (Phipson & Smyth 2010). 1 where a ranking has all LLMs tied.
    """
    if measure is Measure.KENDALL:
        return kendall_tau(predicted, reference)[1]
    if np.ptp(predicted) == 0 or np.ptp(reference) == 0:
        return 1.0
    found = rank_agreement(measure, predicted, reference)
    drawn = _by_chance(measure, tuple(np.sort(predicted).tolist()), tuple(np.sort(reference).tolist()))
    extreme = np.abs(drawn) >= abs(found) - _ROUNDING if measure.is_signed else drawn >= found - _ROUNDING
    return float((1 + extreme.sum()) / (1 + len(drawn)))


@lru_cache(maxsize=256)
def _by_chance(
    measure: Measure, predicted: tuple[float, ...], reference: tuple[float, ...]
) -> NDArray[np.float64]:
    """Return the measure [DRAWS] of the ranks in orders drawn at random."""
    fixed, moved = np.array(predicted), np.array(reference)
    rng = np.random.default_rng(_SEED)
    orders = rng.permuted(np.tile(np.arange(len(moved)), (DRAWS, 1)), axis=1)
    if measure is Measure.WEIGHTED_TAU:
        return weighted_taus(fixed, moved, orders)
    by_place = kernel(measure, fixed, moved)
    return np.asarray(by_place[np.arange(len(moved)), orders].sum(axis=1))


def kernel(measure: Measure, predicted: Ranks, reference: Ranks) -> NDArray[np.float64]:
    """K [n, n] such that the measure is Σᵢ K[i, j(i)] where LLM i of the prediction is j(i) of the reference.

    NDCG, RBO and ρ are sums over LLMs, which makes thousands of orders as cheap as looking up n numbers each.
    """
    n = len(predicted)
    if measure is Measure.SPEARMAN:
        first, second = (mid_ranks(ranks) - (n + 1) / 2 for ranks in (predicted, reference))
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
    return np.asarray((first * weight[:, np.newaxis]).T @ second)


def weighted_taus(predicted: Ranks, reference: Ranks, orders: NDArray[np.integer]) -> NDArray[np.float64]:
    """Weighted τ [B] of the prediction with the reference in each of the orders [B, n]."""
    position = mid_ranks(predicted) - 1
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
