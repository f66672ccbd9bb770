"""Win rates against the baseline (Jia et al. 2025, section 6.5) and the weights of queries in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from leaderboard.errors import LeaderboardError

# Wider than the rounding of a sum of some 500 float32 products, so a response that equals the baseline's
# is a tie whichever way its score was summed; far narrower than any difference a judge could mean.
TIE_TOLERANCE = 1e-5

_MATRIX = 2

Mask = NDArray[np.bool_]
"""Which of some queries or pairs are meant."""


def outcomes(prob: NDArray[np.floating], *, soft: bool = False) -> NDArray[np.float64]:
    """Return what each LLM scores on each query: 1 for a win over the baseline, 0.5 for a tie, 0 for a loss.

    Args:
        prob: [L, Q], probability in [0, 1] that LLM l's response to query q is preferred to the baseline's;
            NaN where there is none.
        soft: keep the probability itself instead of rounding it to a win, tie or loss.

    Returns:
        [L, Q], in [0, 1]; NaN where ``prob`` is NaN. A probability within ``TIE_TOLERANCE`` of 0.5 is a tie,
        so exchanging an LLM and the baseline turns every outcome x into 1 − x.

    Raises:
        LeaderboardError: if ``prob`` is not a matrix; if a value lies outside [0, 1].
    """
    values = np.asarray(prob, dtype=np.float64)
    if values.ndim != _MATRIX:
        raise LeaderboardError(
            f"Probabilities form an LLMs × queries matrix, but these have {values.ndim} dimensions."
        )
    if np.any((values < 0) | (values > 1)):
        raise LeaderboardError(
            "Some scores lie outside 0 to 1: turn the judge's scores into probabilities before ranking."
        )
    if soft:
        return values.copy()
    margin = values - 0.5
    return np.where(np.abs(margin) <= TIE_TOLERANCE, 0.5, np.where(np.isnan(margin), np.nan, margin > 0))


def win_rates(
    outcomes: NDArray[np.floating], weights: NDArray[np.floating] | None = None
) -> NDArray[np.float64]:
    """Mean outcome of each LLM over the queries it has a response to; raises as ``checked_weights``.

    Args:
        outcomes: [L, Q], in [0, 1], NaN where missing.
        weights: [Q], how much each query counts, on any scale; all alike by default.

    Returns:
        [L], fractions in [0, 1]; NaN for an LLM without a response to any query of positive weight.
    """
    return weighted_means(outcomes, weights).clip(0.0, 1.0)


def weighted_means(
    values: NDArray[np.floating], weights: NDArray[np.floating] | None = None
) -> NDArray[np.float64]:
    """Mean of each row's values over the queries that it has one for; raises as ``checked_weights``.

    Args:
        values: [R, Q], NaN where missing.
        weights: [Q], how much each query counts, on any scale; all alike by default.

    Returns:
        [R]; NaN for a row without a value on any query of positive weight.
    """
    checked = checked_weights(weights, values.shape[1])
    present = ~np.isnan(values)
    total = present @ checked
    means = np.full(len(values), np.nan)
    np.divide(np.where(present, values, 0.0) @ checked, total, out=means, where=total > 0)
    return means


def checked_weights(weights: NDArray[np.floating] | None, queries: int) -> NDArray[np.float64]:
    """Weights [Q] scaled so that the largest is 1; ones where none are given.

    Raises:
        LeaderboardError: if there is not one weight a query; if a weight is negative or not finite, or if
            all are zero.
    """
    if weights is None:
        return np.ones(queries)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (queries,):
        raise LeaderboardError(
            f"Give one weight for each of the {queries} queries, not an array of {values.shape}."
        )
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise LeaderboardError(
            "Query weights must be finite and not negative: correct the ones that are not."
        )
    if not np.any(values > 0):
        raise LeaderboardError("All query weights are zero: give at least one query a positive weight.")
    return np.asarray(values / values.max())


TEMPERATURE = 0.1
"""Of the closeness to an interest: a query whose cosine is 0.1 lower counts 1/e, or 37 %, as much.

Chosen by looking at interests such as “planning family dinners” on both bundled benchmarks, where queries
that fit have cosines of 0.4 to 0.65 and all others have 0.06 in the median: at 0.1 an interest is worth 30 to
100 equal queries. At 0.05 it is worth 2 to 10, too few to rank on; at 0.2 half the benchmark counts.
"""
CLOSE = 0.35
"""Cosine from which a query fits an interest: strings of random letters reach 0.17 to 0.31, programming on a
benchmark without programs 0.23, interests that the benchmark does cover 0.44 to 0.65."""

NARROWEST = 10.0
"""Effective queries below which a selection is too narrow to rank: with fewer, even an LLM that wins 80 % of
them cannot be told from the baseline (two-sided sign test at 5 %)."""


def interest_weights(closeness: NDArray[np.floating]) -> NDArray[np.float64]:
    """Weights of queries ``[Q]`` by their cosines with interests ``[K, Q]``, each with the same share.

    The weight of query q is Σ_k exp(c_kq / T) / Σ_q' exp(c_kq' / T), the sum of one softmax an interest; they
    add up to K, but are ones where there is no interest.
    """
    if not len(closeness):
        return np.ones(closeness.shape[1])
    scaled = np.asarray(closeness, dtype=np.float64) / TEMPERATURE
    return np.asarray(softmax(scaled, axis=1).sum(axis=0))


def effective_number(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return how many queries of equal weight are worth as much, (Σ w)² / Σ w² (Kish 1965, section 11.7).

    Of weights ``[..., Q]``, none negative, from 1 to the number of positive ones; 0 where there is none.
    """
    values = np.asarray(weights, dtype=np.float64)
    largest = values.max(axis=-1, keepdims=True, initial=0.0)
    scaled = values / np.where(largest > 0, largest, 1.0)  # squares of tiny weights would vanish
    squares = np.sum(scaled**2, axis=-1)
    number: NDArray[np.float64] = scaled.sum(axis=-1) ** 2 / np.where(squares > 0, squares, 1.0)
    return number
