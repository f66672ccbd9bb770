"""Win rates against the baseline (Jia et al. 2025, section 6.5), from probabilities to one number an LLM."""

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import ProbabilityError, ShapeError, WeightsError

# Wider than the rounding of a sum of some 500 float32 products, so a response that equals the baseline's
# is a tie whichever way its score was summed; far narrower than any difference a judge could mean.
TIE_TOLERANCE = 1e-5

_MATRIX = 2


def outcomes(prob: NDArray[np.floating], *, soft: bool = False) -> NDArray[np.float64]:
    """What each LLM scores on each query: 1 for a win over the baseline, 0.5 for a tie, 0 for a loss.

    Args:
        prob: [L, Q], probability in [0, 1] that LLM l's response to query q is preferred to the baseline's;
            NaN where there is none.
        soft: keep the probability itself instead of rounding it to a win, tie or loss.

    Returns:
        [L, Q], in [0, 1]; NaN where ``prob`` is NaN. A probability within ``TIE_TOLERANCE`` of 0.5 is a tie,
        so exchanging an LLM and the baseline turns every outcome x into 1 − x.

    Raises:
        ShapeError: if ``prob`` is not a matrix.
        ProbabilityError: if a value lies outside [0, 1].
    """
    values = np.asarray(prob, dtype=np.float64)
    if values.ndim != _MATRIX:
        raise ShapeError(
            f"Probabilities form an LLMs × queries matrix, but these have {values.ndim} dimensions."
        )
    if np.any((values < 0) | (values > 1)):
        raise ProbabilityError(
            "Some scores lie outside 0 to 1: turn the judge's scores into probabilities before ranking."
        )
    if soft:
        return values.copy()
    margin = values - 0.5
    return np.where(np.abs(margin) <= TIE_TOLERANCE, 0.5, np.where(np.isnan(margin), np.nan, margin > 0))


def win_rates(
    outcomes: NDArray[np.floating], weights: NDArray[np.floating] | None = None
) -> NDArray[np.float64]:
    """Mean outcome of each LLM over the queries it has a response to.

    Args:
        outcomes: [L, Q], in [0, 1], NaN where missing.
        weights: [Q], how much each query counts, on any scale; all alike by default.

    Returns:
        [L], fractions in [0, 1]; NaN for an LLM without a response to any query of positive weight.

    Raises:
        ShapeError: if there is not one weight a query.
        WeightsError: if a weight is negative or not finite, or if all are zero.
    """
    checked = checked_weights(weights, outcomes.shape[1])
    present = ~np.isnan(outcomes)
    total = present @ checked
    won = np.where(present, outcomes, 0.0) @ checked
    rates = np.full(len(outcomes), np.nan)
    np.divide(won, total, out=rates, where=total > 0)
    return rates.clip(0.0, 1.0)


def checked_weights(weights: NDArray[np.floating] | None, queries: int) -> NDArray[np.float64]:
    """Weights scaled so that the largest is 1; ones where none are given.

    Args:
        weights: [Q], on any scale, or None.
        queries: Q.

    Returns:
        [Q], in [0, 1].

    Raises:
        ShapeError: if there is not one weight a query.
        WeightsError: if a weight is negative or not finite, or if all are zero.
    """
    if weights is None:
        return np.ones(queries)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (queries,):
        raise ShapeError(
            f"Give one weight for each of the {queries} queries, not an array of {values.shape}."
        )
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise WeightsError("Query weights must be finite and not negative: correct the ones that are not.")
    if not np.any(values > 0):
        raise WeightsError("All query weights are zero: give at least one query a positive weight.")
    scaled: NDArray[np.float64] = values / values.max()
    return scaled
