"""Choices as a check of the judge: pairs drawn at random, and a ranking corrected by what was chosen of them.

Of the first dozen pairs every fourth is drawn at random, and of those after them, which teach less, every
second: a random question, and of its answers, however long, any two alike. What the person seemed to like by
then foretells the choice, so that no choice checks what was learnt from it. The other pairs are chosen for
what they teach: of them no probability is known, and they check nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaderboard.elicitation.acquisition import CandidatePairs
from leaderboard.elicitation.choice_model import Choice, Draw, ResponsePair
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.elicitation.posterior import PreferencePosterior
from leaderboard.service import Service
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.prediction_powered import (
    CorrectedWinRates,
    DuelVotes,
    corrected_win_rates,
    n_agreeing,
)
from leaderboard.statistics.ranks import competition_ranks
from leaderboard.statistics.style_control import Control
from leaderboard.statistics.win_rate import Mask
from leaderboard.view import Against, View

LEARNING = 12
"""Choices that mostly teach; those after them check as often as they teach."""
_WHILE_LEARNING, _AFTERWARDS = 4, 2
"""Every so manieth pair is drawn at random."""
FEWEST_CHECKS = 3
"""From which on a ranking is corrected: a dozen choices have as many."""
_DECIMALS = 9

Floats64 = NDArray[np.float64]


def is_check(n_before: int) -> bool:
    """Return whether the pair after so many choices is drawn at random."""
    every = _WHILE_LEARNING if n_before < LEARNING else _AFTERWARDS
    return n_before % every == every - 1


def draw_check(candidates: CandidatePairs, random: np.random.Generator) -> tuple[ResponsePair, Draw]:
    """Return two random responses to a random query, whether it was seen before or not, and how likely."""
    among = candidates.of_any_length
    usable = np.flatnonzero(among.sum(axis=0) > 1)
    query = int(random.choice(usable))
    first, second = random.permutation(np.flatnonzero(among[:, query]))[:2].tolist()
    return ResponsePair(query, first, second), Draw(float(pair_probability(among)[query]), among)


def pair_probability(among: Mask) -> Floats64:
    """Return how likely each single pair of a query's responses is drawn ``[Q]``, 0 where there is none."""
    n = among.sum(axis=0)
    usable = n > 1
    pairs = np.where(usable, n * (n - 1) / 2, 1)
    return np.asarray(usable / (pairs * max(int(usable.sum()), 1)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Check:
    """A choice between two responses drawn at random, and by what it was foretold.

    Attributes:
        coefficients: Factors of margins in the utility that the person seemed to have before ``[K + 1]``.
    """

    choice: Choice
    draw: Draw
    coefficients: Floats64

    @classmethod
    def of(cls, choice: Choice, draw: Draw, before: PreferencePosterior) -> Check:
        """Return the check of what was known of a person before a choice."""
        norm = max(float(np.linalg.norm(before.mean)), np.finfo(float).tiny)
        return cls(choice, draw, np.append(before.mean / norm, 1.0))

    def foretold(self, margins: CriterionMargins) -> Margins:
        """Return how the responses stood for the person as far as was known."""
        utility = margins.relative @ self.coefficients
        return Margins(np.where(margins.present, utility, np.nan))


@dataclass(frozen=True, eq=False)
class CorrectedRanking:
    """The shares of duels that LLMs win, by the judge and as a person's votes correct them.

    Attributes:
        llms: All respondents of the benchmark, a baseline among them; rows of the arrays.
        judged: By the judge ``[L]``, NaN for who answered nothing that can be drawn.
        corrected: By judge and votes.
        by_votes: By votes alone.
        n_votes: Choices between pairs drawn at random, on the queries ranked.
        n_agreeing: Of them went as was foretold, half of one for a tie.
    """

    llms: tuple[str, ...]
    judged: Floats64
    corrected: CorrectedWinRates
    by_votes: CorrectedWinRates
    n_votes: int
    n_agreeing: float

    @property
    def judged_ranks(self) -> NDArray[np.int64]:
        """Ranks by the judge ``[L]``, from 1."""
        return _ranks(self.judged)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Ranks as corrected ``[L]``, from 1."""
        return _ranks(self.corrected.win_rate)

    @property
    def moved(self) -> bool:
        """Whether any LLM has another rank than by the judge."""
        return bool((self.ranks != self.judged_ranks).any())

    @property
    def best_first(self) -> NDArray[np.intp]:
        """Rows of the LLMs ``[L]``, the best as corrected first, then as judged."""
        return np.lexsort((self.judged_ranks, self.ranks))


def _ranks(rate: Floats64) -> NDArray[np.int64]:
    return np.asarray(competition_ranks(-np.round(np.nan_to_num(rate, nan=-1.0), _DECIMALS)), dtype=np.int64)


def corrected_ranking(
    service: Service, view: View, checks: Sequence[Check], candidates: CandidatePairs
) -> CorrectedRanking | None:
    """Return a view's ranking as the checks correct it; None where there are fewer than ``FEWEST_CHECKS``.

    LLMs are ranked by the share of duels with each other that they win, on the queries of the view as they
    are weighed, whatever the view ranks them against. Checks on pairs that were not drawn from all of these
    do not count.

    Args:
        checks: In the order in which they were chosen.
        candidates: The pairs of the view's topics.

    Raises:
        LeaderboardError: The view's judge compares pairs only; or as ``Service.leaderboard``.
    """
    scored = service.scored(
        replace(view.whole, against=Against.ALL, control=Control.NONE, floor=None, must_have=False)
    )
    judged = scored.judged
    assert isinstance(judged, Margins)  # asked for against all
    among = candidates.of_any_length
    target = DuelTarget(among & (scored.weights > 0) & judged.present, scored.weights, view.soft)
    votes = votes_on(target, checks, candidates.margins)
    if len(votes.outcome) < FEWEST_CHECKS:
        return None
    shares = target.shares(judged)
    return CorrectedRanking(
        scored.request.llms,
        shares,
        corrected_win_rates(votes, shares),
        corrected_win_rates(votes, shares, by_votes_alone=True),
        len(votes.outcome),
        n_agreeing(votes.outcome, votes.forecast),
    )


@dataclass(frozen=True, eq=False)
class DuelTarget:
    """The duels of which shares are ranked: of all pairs of responses to a query, queries as weighed.

    Attributes:
        among: The responses ``[R, Q]``.
        weights: Of the queries ``[Q]``.
        soft: Whether a duel counts by its probability instead of as won or lost.
    """

    among: Mask
    weights: Floats64
    soft: bool = False

    @property
    def n_opponents(self) -> NDArray[np.int64]:
        """How many others each response of a query meets ``[Q]``; 0 where there are no two."""
        return np.asarray(np.maximum(self.among.sum(axis=0) - 1, 0), dtype=np.int64)

    def shares(self, margins: Margins) -> Floats64:
        """Return the share of duels that each LLM wins ``[R]``; NaN without any."""
        found = np.full(len(self.among), np.nan)
        used = np.flatnonzero((self.among.sum(axis=0) > 1) & (self.weights > 0))
        part = margins.on(used)
        among, n_others = self.among[:, used], self.n_opponents[used]
        for row in range(len(found)):
            weight = self.weights[used] * among[row]
            if weight.sum() > 0:
                others = among.copy()
                others[row] = False
                won = np.where(others, part.between(row, soft=self.soft), 0.0).sum(axis=0) / n_others
                found[row] = float(weight @ np.nan_to_num(won)) / float(weight.sum())
        return found

    def ratios(self, draw: Draw) -> Floats64:
        """Return how much more a duel on a query counts for an LLM in it than it was likely ``[R, Q]``.

        That is μ / P: μ is its share of the LLM's duels that count, P its probability among the draws of one
        of them. 0 where the LLM has no duel.
        """
        n_others = self.n_opponents
        possible = self.among & (n_others > 0) & (self.weights > 0)
        counts = np.where(possible, self.weights, 0.0)
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        share = share / np.maximum(n_others, 1)
        single = pair_probability(draw.among)
        drawn = np.where(possible, single, 0.0)
        of_llm = (drawn * n_others).sum(axis=1, keepdims=True)
        ratio = np.zeros(self.among.shape)
        np.divide(share * of_llm, drawn, out=ratio, where=drawn > 0)
        return ratio


def votes_on(target: DuelTarget, checks: Sequence[Check], margins: CriterionMargins) -> DuelVotes:
    """Return the checks as votes on the target's duels, but for those not drawn from all of them."""
    counted = [check for check in checks if _counts(target, check)]
    n_llms, n_votes = len(target.among), len(counted)
    pair, ratio = np.zeros((n_votes, 2), dtype=np.intp), np.zeros((n_votes, 2))
    outcome, forecast = np.zeros(n_votes), np.zeros(n_votes)
    expected, reach = np.zeros((n_votes, n_llms)), np.ones(n_llms)
    for vote, check in enumerate(counted):
        shown, foretold, ratios = check.choice.pair, check.foretold(margins), target.ratios(check.draw)
        pair[vote] = shown.first, shown.second
        outcome[vote] = check.choice.outcome.won
        forecast[vote] = foretold.between(shown.first, soft=target.soft)[shown.second, shown.query]
        expected[vote] = np.nan_to_num(target.shares(foretold), nan=0.5)
        ratio[vote] = ratios[pair[vote], shown.query]
        reach = np.maximum(reach, ratios.max(axis=1))
    return DuelVotes(pair, outcome, forecast, expected, ratio, reach)


def _counts(target: DuelTarget, check: Check) -> bool:
    """Return whether a check's pair is a duel of the target, and all of these could have been drawn."""
    pair = check.choice.pair
    is_duel = target.among[[pair.first, pair.second], pair.query].all() and target.weights[pair.query] > 0
    return bool(is_duel and not (target.among & (target.weights > 0) & ~check.draw.among).any())
