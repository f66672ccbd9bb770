"""What is known of a person: draws from the posterior of their weights, given their choices.

Model. A person follows one to eight criteria of the library: n of them with a probability that falls as
n^−``FEW``, the faster the less they err; which, is uniform. Each is Essential, Important or Optional (1,
0.7, 0.3) with equal probability, and to be avoided with probability ``AVOIDED``. Their utility of a
response is the judge's own log-odds for such a set: Σ w_k m_k / ‖w‖ with m_k the response's margin under
criterion k, less what the judge takes off gaming. Choices follow ``choice_model.outcome_probabilities``, a
logistic regression with ties, in which the person's noise and readiness to tie are unknown too.

Inference. Sequential Monte Carlo (Chopin 2002): N draws of the prior are reweighted by each choice; when they
have become too unequal they are resampled and moved by Metropolis-Hastings steps that leave the posterior
unchanged. Sparsity is thus exact, as with a spike-and-slab prior: a criterion's weight is zero in most draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Weight
from crm.protocol import Floats
from leaderboard.elicitation.choice_model import Choice, outcome_probabilities
from leaderboard.elicitation.margins import CriterionMargins

N_DRAWS = 3000
MAX_CRITERIA = 8
"""More than most people would name: a wish in other words takes several criteria of the library to say."""
AVOIDED = 0.25
"""Prior probability that a criterion the person follows is one to avoid."""
NOISES = (0.05, 0.3, 1.0, 2.0)
"""The least is of a person who goes by one thing, however small the difference between two answers."""
FEW = (2.0, 1.0, 0.0, 0.0)
"""How steeply the probability of a number of criteria falls, for each noise. Who never errs goes by one thing
or two: with every number alike the longer lists that fit a dozen choices as well would hide a plain habit
(benchmarks/plain_habits.py). Who does not go by little may follow many, and was mistaken for somebody with
one wish where few were expected of everybody (benchmarks/simulated_users.py)."""
TIES = (0.2, 0.8)
GRADES = tuple(weight.value_in_sum for weight in Weight)
_NOISES = np.array(NOISES, dtype=np.float32)
_MOVES = 5
_SWAP, _REGRADE, _ADD, _DROP, _TEMPER = _KINDS = range(5)
"""Of steps from a person to a neighbour."""
_TOO_FEW = 0.5
"""Share of N below which the effective number of draws calls for new ones."""
ELSEWHERE = 2.0
"""How many times noisier choices are that were made elsewhere. A person's reasons there are also what no
criterion of the library says, such as which answer was right (docs/history.md)."""
_GROWTH = 0.2
"""Share of the choices taken so far that are taken up next: the posterior moves little at a time."""


@dataclass(frozen=True, eq=False)
class Draws:
    """N persons.

    Attributes:
        weights: Signed weights, 0 for criteria that the person does not follow ``[N, K]``.
        noise: T ``[N]``.
        tie: ν ``[N]``.
    """

    weights: Floats
    noise: Floats
    tie: Floats

    @cached_property
    def coefficients(self) -> Floats:
        """The weights divided by their norm, and 1 for what the judge takes off gaming ``[N, K + 1]``."""
        norm = np.linalg.norm(self.weights, axis=1, keepdims=True)
        return np.hstack([self.weights / norm, np.ones_like(norm)]).astype(np.float32)

    @cached_property
    def n_followed(self) -> NDArray[np.intp]:
        """How many criteria each of the persons follows ``[N]``."""
        return np.asarray(np.count_nonzero(self.weights, axis=1), dtype=np.intp)

    @cached_property
    def log_prior(self) -> NDArray[np.float64]:
        """Log probability of following so many criteria for each of the persons, by their noise ``[N]``."""
        most = min(MAX_CRITERIA, self.weights.shape[1])
        log_prob = np.log([_prob_of_number(few, most) for few in FEW])
        # Lists of one person together may have more.
        number = np.minimum(self.n_followed, most) - 1
        return np.asarray(log_prob[np.searchsorted(_NOISES, self.noise), number])

    def at(self, rows: NDArray[np.integer]) -> Draws:
        """Return some of the persons, in the given order."""
        return Draws(self.weights[rows], self.noise[rows], self.tie[rows])

    def where(self, mask: NDArray[np.bool_], other: Draws) -> Draws:
        """Return the persons, those in the mask ``[N]`` replaced by the others."""
        return Draws(
            np.where(mask[:, None], other.weights, self.weights),
            np.where(mask, other.noise, self.noise),
            np.where(mask, other.tie, self.tie),
        )

    def log_likelihood(self, observed: Sequence[Observation]) -> NDArray[np.float64]:
        """Return the log probability of all that was observed, under each person ``[N]``."""
        return sum((item.log_likelihood(self) for item in observed), np.zeros(len(self.noise)))


class Observation(Protocol):
    """Something that a person did and that depends on their weights."""

    def log_likelihood(self, draws: Draws) -> NDArray[np.float64]:
        """Return the log probability that each of the persons does it ``[N]``."""


@dataclass(frozen=True, eq=False)
class ObservedChoices:
    """C choices as the model sees them, at once.

    Attributes:
        first: Relative margins of the first responses ``[C, K + 1]``.
        second: Those of the second responses ``[C, K + 1]``.
        outcome: Rows of the outcomes ``[C]``.
    """

    first: Floats
    second: Floats
    outcome: NDArray[np.intp]

    def log_likelihood(self, draws: Draws) -> NDArray[np.float64]:
        """Return the log probability of all the outcomes under each person ``[N]``."""
        first, second = (draws.coefficients @ margins.T for margins in (self.first, self.second))
        prob = outcome_probabilities(first, second, draws.noise, draws.tie)
        observed = prob[self.outcome, :, np.arange(len(self.outcome))]
        return np.asarray(np.log(observed).sum(axis=0), dtype=np.float64)

    @classmethod
    def of(cls, choices: Sequence[Choice], margins: CriterionMargins, noise: float = 1.0) -> ObservedChoices:
        """Return choices between responses, made with so many times the usual noise."""
        query, first, second = np.array([(c.pair.query, c.pair.first, c.pair.second) for c in choices]).T
        relative = margins.relative
        return cls(
            relative[first, query] / np.float32(noise),
            relative[second, query] / np.float32(noise),
            np.array([choice.outcome.row for choice in choices]),
        )


@dataclass(frozen=True, eq=False)
class PreferencePosterior:
    """What is known of a person's weights after some observations; ``after`` makes the next one.

    Attributes:
        draws: N draws.
        log_weight: Their log weights ``[N]``.
        seed: Of all that is random; the same choices always give the same posterior.
    """

    draws: Draws
    log_weight: NDArray[np.float64]
    observed: tuple[Observation, ...]
    seed: int

    @classmethod
    def prior(cls, n_criteria: int, *, n_draws: int = N_DRAWS, seed: int = 0) -> PreferencePosterior:
        """Return what is known of a person who has not chosen yet: draws from the prior."""
        draws = prior_draws(n_criteria, n_draws, np.random.default_rng(seed))
        return cls(draws, np.zeros(n_draws), (), seed)

    def after(self, observed: Observation) -> PreferencePosterior:
        """Return the posterior after one more observation."""
        log_weight = self.log_weight + self.draws.log_likelihood([observed])
        posterior = replace(self, log_weight=log_weight, observed=(*self.observed, observed))
        enough = posterior.effective_size > _TOO_FEW * len(log_weight)
        return posterior if enough else posterior._rejuvenated()

    @cached_property
    def probability(self) -> NDArray[np.float64]:
        """Posterior probability of each draw ``[N]``."""
        weight = np.exp(self.log_weight - self.log_weight.max())
        return np.asarray(weight / weight.sum())

    @property
    def effective_size(self) -> float:
        """Effective number of draws (Kish)."""
        return float(1 / np.square(self.probability).sum())

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """Posterior mean of the coefficients weights ``[K]``."""
        return np.asarray(self.probability @ self.draws.coefficients[:, :-1], dtype=np.float64)

    @cached_property
    def followed(self) -> NDArray[np.float64]:
        """Posterior probability that the person follows each criterion, wanted or avoided ``[K]``."""
        return np.asarray(self.probability @ (self.draws.weights != 0), dtype=np.float64)

    def sample(self, size: int) -> Draws:
        """Return so many draws of equal weight, always the same."""
        rows = systematic(self.probability, size, np.random.default_rng(self._stream(1)))
        return self.draws.at(rows)

    def _stream(self, purpose: int) -> list[int]:
        return [self.seed, len(self.observed), purpose]

    def _rejuvenated(self) -> PreferencePosterior:
        """Return as many draws of equal weight, resampled and moved."""
        random = np.random.default_rng(self._stream(0))
        draws = self.draws.at(systematic(self.probability, len(self.log_weight), random))
        likelihood = draws.log_likelihood(self.observed)
        for _ in range(_MOVES):
            proposed, possible = neighbours(draws, random)
            change = proposed.log_likelihood(self.observed)
            prior = proposed.log_prior - draws.log_prior
            accepted = possible & (np.log(random.random(len(change))) < change - likelihood + prior)
            draws = draws.where(accepted, proposed)
            likelihood = np.where(accepted, change, likelihood)
        return replace(self, draws=draws, log_weight=np.zeros(len(likelihood)))


def prior_draws(n_criteria: int, n_draws: int, random: np.random.Generator) -> Draws:
    """Return N persons as probable as the model has it before anything was observed."""
    most = min(MAX_CRITERIA, n_criteria)
    noise = random.choice(_NOISES, n_draws)
    count = np.ones(n_draws, dtype=np.intp)
    for value, few in zip(_NOISES, FEW, strict=True):
        so = noise == value
        count[so] = random.choice(np.arange(1, most + 1), so.sum(), p=_prob_of_number(few, most))
    # The ranks of random numbers are a random order; the first “count” of it are followed.
    order = random.random((n_draws, n_criteria)).argsort(axis=1).argsort(axis=1)
    followed = order < count[:, None]
    values = _grades(random, (n_draws, n_criteria))
    return Draws(
        np.where(followed, values, 0).astype(np.float32),
        noise,
        random.choice(np.array(TIES, dtype=np.float32), n_draws),
    )


def _prob_of_number(few: float, most: int) -> NDArray[np.float64]:
    """Return the probability of following 1, 2, … criteria ``[most]``."""
    weight = np.arange(1, most + 1) ** -few
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def _grades(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    sign = np.where(random.random(shape) < AVOIDED, -1, 1)
    return np.asarray(sign * random.choice(GRADES, shape), dtype=np.float32)


def neighbours(draws: Draws, random: np.random.Generator) -> tuple[Draws, NDArray[np.bool_]]:
    """Return a neighbour of each person, and where there is one ``[N]``.

    One of: exchange a criterion for another of the same weight; redraw a weight; add a criterion; drop one;
    redraw noise and ties. Sets of a size are equally probable, and weights, noise and ties are proposed from
    the prior: but for the number of criteria, given the noise, the ratio of priors times proposals is 1.
    """
    weights = draws.weights.copy()
    n_draws, n_criteria = weights.shape
    rows = np.arange(n_draws)
    followed = weights != 0
    count = followed.sum(axis=1)
    lottery = random.random(weights.shape)
    old = np.where(followed, lottery, -1).argmax(axis=1)
    new = np.where(followed, -1, lottery).argmax(axis=1)
    value = _grades(random, (n_draws,))
    kind = random.choice(_KINDS, n_draws)
    room = count < n_criteria

    swap = (kind == _SWAP) & room
    weights[rows[swap], new[swap]] = weights[rows[swap], old[swap]]
    weights[rows[swap], old[swap]] = 0
    again = kind == _REGRADE
    weights[rows[again], old[again]] = value[again]
    more = (kind == _ADD) & room & (count < MAX_CRITERIA)
    weights[rows[more], new[more]] = value[more]
    fewer = (kind == _DROP) & (count > 1)
    weights[rows[fewer], old[fewer]] = 0
    temper = kind == _TEMPER
    noise = np.where(temper, random.choice(NOISES, n_draws), draws.noise).astype(np.float32)
    tie = np.where(temper, random.choice(TIES, n_draws), draws.tie).astype(np.float32)
    return Draws(weights, noise, tie), swap | again | more | fewer | temper


def systematic(probability: NDArray[np.float64], size: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return indices of draws, each as often as its probability says, by systematic resampling."""
    points = (random.random() + np.arange(size)) / size
    return np.minimum(np.searchsorted(np.cumsum(probability), points), len(probability) - 1)


def posterior_given(
    choices: Sequence[Choice], margins: CriterionMargins, *, n_draws: int = N_DRAWS, seed: int = 0
) -> PreferencePosterior:
    """Return the posterior given many choices made elsewhere, between responses with these margins."""
    posterior = PreferencePosterior.prior(margins.n_criteria, n_draws=n_draws, seed=seed)
    start = 0
    while start < len(choices):
        # One by one at first, and then more at a time.
        stop = start + max(1, int(_GROWTH * start))
        posterior = posterior.after(ObservedChoices.of(choices[start:stop], margins, ELSEWHERE))
        start = stop
    return posterior
