"""With which of several references a ranking agrees most, and whether that is more than chance.

The references are ratings of the same LLMs, by kind of question. How far they agree is Spearman's ρ; its
interval is Fisher's with the standard error of Bonett and Wright (2000). Whether it is higher for one
reference than for another is decided by resampling LLMs, the same ones for both: references that people's
votes make are much alike, and two intervals that overlap say nothing of the difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.statistics.bootstrap import LEVEL
from leaderboard.statistics.correlation import spearman_rho
from leaderboard.statistics.ranks import mid_ranks, normal_quantile

MIN_LLMS = 10
"""With fewer LLMs in both, an interval of ρ = 0.7 reaches below zero."""
RESAMPLES = 1_000


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far scores agree with each of C references.

    Attributes:
        rho: [C], Spearman's ρ on the LLMs in both; NaN for fewer than ``MIN_LLMS``.
        low: [C], lower end of its 95 % interval.
        high: [C].
        n: [C], on how many LLMs it rests.
    """

    rho: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: NDArray[np.int64]


def agreement(scores: NDArray[np.float64], references: NDArray[np.float64]) -> Agreement:
    """Return how far scores [L] agree with references [L, C]; NaN where an LLM has none."""
    known = ~np.isnan(scores)[:, np.newaxis] & ~np.isnan(references)
    n = known.sum(axis=0)
    rho = np.full(references.shape[1], np.nan)
    for column in np.flatnonzero(n >= MIN_LLMS):
        both = known[:, column]
        rho[column] = spearman_rho(scores[both], references[both, column])
    # A ρ of one has no error by the formula; that of the next lower one that so many LLMs can reach is taken.
    almost = 1.0 - 6.0 / np.maximum(n, 2) ** 3
    within = np.clip(rho, -almost, almost)
    error = normal_quantile((1 + LEVEL) / 2) * np.sqrt((1 + within**2 / 2) / np.maximum(n - 3, 1))
    centre = np.arctanh(within)
    low, high = np.minimum(np.tanh(centre - error), rho), np.maximum(np.tanh(centre + error), rho)
    return Agreement(rho, low, high, n)


def surely_less_close(
    scores: NDArray[np.float64],
    references: NDArray[np.float64],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NDArray[np.bool_]:
    """Return which references scores agree with surely less than with the closest one.

    Args:
        scores: [L], all known.
        references: [L, C], all known.

    Returns:
        [C]; True where the closest is ahead in 97.5 % of the resamples, equal ones counted as not ahead.
    """
    n = len(scores)
    drawn = np.random.default_rng(seed).integers(n, size=(resamples, n))
    own = _standardised(mid_ranks(scores[drawn]))
    rho = np.stack(
        [np.sum(own * _standardised(mid_ranks(column[drawn])), axis=1) for column in references.T],
        axis=1,
    )
    closest = int(np.argmax([spearman_rho(scores, column) for column in references.T]))
    ahead = rho[:, [closest]] > rho
    return np.asarray(ahead.mean(axis=0) >= (1 + LEVEL) / 2)


def _standardised(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows [B, L] of mean 0 and length 1; all zero where a resample has one LLM only."""
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    length = np.sqrt(np.sum(centred**2, axis=1, keepdims=True))
    return np.asarray(np.divide(centred, length, out=np.zeros_like(centred), where=length > 0))
