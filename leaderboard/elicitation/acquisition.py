"""Which two responses to show next: those whose answer is expected to teach most about the ranking.

The gain of a pair is the share of the uncertainty about the LLMs' ranks that its answer is expected to take
away,

    Σ_l Σ_o P(o) (E[s_l | o] − E[s_l])² / Σ_l Var[s_l],

the expected reduction of variance, where s_l is the place of LLM l by win rate and o runs over the
four answers; plus a little of the expected information about the weights themselves (Lindley
1956), which decides where the ranking is settled.

Beside it: how sure the ranking is that the posterior expects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crm.protocol import Floats
from leaderboard.elicitation.choice_model import ResponsePair, outcome_probabilities
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.elicitation.posterior import Draws, PreferencePosterior
from leaderboard.errors import LeaderboardError

_CANDIDATES = 4000
_SWEEPS = 2
"""How often the best pairs are exchanged for better ones of the same query."""
_FEW, _MANY = 150, 1500
"""Draws with which all candidates are judged, and those that stay to the end."""
_IMPROVED, _STAY = 60, 150
"""Pairs whose neighbours are looked at, and pairs that stay to the end."""
_CURIOSITY = 0.05
"""How much a nat of information about the weights counts beside a share of the ranking's variance."""
_QUERIES = 120
"""Ranked queries, drawn at random, on which expected win rates are taken."""
_ENOUGH = 20
"""Queries with two readable responses from which on longer responses are not candidates."""
_RANKING_DRAWS = 500
READABLE = 220
"""Words that a person reads without effort; longer responses are shown only where there are no others."""


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """The pairs that may be shown to a person, of responses to the queries of a benchmark.

    Attributes:
        allowed: Responses that may be shown ``[R, Q]``.
        ranked: Queries on which the person's ranking will rest ``[Q]``.
        with_baseline: Whether the last responses are a baseline's, against which the others are ranked; else
            all are ranked, against the mean response.
        too_long: Honest responses that are not allowed for their length alone ``[R, Q]``; by default none.
    """

    margins: CriterionMargins
    allowed: NDArray[np.bool_]
    ranked: NDArray[np.bool_]
    with_baseline: bool = True
    too_long: NDArray[np.bool_] | None = None

    @property
    def of_any_length(self) -> NDArray[np.bool_]:
        """Responses of which pairs are drawn to check the judge ``[R, Q]``, as all count in a ranking."""
        return self.allowed if self.too_long is None else self.allowed | self.too_long

    def scores(self, draws: Draws) -> Floats:
        """Return win rates of the L LLMs for each of N persons, ties broken by mean margin ``[N, L]``."""
        margins, both = self._sampled
        n_llms, n_queries = both.shape
        utility = (draws.coefficients @ margins.T).reshape(-1, n_llms, n_queries)
        answered = np.maximum(both.sum(axis=1), 1)
        won = np.count_nonzero(utility > 0, axis=2) / answered
        mean = utility.sum(axis=2) / answered
        return np.asarray(won + expit(mean) * (0.5 / n_queries), dtype=np.float32)

    @cached_property
    def _sampled(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Margins over who LLMs are ranked against on some ranked queries ``[L Q', K + 1]``, and where."""
        answerable = self.margins.present[-1] if self.with_baseline else self.margins.present.any(axis=0)
        ranked = np.flatnonzero(self.ranked & answerable)
        if len(ranked) > _QUERIES:
            ranked = np.random.default_rng(0).choice(ranked, _QUERIES, replace=False)
        answered = self.margins.present[:, ranked]
        if not self.with_baseline:
            relative = self.margins.relative[:, ranked]
            return relative.reshape(-1, relative.shape[-1]), answered
        margins = self.margins.values[:, ranked]
        both = answered[:-1] & answered[-1]
        ahead = np.where(both[..., None], margins[:-1] - margins[-1], 0).astype(np.float32)
        return ahead.reshape(-1, ahead.shape[-1]), both

    @classmethod
    def of(
        cls,
        margins: CriterionMargins,
        selected: NDArray[np.bool_],
        words: NDArray[np.integer] | None = None,
        stored: NDArray[np.bool_] | None = None,
        with_baseline: bool = True,
    ) -> CandidatePairs:
        """Return the pairs of honest responses to selected queries, readable ones if there are enough.

        Args:
            selected: Queries of the person's topics ``[Q]``.
            words: Length of each response in words ``[R, Q]``; by default none is too long.
            stored: Where there is a text to read ``[R, Q]``; by default wherever there is a response.

        Raises:
            LeaderboardError: No query has two responses to show.
        """
        honest = margins.present & ~margins.gaming & selected
        honest &= True if stored is None else stored
        readable = honest if words is None else honest & (words <= READABLE)
        for allowed, least in ((readable, _ENOUGH), (honest, 1)):
            if (allowed.sum(axis=0) > 1).sum() >= least:
                return cls(margins, allowed, selected, with_baseline, honest & ~allowed)
        raise LeaderboardError("No query here has two responses to choose from: pick other topics.")

    def draw(self, size: int, seen: frozenset[int], random: np.random.Generator) -> NDArray[np.intp]:
        """Return random rows (query, first, second) ``[size, 3]``, of unseen queries while there are any."""
        usable = self.allowed.sum(axis=0) > 1
        fresh = usable.copy()
        fresh[list(seen)] = False
        queries = random.choice(np.flatnonzero(fresh if fresh.any() else usable), size)
        lottery = np.where(self.allowed[:, queries], random.random((len(self.allowed), size)), -1)
        two = np.argsort(-lottery, axis=0)[:2]
        return np.column_stack([queries, two[0], two[1]]).astype(np.intp)

    def neighbours(self, pairs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the pairs that share query and one response with one of the pairs, rows as of ``draw``."""
        query, first, second = pairs.T
        other = np.arange(len(self.allowed))
        free = self.allowed[:, query].T & (other != first[:, None]) & (other != second[:, None])
        pair, new = np.nonzero(free)
        return np.concatenate(
            [
                np.column_stack([query[pair], new, second[pair]]),
                np.column_stack([query[pair], first[pair], new]),
            ]
        )


def random_pair(candidates: CandidatePairs, seen: frozenset[int], seed: int) -> ResponsePair:
    """Return two random responses to a query that the person has not seen yet."""
    [row] = candidates.draw(1, seen, np.random.default_rng([seed, len(seen), 2]))
    return ResponsePair(*map(int, row))


def next_pair(
    posterior: PreferencePosterior,
    candidates: CandidatePairs,
    seen: frozenset[int] = frozenset(),
    about: Callable[[Draws], Floats] | None = None,
) -> ResponsePair:
    """Return the pair with the largest gain among some thousand random ones, the same for the same choices.

    Queries that were ``seen`` before come again only when there are no others.

    Args:
        about: What is to be learnt of a person, centred with a total variance of 1 ``[N, L]``; by default how
            they rank the LLMs.
    """
    random = np.random.default_rng([posterior.seed, len(posterior.observed), 2])
    few = posterior.sample(_FEW)
    best = _best_pairs(few, candidates, candidates.draw(_CANDIDATES, seen, random), _STAY, about)
    for _ in range(_SWEEPS):
        neighbours = candidates.neighbours(best[:_IMPROVED])
        best = _best_pairs(
            few, candidates, np.unique(np.concatenate([best, neighbours]), axis=0), _STAY, about
        )
    return ResponsePair(*map(int, _best_pairs(posterior.sample(_MANY), candidates, best, 1, about)[0]))


def _best_pairs(
    draws: Draws,
    candidates: CandidatePairs,
    pairs: NDArray[np.intp],
    size: int,
    about: Callable[[Draws], Floats] | None,
) -> NDArray[np.intp]:
    """Return the pairs with the largest gains, best first ``[size, 3]``."""
    return pairs[np.argsort(-gains(draws, candidates, pairs, about), kind="stable")[:size]]


def gains(
    draws: Draws,
    candidates: CandidatePairs,
    pairs: NDArray[np.intp],
    about: Callable[[Draws], Floats] | None = None,
) -> NDArray[np.float64]:
    """Return the gain ``[C]`` of pairs (query, first, second) ``[C, 3]`` under draws of equal weight."""
    query, first, second = pairs.T
    relative = candidates.margins.relative
    prob = outcome_probabilities(
        draws.coefficients @ relative[first, query].T,
        draws.coefficients @ relative[second, query].T,
        draws.noise,
        draws.tie,
    )
    about_weights = _entropy(prob.mean(axis=1)) - _entropy(prob).mean(axis=0)
    wanted = standardised_ranks(draws, candidates) if about is None else about(draws)
    return np.asarray(explained_variance(prob, wanted) + _CURIOSITY * about_weights, dtype=np.float64)


def explained_variance(prob: Floats, ranks: Floats) -> NDArray[np.float64]:
    """Return the expected share of the ranks' variance that each of C answers takes away ``[C]``.

    Args:
        prob: Probability of each of O outcomes for each of N equally weighted draws ``[O, N, C]``.
        ranks: Standardised ranks of the LLMs, or of whatever is to be learnt ``[N, L]``.
    """
    shift = np.einsum("onc,nl->ocl", prob, ranks, optimize=True) / len(ranks)
    return np.asarray((np.square(shift).sum(axis=2) / prob.mean(axis=1)).sum(axis=0), dtype=np.float64)


def standardised_ranks(draws: Draws, candidates: CandidatePairs) -> Floats:
    """Return the ranks of the LLMs for each draw, centred and scaled to a total variance of 1 ``[N, L]``."""
    score = candidates.scores(draws)
    return standardised(score.argsort(axis=1).argsort(axis=1).astype(np.float32))


def standardised(values: Floats) -> Floats:
    """Return values ``[N, L]`` centred and scaled to a total variance of 1; zeros where nothing varies."""
    centred = values - values.mean(axis=0)
    total = float(centred.var(axis=0).sum())
    return np.asarray(centred / total**0.5 if total > 0 else centred, dtype=np.float32)


def _entropy(prob: Floats) -> Floats:
    """Return the entropy in nats over the first axis."""
    return np.asarray(-(prob * np.log(prob)).sum(axis=0))


def expected_agreement(posterior: PreferencePosterior, candidates: CandidatePairs) -> float:
    """Return the expected share of pairs of LLMs that the expected ranking has the right way round.

    That ranking is by mean rank under draws of the person's weights. The share is (1 + τ) / 2 of Kendall's τ,
    about 0.5 before the first choice.
    """
    score = candidates.scores(posterior.sample(_RANKING_DRAWS))
    ordered = score[:, (-score).argsort(axis=1).argsort(axis=1).mean(axis=0).argsort(kind="stable")]
    first, second = np.triu_indices(ordered.shape[1], 1)
    right = (ordered[:, first] > ordered[:, second]) + 0.5 * (ordered[:, first] == ordered[:, second])
    return float(right.mean()) if len(first) else 1.0
