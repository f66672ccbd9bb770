"""A checklist from a person's past choices, after P-CHECK: history, general preference, weighted checklist.

The general preference is the posterior of the person's weights. Its checklist on a benchmark's responses
gives the lines; their weights are the lines' saliency in the history, their grades follow from cumulative
weight. How far the checklist can be trusted is measured by cross-validation: each choice is foretold by a
checklist learnt from choices on other queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from crm.encoder import Progress
from leaderboard.personal.checklist import CLEARLY, ChecklistLine, Evidence, checklist, grades
from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.history import PastChoice
from leaderboard.personal.history_posterior import posterior
from leaderboard.personal.library import LibraryCriterion
from leaderboard.personal.material import Material
from leaderboard.personal.person import Person
from leaderboard.personal.saliency import met, saliency, saliency_weights, with_contrast

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


@dataclass(frozen=True, eq=False)
class Past:
    """A history ready to be learnt from.

    Attributes:
        material: How its responses stand under the library; any number of rows.
        choices: What was chosen.
        benchmark: The material of the benchmark whose responses the lines are chosen on.
        library: The criteria of both.
    """

    material: Material
    choices: tuple[Choice, ...]
    benchmark: Material
    library: Sequence[LibraryCriterion]

    def only(self, mask: NDArray[np.bool_]) -> Past:
        """Some of the choices ``[C]``."""
        kept = tuple(choice for choice, wanted in zip(self.choices, mask, strict=True) if wanted)
        return replace(self, choices=kept)

    def ahead(self) -> NDArray[np.float64]:
        """Margins of the chosen over the rejected response of each decided choice ``[D, K + 1]``."""
        chosen, rejected = self._sides()
        return chosen - rejected

    def sides_met(
        self, signs: NDArray[np.float64], indices: Sequence[int]
    ) -> tuple[NDArray[np.float64], ...]:
        """f of chosen and of rejected responses under some criteria with their polarity, each ``[D, J]``."""
        chosen, rejected = (met(side[:, indices] * signs) for side in self._sides())
        return chosen, rejected

    def _sides(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        places = [_chosen_first(choice) for choice in self.choices if choice.answer in _DECIDED]
        query, chosen, rejected = np.array(places, dtype=np.intp).reshape(-1, 3).T
        relative = self.material.relative
        return relative[chosen, query].astype(np.float64), relative[rejected, query].astype(np.float64)


_DECIDED = (Answer.FIRST, Answer.SECOND)


def past_of(
    choices: Sequence[PastChoice], past: Material, benchmark: Material, library: Sequence[LibraryCriterion]
) -> Past:
    """Past choices with what ``past_material`` made of them."""
    places = tuple(Choice(Pair(query, 0, 1), choice.answer) for query, choice in enumerate(choices))
    return Past(past, places, benchmark, library)


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
    decided = sum(choice.answer in _DECIDED for choice in past.choices)
    return Learnt(person, lines, Foretold(right, decided), len(past.choices))


def weighted_lines(person: Person, past: Past) -> tuple[ChecklistLine, ...]:
    """The lines of the posterior's checklist, weighted by their saliency in the history.

    Where no line is salient, as with one line, the posterior's own weights stay.
    """
    lines = checklist(person, past.benchmark, past.library, ())
    if not lines or not len(past.ahead()):
        return lines
    indices, signs = _places(lines, past.library)
    chosen, rejected = past.sides_met(signs, indices)
    weight = saliency_weights(saliency(chosen, with_contrast(rejected)))
    if not weight.any():
        weight = np.array([line.share for line in lines])
    # The sort is stable: lines of no saliency stay in the posterior's order.
    order = np.argsort(-weight, kind="stable")
    evidence = _evidence(past, signs, indices)
    graded = zip(order, grades(weight[order]), strict=True)
    return tuple(
        replace(
            lines[place],
            criterion=replace(lines[place].criterion, weight=grade),
            share=float(weight[place]),
            evidence=evidence[place],
        )
        for place, grade in graded
    )


def n_foretold(lines: Sequence[ChecklistLine], past: Past) -> float:
    """How many of the decided choices a checklist foretells; half of one that it leaves open."""
    ahead = past.ahead()
    if not lines:
        return len(ahead) / 2
    indices, _ = _places(lines, past.library)
    weights = np.zeros(past.material.n_criteria + 1)
    weights[indices] = [line.criterion.signed_weight for line in lines]
    weights /= np.linalg.norm(weights)
    weights[-1] = 1
    margin = ahead @ weights
    return float((margin > 0).sum() + (margin == 0).sum() / 2)


def _places(
    lines: Sequence[ChecklistLine], library: Sequence[LibraryCriterion]
) -> tuple[list[int], NDArray[np.float64]]:
    """Indices of the lines' criteria in the library, and their signs ``[J]``."""
    place_of = {item.label: place for place, item in enumerate(library)}
    signs = np.array([line.criterion.polarity.sign for line in lines], dtype=np.float64)
    return [place_of[line.label] for line in lines], signs


def _evidence(past: Past, signs: NDArray[np.float64], indices: Sequence[int]) -> list[Evidence]:
    """How many of the choices go with each criterion where the two responses differ clearly in it.

    What differs clearly is measured on the benchmark, as in choices made there.
    """
    ahead = past.ahead()[:, indices] * signs
    clear = np.abs(ahead) > CLEARLY * past.benchmark.spread[list(indices)]
    with_it = clear & (ahead > 0)
    return [Evidence(int(taken), int(all_)) for taken, all_ in zip(with_it.sum(0), clear.sum(0), strict=True)]


def _folds(past: Past, groups: Sequence[object] | None, seed: int) -> list[NDArray[np.bool_]]:
    """Masks of choices ``[C]``, held out one after the other; none where there is one group only."""
    names = [choice.pair.query for choice in past.choices] if groups is None else list(groups)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    order = np.random.default_rng([seed, 3]).permutation(len(numbers))
    fold = order[[numbers[name] for name in names]] % MOST_FOLDS
    return [fold == number for number in np.unique(fold)] if len(numbers) > 1 else []


def _chosen_first(choice: Choice) -> tuple[int, int, int]:
    """Query, row of the chosen and row of the rejected response of a decided choice."""
    pair = choice.pair
    if choice.answer is Answer.FIRST:
        return pair.query, pair.first, pair.second
    return pair.query, pair.second, pair.first
