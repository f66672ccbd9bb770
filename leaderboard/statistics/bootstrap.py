"""Stratified bootstrap over queries: how win rates and ranks would move with other queries on these topics.

Each resample draws, within every topic, as many queries as the topic has, with replacement (percentile
interval: Efron & Tibshirani 1993, chapter 13). A resample is a row of counts, so the win rates of all
resamples are one matrix product.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.ranks import competition_ranks, normal_quantile
from leaderboard.statistics.win_rate import checked_weights

RESAMPLES = 1000
LEVEL = 0.95
_Z2 = normal_quantile((1 + LEVEL) / 2) ** 2

# Rank of an LLM that has no response to any selected query.
UNRANKED = 0

# Sampled win rates that agree to so many decimals are tied: float32 sums do not settle the next one.
_SAMPLE_DECIMALS = 5

_LEAST_RATE = 0.005
"""Win rates nearer to 0 or 1 are moved as if they were this far away."""

# Resamples are drawn and multiplied in blocks of so many cells, which bounds memory for large benchmarks.
_BLOCK_CELLS = 2_000_000


@dataclass(frozen=True, eq=False)
class BootstrapPlan:
    """The resamples of a set of queries, the same for every LLM and every criterion.

    Attributes:
        counts: [B, Q], how often resample b draws query q; read-only. A byte holds any count that occurs: the
            chance to draw one query of n more than 255 times in n draws is below 1e-500.
    """

    counts: NDArray[np.uint8]


def bootstrap_plan(
    strata: NDArray[np.integer], *, resamples: int = RESAMPLES, seed: int = 0
) -> BootstrapPlan:
    """Draw the resamples, or take them from the cache of the last few plans.

    A stratum of one query would always draw that query and hide its variance, so all such strata are pooled
    into one (collapsed strata, Cochran 1977, section 5A.12); a sole one joins the smallest other stratum.

    Args:
        strata: [Q], the topic index of each query.
        resamples: B, at least 1.
        seed: not negative; equal arguments give equal plans.

    Raises:
        LeaderboardError: if there is no query; if ``resamples`` or ``seed`` is out of range.
    """
    if len(strata) == 0:
        raise LeaderboardError("No query is selected: choose at least one topic that has queries.")
    if resamples < 1:
        raise LeaderboardError(f"The bootstrap needs at least 1 resample, not {resamples}.")
    if seed < 0:
        raise LeaderboardError(f"The seed must not be negative, but it is {seed}.")
    return _cached_plan(_collapse_singletons(strata).tobytes(), resamples, seed)


def bootstrap_win_rates(
    outcomes: NDArray[np.floating],
    strata: NDArray[np.integer],
    *,
    weights: NDArray[np.floating] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NDArray[np.float32]:
    """Return win rates of every LLM in every resample.

    All LLMs share the resamples, so their samples can be compared row by row. Permuting LLMs permutes
    columns; permuting queries within a stratum leaves the samples' distribution unchanged, not each draw.

    Args:
        outcomes: [L, Q], in [0, 1], NaN where missing.
        strata: [Q], the topic index of each query.
        weights: [Q], on any scale; a query of weight 0 counts as not selected.

    Returns:
        [B, L], fractions to float32 precision; NaN where a resample draws no query the LLM has a response to.

    Raises:
        LeaderboardError: if ``strata`` or ``weights`` does not match the queries; see ``checked_weights``
            and ``bootstrap_plan``.
    """
    llms, queries = outcomes.shape
    if strata.shape != (queries,):
        raise LeaderboardError(
            f"Give one topic for each of the {queries} queries, not an array of {strata.shape}."
        )
    checked = checked_weights(weights, queries)
    drawn_from = checked > 0
    plan = bootstrap_plan(strata[drawn_from], resamples=resamples, seed=seed)
    scored = outcomes[:, drawn_from].astype(np.float32)
    weight = checked[drawn_from].astype(np.float32)
    present = ~np.isnan(scored)
    won = np.where(present, scored, np.float32(0)) * weight
    complete = bool(present.all())
    counted = weight[np.newaxis] if complete else present * weight

    samples = np.full((resamples, llms), np.nan, dtype=np.float32)
    step = max(1, _BLOCK_CELLS // len(weight))
    for start in range(0, resamples, step):
        counts = plan.counts[start : start + step].astype(np.float32)
        total = counts @ counted.T
        np.divide(counts @ won.T, total, out=samples[start : start + step], where=total > 0)
    return samples


def log_odds(rate: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return win rates in log-odds, those of none and of all as of one in 200 and of all but one."""
    return np.asarray(logit(np.clip(rate.astype(np.float64), _LEAST_RATE, 1.0 - _LEAST_RATE)))


