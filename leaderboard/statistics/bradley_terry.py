"""Ranking LLMs that answered different queries: Bradley-Terry over all duels, without a single baseline.

Strengths θ explain who wins: P(i beats j) = σ(θ_i − θ_j) (Bradley & Terry 1952), ties as half a win for
both, weights as in `duels`. Shown is what they come to: the share of duels that an LLM would win against
the others if everybody had answered everything. It orders LLMs as θ does, reads as a percentage, and where
everybody did answer everything it is the plain share of duels won, whatever the model.

Two errors are drawn that more of the same queries would not mend: the judge's, and that of what an LLM did
not answer. The judge mistakes all strengths alike, so that the odds of a duel between any two LLMs err as
much as those of an LLM against a baseline were measured to. Strengths differ from category to category by τ,
which is estimated, so an LLM that answered only some categories may be stronger or weaker in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.bootstrap import RESAMPLES, bootstrap_plan, shifted
from leaderboard.statistics.columns import STATISTIC_COLUMNS
from leaderboard.statistics.duels import Duels, Margins, Meetings, coverage, duels
from leaderboard.statistics.ranking import JudgeError, Ranking, best_first, drawn_once, rank_rated
from leaderboard.statistics.win_rate import Mask

# Precision of a normal prior on every strength, as in `style_control`: felt where an LLM wins every duel.
_RIDGE = 0.01
_MAX_STEPS = 100
_SMALL_STEP = 1e-6  # the next one would be its square
_NOTHING = 1e-9
_LARGEST_STEP = 2.0
_LEAST_RATE = 0.001

# Weights of duels are sums of single precision: win rates that differ by less are equal.
_DECIMALS = 6

# So many resamples say how much of the differences between categories is the draw of queries.
_FOR_VARIANCE = 200

_Array = NDArray[np.float64]


def fit_bradley_terry(won: _Array, pairs: _Array, start: _Array | None = None) -> _Array:
    """Return strengths [L] in log-odds with mean 0, by Newton's method on a concave likelihood.

    Args:
        won: [L], weight of the duels that each LLM won, ties half.
        pairs: [L, L], weight of the duels of each pair; symmetric, 0 on the diagonal. LLMs that no chain of
            duels connects cannot be compared: the prior puts each group around 0.
        start: [L], a guess at the strengths; by default what the shares of duels won come to.
    """
    fought = pairs.sum(axis=1)
    rate = np.divide(won, fought, out=np.full_like(won, 0.5), where=fought > 0)
    strength = logit(np.clip(rate, _LEAST_RATE, 1 - _LEAST_RATE)) if start is None else start.copy()
    for _ in range(_MAX_STEPS):
        expected = expit(strength[:, np.newaxis] - strength)
        beaten = pairs * expected
        gradient = won - beaten.sum(axis=1) - _RIDGE * strength
        curvature = beaten * (
            expected - 1
        )  # as ``_curvature``, but there is nothing on the diagonal of pairs
        curvature.flat[:: len(won) + 1] = _RIDGE - curvature.sum(axis=1)
        step = np.linalg.solve(curvature, gradient)
        largest = np.abs(step).max(initial=0)
        # Newton overshoots where the curve is flat: two units of log-odds a step are safe and soon enough.
        strength += step if largest <= _LARGEST_STEP else np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
        if largest < _SMALL_STEP:
            break
    return np.asarray(strength - strength.sum() / max(1, len(strength)))


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Strengths of L LLMs, the win rates they come to, and how sure these are; see ``ranking.Rated``.

    Attributes:
        duels: On Q queries.
        strength: [L], log-odds; NaN for an LLM that is not compared.
        strata: [Q], topic index.
        judge_error: By how much the judge mistakes the duels of two LLMs on all queries alike: standard
            deviation of the win rate of one against the other in log-odds, as in ``ranking.Estimate``; or
            that for each LLM ``[L]``.
    """

    duels: Duels
    strength: _Array
    strata: NDArray[np.integer]
    judge_error: JudgeError = 0.0
    _samples: dict[tuple[int, int], NDArray[np.float32]] = field(default_factory=dict, init=False)

    @property
    def compared(self) -> Mask:
        """[L], who has a strength."""
        return ~np.isnan(self.strength)

    @cached_property
    def win_rate(self) -> _Array:
        """[L], expected share of duels won against the other compared LLMs; NaN for who is not compared."""
        return win_rates_of(self.strength)

    @property
    def n_queries(self) -> NDArray[np.int64]:
        """[L], on how many queries each strength rests."""
        return np.asarray(np.sum(self.duels.fought > 0, axis=1))

    @cached_property
    def columns(self) -> dict[str, _Array]:
        """[L] for each of ``STATISTIC_COLUMNS``, by its key."""
        outcome, weight = self.duels.outcome, self.duels.weight
        return {column.key: column.values(outcome, weight) for column in STATISTIC_COLUMNS}

    def best_first(self, llms: Sequence[str], missed: NDArray[np.integer] | None = None) -> NDArray[np.intp]:
        """[L], indices by win rate, then name; LLMs without a win rate last.

        Args:
            missed: [L], what comes before the win rate, fewer first; nothing by default.
        """
        return best_first(llms, (self.win_rate,), missed)

    def samples(self, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float32]:
        """[B, L], win rates in each resample, with the errors that more queries would not mend.

        Drawn once; nobody may write to them.
        """
        return drawn_once(self, self._samples, resamples, seed)

    def drawn(self, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float32]:
        """[B, L], win rates in each resample of queries; raises as ``bootstrap_plan``.

        Each resample takes one Newton step from the fit on all queries (k-step bootstrap, Andrews 2002), with
        its own gradient, in which every category keeps its weight, and the curvature of the fit. The step is
        taken on the scale of win rates, on which it is exact where everybody answered everything. NaN where
        one draws no query that the LLM answered.
        """
        samples = np.full((resamples, len(self.strength)), np.nan, dtype=np.float32)
        if not self.compared.any():
            return samples
        scores = np.zeros(samples.shape[::-1])
        for rows, score in self._resampled(resamples, seed):
            scores[rows] += score.T
        sampled = np.clip(self.win_rate + scores.T @ self._towards_win_rate, 0.0, 1.0)
        seen = self._draws(resamples, seed).seen
        return np.where(seen & self.compared, sampled, np.nan).astype(np.float32)

    def mistaken(self, drawn: NDArray[np.float32], *, seed: int = 0) -> NDArray[np.float32]:
        """Return win rates ``[B, L]``, as ``drawn``, with what the judge and lacking categories hide."""
        of_judge, of_categories = _normal_errors(drawn.shape, seed)
        error = of_judge * (np.asarray(self.judge_error) / np.sqrt(2)) @ self._to_log_odds
        if self.between_categories:
            error += self.between_categories * of_categories @ self._root_of_unknown.T
        return shifted(drawn, error) if error.any() else drawn

    @cached_property
    def between_categories(self) -> float:
        """τ, standard deviation in log-odds by which an LLM's strength in a category differs from its own.

        By moments: the sum of what is left in each category, squared over its curvature, less what the draw
        of queries makes of it, over what τ = 1 would.
        """
        if len(self.duels.share) == 1 or not self.compared.any():
            return 0.0
        scores = np.zeros((len(self.duels.share), min(_FOR_VARIANCE, RESAMPLES), len(self.strength)))
        for of_category, (rows, score) in zip(
            scores, self._resampled(RESAMPLES, 0, _FOR_VARIANCE), strict=True
        ):
            of_category[:, rows] = score
        curvature, pulled, spread = self._curvatures, self._pulled, self._spread_of_pulled
        step = scores.sum(axis=0) @ self._inverse
        left = found = by_unit = 0.0
        for number, residual in enumerate(self._residual_by_category):
            own = np.diagonal(curvature[number])
            per_curvature = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
            left += float(residual**2 @ per_curvature)
            noise = scores[number] - residual - step @ curvature[number]
            found += float(np.mean(noise**2, axis=0) @ per_curvature)
            apart = np.eye(len(own)) - pulled[number] - pulled[number].T + spread
            by_unit += float(np.sum((curvature[number] @ apart) * curvature[number], axis=1) @ per_curvature)
        return float(np.sqrt(max(0.0, left - found) / by_unit)) if by_unit > 0 else 0.0

    @cached_property
    def _expected(self) -> _Array:
        """[L, L], probability that the LLM of the row beats that of the column; 0.5 where one is unknown."""
        return np.nan_to_num(expit(self.strength[:, np.newaxis] - self.strength), nan=0.5)

    @cached_property
    def _residual(self) -> _Array:
        """[L, Q], weight won beyond what is expected; 0 for who is not compared."""
        return self.duels.residual(self._expected) * self.compared[:, np.newaxis]

    @cached_property
    def _residual_by_category(self) -> _Array:
        """[C, L]."""
        one = self.duels.category == np.arange(len(self.duels.share))[:, np.newaxis]
        return np.asarray(one.astype(np.float64) @ self._residual.T)

    @cached_property
    def _curvatures(self) -> _Array:
        """[C, L, L], curvature of the likelihood in each category."""
        both = self.compared[:, np.newaxis] & self.compared
        return np.stack([_curvature(pairs * both, self._expected) for pairs in self.duels.pairs])

    @cached_property
    def _inverse(self) -> _Array:
        """[L, L], symmetric, from gradients to strengths."""
        prior = np.where(self.compared, _RIDGE, 1.0)  # who is not compared has no curvature
        return np.asarray(np.linalg.inv(self._curvatures.sum(axis=0) + np.diag(prior)))

    @cached_property
    def _to_win_rate(self) -> _Array:
        """[L, L], by how much a strength of the row moves the win rate of the column."""
        both = (self.compared[:, np.newaxis] & self.compared).astype(np.float64)
        return _curvature(both, self._expected) / max(1, int(self.compared.sum()) - 1)

    @cached_property
    def _to_log_odds(self) -> _Array:
        """[L, L], by how much a strength of the row moves the log-odds of the win rate of the column."""
        rate = np.clip(np.nan_to_num(self.win_rate, nan=0.5), _LEAST_RATE, 1 - _LEAST_RATE)
        return np.asarray(self._to_win_rate / (rate * (1 - rate)))

    @cached_property
    def _towards_win_rate(self) -> _Array:
        """[L, L], by how much a gradient of the row moves the win rate of the column."""
        return np.asarray(self._inverse @ self._to_win_rate)

    @cached_property
    def _pulled(self) -> _Array:
        """[C, L, L], by how much strengths [row] follow those within a category [column]."""
        return np.asarray(self._inverse @ self._curvatures)

    @cached_property
    def _spread_of_pulled(self) -> _Array:
        """[L, L], covariance of strengths if they differed between categories with a variance of 1."""
        return np.asarray(np.einsum("cij,ckj->ik", self._pulled, self._pulled, optimize=True))

    @cached_property
    def _root_of_unknown(self) -> _Array:
        """[L, L], root of the covariance of errors in log-odds of win rates if τ were 1.

        The error of a strength is what its LLM's categories pull it to, less what all categories would, each
        by its share. It vanishes where everybody answered everything.
        """
        share = self.duels.share
        mean = np.tensordot(share, self._pulled, axes=1)
        of_strength = self._spread_of_pulled - mean - mean.T + np.eye(len(mean)) * (share @ share)
        variance, axes = np.linalg.eigh(self._to_log_odds.T @ of_strength @ self._to_log_odds)
        return np.asarray(axes * np.sqrt(np.where(variance > _NOTHING, variance, 0.0)))

    def _resampled(
        self, resamples: int, seed: int, first: int | None = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield for each category who answered any of it ``[l]``, and their gradients in it ``[B, l]``.

        Args:
            first: So many of the resamples alone; all by default.
        """
        residual = self._residual.astype(np.float32)
        for draw in self._draws(resamples, seed).by_category:
            counts, fought = draw.counts[:first].astype(np.float32), draw.fought[:first]
            won = counts @ residual[np.ix_(draw.rows, draw.queries)].T
            score = np.zeros_like(fought)
            np.divide(won * draw.weight, fought, out=score, where=fought > 0)
            yield draw.rows, score

    def _draws(self, resamples: int, seed: int) -> _Draws:
        return _draws(self.duels.meetings, self.strata.tobytes(), self.strata.dtype, resamples, seed)


@dataclass(frozen=True, eq=False)
class _DrawsOfCategory:
    """What B resamples draw of a category that l LLMs answered any of.

    Attributes:
        rows: [l], which LLMs.
        queries: [q], which queries.
        counts: [B, q], how often each is drawn.
        fought: [B, l], weight of the duels that are drawn.
        weight: [l], weight of all duels.
    """

    rows: NDArray[np.intp]
    queries: NDArray[np.intp]
    counts: NDArray[np.uint8]
    fought: NDArray[np.float32]
    weight: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class _Draws:
    """What resamples draw of who meets whom, which is the same whatever is asked.

    Attributes:
        seen: [B, L], who has an answer in the resample.
    """

    by_category: tuple[_DrawsOfCategory, ...]
    seen: Mask


@lru_cache(maxsize=4)
def _draws(
    meetings: Meetings, strata: bytes, dtype: np.dtype[np.integer], resamples: int, seed: int
) -> _Draws:
    """Return what resamples draw; raises as ``bootstrap_plan``."""
    plan = bootstrap_plan(np.frombuffer(strata, dtype=dtype), resamples=resamples, seed=seed)
    fought = meetings.fought.astype(np.float32)
    seen = np.zeros((resamples, len(fought)), dtype=np.bool_)
    found = []
    for rows, queries in meetings.blocks:
        counts, weights = plan.counts[:, queries], fought[:, queries]
        drawn = counts.astype(np.float32) @ weights[rows].T
        seen[:, rows] |= drawn > 0
        found.append(_DrawsOfCategory(rows, queries, counts, drawn, weights.sum(axis=1)[rows]))
    return _Draws(tuple(found), seen)


@lru_cache(maxsize=2)
def _normal_errors(shape: tuple[int, ...], seed: int) -> tuple[_Array, _Array]:
    """Return errors [B, L] with a standard deviation of 1, of the judge and of what is not answered."""
    random = np.random.default_rng(seed)
    return random.normal(size=shape), random.normal(size=shape)


def win_rates_of(strength: _Array) -> _Array:
    """Expected share of duels won against the others who have a strength [L]; 0.5 for the only one."""
    known = ~np.isnan(strength)
    expected = expit(strength[known, np.newaxis] - strength[known])
    rates = np.full(len(strength), np.nan)
    rates[known] = (expected.sum(axis=1) - 0.5) / (known.sum() - 1) if known.sum() > 1 else 0.5
    return np.round(rates, _DECIMALS)


def bradley_terry(
    margins: Margins,
    strata: NDArray[np.integer],
    categories: NDArray[np.integer],
    *,
    used: Mask,
    compared: Mask,
    weights: NDArray[np.floating] | None = None,
    soft: bool = False,
    judge_error: JudgeError = 0.0,
) -> BradleyTerry:
    """Return strengths and win rates on the queries in use; the other arguments are as in ``rank_by_duels``.

    Args:
        used: [Q], which queries count.
        compared: [L], who is; as a rule ``Coverage.comparable``. The others' duels do not count.
        judge_error: Of duels that are decided; an LLM's is smaller by the share of its duels that are tied.

    Raises:
        LeaderboardError: as ``duels``.
    """
    known = np.where(compared[:, np.newaxis], margins.asked, np.nan)
    among = Margins(known, margins.penalty, margins.alike, margins.surely)
    found = duels(among, categories, used=used, weights=weights, soft=soft)
    met = found.meetings
    strength = _strengths(found.won.sum(axis=1), met.all_pairs, met.connected)
    if np.any(judge_error):  # of what neither has there is nothing to be mistaken
        judge_error = judge_error * among.share_decided(used)
    return BradleyTerry(found, strength, strata[found.kept], judge_error)


def rank_by_duels(
    llms: Sequence[str],
    margins: Margins,
    strata: NDArray[np.integer],
    categories: NDArray[np.integer],
    category_names: Sequence[str],
    *,
    selected: Mask | None = None,
    chosen: Mask | None = None,
    weights: NDArray[np.floating] | None = None,
    soft: bool = False,
    under_floor: Mask | None = None,
    missed: NDArray[np.integer] | None = None,
    judge_error: JudgeError = 0.0,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Ranking:
    """Rank LLMs by their expected share of duels won against the others; see ``duels`` for the weights.

    Who lacks a chosen topic, or shares no chain of queries with most others, has no rank (``UNRANKED``), and
    its duels do not count. Win rates within a category are against the others who answered in it.

    Args:
        llms: L different names.
        margins: of the L LLMs on Q queries.
        strata: [Q], topic index of each query; the bootstrap resamples within topics.
        categories: [Q], index into ``category_names``, or −1 for a query of no category shown.
        category_names: C names, one column each.
        selected: [Q], which queries count; all by default.
        chosen: [K, Q], the queries of each topic that was chosen by name, as for ``duels.coverage``.
        weights: [Q], how much each query counts, on any scale; a weight of 0 deselects the query.
        soft: let the probability itself count instead of a win, tie or loss.
        under_floor: As in ``rank_llms``, like ``missed`` and ``judge_error``.

    Raises:
        LeaderboardError: if arrays do not match or a category index has no name; as in ``rank_rated`` and
            ``duels``.
    """
    _check_shapes(llms, margins, strata, categories)
    if np.any(categories >= len(category_names)):
        raise LeaderboardError(
            f"A query is in category {categories.max()}, but only {len(category_names)} categories are named."
        )
    used = np.ones(len(strata), dtype=np.bool_) if selected is None else np.asarray(selected, dtype=np.bool_)
    counted = used if weights is None else used & (np.asarray(weights) > 0)
    covered = coverage(margins.asked, categories, len(category_names), used=counted, chosen=chosen)
    found = bradley_terry(
        margins,
        strata,
        categories,
        used=used,
        compared=covered.comparable,
        weights=weights,
        soft=soft,
        judge_error=judge_error,
    )
    return rank_rated(
        llms,
        found,
        category_names,
        duels_by_category(found, categories, len(category_names)),
        under_floor=under_floor,
        missed=missed,
        resamples=resamples,
        seed=seed,
    )


def _check_shapes(
    llms: Sequence[str], margins: Margins, strata: NDArray[np.integer], categories: NDArray[np.integer]
) -> None:
    expected = len(llms), len(strata)
    if margins.asked.shape != expected:
        raise LeaderboardError(
            f"The margins must be of {len(llms)} LLMs × {len(strata)} queries, not {margins.asked.shape}."
        )
    if categories.shape != strata.shape:
        raise LeaderboardError(
            f"Give one category for each of the {len(strata)} queries, not {categories.shape}."
        )


def duels_by_category(found: BradleyTerry, categories: NDArray[np.integer], count: int) -> _Array:
    """Win rates [L, C] among those who answered in a category; NaN for who did not.

    Args:
        categories: [Q], of all queries, in use or not.
        count: C.
    """
    fought = found.duels
    columns = np.full((len(found.strength), count), np.nan)
    for number, category in enumerate(np.unique(categories[fought.kept])):
        if category >= 0:
            won, connected = fought.won[:, fought.category == number], fought.meetings.connected_within
            columns[:, category] = win_rates_of(
                _strengths(won.sum(axis=1), fought.pairs[number], connected[number], found.strength)
            )
    return columns


def _strengths(won: _Array, pairs: _Array, compared: Mask, start: _Array | None = None) -> _Array:
    """Strengths [L] of the LLMs that chains of duels connect; NaN for everybody else."""
    guess = None if start is None else np.nan_to_num(start[compared])
    strength = np.full(len(won), np.nan)
    strength[compared] = fit_bradley_terry(won[compared], pairs[np.ix_(compared, compared)], guess)
    return strength


def _curvature(weight: _Array, expected: _Array) -> _Array:
    """Minus the second derivatives [L, L] of the log-likelihood: p (1 − p) a pair, as a graph's Laplacian.

    Args:
        weight: [L, L], of pairs; read as 0 on the diagonal.
    """
    spread = weight * expected * (1 - expected)
    np.fill_diagonal(spread, 0.0)
    return np.asarray(np.diag(spread.sum(axis=1)) - spread)
