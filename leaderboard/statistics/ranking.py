"""Win rates with the bootstrap samples they are judged by: plain, or controlled for length or style.

The leaderboard as arrays: LLMs best first with win rates, intervals and one column a category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.bootstrap import (
    RESAMPLES,
    UNRANKED,
    bootstrap_win_rates,
    rank_interval,
    shifted,
    win_rate_interval,
)
from leaderboard.statistics.columns import STATISTIC_COLUMNS
from leaderboard.statistics.ranks import competition_ranks
from leaderboard.statistics.style_control import (
    ControlledFit,
    bootstrap_controlled,
    controlled_within,
    fit_controlled,
)
from leaderboard.statistics.win_rate import checked_weights, outcomes, win_rates

# Win rates that agree to so many decimals are tied: sums of the same terms in another order differ by less.
TIE_DECIMALS = 12
_TIE = 0.5


JudgeError: TypeAlias = float | NDArray[np.float64]
"""Standard deviation in log-odds by which a judge mistakes win rates, of all LLMs or of each ``[L]``."""


class Rated(Protocol):
    """Win rates of L LLMs and how sure they are: all that a ranking and its significance are made from."""

    @property
    def win_rate(self) -> NDArray[np.float64]:
        """[L], fractions; NaN for an LLM that cannot be rated."""

    @property
    def n_queries(self) -> NDArray[np.int64]:
        """[L], on how many queries each win rate rests."""

    @property
    def judge_error(self) -> JudgeError:
        """By how much the judge mistakes an LLM on all queries alike, in log-odds; 0 if by nothing."""

    @property
    def columns(self) -> Mapping[str, NDArray[np.float64]]:
        """[L] for each of ``STATISTIC_COLUMNS``, by its key."""

    def best_first(self, llms: Sequence[str], missed: NDArray[np.integer] | None = None) -> NDArray[np.intp]:
        """[L], indices, LLMs without a win rate last; see ``best_first``."""

    def samples(self, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float32]:
        """[B, L], win rates in each resample, mistakes of the judge included."""

    def drawn(self, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float32]:
        """[B, L], as ``samples``, but only queries are drawn."""

    def mistaken(self, drawn: NDArray[np.float32], *, seed: int = 0) -> NDArray[np.float32]:
        """Return win rates ``[B, L]``, as ``drawn``, with the errors that more queries would not mend."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """The outcomes of L LLMs on the queries that count, and their win rates.

    Attributes:
        outcome: [L, Q], in [0, 1], NaN where missing.
        weight: [Q], positive, the largest 1.
        strata: [Q], topic index.
        plain_win_rate: [L], without control; NaN for an LLM without responses.
        mean_prob: [L], mean probability, which orders LLMs of equal win rate; NaN likewise.
        terms: [L, Q, P], what is controlled for; None if nothing is.
        fit: The regression, where something is controlled for.
        judge_error: By how much the judge mistakes an LLM on all queries alike: standard deviation of win
            rates in log-odds.
    """

    outcome: NDArray[np.float64]
    weight: NDArray[np.float64]
    strata: NDArray[np.integer]
    plain_win_rate: NDArray[np.float64]
    mean_prob: NDArray[np.float64]
    terms: NDArray[np.float64] | None = None
    fit: ControlledFit | None = None
    judge_error: JudgeError = 0.0
    _samples: dict[tuple[int, int], NDArray[np.float32]] = field(default_factory=dict, init=False)

    @property
    def win_rate(self) -> NDArray[np.float64]:
        """[L], controlled if anything is controlled for."""
        return self.plain_win_rate if self.fit is None else self.fit.win_rate

    def best_first(self, llms: Sequence[str], missed: NDArray[np.integer] | None = None) -> NDArray[np.intp]:
        """[L], indices by win rate, then mean probability, then name; LLMs without a win rate last.

        Args:
            missed: [L], what comes before the win rate, fewer first; nothing by default.
        """
        keys = np.round(self.mean_prob, TIE_DECIMALS), np.round(self.win_rate, TIE_DECIMALS)
        return best_first(llms, keys, missed)

    @property
    def n_queries(self) -> NDArray[np.int64]:
        """[L], on how many queries each win rate rests."""
        return np.asarray(np.sum(~np.isnan(self.outcome), axis=1))

    @cached_property
    def columns(self) -> dict[str, NDArray[np.float64]]:
        """[L] for each of ``STATISTIC_COLUMNS``, by its key."""
        return {column.key: column.values(self.outcome, self.weight) for column in STATISTIC_COLUMNS}

    def samples(self, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float32]:
        """[B, L], the win rates in each resample; NaN where one draws no query the LLM has a response to.

        A resample draws queries, and for each LLM an error of the judge that more queries would not mend.
        Drawn once; nobody may write to them. Raises as ``bootstrap_plan``.
        """
        return drawn_once(self, self._samples, resamples, seed)

    def mistaken(self, drawn: NDArray[np.float32], *, seed: int = 0) -> NDArray[np.float32]:
        """Return win rates ``[B, L]``, as ``drawn``, with an error of the judge for each LLM besides."""
        if not np.any(self.judge_error):
            return drawn
        error = np.random.default_rng(seed).normal(0.0, self.judge_error, drawn.shape)
        return shifted(drawn, error)

    def drawn(self, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float32]:
        """[B, L], as ``samples``, but of a judge that makes no mistakes: only queries are drawn."""
        if self.fit is None or self.terms is None:
            return bootstrap_win_rates(
                self.outcome, self.strata, weights=self.weight, resamples=resamples, seed=seed
            )
        return bootstrap_controlled(
            self.fit,
            self.outcome,
            self.terms,
            self.strata,
            weights=self.weight,
            resamples=resamples,
            seed=seed,
        )

    def win_rate_on(self, part: NDArray[np.bool_]) -> NDArray[np.float64]:
        """[L], win rates on part of the queries [Q], by the effects of all; NaN where none is answered."""
        if self.fit is None or self.terms is None:
            return win_rates(self.outcome[:, part], self.weight[part])
        return controlled_within(self.fit, self.outcome[:, part], self.terms[:, part], self.weight[part])


def drawn_once(
    found: Rated, kept: dict[tuple[int, int], NDArray[np.float32]], resamples: int, seed: int
) -> NDArray[np.float32]:
    """Return what an estimate draws for ``samples``, [B, L], from what is kept of it if it is there."""
    if (resamples, seed) not in kept:
        samples = found.mistaken(found.drawn(resamples=resamples, seed=seed), seed=seed)
        samples.flags.writeable = False
        kept[resamples, seed] = samples
    return kept[resamples, seed]


def best_first(
    llms: Sequence[str],
    keys: Sequence[NDArray[np.float64]],
    missed: NDArray[np.integer] | None = None,
) -> NDArray[np.intp]:
    """[L], indices of LLMs with the highest keys first, then by name.

    Args:
        keys: [L] each, the one that counts most last, NaN for an LLM without a place: they come last.
        missed: [L], what comes before all keys, fewer first; nothing by default.
    """
    order = np.lexsort((np.array(llms, dtype=str), *(-key for key in keys)))
    if missed is None:
        return order
    first = np.where(np.isnan(keys[-1]), np.inf, missed)
    return order[np.argsort(first[order], kind="stable")]


def estimate(
    prob: NDArray[np.floating],
    strata: NDArray[np.integer],
    *,
    used: NDArray[np.bool_],
    weights: NDArray[np.floating] | None = None,
    soft: bool = False,
    terms: NDArray[np.floating] | None = None,
    judge_error: JudgeError = 0.0,
) -> Estimate:
    """Return win rates on the queries in use; the other arguments are those of ``rank_llms``.

    Args:
        used: [Q], which queries count.
        judge_error: Of comparisons that are decided; an LLM's is smaller by the share of those that are tied.

    Raises:
        LeaderboardError: if no query is in use; if ``terms`` does not match ``prob``; as in ``win_rate``.
    """
    all_weights = checked_weights(weights, len(strata))
    counted = used & (all_weights > 0)
    if not counted.any():
        raise LeaderboardError("No query is selected: choose at least one topic that has queries.")
    outcome, weight = outcomes(prob[:, counted], soft=soft), all_weights[counted]
    plain, mean_prob = win_rates(outcome, weight), win_rates(prob[:, counted], weight)
    if np.any(judge_error):  # of what neither has there is nothing to be mistaken
        decided = win_rates(np.where(np.isnan(outcome), np.nan, outcome != _TIE), weight)
        judge_error = judge_error * np.nan_to_num(decided, nan=1.0)
    if terms is None:
        return Estimate(outcome, weight, strata[counted], plain, mean_prob, judge_error=judge_error)
    if terms.shape[:2] != prob.shape:
        raise LeaderboardError(f"Give the terms of {prob.shape} responses, not of {terms.shape[:2]}.")
    kept = np.asarray(terms[:, counted], dtype=np.float64)
    fit = fit_controlled(outcome, kept, weight)
    return Estimate(outcome, weight, strata[counted], plain, mean_prob, kept, fit, judge_error)


@dataclass(frozen=True, eq=False)
class ControlEffect:
    """What a control took out of a ranking; row l belongs to the ranking's ``llms[l]``.

    Attributes:
        effects: [P], log-odds of winning that one unit of each term of the control adds.
        plain_win_rate: [L], without the control.
        plain_rank: [L], without the control.
    """

    effects: NDArray[np.float64]
    plain_win_rate: NDArray[np.float64]
    plain_rank: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """LLMs best first; row l of every array belongs to ``llms[l]``.

    An LLM without a response to any selected query comes last: its rank and rank interval are ``UNRANKED``
    (0), its win rates and interval NaN, its number of queries 0.

    Attributes:
        llms: L names, by win rate, then mean probability, then name.
        rank: [L], competition ranks "1, 2, 2, 4": LLMs with equal win rates share the best rank.
        win_rate: [L], fractions in [0, 1].
        ci_low: [L], lower end of the 95 % interval of the win rate.
        ci_high: [L], upper end.
        rank_low: [L], best rank of the 95 % interval of the rank.
        rank_high: [L], worst rank.
        n_queries: [L], on how many queries the win rate rests.
        columns: [L] for each of ``STATISTIC_COLUMNS``, by its key.
        category_names: C names, the columns of ``category_win_rate``.
        category_win_rate: [L, C], win rates within a category; NaN where none of it is selected or answered.
        removed: What was controlled for, and what the ranking would be without; None without a control.
        without_floor: All LLMs with the places they would have; None where none of them is under a floor.
    """

    llms: tuple[str, ...]
    rank: NDArray[np.int64]
    win_rate: NDArray[np.float64]
    ci_low: NDArray[np.float64]
    ci_high: NDArray[np.float64]
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    n_queries: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.float64]]
    category_names: tuple[str, ...]
    category_win_rate: NDArray[np.float64]
    removed: ControlEffect | None = None
    without_floor: Ranking | None = None

    @property
    def under_floor(self) -> tuple[str, ...]:
        """The LLMs under the floor, best first; this ranking is of the others."""
        everyone, ranked = () if self.without_floor is None else self.without_floor.llms, set(self.llms)
        return tuple(llm for llm in everyone if llm not in ranked)

    @property
    def n_effective(self) -> NDArray[np.float64]:
        """[L], how many queries of equal weight the win rates are worth; ``n_queries`` without weights."""
        return self.columns["n_effective"]

    @property
    def ranks(self) -> dict[str, int]:
        """Rank by LLM, best first, without the unranked."""
        return {
            llm: rank for llm, rank in zip(self.llms, self.rank.tolist(), strict=True) if rank != UNRANKED
        }


def rank_llms(
    llms: Sequence[str],
    prob: NDArray[np.floating],
    strata: NDArray[np.integer],
    categories: NDArray[np.integer],
    category_names: Sequence[str],
    *,
    selected: NDArray[np.bool_] | None = None,
    weights: NDArray[np.floating] | None = None,
    soft: bool = False,
    terms: NDArray[np.floating] | None = None,
    under_floor: NDArray[np.bool_] | None = None,
    missed: NDArray[np.integer] | None = None,
    judge_error: JudgeError = 0.0,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Ranking:
    """Rank LLMs by their win rate over the baseline on the selected queries (Jia et al. 2025, section 6.5).

    Args:
        llms: L different names.
        prob: [L, Q], probability that the LLM's response is preferred to the baseline's, NaN where missing.
        strata: [Q], topic index of each query; the bootstrap resamples within topics.
        categories: [Q], index into ``category_names``, or −1 for a query of no category shown.
        category_names: C names, one column each.
        selected: [Q], which queries count; all by default.
        weights: [Q], how much each query counts, on any scale; a weight of 0 deselects the query.
        soft: rank by mean probability instead of the share of queries won.
        terms: [L, Q, P], what is controlled for, if anything is (``leaderboard.statistics.style_control``).
        under_floor: [L], which LLMs are left out of the ranking; none by default.
        missed: [L], how many musts each misses: fewer come first, whatever the win rates. The resamples leave
            them as they are.
        judge_error: By how much the judge mistakes an LLM on all queries alike, see ``Estimate``.

    Raises:
        LeaderboardError: if a name occurs twice; if arrays do not match or a category index has no name; if
            no query is selected; as in ``win_rate`` and ``interval``.
    """
    queries = len(strata)
    chosen = np.ones(queries, dtype=bool) if selected is None else np.asarray(selected, dtype=bool)
    _check_names(llms)
    _check_shapes(prob, len(llms), queries, categories=categories, selected=chosen)
    found = estimate(
        prob, strata, used=chosen, weights=weights, soft=soft, terms=terms, judge_error=judge_error
    )
    counted = chosen if weights is None else chosen & (np.asarray(weights) > 0)
    return rank_rated(
        llms,
        found,
        category_names,
        win_rates_by_category(found, categories[counted], len(category_names)),
        under_floor=under_floor,
        missed=missed,
        resamples=resamples,
        seed=seed,
    )


def rank_rated(
    llms: Sequence[str],
    found: Rated,
    category_names: Sequence[str],
    category_win_rate: NDArray[np.float64],
    *,
    under_floor: NDArray[np.bool_] | None = None,
    missed: NDArray[np.integer] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Ranking:
    """Rank LLMs by win rates, however these were found; the other arguments are those of ``rank_llms``.

    Args:
        category_win_rate: [L, C], a column for each of ``category_names``.

    Raises:
        LeaderboardError: if a name occurs twice; as in ``bootstrap_plan``.
    """
    _check_names(llms)
    places = _Places(
        llms,
        found,
        found.samples(resamples=resamples, seed=seed),
        tuple(category_names),
        category_win_rate,
        np.zeros(len(llms), dtype=np.int64) if missed is None else missed,
    )
    everyone = places.among(np.ones(len(llms), dtype=np.bool_))
    if under_floor is None or not under_floor.any():
        return everyone
    return replace(places.among(~under_floor), without_floor=everyone)


@dataclass(frozen=True, eq=False)
class _Places:
    """What rankings of some of L LLMs are made from, each as in ``Ranking``.

    Attributes:
        samples: [B, L], win rates in each resample.
        missed: [L], how many musts each misses.
    """

    llms: Sequence[str]
    found: Rated
    samples: NDArray[np.float32]
    category_names: tuple[str, ...]
    category_win_rate: NDArray[np.float64]
    missed: NDArray[np.integer]

    @cached_property
    def n_queries(self) -> NDArray[np.int64]:
        """[L], on how many queries each win rate rests."""
        return self.found.n_queries

    @cached_property
    def intervals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Low and high ends of the win rates' intervals, [L] each, whoever else is ranked."""
        found = self.found
        return win_rate_interval(self.samples, found.win_rate, self.n_queries, found.columns["n_effective"])

    def among(self, chosen: NDArray[np.bool_]) -> Ranking:
        """Return the ranking of the chosen LLMs [L], with places among them."""
        found = self.found
        order = found.best_first(self.llms, self.missed)
        rows = order[chosen[order]]
        win_rate, n_queries, missed = found.win_rate[rows], self.n_queries[rows], self.missed[rows]
        rank = _competition_ranks(win_rate, missed)
        ci_low, ci_high = (ends[rows] for ends in self.intervals)
        rank_low, rank_high = _rank_intervals(self.samples[:, rows], rank, n_queries, missed)
        return Ranking(
            llms=tuple(self.llms[row] for row in rows),
            rank=rank,
            win_rate=win_rate,
            ci_low=ci_low,
            ci_high=ci_high,
            rank_low=rank_low,
            rank_high=rank_high,
            n_queries=n_queries,
            columns={key: values[rows] for key, values in found.columns.items()},
            category_names=self.category_names,
            category_win_rate=self.category_win_rate[rows],
            removed=_removed(found, rows, missed),
        )


