"""Win rates by a judge, corrected by a person's votes: prediction-powered inference, anytime-valid.

A judge has an opinion on every duel of two LLMs, a person on the few that they were shown. The judge's mean
over all duels of an LLM is moved by how far the votes differ from what the judge expected of them
(Angelopoulos et al. 2023; of LLMs Boyeau et al. 2024, AutoEval). One vote gives for an LLM in it

    x = ½ + λ (F − ½) + r [(y − ½) − λ (f − ½)]

with y what the vote says, f what the judge expected of this duel, F its mean over the LLM's duels, and r how
much more the duel counts than it was likely to be drawn (inverse probability). The mean of x given all that
was before is the LLM's win rate θ, whatever the judge is worth and however it has learnt from earlier votes,
as long as f, F and λ were fixed before the vote: x − θ are differences of a martingale (Zrnic and Candès
2024, Active statistical inference). Only duels drawn at random count; the probability is known of no others.

λ is how far the judge is trusted: 0 counts votes alone, 1 takes its word. It is the slope of earlier votes on
what the judge expected of them, which makes the variance smallest (PPI++, Angelopoulos et al. 2023), of all
LLMs together, as there are few votes on each.

Intervals are confidence sequences by betting (Waudby-Smith and Ramdas 2024, section 4): all θ against which
nobody won twenty times their stake by fair bets, half of it on x and half on x with λ = 0, which a few votes
say more by. They hold at every number of votes at once, so also where somebody stops because they are
convinced, and for any number of votes, however few.

The estimate by which LLMs are ordered starts from the judge's win rate, drawn towards ½ by λ, and is moved to
the votes' own as far as these differ from LLM to LLM by more than chance (Fay and Herriot 1979): a few votes
change no place. It is never outside the interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from leaderboard.errors import LeaderboardError

LEVEL = 0.95
"""Probability with which a win rate stays inside its interval at every number of votes."""
_TRUST, _TRUST_VOTES = 0.5, 4.0
"""λ before the first vote, and how many votes of a judge that is sure this is worth."""
_STAKES = np.linspace(0.05, 0.95, 10)
"""Shares of a fortune that are bet, one tenth of it on each."""
_TRIED = np.linspace(0.005, 0.995, 199)
"""Win rates that are bet against."""
_STEP = float(_TRIED[1] - _TRIED[0])
_LEAST_VARIANCE = 0.02
"""Of a vote's x, below which no pooled variance is taken to be."""
_AS_JUDGED = 12.0
"""Votes with which all LLMs are taken to stand as the judge says, beside those that were given."""
_BY_CHANCE = 0.05
"""Probability by chance, were the judge right, of votes that move LLMs apart."""
_HALF = 0.5

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DuelVotes:
    """T votes on duels between L LLMs that were drawn at random, in the order in which they were given.

    Attributes:
        pair: The two LLMs of each, by row ``[T, 2]``.
        outcome: What the vote gives the first: 1, 0, or ½ for a tie ``[T]``.
        forecast: What the judge expected that to be, before it knew the vote ``[T]``, in [0, 1].
        expected: What it expected on average of all duels of each LLM, at that time ``[T, L]``.
        ratio: How much more the duel counts for each of the two than it was likely to be drawn, among the
            duels of this LLM; its mean over draws is 1 ``[T, 2]``.
        reach: The largest ratio that a duel of each LLM could have had ``[L]``.
    """

    pair: NDArray[np.intp]
    outcome: Floats
    forecast: Floats
    expected: Floats
    ratio: Floats
    reach: Floats


@dataclass(frozen=True, eq=False)
class CorrectedWinRates:
    """Win rates of L LLMs after a person's votes.

    Attributes:
        win_rate: By which LLMs are ordered ``[L]``; never outside the interval.
        unbiased: The mean of what the votes give ``[L]``, which may be outside 0 to 1; NaN without votes.
        low, high: Ends of the interval ``[L]``: 0 and 1 without votes.
        n_votes: How many votes an LLM is in ``[L]``.
        trust: λ after all votes.
    """

    win_rate: Floats
    unbiased: Floats
    low: Floats
    high: Floats
    n_votes: NDArray[np.int64]
    trust: float

    @property
    def apart(self) -> bool:
        """Whether any two LLMs' intervals do not overlap."""
        return bool(self.low.max(initial=0.0) > self.high.min(initial=1.0))


@dataclass(frozen=True)
class CorrectedMean:
    """One mean after some votes: its unbiased estimate (NaN without votes), and its interval."""

    estimate: float
    low: float
    high: float


def n_agreeing(outcome: Floats, forecast: Floats) -> float:
    """Return how many of T votes went as the judge expected, half of one where either saw no difference."""
    return float((_HALF + (outcome - _HALF) * np.sign(forecast - _HALF)).sum())


def trust_before_votes(outcome: Floats, forecast: Floats) -> Floats:
    """Return λ before each of T votes, and after all of them ``[T + 1]``, in [0, 1].

    The slope through (½, ½) of what votes gave on what was expected of them, with a little trust at first.
    """
    ahead, given = forecast - _HALF, outcome - _HALF
    first = _TRUST_VOTES * _HALF**2
    product = np.concatenate([[0.0], np.cumsum(ahead * given)])
    square = np.concatenate([[0.0], np.cumsum(ahead**2)])
    return np.asarray(np.clip((product + _TRUST * first) / (square + first), 0.0, 1.0))


