"""Which two responses to show next: those whose answer is expected to teach most about the ranking.

The gain of a pair is the share of the uncertainty about the LLMs' places that its answer is expected to take
away,

    Σ_l Σ_o P(o) (E[s_l | o] − E[s_l])² / Σ_l Var[s_l],

the expected reduction of variance, where s_l is the place of LLM l by win rate against the baseline and o
runs over the four answers; plus a little of the expected information about the weights themselves (Lindley
1956), which decides where the ranking is settled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crm.protocol import Floats
from leaderboard.errors import NoPairsError
from leaderboard.personal.choice import Pair, answer_probabilities
from leaderboard.personal.material import Material
from leaderboard.personal.person import Draws, Person

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
"""Queries with two readable responses from which on longer responses are not shown."""
READABLE = 220
"""Words that a person reads without effort; longer responses are shown only where there are no others."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What may be shown to a person.

    Attributes:
        material: The benchmark's.
        allowed: Responses that may be shown ``[R, Q]``.
        ranked: Queries on which the person's ranking will rest ``[Q]``.
    """

    material: Material
    allowed: NDArray[np.bool_]
    ranked: NDArray[np.bool_]

    def scores(self, draws: Draws) -> Floats:
        """Win rates of the LLMs for each of N persons, ties broken by mean margin ``[N, R − 1]``."""
        margins, both = self._sampled
        n_llms, n_queries = both.shape
        utility = (draws.folded @ margins.T).reshape(-1, n_llms, n_queries)
        answered = np.maximum(both.sum(axis=1), 1)
        won = np.count_nonzero(utility > 0, axis=2) / answered
        mean = utility.sum(axis=2) / answered
        return np.asarray(won + expit(mean) * (0.5 / n_queries), dtype=np.float32)

    @cached_property
    def _sampled(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Margins over the baseline on some ranked queries ``[(R − 1) Q', K + 1]``, and where there are any.

        Where an LLM or the baseline has no response they are zeros.
        """
        ranked = np.flatnonzero(self.ranked & self.material.answered[-1])
        if len(ranked) > _QUERIES:
            ranked = np.random.default_rng(0).choice(ranked, _QUERIES, replace=False)
        margins, answered = self.material.margins[:, ranked], self.material.answered[:, ranked]
        both = answered[:-1] & answered[-1]
        ahead = np.where(both[..., None], margins[:-1] - margins[-1], 0).astype(np.float32)
        return ahead.reshape(-1, ahead.shape[-1]), both

    @classmethod
    def of(
        cls,
        material: Material,
        selected: NDArray[np.bool_],
        words: NDArray[np.integer] | None = None,
        stored: NDArray[np.bool_] | None = None,
    ) -> Shown:
        """The honest responses to selected queries ``[Q]``, those of readable length where there are enough.

        Args:
            material: The benchmark's.
            selected: Queries of the person's topics ``[Q]``.
            words: Length of each response in words ``[R, Q]``; by default none is too long.
            stored: Where there is a text to read ``[R, Q]``; by default wherever there is a response.

        Raises:
            NoPairsError: No query has two responses to show.
        """
        honest = material.answered & ~material.suspected & selected
        honest &= True if stored is None else stored
        readable = honest if words is None else honest & (words <= READABLE)
        for allowed, least in ((readable, _ENOUGH), (honest, 1)):
            if (allowed.sum(axis=0) > 1).sum() >= least:
                return cls(material, allowed, selected)
        raise NoPairsError("No query here has two responses to choose from: pick other topics.")

    def candidates(self, size: int, seen: frozenset[int], random: np.random.Generator) -> NDArray[np.intp]:
        """Random rows (query, first, second) ``[size, 3]``, of queries not seen while there are any."""
        usable = self.allowed.sum(axis=0) > 1
        fresh = usable.copy()
        fresh[list(seen)] = False
        queries = random.choice(np.flatnonzero(fresh if fresh.any() else usable), size)
        lottery = np.where(self.allowed[:, queries], random.random((len(self.allowed), size)), -1)
        two = np.argsort(-lottery, axis=0)[:2]
        return np.column_stack([queries, two[0], two[1]]).astype(np.intp)

    def neighbours(self, pairs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Pairs that share query and one response with one of the pairs, rows as of ``candidates``."""
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


def random_pair(shown: Shown, seen: frozenset[int], seed: int) -> Pair:
    """Two random responses to a query that the person has not seen yet."""
    [row] = shown.candidates(1, seen, np.random.default_rng([seed, len(seen), 2]))
    return Pair(*map(int, row))


def next_pair(person: Person, shown: Shown, seen: frozenset[int] = frozenset()) -> Pair:
    """The pair with the largest gain among some thousand random ones; always the same for the same choices.

    Args:
        person: What is known of the person.
        shown: What may be shown.
        seen: Queries that have been shown; they come again only when there are no others.
    """
    random = np.random.default_rng([person.seed, len(person.observed), 2])
    few = person.sample(_FEW)
    best = _best(few, shown, shown.candidates(_CANDIDATES, seen, random), _STAY)
    for _ in range(_SWEEPS):
        neighbours = shown.neighbours(best[:_IMPROVED])
        best = _best(few, shown, np.unique(np.concatenate([best, neighbours]), axis=0), _STAY)
    return Pair(*map(int, _best(person.sample(_MANY), shown, best, 1)[0]))


def _best(draws: Draws, shown: Shown, candidates: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """The candidates with the largest gains, best first ``[size, 3]``."""
    return candidates[np.argsort(-gains(draws, shown, candidates), kind="stable")[:size]]


def gains(draws: Draws, shown: Shown, candidates: NDArray[np.intp]) -> NDArray[np.float64]:
    """Gain ``[C]`` of candidates, rows (query, first, second) ``[C, 3]``, under draws of equal weight."""
    query, first, second = candidates.T
    relative = shown.material.relative
    prob = answer_probabilities(
        draws.folded @ relative[first, query].T,
        draws.folded @ relative[second, query].T,
        draws.noise,
        draws.tie,
    )
    about_weights = _entropy(prob.mean(axis=1)) - _entropy(prob).mean(axis=0)
    about_ranking = variance_taken(prob, standardised_places(draws, shown))
    return np.asarray(about_ranking + _CURIOSITY * about_weights, dtype=np.float64)


def variance_taken(prob: Floats, places: Floats) -> NDArray[np.float64]:
    """Expected share of the places' variance that each of C answers takes away ``[C]``.

    Args:
        prob: Probability of each of O outcomes for each of N equally weighted draws ``[O, N, C]``.
        places: Standardised places of the LLMs ``[N, L]``.
    """
    shift = np.einsum("onc,nl->ocl", prob, places, optimize=True) / len(places)
    return np.asarray((np.square(shift).sum(axis=2) / prob.mean(axis=1)).sum(axis=0), dtype=np.float64)


def standardised_places(draws: Draws, shown: Shown) -> Floats:
    """Places of the LLMs for each draw, centred and scaled to a total variance of 1 ``[N, L]``."""
    score = shown.scores(draws)
    places = score.argsort(axis=1).argsort(axis=1).astype(np.float32)
    places -= places.mean(axis=0)
    total = float(places.var(axis=0).sum())
    return places / np.float32(total**0.5) if total > 0 else places


def _entropy(prob: Floats) -> Floats:
    """Entropy in nats over the first axis."""
    return np.asarray(-(prob * np.log(prob)).sum(axis=0))
