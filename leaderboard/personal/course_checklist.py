"""The checklist of a person who chose between answers, was interviewed, or both.

What a person says outright belongs on their list, whatever else could say the same of a benchmark's
responses. The posterior knows only what responses an answer goes with, so a checklist made from it alone
would tell somebody who asked for numbered steps that they like checklists or thoroughness. After an
interview the lines are therefore the criteria that the options taken name, and those lines of the posterior's
checklist that the choices speak for. Weights are fitted to the posterior as there, so that they still say
how much each matters; a wish that the fit can do without comes last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Criterion, Polarity, Weight
from leaderboard.personal.checklist import ChecklistLine, checklist, evidence, fitted, grades
from leaderboard.personal.course import Course
from leaderboard.personal.library import LibraryCriterion
from leaderboard.personal.replies import Reply

_LEAST = 1e-3
"""Of the fit's largest weight: what a wish counts that the fit can do without."""


def course_checklist(course: Course, library: Sequence[LibraryCriterion]) -> tuple[ChecklistLine, ...]:
    """What is known of the person, the weightiest line first; none of one who did nothing yet."""
    learnt = checklist(course.person, course.shown.material, library, course.choices)
    wishes = [wished for reply in course.replies if (wished := _wished(reply))]
    if not wishes:
        return learnt
    places = {item.label: place for place, item in enumerate(library)}
    signs: dict[int, int] = {}
    for line in learnt:
        if 2 * line.evidence.with_it > line.evidence.clear:
            signs[places[line.label]] = int(line.criterion.polarity.sign)
    for wished in wishes:
        signs |= wished
    indices = np.array(list(signs))
    weight = _kept(indices, _weights(course, indices, np.array(list(signs.values()))), wishes)
    order = [place for place in np.argsort(-weight, kind="stable") if weight[place] > 0]
    share = weight[order] / weight.sum()
    return tuple(
        _line(course, library[indices[place]], _Told(int(indices[place]), signs[indices[place]], part, grade))
        for place, part, grade in zip(order, share.tolist(), grades(share), strict=True)
    )


@dataclass(frozen=True)
class _Told:
    """A criterion of the list: its index in the library, its sign, and what it weighs."""

    index: int
    sign: int
    share: float
    grade: Weight


def _wished(reply: Reply) -> dict[int, int]:
    """Criteria that the option taken names, and whether it wants (1) or avoids (−1) them."""
    weights = reply.question.weights[reply.option]
    return {int(index): int(np.sign(weights[index])) for index in np.flatnonzero(weights)}


def _weights(course: Course, indices: NDArray[np.intp], signs: NDArray[np.intp]) -> NDArray[np.float64]:
    gram = course.shown.material.gram
    among = gram[np.ix_(indices, indices)] * np.outer(signs, signs)
    return fitted(among, signs * (gram[indices] @ course.person.mean))


def _kept(
    indices: NDArray[np.intp], weight: NDArray[np.float64], wishes: Sequence[dict[int, int]]
) -> NDArray[np.float64]:
    """The weights, with a little for the first criterion of every wish that has none."""
    kept = weight.copy()
    least = _LEAST * (float(weight.max()) or 1.0)
    for wished in wishes:
        rows = np.flatnonzero(np.isin(indices, list(wished)))
        if not (kept[rows] > 0).any():
            kept[rows[0]] = least
    return kept


def _line(course: Course, item: LibraryCriterion, told: _Told) -> ChecklistLine:
    polarity = Polarity.WANT if told.sign > 0 else Polarity.AVOID
    return ChecklistLine(
        label=item.label,
        criterion=Criterion(item.criterion.text, told.grade, polarity),
        share=told.share,
        followed=float(course.person.followed[told.index]),
        evidence=evidence(told.index, polarity, course.shown.material, course.choices),
    )
