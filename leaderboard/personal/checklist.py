"""The posterior as a checklist: Essential, Important and Optional lines, each with the evidence for it.

Criteria overlap, so the posterior spreads one taste over several of them. The checklist is a short list that
says the same of a benchmark's responses. As in orthogonal matching pursuit (Pati et al. 1993) criteria are
taken up one by one, each with the sign of its posterior mean, and all weights fitted anew; but what counts is
the list as it will be used, with grades for weights: of the most promising criteria that one is taken which
brings the graded list's utilities nearest to the posterior mean's, as long as this gains ``WORTH_A_LINE`` of
correlation. Of criteria that do this about as well, one that the person probably follows by itself is
preferred (``NAMING``), as lines are read, too. A criterion against which most choices speak is no line,
unless there is no other. Grades follow P-CHECK's cumulative weights: the top 40 % Essential, to 90 %
Important, the rest Optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from leaderboard.personal.choice import Answer, Choice
from leaderboard.personal.interview import Said
from leaderboard.personal.library import LibraryCriterion
from leaderboard.personal.material import Material
from leaderboard.personal.person import Person

WORTH_A_LINE = 0.001
MOST_LINES = 8
ESSENTIAL_SHARE = 0.4
IMPORTANT_SHARE = 0.9
"""Cumulative weight up to which lines are Essential, and up to which Important (P-CHECK, section 4)."""
CLEARLY = 1.0
"""Standard deviations between two responses that differ clearly in a criterion."""
NAMING = 0.2
"""Correlation that a line may cost for a criterion that the person certainly follows, and less for others."""
_TRIED = 12
"""Criteria that are tried for the next line."""


@dataclass(frozen=True)
class Evidence:
    """The choices between two responses that differ clearly in a criterion.

    Attributes:
        with_it: Those that took the response that meets the criterion better.
        clear: All of them.
    """

    with_it: int
    clear: int

    @property
    def contrary(self) -> bool:
        """Whether most of them went against the criterion."""
        return 2 * self.with_it < self.clear


@dataclass(frozen=True)
class ChecklistLine:
    """One criterion that the person seems to follow.

    Attributes:
        label: Its label in the library.
        criterion: With grade and polarity.
        share: Of the list's weight.
        followed: Posterior probability that the person follows this very criterion.
        evidence: The choices that speak of it, as said of the criterion with its polarity.
    """

    label: str
    criterion: Criterion
    share: float
    followed: float
    evidence: Evidence


def checklist(
    person: Person, material: Material, library: Sequence[LibraryCriterion], choices: Sequence[Choice]
) -> tuple[ChecklistLine, ...]:
    """What is known of the person, the weightiest line first; none of one who stated no preference yet."""
    if all(isinstance(item, Said) and item.indifferent for item in person.observed):
        return ()
    polarity = [Polarity.WANT if mean > 0 else Polarity.AVOID for mean in person.mean]
    shown = [evidence(index, wanted, material, choices) for index, wanted in enumerate(polarity)]
    worth = np.where([item.contrary for item in shown], -np.inf, NAMING * person.followed)
    chosen, weight = _pursue(person.mean, material.gram, worth)
    if not chosen:
        chosen, weight = _pursue(person.mean, material.gram, np.zeros_like(worth))
    share = weight / weight.sum() if len(weight) else weight
    lines = []
    for index, part, grade in zip(chosen, share, grades(share), strict=True):
        lines.append(
            ChecklistLine(
                label=library[index].label,
                criterion=Criterion(library[index].criterion.text, grade, polarity[index]),
                share=float(part),
                followed=float(person.followed[index]),
                evidence=shown[index],
            )
        )
    return tuple(lines)


def criteria_of(lines: Sequence[ChecklistLine]) -> CriteriaSet:
    """The checklist as what a view carries to the leaderboard."""
    return CriteriaSet(tuple(line.criterion for line in lines))


def grades(share: NDArray[np.floating]) -> tuple[Weight, ...]:
    """Grades of lines with these shares of the weight, which fall and sum to 1.

    A line belongs where the weight before it ends, so the first is always Essential.
    """
    before = np.cumsum(share) - share
    return tuple(
        Weight.ESSENTIAL
        if start < ESSENTIAL_SHARE
        else Weight.IMPORTANT
        if start < IMPORTANT_SHARE
        else Weight.OPTIONAL
        for start in before
    )


def evidence(index: int, polarity: Polarity, material: Material, choices: Sequence[Choice]) -> Evidence:
    """How many of the choices of one response go with a criterion where the two differ clearly in it."""
    clearly = CLEARLY * float(material.spread[index])
    with_it = clear = 0
    for choice in choices:
        if choice.answer not in (Answer.FIRST, Answer.SECOND):
            continue
        pair = choice.pair
        margins = material.relative[:, pair.query, index] * polarity.sign
        ahead = float(margins[pair.first] - margins[pair.second])
        if abs(ahead) > clearly:
            clear += 1
            with_it += (ahead > 0) == (choice.answer is Answer.FIRST)
    return Evidence(with_it, clear)


def _pursue(
    mean: NDArray[np.float64], gram: NDArray[np.float64], worth: NDArray[np.float64]
) -> tuple[list[int], NDArray[np.float64]]:
    """Indices of criteria and their positive weights, falling.

    Args:
        mean: Signed weights whose utilities are to be told ``[K]``.
        gram: Mean products of the criteria's margins ``[K, K]``.
        worth: What speaks for each as a line beside its utilities, in correlation; −∞ rules it out ``[K]``.
    """
    sign = np.where(mean < 0, -1.0, 1.0)
    signed = gram * np.outer(sign, sign)
    target = signed @ np.abs(mean)
    target /= max(float(np.abs(mean) @ target) ** 0.5, np.finfo(float).tiny)
    best, best_likeness = _Told([], np.zeros(0)), 0.0
    for _ in range(min(MOST_LINES, int((mean != 0).sum()))):
        tried = {
            index: _told([*best.chosen, index], signed, target)
            for index in _promising(best, signed, target, worth > -np.inf)
        }
        if not tried:
            break
        likeness = {index: told.likeness(signed, target) for index, told in tried.items()}
        index = max(tried, key=lambda index: likeness[index] + worth[index])
        if likeness[index] < best_likeness + WORTH_A_LINE:
            break
        best, best_likeness = tried[index], likeness[index]
    return best.chosen, best.weight


@dataclass(frozen=True, eq=False)
class _Told:
    """Some criteria with positive weights, falling."""

    chosen: list[int]
    weight: NDArray[np.float64]

    def likeness(self, gram: NDArray[np.float64], target: NDArray[np.float64]) -> float:
        """Correlation of the graded list's utilities with the target's, which have unit variance."""
        value = np.array([grade.value_in_sum for grade in grades(self.weight / self.weight.sum())])
        product = value @ target[self.chosen]
        length = np.sqrt(value @ gram[np.ix_(self.chosen, self.chosen)] @ value)
        return float(product / length)


def _told(chosen: list[int], gram: NDArray[np.float64], target: NDArray[np.float64]) -> _Told:
    """The criteria with the weights that tell the target best, those without any left out."""
    weight = fitted(gram[np.ix_(chosen, chosen)], target[chosen])
    order = [place for place in np.argsort(-weight, kind="stable") if weight[place] > 0]
    return _Told([chosen[place] for place in order], weight[order])


def _promising(
    told: _Told, gram: NDArray[np.float64], target: NDArray[np.float64], sayable: NDArray[np.bool_]
) -> list[int]:
    """The criteria that go best with what is not told yet."""
    left = target - gram[:, told.chosen] @ told.weight
    gain = left / np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    left_over = sayable & (gain > 0)
    left_over[told.chosen] = False
    return [int(index) for index in np.argsort(-gain) if left_over[index]][:_TRIED]


def fitted(gram: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights, none negative, whose utilities are nearest a target's.

    Args:
        gram: Mean products of the margins of the criteria, each with its sign ``[n, n]``.
        target: Mean products of these margins with the target's utilities ``[n]``.
    """
    ridge = gram + 1e-6 * np.trace(gram) * np.eye(len(gram))
    root = np.linalg.cholesky(ridge)
    weight, _ = nnls(root.T, np.linalg.solve(root, target))
    return np.asarray(weight, dtype=np.float64)
