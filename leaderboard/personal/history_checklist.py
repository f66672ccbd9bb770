"""A checklist from a person's past choices, after P-CHECK: history, general preference, weighted checklist.

The general preference is the posterior of the person's weights. Its checklist on a benchmark's responses
gives the lines; their weights are the lines' saliency in the history, their grades follow from cumulative
weight. How far the checklist can be trusted is measured by cross-validation: each choice is foretold by a
checklist learnt from choices on other queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from crm.encoder import Progress
from leaderboard.personal.checklist import ChecklistLine
from leaderboard.personal.history_lines import places_of, weighted_lines
from leaderboard.personal.history_past import DECIDED, Past
from leaderboard.personal.history_posterior import posterior
from leaderboard.personal.person import Person

MOST_FOLDS = 5
TELLING = 0.05
"""Probability of foretelling so many choices by guessing from which on they do not tell."""
_FOLD_DRAWS = 1000


@dataclass(frozen=True)
class Foretold:
    """How well choices are foretold by a checklist learnt from others.

    Attributes:
        right: Choices foretold; half a choice where the checklist does not prefer either response.
        decided: Choices of one response, the others being ties.
    """

    right: float
    decided: int

    @property
    def by_guessing(self) -> float:
        """Probability that guessing foretells at least so many."""
        if not self.decided:
            return 1.0
        return float(binomtest(int(self.right), self.decided, alternative="greater").pvalue)

    @property
    def telling(self) -> bool:
        """Whether the choices tell more than guesses would."""
        return self.by_guessing <= TELLING


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a history tells.

    Attributes:
        person: The general preference: the posterior given all choices.
        lines: The checklist, the weightiest line first.
        foretold: How far it can be trusted.
        n_choices: Number of choices, ties included.
    """

    person: Person
    lines: tuple[ChecklistLine, ...]
    foretold: Foretold
    n_choices: int


def learn(
    past: Past,
    groups: Sequence[object] | None = None,
    tell: Progress | None = None,
    *,
    seed: int = 0,
) -> Learnt:
    """The person's general preference, their checklist, and how far it can be trusted.

    Args:
        past: The history.
        groups: What each choice was about; choices on the same are foretold together ``[C]``; by default
            their query in the material.
        tell: Told how many parts of the work are done.
        seed: Of all that is random.
    """
    folds = _folds(past, groups, seed)
    n_parts = len(folds) + 1
    person = posterior(past.material, past.choices, seed=seed)
    lines = weighted_lines(person, past)
    right = 0.0
    for done, held_out in enumerate(folds, start=1):
        if tell is not None:
            tell(done, n_parts)
        others = past.only(~held_out)
        learnt = weighted_lines(
            posterior(past.material, others.choices, n_draws=_FOLD_DRAWS, seed=seed), others
        )
        right += n_foretold(learnt, past.only(held_out))
    if tell is not None:
        tell(n_parts, n_parts)
    decided = sum(choice.answer in DECIDED for choice in past.choices)
    return Learnt(person, lines, Foretold(right, decided), len(past.choices))


def n_foretold(lines: Sequence[ChecklistLine], past: Past) -> float:
    """How many of the decided choices a checklist foretells; half of one that it leaves open."""
    ahead = past.ahead()
    if not lines:
        return len(ahead) / 2
    indices, _ = places_of(lines, past.library)
    weights = np.zeros(past.material.n_criteria + 1)
    weights[indices] = [line.criterion.signed_weight for line in lines]
    weights /= np.linalg.norm(weights)
    weights[-1] = 1
    margin = ahead @ weights
    return float((margin > 0).sum() + (margin == 0).sum() / 2)


def _folds(past: Past, groups: Sequence[object] | None, seed: int) -> list[NDArray[np.bool_]]:
    """Masks of choices ``[C]``, held out one after the other; none where there is one group only."""
    names = [choice.pair.query for choice in past.choices] if groups is None else list(groups)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    order = np.random.default_rng([seed, 3]).permutation(len(numbers))
    fold = order[[numbers[name] for name in names]] % MOST_FOLDS
    return [fold == number for number in np.unique(fold)] if len(numbers) > 1 else []
