"""What a person likes in each category: one taste everywhere, and others in some categories, learnt together.

Model. A person has one common list of criteria, as in `posterior`, and with probability 0.4 up to two other
lists, each drawn in the same way; such a list takes the place of the common one, or comes on top of it, as
probable as not. Which of the n lists a category goes by is unknown, each with probability 1 / n, and the same
for all choices in the category. So categories share what they have in common, and a list of its own has to
explain a category's choices better than the others' list does: partial pooling. Noise and readiness to tie
are the person's.

Which list a category goes by is summed over, not drawn:

    P(choices | lists) = Π_c Σ_t P(t) Π_{i in c} P(choice i | list t)

Inference is as in `posterior`: sequential Monte Carlo with Metropolis-Hastings moves.

What is shown. The best single list for some categories, by expected correlation with what the person likes
there, is the mean of the draws' utilities, each scaled to unit variance; the length of this mean is the
correlation. Categories are put together until every further step would cost a category more than
``DIFFERENT`` of it: people with one taste get one list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from crm.protocol import Floats
from leaderboard.elicitation.choice_model import Choice, observed_probability
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.elicitation.posterior import (
    Draws,
    Observation,
    PreferencePosterior,
    neighbours,
    prior_draws,
    systematic,
)

MAX_LISTS = 3
"""The common one included."""
OTHERS = (0.6, 0.3, 0.1)
"""Prior probability of no other list, one, and two."""
ON_TOP = 0.5
"""Prior probability that such a list comes on top of the common one."""
DIFFERENT = 0.1
"""Expected correlation by which a list of their own must be better for categories to get one."""
N_DRAWS = 3000
_MOVES = 8
_EXCHANGED = 0.5
"""Of the steps of structure, the share in which the common list and the next are exchanged."""
_TOO_FEW = 0.5
_GROWTH = 0.2


@dataclass(frozen=True, eq=False)
class _Lists:
    """N persons, each with T = ``MAX_LISTS`` lists, of which the first ``n`` are in use.

    Attributes:
        lists: For each list its N persons' weights, noise and ties; noise and ties are the first one's.
        n: Lists in use ``[N]``.
        on_top: Whether a list comes on top of the common one ``[N, T]``; never the common one itself.
    """

    lists: tuple[Draws, ...]
    n: NDArray[np.intp]
    on_top: NDArray[np.bool_]

    @classmethod
    def prior(cls, n_criteria: int, n_draws: int, random: np.random.Generator) -> _Lists:
        lists = tuple(prior_draws(n_criteria, n_draws, random) for _ in range(MAX_LISTS))
        return cls(lists, *_structure(n_draws, random))

    def at(self, rows: NDArray[np.integer]) -> _Lists:
        return _Lists(tuple(each.at(rows) for each in self.lists), self.n[rows], self.on_top[rows])

    def where(self, mask: NDArray[np.bool_], other: _Lists) -> _Lists:
        """Return the persons, those in the mask ``[N]`` replaced by the others."""
        lists = (one.where(mask, two) for one, two in zip(self.lists, other.lists, strict=True))
        n = np.where(mask, other.n, self.n)
        return _Lists(tuple(lists), n, np.where(mask[:, None], other.on_top, self.on_top))

    @cached_property
    def tastes(self) -> tuple[Draws, ...]:
        """What the person likes by each list ``[N]``, the common one's lines under those on top of it."""
        common = self.lists[0]
        return (
            common,
            *(
                Draws(
                    np.where(self.on_top[:, [row]] & (each.weights == 0), common.weights, each.weights),
                    common.noise,
                    common.tie,
                )
                for row, each in enumerate(self.lists[1:], start=1)
            ),
        )

    @property
    def log_share(self) -> NDArray[np.float64]:
        """Log prior probability that a category goes by each list ``[N, T]``."""
        used = np.arange(MAX_LISTS) < self.n[:, None]
        return np.where(used, -np.log(self.n[:, None]), -np.inf)