def rank_changes(ranking: Ranking, reference: Ranking) -> NDArray[np.float64]:
    """Return how many places each LLM climbed since the reference, both ranks taken as displayed.

    Returns:
        [L], in the order of ``ranking.llms``; positive for a climb, NaN for an LLM that is absent or unranked
        in either ranking.
    """
    before, after = reference.ranks, ranking.ranks
    return np.array(
        [before[llm] - after[llm] if llm in before and llm in after else np.nan for llm in ranking.llms],
        dtype=np.float64,
    )


def _check_names(llms: Sequence[str]) -> None:
    twice = [llm for llm, times in Counter(llms).items() if times > 1]
    if twice:
        raise LeaderboardError(f"“{twice[0]}” is listed twice: name each LLM once.")


def _check_shapes(prob: NDArray[np.floating], llms: int, queries: int, **per_query: NDArray[Any]) -> None:
    if prob.shape != (llms, queries):
        raise LeaderboardError(
            f"The score matrix must be {llms} LLMs × {queries} queries, but it is {prob.shape}."
        )
    for name, values in per_query.items():
        if values.shape != (queries,):
            raise LeaderboardError(
                f"Give one entry of {name} for each of the {queries} queries, not {values.shape}."
            )


def _competition_ranks(win_rate: NDArray[np.float64], missed: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return ranks [L] "1, 2, 2, 4" from the highest win rate down, of those who miss fewer first.

    ``UNRANKED`` for NaN.
    """
    ranks = np.full(len(win_rate), UNRANKED, dtype=np.int64)
    n_before = 0
    for ranked in _tiers(~np.isnan(win_rate), missed):
        ranks[ranked] = n_before + competition_ranks(-np.round(win_rate[ranked], TIE_DECIMALS))
        n_before += int(ranked.sum())
    return ranks


def _rank_intervals(
    samples: NDArray[np.floating],
    rank: NDArray[np.int64],
    n_queries: NDArray[np.integer],
    missed: NDArray[np.integer],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return best and worst rank [L], around the rank itself; on one query any rank among one's equals."""
    low, high = np.full((2, len(rank)), UNRANKED, dtype=np.int64)
    n_before = 0
    for ranked in _tiers(rank != UNRANKED, missed):
        n = int(ranked.sum())
        best, worst = rank_interval(samples[:, ranked])
        one_query = n_queries[ranked] == 1
        low[ranked] = np.where(one_query, n_before + 1, np.minimum(n_before + best, rank[ranked]))
        high[ranked] = np.where(one_query, n_before + n, np.maximum(n_before + worst, rank[ranked]))
        n_before += n
    return low, high


def _tiers(ranked: NDArray[np.bool_], missed: NDArray[np.integer]) -> list[NDArray[np.bool_]]:
    """Return who is ranked and misses equally many, as masks [L], the fewest first."""
    return [ranked & (missed == count) for count in np.unique(missed[ranked])]


def win_rates_by_category(
    found: Estimate, categories: NDArray[np.integer], count: int
) -> NDArray[np.float64]:
    """Return win rates [L, C] within each category; NaN where a category has no query.

    Args:
        categories: [Q'], of the queries that the estimate rests on.
        count: C.

    Raises:
        LeaderboardError: A query is in a category beyond these.
    """
    if np.any(categories >= count):
        raise LeaderboardError(
            f"A query is in category {categories.max()}, but only {count} categories are named."
        )
    columns = np.full((len(found.outcome), count), np.nan)
    for category in np.unique(categories[categories >= 0]):
        columns[:, category] = found.win_rate_on(categories == category)
    return columns


def _removed(found: Rated, rows: NDArray[np.intp], missed: NDArray[np.integer]) -> ControlEffect | None:
    if not isinstance(found, Estimate) or found.fit is None:
        return None
    plain = found.plain_win_rate
    return ControlEffect(found.fit.effects, plain[rows], _competition_ranks(plain[rows], missed))
