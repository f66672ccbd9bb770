"""Win rates with the bootstrap samples they are judged by: plain, or controlled for length or style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import NoQueriesError, ShapeError
from leaderboard.statistics.interval import RESAMPLES, bootstrap_win_rates
from leaderboard.statistics.length_control import (
    ControlledFit,
    bootstrap_controlled,
    controlled_within,
    fit_controlled,
)
from leaderboard.statistics.weights import effective_number
from leaderboard.statistics.win_rate import checked_weights, outcomes, win_rates

# Win rates that agree to so many decimals are tied: sums of the same terms in another order differ by less.
TIE_DECIMALS = 12


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
    """

    outcome: NDArray[np.float64]
    weight: NDArray[np.float64]
    strata: NDArray[np.integer]
    plain_win_rate: NDArray[np.float64]
    mean_prob: NDArray[np.float64]
    terms: NDArray[np.float64] | None = None
    fit: ControlledFit | None = None

    @property
    def win_rate(self) -> NDArray[np.float64]:
        """[L], controlled if anything is controlled for."""
        return self.plain_win_rate if self.fit is None else self.fit.win_rate

    def best_first(self, llms: Sequence[str]) -> NDArray[np.intp]:
        """[L], indices by win rate, then mean probability, then name; LLMs without a win rate last."""
        keys = np.round(self.mean_prob, TIE_DECIMALS), np.round(self.win_rate, TIE_DECIMALS)
        return np.lexsort((np.array(llms, dtype=str), *(-key for key in keys)))

    @property
    def n_queries(self) -> NDArray[np.int64]:
        """[L], on how many queries each win rate rests."""
        count: NDArray[np.int64] = np.sum(~np.isnan(self.outcome), axis=1)
        return count

    @property
    def n_effective(self) -> NDArray[np.float64]:
        """[L], how many queries of equal weight each win rate is worth; at most ``n_queries``."""
        return effective_number(~np.isnan(self.outcome) * self.weight)

    def samples(self, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float32]:
        """[B, L], the win rates in each resample; NaN where one draws no query the LLM has a response to.

        Raises:
            OptionError: if ``resamples`` or ``seed`` is out of range.
        """
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


def estimate(
    prob: NDArray[np.floating],
    strata: NDArray[np.integer],
    *,
    used: NDArray[np.bool_],
    weights: NDArray[np.floating] | None = None,
    soft: bool = False,
    terms: NDArray[np.floating] | None = None,
) -> Estimate:
    """Win rates on the queries in use.

    Args:
        prob: [L, Q], probability that the LLM's response is preferred to the baseline's, NaN where missing.
        strata: [Q], topic index of each query.
        used: [Q], which queries count.
        weights: [Q], how much each query counts, on any scale; a weight of 0 leaves the query out.
        soft: mean probabilities instead of the share of queries won.
        terms: [L, Q, P], what is to be controlled for (``leaderboard.control``).

    Raises:
        NoQueriesError: if no query is in use.
        ShapeError: if ``terms`` does not match ``prob``.
        ProbabilityError, WeightsError: as in ``win_rate``.
    """
    all_weights = checked_weights(weights, len(strata))
    counted = used & (all_weights > 0)
    if not counted.any():
        raise NoQueriesError("No query is selected: choose at least one topic that has queries.")
    outcome, weight = outcomes(prob[:, counted], soft=soft), all_weights[counted]
    plain, mean_prob = win_rates(outcome, weight), win_rates(prob[:, counted], weight)
    if terms is None:
        return Estimate(outcome, weight, strata[counted], plain, mean_prob)
    if terms.shape[:2] != prob.shape:
        raise ShapeError(f"Give the terms of {prob.shape} responses, not of {terms.shape[:2]}.")
    kept = np.asarray(terms[:, counted], dtype=np.float64)
    fit = fit_controlled(outcome, kept, weight)
    return Estimate(outcome, weight, strata[counted], plain, mean_prob, kept, fit)
