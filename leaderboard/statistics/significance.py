"""How far a ranking can be trusted: which LLMs can be told apart, and what it would take for two of them.

All of it comes from the bootstrap samples of the win rates, which all LLMs share, so that differences are
paired: two LLMs that win and lose on the same queries are told apart sooner than their intervals suggest.
Where a judge errs, it errs in log-odds, and differences are looked at in them: 99 % and 85 % may differ for
certain although the error of 85 % alone is as wide as what lies between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.bootstrap import LEVEL, log_odds, percentile_interval
from leaderboard.statistics.ranking import Rated
from leaderboard.statistics.ranks import as_t, normal_quantile, t_quantile

POWER = 0.8
"""Chance that so many queries, drawn again, do separate two LLMs."""

_MIN_QUERIES = 2
_EQUAL = 1e-9


@dataclass(frozen=True)
class PairComparison:
    """Two LLMs looked at by themselves.

    Attributes:
        difference: Win rate of the first less that of the second, a fraction.
        low: Lower end of its 95 % interval.
        ahead: Share of resamples in which the first is ahead, equal ones counted half.
        apart: Whether the difference is more than chance, by a paired t-test at 5 %.
        more_queries: How many more queries like these would separate them with a chance of 80 %; 0 if they
            are separated, infinitely many where the judge's own error is too large for that, None where no
            number can be named as they are equal.
    """

    difference: float
    low: float
    high: float
    ahead: float
    apart: bool
    more_queries: float | None


@dataclass(frozen=True, eq=False)
class PairwiseSignificance:
    """What is certain of the ranking of L LLMs, best first; those without a rank are left out.

    Attributes:
        win_rate: [L], fractions.
        n_queries: [L], on how many queries each rests, or how many equal ones they are worth if weighted.
        samples: [B, L], win rates in each resample.
        drawn: [B, L], the same without the judge's own error.
        apart: [L, L], which pairs can be told apart, at 5 % for all pairs together.
        group: [L], number of the LLM's group, from 0; no two LLMs of a group can be told apart.
        first: [L], share of resamples in which each is first; those who share a first place share it here.
        in_log_odds: Whether differences are looked at in log-odds, as the judge errs.
    """

    llms: tuple[str, ...]
    win_rate: NDArray[np.float64]
    n_queries: NDArray[np.int64]
    samples: NDArray[np.float32]
    drawn: NDArray[np.float32]
    apart: NDArray[np.bool_]
    group: NDArray[np.intp]
    first: NDArray[np.float64]
    in_log_odds: bool = False

    def members(self, group: int) -> tuple[str, ...]:
        """Return the LLMs of a group, best first."""
        return tuple(self.llms[row] for row in np.flatnonzero(self.group == group))

    def like_first(self) -> tuple[str, ...]:
        """Return the first LLM and those that, looked at one by one, cannot be told apart from it."""
        apart = apart_from_first(self.win_rate, self.samples, self.n_queries, in_log_odds=self.in_log_odds)
        return tuple(self.llms[row] for row in np.flatnonzero(~apart))

    def compare(self, first: str, second: str) -> PairComparison:
        """Return two LLMs by themselves: no allowance is made for other pairs that one might have looked at.

        The part of the paired difference's standard error that drawing queries makes, SE, falls with the root
        of their number n; the judge's own error, J, stays. To see a difference of d, n SE² / (d² / z² − J²)
        queries are needed, with z = z₀.₉₇₅ + z₀.₈.

        Raises:
            LeaderboardError: if one of them is not ranked.
        """
        for llm in (first, second):
            if llm not in self.llms:
                raise LeaderboardError(f"{llm!r} is not ranked here: choose one of {', '.join(self.llms)}.")
        left, right = self.llms.index(first), self.llms.index(second)
        difference = float(self.win_rate[left] - self.win_rate[right])
        sampled = self.samples[:, left] - self.samples[:, right]
        sampled = sampled[~np.isnan(sampled)]
        n = int(min(self.n_queries[left], self.n_queries[right]))
        low, high = percentile_interval(sampled[:, np.newaxis])
        more = _more_queries(*self._difference_and_errors(left, right), n)
        return PairComparison(
            difference=difference,
            low=min(float(low[0]), difference),
            high=max(float(high[0]), difference),
            ahead=float(np.mean(sampled > 0) + np.mean(sampled == 0) / 2),
            apart=more == 0,
            more_queries=more,
        )

    def _difference_and_errors(self, left: int, right: int) -> tuple[float, float, float]:
        """Return a difference as it is looked at, its standard error, and the part that the draw makes."""
        rates, *samples = (
            _looked_at(each[..., [left, right]], in_log_odds=self.in_log_odds)
            for each in (self.win_rate, self.samples, self.drawn)
        )
        error, of_draw = (float(np.nanstd(each[:, 0] - each[:, 1])) for each in samples)
        return float(rates[0] - rates[1]), error, of_draw


def pairwise_significance(
    found: Rated, llms: Sequence[str], left_out: NDArray[np.bool_] | None = None
) -> PairwiseSignificance:
    """Return what is certain of a ranking, from the win rates of L LLMs and their names in the same order.

    Args:
        left_out: [L], LLMs that are not looked at; none by default.
    """
    looked_at = ~np.isnan(found.win_rate) if left_out is None else ~np.isnan(found.win_rate) & ~left_out
    ranked = [row for row in found.best_first(llms).tolist() if looked_at[row]]
    drawn, win_rate = found.drawn(), found.win_rate[ranked]
    samples = found.mistaken(drawn)[:, ranked]
    n_queries = np.floor(found.columns["n_effective"][ranked]).astype(np.int64)
    in_log_odds = bool(np.any(found.judge_error))
    apart = distinguishable(win_rate, samples, n_queries, in_log_odds=in_log_odds)
    return PairwiseSignificance(
        llms=tuple(llms[row] for row in ranked),
        win_rate=win_rate,
        n_queries=n_queries,
        samples=samples,
        drawn=drawn[:, ranked],
        apart=apart,
        group=groups(apart),
        first=_share_of_first_places(samples),
        in_log_odds=in_log_odds,
    )


def distinguishable(
    win_rate: NDArray[np.floating],
    samples: NDArray[np.floating],
    n_queries: NDArray[np.integer],
    *,
    in_log_odds: bool = False,
) -> NDArray[np.bool_]:
    """Return which pairs of LLMs differ by more than chance, with all pairs looked at together.

    The step-down procedure of Romano & Wolf (2005) on studentised paired differences: a pair is told apart
    if its difference exceeds what the largest of all differences still in question exceeds by chance. The
    probability of any pair wrongly told apart is at most 1 − ``LEVEL``, however many LLMs there are. As the
    resamples take standard errors for known, the critical value is carried over from the normal to Student's
    distribution, without which one in ten sets of a dozen equal LLMs on 50 queries would show a difference.

    Args:
        win_rate: [L].
        samples: [B, L], of the same; NaN where a resample says nothing.
        n_queries: [L], on how many queries each rests; on one query nobody is told apart.
        in_log_odds: Whether the differences are those of log-odds.

    Returns:
        [L, L], symmetric, False on the diagonal.
    """
    win_rate, samples = (_looked_at(each, in_log_odds=in_log_odds) for each in (win_rate, samples))
    difference = win_rate[:, np.newaxis] - win_rate
    error = _paired_errors(samples)
    varies = error > 0
    statistic = np.abs(difference) / np.where(varies, error, 1.0)
    n = np.minimum(n_queries[:, np.newaxis], n_queries)
    enough = n >= _MIN_QUERIES
    # A difference that is the same in every resample is certain, and says nothing of the others.
    apart: NDArray[np.bool_] = ~varies & enough & (np.abs(difference) > _EQUAL)
    open_pairs = np.triu(varies & enough, 1)
    while open_pairs.any():
        critical = np.quantile(_largest_deviations(win_rate, samples, error, open_pairs), LEVEL)
        found = open_pairs & (statistic > as_t(float(critical), np.maximum(n - 1, 1)))
        if not found.any():
            break
        apart |= found | found.T
        open_pairs &= ~found
    return apart


def apart_from_first(
    win_rate: NDArray[np.floating],
    samples: NDArray[np.floating],
    n_queries: NDArray[np.integer],
    *,
    in_log_odds: bool = False,
) -> NDArray[np.bool_]:
    """Return which LLMs can be told apart from the first, each of them looked at by itself.

    That is ``PairwiseSignificance.compare`` with the first for all at once: no allowance is made for other
    pairs.

    Args:
        win_rate: [L].
        samples: [B, L], of the same; NaN where a resample says nothing.
        n_queries: [L], on how many queries each rests.
        in_log_odds: Whether the differences are those of log-odds.

    Returns:
        [L], False for the first.
    """
    win_rate, samples = (_looked_at(each, in_log_odds=in_log_odds) for each in (win_rate, samples))
    difference = np.abs(win_rate[0] - win_rate)
    error = _spread(samples[:, [0]] - samples)
    n = np.minimum(n_queries[0], n_queries)
    critical = t_quantile((1 + LEVEL) / 2, np.maximum(n - 1, 1))
    return np.asarray((n >= _MIN_QUERIES) & (difference > _EQUAL) & (difference > critical * error))


def groups(apart: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Divide LLMs, best first, into groups no two members of which can be told apart.

    From the best down, an LLM joins the group above if it cannot be told apart from any of its members, else
    it opens the next one. The last of a group and the first of the next may still be alike: being told apart
    is not transitive.

    Args:
        apart: [L, L], from ``distinguishable``.

    Returns:
        [L], numbers of the groups from 0.
    """
    group = np.zeros(len(apart), dtype=np.intp)
    start = 0
    for row in range(1, len(apart)):
        if apart[row, start:row].any():
            start = row
        group[row] = group[row - 1] + (start == row)
    return group


