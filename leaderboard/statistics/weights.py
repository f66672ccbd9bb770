"""How much each query counts for one person: weights of topics, and closeness to what they use LLMs for.

The weight of a query is the product of both. All weights here are relative: only their ratios matter, and
where all are equal every win rate and interval is, to the bit, the one without weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

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


def interest_weights(
    closeness: NDArray[np.floating], temperature: float = TEMPERATURE
) -> NDArray[np.float64]:
    """Weights of queries by their closeness to interests, each of which gets the same share.

    The weight of query q is Σ_k exp(c_kq / T) / Σ_q' exp(c_kq' / T), the sum of one softmax an interest.

    Args:
        closeness: ``[K, Q]``, cosine of interest and query.
        temperature: T, positive.

    Returns:
        ``[Q]``, adding up to K; ones where there is no interest.
    """
    if not len(closeness):
        return np.ones(closeness.shape[1])
    scaled = np.asarray(closeness, dtype=np.float64) / temperature
    weights: NDArray[np.float64] = softmax(scaled, axis=1).sum(axis=0)
    return weights


def effective_number(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """How many queries of equal weight are worth as much, (Σ w)² / Σ w² (Kish 1965, section 11.7).

    Args:
        weights: ``[..., Q]``, not negative.

    Returns:
        ``[...]``, from 1 to the number of positive weights; 0 where there is none.
    """
    values = np.asarray(weights, dtype=np.float64)
    largest = values.max(axis=-1, keepdims=True, initial=0.0)
    scaled = values / np.where(largest > 0, largest, 1.0)  # squares of tiny weights would vanish
    squares = np.sum(scaled**2, axis=-1)
    number: NDArray[np.float64] = scaled.sum(axis=-1) ** 2 / np.where(squares > 0, squares, 1.0)
    return number