def corrected_mean(
    outcome: Floats,
    forecast: Floats,
    expected: Floats,
    trust: Floats,
    *,
    ratio: Floats | float = 1.0,
    reach: float = 1.0,
) -> CorrectedMean:
    """Return the mean outcome of all that could have been drawn, from T votes, each argument ``[T]``.

    The arguments are as in ``DuelVotes``, of one LLM; ``trust`` is λ before each vote.

    Raises:
        LeaderboardError: A ratio is negative or above ``reach``, so that the interval would not hold.
    """
    if np.any(np.asarray(ratio) < 0) or np.any(np.asarray(ratio) > reach * (1 + 1e-9)):
        raise LeaderboardError(
            "A vote counts more than any could: give each the probability with which its pair was drawn."
        )

    def values(believed: Floats) -> tuple[Floats, Floats]:
        middle = _HALF + believed * (expected - _HALF)
        found = middle + ratio * ((outcome - _HALF) - believed * (forecast - _HALF))
        furthest = reach * (1 + believed) / 2
        return found, _fortunes(found, middle - furthest, middle + furthest)

    (_, by_votes), (corrected, with_judge) = values(np.zeros_like(trust)), values(trust)
    low, high = _not_refuted((by_votes + with_judge) / 2)
    return CorrectedMean(float(corrected.mean()) if len(corrected) else np.nan, low, high)


def _fortunes(values: Floats, least: Floats, most: Floats) -> Floats:
    """Return what a stake of 1 has become by fair bets against each of M tried means ``[T + 1, M]``.

    Args:
        values: ``[T]``; their mean, given those before, is the one that is looked for.
        least, most: Between which each had to be, known before it ``[T]``.
    """
    ahead = values[:, None] - _TRIED
    up = ahead / np.maximum(_TRIED - least[:, None], _STEP)
    down = -ahead / np.maximum(most[:, None] - _TRIED, _STEP)
    won = [np.cumprod(1 + _STAKES[:, None, None] * gain, axis=1).mean(axis=0) for gain in (up, down)]
    return np.concatenate([np.ones((1, len(_TRIED))), (won[0] + won[1]) / 2])


def _not_refuted(fortune: Floats) -> tuple[float, float]:
    """Return between which of the tried means those lie that never made anybody rich, from ``[T + 1, M]``."""
    left = np.flatnonzero(fortune.max(axis=0) < 1 / (1 - LEVEL))
    if not len(left):  # votes so unlike each other that every mean was refuted at one time or another
        return 0.0, 1.0
    # What lies between a refuted mean and the next was not tried.
    low = 0.0 if left[0] == 0 else float(_TRIED[left[0] - 1])
    high = 1.0 if left[-1] == len(_TRIED) - 1 else float(_TRIED[left[-1] + 1])
    return low, high


def corrected_win_rates(
    votes: DuelVotes, judged: Floats, *, by_votes_alone: bool = False
) -> CorrectedWinRates:
    """Return the win rates of L LLMs as a person's votes correct them.

    Args:
        judged: Win rates by the judge as it is now, which may have learnt from all these votes ``[L]``.
        by_votes_alone: λ = 0, and nothing of the judge in the estimate: what votes say by themselves.

    Raises:
        LeaderboardError: As ``corrected_mean``.
    """
    trust = trust_before_votes(votes.outcome, votes.forecast)
    if by_votes_alone:
        trust = np.zeros_like(trust)
    n_llms = len(judged)
    found, of_llm = [], []
    for llm in range(n_llms):
        rows, side = np.nonzero(votes.pair == llm)
        sign = np.where(side == 0, 1.0, -1.0)
        outcome = _HALF + sign * (votes.outcome[rows] - _HALF)
        forecast = _HALF + sign * (votes.forecast[rows] - _HALF)
        found.append(
            corrected_mean(
                outcome,
                forecast,
                votes.expected[rows, llm],
                trust[rows],
                ratio=votes.ratio[rows, side],
                reach=float(votes.reach[llm]),
            )
        )
        of_llm.append(len(rows))
    unbiased = np.array([each.estimate for each in found])
    low, high = (np.array([getattr(each, end) for each in found]) for end in ("low", "high"))
    n_votes = np.array(of_llm, dtype=np.int64)
    last = float(trust[-1])
    rate = np.where(n_votes > 0, unbiased, _HALF)
    if not by_votes_alone:
        residual = (votes.outcome - _HALF) - trust[:-1] * (votes.forecast - _HALF)
        rate = _moved(_HALF + last * (judged - _HALF), unbiased, n_votes, residual)
    return CorrectedWinRates(np.clip(rate, low, high), unbiased, low, high, n_votes, last)


def _moved(start: Floats, unbiased: Floats, n_votes: NDArray[np.int64], residual: Floats) -> Floats:
    """Return win rates ``[L]`` between the judge's and those of the votes (Fay and Herriot 1979)."""
    voted = n_votes > 0
    if not voted.any():
        return start
    variance = max(float(np.square(residual).mean()), _LEAST_VARIANCE)
    apart, of_votes = (unbiased - start)[voted], variance / n_votes[voted]
    if (apart**2 / of_votes).sum() <= chdtri(int(voted.sum()), _BY_CHANCE):
        return start
    beyond = n_votes[voted] * (apart**2 - of_votes)
    between = max(0.0, float(beyond.sum() / (n_votes[voted].sum() + _AS_JUDGED)))
    moved = start.copy()
    moved[voted] += apart * between / (between + of_votes)
    return moved