def _looked_at(rate: NDArray[np.floating], *, in_log_odds: bool) -> NDArray[np.floating]:
    """Return win rates, or samples of them, on the scale on which they are compared."""
    return log_odds(rate) if in_log_odds else rate


def _paired_errors(samples: NDArray[np.floating]) -> NDArray[np.float64]:
    """Standard errors [L, L] of the differences of win rates; 0 on the diagonal."""
    errors = np.zeros((samples.shape[1], samples.shape[1]))
    for row in range(len(errors)):
        errors[row] = _spread(samples[:, [row]] - samples)
    # What rounding leaves of no spread at all.
    return np.where(errors < np.finfo(np.float32).eps, 0.0, errors)


def _spread(differences: NDArray[np.floating]) -> NDArray[np.float64]:
    """Standard deviation [L] of each column, NaN left out; 0 for a column of nothing else."""
    known = ~np.isnan(differences)
    n = np.maximum(known.sum(axis=0), 1)
    values = np.where(known, differences, 0.0)
    centred = np.where(known, values - values.sum(axis=0) / n, 0.0)
    return np.asarray(np.sqrt(np.sum(centred**2, axis=0) / n))


def _largest_deviations(
    win_rate: NDArray[np.floating],
    samples: NDArray[np.floating],
    error: NDArray[np.float64],
    pairs: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """In each resample [B], the largest studentised deviation of a pair's difference from the estimate."""
    deviation = np.nan_to_num(samples - win_rate)
    largest = np.zeros(len(samples))
    for row in np.flatnonzero(pairs.any(axis=1)):
        others = pairs[row]
        moved = np.abs(deviation[:, [row]] - deviation[:, others]) / error[row, others]
        np.maximum(largest, moved.max(axis=1), out=largest)
    return largest


def _share_of_first_places(samples: NDArray[np.floating]) -> NDArray[np.float64]:
    """[L], adding up to 1."""
    if not samples.size:
        return np.zeros(samples.shape[1])
    known = np.where(np.isnan(samples), -np.inf, samples)
    first = known == known.max(axis=1, keepdims=True)
    return np.asarray(np.mean(first / first.sum(axis=1, keepdims=True), axis=0))


def _more_queries(difference: float, error: float, of_draw: float, n: int) -> float | None:
    """Return how many queries beyond n separate a difference; see ``PairwiseSignificance.compare``.

    Args:
        error: Standard error of the difference.
        of_draw: The part of it that the draw of queries makes.
    """
    if abs(difference) <= _EQUAL or n < _MIN_QUERIES:
        return None
    if abs(difference) > t_quantile((1 + LEVEL) / 2, n - 1) * error:
        return 0
    allowed = (difference / (normal_quantile((1 + LEVEL) / 2) + normal_quantile(POWER))) ** 2
    left_for_draw = allowed - max(0.0, error**2 - of_draw**2)
    if left_for_draw <= 0:
        return math.inf
    return max(1, math.ceil(n * of_draw**2 / left_for_draw - n))