def _structure(n_draws: int, random: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    n = random.choice(np.arange(1, MAX_LISTS + 1), n_draws, p=OTHERS)
    on_top = random.random((n_draws, MAX_LISTS)) < ON_TOP
    on_top[:, 0] = False
    return n, on_top


@dataclass(frozen=True, eq=False)
class CategoryChoices:
    """C choices as the model sees them, each in one of G categories.

    Attributes:
        first: Relative margins of the first responses ``[C, K + 1]``.
        second: Those of the second responses ``[C, K + 1]``.
        outcome: Rows of the outcomes ``[C]``.
        category: Of each choice ``[C]``, from 0 to G − 1.
        n_categories: G, those without a choice included.
    """

    first: Floats
    second: Floats
    outcome: NDArray[np.intp]
    category: NDArray[np.intp]
    n_categories: int

    @classmethod
    def of(
        cls,
        choices: Sequence[Choice],
        margins: CriterionMargins,
        category: NDArray[np.integer],
        n_categories: int,
        noise: float = 1.0,
    ) -> CategoryChoices:
        """Return choices in their categories ``[C]``, made with so many times the usual noise."""
        query, first, second = np.array([(c.pair.query, c.pair.first, c.pair.second) for c in choices]).T
        relative = margins.relative / np.float32(noise)
        outcome = np.array([choice.outcome.row for choice in choices], dtype=np.intp)
        places = np.asarray(category, dtype=np.intp)
        return cls(relative[first, query], relative[second, query], outcome, places, n_categories)

    def before(self, stop: int) -> CategoryChoices:
        """Return the choices up to one."""
        return CategoryChoices(
            self.first[:stop],
            self.second[:stop],
            self.outcome[:stop],
            self.category[:stop],
            self.n_categories,
        )

    def log_likelihood(self, taste: Draws) -> NDArray[np.float64]:
        """Return the log probability of each category's outcomes under each of N persons ``[N, G]``."""
        first, second = (taste.coefficients @ margins.T for margins in (self.first, self.second))
        prob = observed_probability(first, second, self.outcome, taste.noise, taste.tie)
        inside = self.category[:, None] == np.arange(self.n_categories)
        return np.asarray(np.log(prob) @ inside.astype(np.float32), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class TastePosterior:
    """What is known of a person's lists after choices in G categories: N draws.

    Attributes:
        log_weight: Log weights of the draws ``[N]``.
        by_list: Log probability of each category's choices by each list ``[N, T, G]``.
        replies: What else the person did that speaks of one of the lists, unknown which.
    """

    persons: _Lists
    log_weight: NDArray[np.float64]
    by_list: NDArray[np.float64]
    seed: int

    @classmethod
    def given(
        cls,
        choices: CategoryChoices,
        n_criteria: int,
        replies: Sequence[Observation] = (),
        *,
        n_draws: int = N_DRAWS,
        seed: int = 0,
    ) -> TastePosterior:
        """Return the posterior given all choices, and replies that speak of any one of the lists."""
        random = np.random.default_rng([seed, 5])
        persons = _Lists.prior(n_criteria, n_draws, random)
        log_weight = np.zeros(n_draws)
        evidence = _Evidence(choices.before(0), tuple(replies))
        before = evidence.of(persons)
        log_weight += before.total
        start = 0
        while start < len(choices.outcome):
            start = min(len(choices.outcome), start + max(1, int(_GROWTH * start)))
            evidence = replace(evidence, choices=choices.before(start))
            now = evidence.of(persons)
            log_weight += now.total - before.total
            before = now
            prob = _normalised(log_weight)
            if 1 / np.square(prob).sum() < _TOO_FEW * n_draws:
                rows = systematic(prob, n_draws, random)
                persons, before = _moved(persons.at(rows), evidence, random)
                log_weight = np.zeros(n_draws)
        return cls(persons, log_weight, before.by_list, seed)

    @cached_property
    def probability(self) -> NDArray[np.float64]:
        """Posterior probability of each draw ``[N]``."""
        return _normalised(self.log_weight)

    @property
    def one_taste(self) -> float:
        """Posterior probability that the person has one list only."""
        return float(self.probability @ (self.persons.n == 1))

    @cached_property
    def goes_by(self) -> NDArray[np.float64]:
        """Probability that each category goes by each list, under each draw ``[N, T, G]``."""
        joint = self.by_list + self.persons.log_share[..., None]
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), dtype=np.float64)

    def likes(self, gram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of what the person likes in each category, each draw of unit variance ``[G, K]``.

        Args:
            gram: Mean products of margins under every two criteria ``[K, K]``.
        """
        mean = np.zeros((self.by_list.shape[2], len(gram)))
        for row, taste in enumerate(self.persons.tastes):
            weights = taste.weights.astype(np.float64)
            length = np.sqrt(np.maximum(np.einsum("nk,nk->n", weights @ gram, weights), 1e-12))
            mean += (self.probability[:, None] * self.goes_by[:, row]).T @ (weights / length[:, None])
        return mean

    def of(self, categories: Sequence[int], observed: tuple[Observation, ...]) -> PreferencePosterior:
        """Return what is known of the taste that some categories share, as a posterior of one taste."""
        joint = self.by_list[:, :, list(categories)].sum(axis=2) + self.persons.log_share
        share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        random = np.random.default_rng([self.seed, 6])
        drawn = (random.random((len(share), 1)) > np.cumsum(share, axis=1)).sum(axis=1)
        taste = self.persons.tastes[0]
        for row in range(1, MAX_LISTS):
            taste = taste.where(drawn == row, self.persons.tastes[row])
        return PreferencePosterior(taste, self.log_weight, observed, self.seed)


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """Log probability of all that was observed ``[N]``, and of each category's choices ``[N, T, G]``."""

    total: NDArray[np.float64]
    by_list: NDArray[np.float64]


@dataclass(frozen=True)
class _Evidence:
    choices: CategoryChoices
    replies: tuple[Observation, ...]

    def of(self, persons: _Lists) -> _Likelihood:
        by_list = np.stack([self.choices.log_likelihood(taste) for taste in persons.tastes], axis=1)
        share = persons.log_share
        total = logsumexp(by_list + share[..., None], axis=1).sum(axis=1)
        for reply in self.replies:
            spoken = np.stack([reply.log_likelihood(taste) for taste in persons.tastes], axis=1)
            total = total + logsumexp(spoken + share, axis=1)
        return _Likelihood(np.asarray(total), by_list)


def _moved(persons: _Lists, evidence: _Evidence, random: np.random.Generator) -> tuple[_Lists, _Likelihood]:
    """Return the persons after steps that leave the posterior unchanged, of a list and of which count."""
    now = evidence.of(persons)
    for _ in range(_MOVES):
        for step in (_list_step, _structure_step):
            proposed, log_ratio = step(persons, random)
            then = evidence.of(proposed)
            accepted = np.log(random.random(len(log_ratio))) < then.total - now.total + log_ratio
            persons = persons.where(accepted, proposed)
            now = _Likelihood(
                np.where(accepted, then.total, now.total),
                np.where(accepted[:, None, None], then.by_list, now.by_list),
            )
    return persons, now


def _list_step(persons: _Lists, random: np.random.Generator) -> tuple[_Lists, NDArray[np.float64]]:
    """Return persons with one list changed to a neighbour, and the log ratio of priors ``[N]``."""
    which = random.integers(0, MAX_LISTS, len(persons.n))
    lists, log_ratio = list(persons.lists), np.zeros(len(persons.n))
    for row, old in enumerate(persons.lists):
        new, possible = neighbours(old, random)
        ratio = new.log_prior - old.log_prior
        lists[row] = old.where(which == row, new)
        log_ratio = np.where(which == row, np.where(possible, ratio, -np.inf), log_ratio)
    return replace(persons, lists=tuple(lists)), log_ratio


def _structure_step(persons: _Lists, random: np.random.Generator) -> tuple[_Lists, NDArray[np.float64]]:
    """Return persons with lists in use drawn anew from the prior, or with two exchanged, and the ratio."""
    n, on_top = _structure(len(persons.n), random)
    exchange = (random.random(len(n)) < _EXCHANGED) & ~persons.on_top[:, 1]
    first, second, *others = persons.lists
    swapped = (_list_of(first, second), _list_of(second, first))
    lists = (first.where(exchange, swapped[0]), second.where(exchange, swapped[1]), *others)
    ratio = sum(new.log_prior - old.log_prior for new, old in zip(lists, persons.lists, strict=True))
    return (
        _Lists(
            lists,
            np.where(exchange, persons.n, n),
            np.where(exchange[:, None], persons.on_top, on_top),
        ),
        np.asarray(ratio),
    )


def _list_of(noise_of: Draws, weights_of: Draws) -> Draws:
    return Draws(weights_of.weights, noise_of.noise, noise_of.tie)


def _normalised(log_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(weight / weight.sum())


def groups_of(
    likes: NDArray[np.float64], gram: NDArray[np.float64], different: float = DIFFERENT
) -> list[list[int]]:
    """Return the G categories in groups that one list serves, the largest group first.

    Args:
        likes: What the person likes in each ``[G, K]``, as of ``TastePosterior.likes``.
        gram: Mean products of margins under every two criteria ``[K, K]``.
        different: Expected correlation that a shared list may cost.
    """
    groups = [[category] for category in range(len(likes))]

    def cost(one: list[int], two: list[int]) -> float:
        shared = likes[one + two].mean(axis=0)
        length = max(float(np.sqrt(shared @ gram @ shared)), 1e-12)
        parts = [likes[group].mean(axis=0) for group in (one, two)]
        lost = [np.sqrt(max(part @ gram @ part, 0.0)) - part @ gram @ shared / length for part in parts]
        return float(max(lost))

    while len(groups) > 1:
        costs = {(i, j): cost(groups[i], groups[j]) for j in range(len(groups)) for i in range(j)}
        (i, j), least = min(costs.items(), key=lambda item: item[1])
        if least > different:
            break
        groups[i] = sorted(groups[i] + groups[j])
        del groups[j]
    return sorted(groups, key=lambda group: (-len(group), group))