def shifted(samples: NDArray[np.float32], error: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return sampled win rates ``[B, L]`` with errors ``[B, L]`` in log-odds added, NaN where they were."""
    return np.asarray(expit(log_odds(samples) + error), dtype=np.float32)


def percentile_interval(
    samples: NDArray[np.floating], level: float = LEVEL
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the central share ``level`` of each column, with linear interpolation between order statistics.

    Args:
        samples: [B, L]; NaN entries are left out.
        level: in (0, 1).

    Returns:
        Low and high, [L] each; NaN for a column of nothing but NaN.

    Raises:
        LeaderboardError: if ``level`` is out of range.
    """
    if not 0 < level < 1:
        raise LeaderboardError(f"The level of an interval lies between 0 and 1, but it is {level}.")
    ascending = np.sort(samples.T, axis=1)  # NaN sorts last
    known = np.sum(~np.isnan(ascending), axis=1)
    tail = (1 - level) / 2
    return _quantile(ascending, known, tail), _quantile(ascending, known, 1 - tail)


def win_rate_interval(
    samples: NDArray[np.floating],
    win_rate: NDArray[np.floating],
    n_queries: NDArray[np.integer],
    n_effective: NDArray[np.floating] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """95 % percentile interval of each win rate, always around the win rate itself.

    Where the percentiles miss the win rate, the nearer end is moved to it: widening an interval cannot lower
    its coverage. One query says nothing about the spread between queries, so its interval is all of [0, 1].
    Where every query is won, or none, all resamples are alike, and the interval reaches at least as far as
    Wilson's (1927), whose inner end is then n / (n + z²), or as far from 0.

    Args:
        samples: [B, L], from ``bootstrap_win_rates``.
        win_rate: [L], fractions; NaN for an LLM without responses.
        n_queries: [L], on how many queries each win rate rests.
        n_effective: [L], how many queries that count alike these are worth; ``n_queries`` by default.

    Returns:
        Low and high, [L] each, with 0 ≤ low ≤ win rate ≤ high ≤ 1; NaN where the win rate is NaN.
    """
    low, high = percentile_interval(samples)
    worth = np.asarray(n_queries if n_effective is None else n_effective, dtype=np.float64)
    missed = _Z2 / (worth + _Z2)
    low = np.where(win_rate == 1, np.fmin(low, 1 - missed), low)
    high = np.where(win_rate == 0, np.fmax(high, missed), high)
    low = np.where(n_queries == 1, 0.0, np.minimum(low, win_rate))
    high = np.where(n_queries == 1, 1.0, np.maximum(high, win_rate))
    return low, high


def rank_interval(samples: NDArray[np.floating]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Between which ranks each LLM lies in the central 95 % of the resamples.

    In each resample the LLMs that have a win rate get competition ranks ("1, 2, 2, 4"); the percentiles are
    rounded outward.

    Args:
        samples: [B, L], win rates from ``bootstrap_win_rates``.

    Returns:
        Best and worst rank, [L] each, from 1; ``UNRANKED`` for an LLM that is never ranked.
    """
    absent = np.isnan(samples)
    rounded = np.round(samples, _SAMPLE_DECIMALS)
    ranks = competition_ranks(np.where(absent, np.inf, -rounded)).astype(np.float32)
    ranks[absent] = np.nan
    low, high = percentile_interval(ranks)
    best, worst = (np.nan_to_num(ends, nan=UNRANKED) for ends in (np.floor(low), np.ceil(high)))
    return best.astype(np.int64), worst.astype(np.int64)


def _collapse_singletons(strata: NDArray[np.integer]) -> NDArray[np.int64]:
    """Consecutive stratum labels [Q] in which no stratum has one query, unless there is only one query."""
    _, labels, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    alone = sizes[labels] == 1
    pool = len(sizes)
    if alone.sum() == 1 and pool > 1:
        pool = int(np.argmin(np.where(sizes == 1, len(strata), sizes)))
    return np.unique(np.where(alone, pool, labels), return_inverse=True)[1].astype(np.int64)


# As many as a benchmark of the usual dozen categories needs, with one for all queries.
@lru_cache(maxsize=16)
def _cached_plan(labels: bytes, resamples: int, seed: int) -> BootstrapPlan:
    """Draw, for every place in a stratum, one query of that stratum; count what was drawn."""
    label = np.frombuffer(labels, dtype=np.int64)
    queries = len(label)
    by_stratum = np.argsort(label, kind="stable")
    size = np.bincount(label)
    first_of_place = np.repeat(np.cumsum(size) - size, size)
    size_of_place = np.repeat(size, size)
    rng = np.random.default_rng(seed)
    counts = np.empty((resamples, queries), dtype=np.uint8)
    step = max(1, _BLOCK_CELLS // queries)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = first_of_place + rng.integers(size_of_place, size=(rows, queries))
        cells = by_stratum[drawn] + np.arange(rows)[:, np.newaxis] * queries
        block = np.bincount(cells.ravel(), minlength=rows * queries)
        counts[start : start + rows] = block.reshape(rows, queries)
    counts.setflags(write=False)
    return BootstrapPlan(counts)


def _quantile(
    ascending: NDArray[np.floating], known: NDArray[np.integer], share: float
) -> NDArray[np.float64]:
    """Quantile [L] of the first ``known[l]`` entries of each row of ``ascending`` [L, B]."""
    position = share * np.maximum(known - 1, 0)
    below = np.floor(position).astype(np.int64)
    above = np.ceil(position).astype(np.int64)
    row = np.arange(len(ascending))
    lower = ascending[row, below].astype(np.float64)
    upper = ascending[row, above].astype(np.float64)
    return np.asarray(lower + (position - below) * (upper - lower))
