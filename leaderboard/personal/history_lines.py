"""The lines of a checklist from a history, weighted by their saliency.

A few criteria may foretell all that a person chose, and the posterior's checklist stops there; a person who
reads it wants to recognise their taste. So its lines are filled up to ``MOST_LINES`` with the criteria that
set apart what was chosen most, that do so surely, and that do not say again what a line says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Criterion, Polarity, Weight
from leaderboard.personal.checklist import CLEARLY, MOST_LINES, ChecklistLine, Evidence, checklist, grades
from leaderboard.personal.history_past import Past
from leaderboard.personal.library import LibraryCriterion
from leaderboard.personal.person import Person
from leaderboard.personal.saliency import saliency, saliency_weights, with_contrast

ALIKE = 0.8
"""Correlation, over the benchmark's responses, from which on one criterion says what another says."""
SURELY = 2.0
"""Standard errors by which a criterion must set chosen and rejected responses apart to fill a line."""
_FEWEST = 2
"""Choices of which a standard error can be told."""


def weighted_lines(person: Person, past: Past) -> tuple[ChecklistLine, ...]:
    """The person's checklist, the weightiest line first; none of one who chose nothing.

    Where no line is salient, as with one line, the posterior's own weights stay.
    """
    lines = _filled(checklist(person, past.benchmark, past.library, ()), person, past)
    if not lines or not len(past.ahead()):
        return lines
    indices, signs = places_of(lines, past.library)
    chosen, rejected = past.met(signs, indices)
    weight = saliency_weights(saliency(chosen, with_contrast(rejected)))
    if not weight.any():
        weight = np.array([line.share for line in lines])
    # The sort is stable: lines of no saliency stay in the posterior's order.
    order = np.argsort(-weight, kind="stable")
    evidence = _evidence(past, signs, indices)
    return tuple(
        replace(
            lines[place],
            criterion=replace(lines[place].criterion, weight=grade),
            share=float(weight[place]),
            evidence=evidence[place],
        )
        for place, grade in zip(order, grades(weight[order]), strict=True)
    )


def _filled(lines: tuple[ChecklistLine, ...], person: Person, past: Past) -> tuple[ChecklistLine, ...]:
    """The lines, and more of no weight in the posterior, as far as there is room and reason."""
    everything = list(range(past.material.n_criteria))
    chosen, rejected = past.met(np.ones(len(everything)), everything)
    if len(chosen) < _FEWEST or not lines:
        return lines
    apart = chosen - rejected
    mean, error = apart.mean(axis=0), apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
    length = np.sqrt(np.maximum(np.diag(past.benchmark.gram), np.finfo(float).tiny))
    alike = past.benchmark.gram / np.outer(length, length)
    taken, signs = places_of(lines, past.library)
    signed = dict(zip(taken, signs.tolist(), strict=True))
    found = list(lines)
    for index in map(int, np.argsort(-np.abs(mean), kind="stable")):
        if len(found) >= MOST_LINES:
            break
        sign = float(np.sign(mean[index]))
        sure = abs(mean[index]) > SURELY * error[index]
        said = any(alike[index, other] * sign * own > ALIKE for other, own in signed.items())
        if sure and not said and index not in signed:
            found.append(_line(past.library[index], sign, float(person.followed[index])))
            signed[index] = sign
    return tuple(found)


def _line(item: LibraryCriterion, sign: float, followed: float) -> ChecklistLine:
    polarity = Polarity.WANT if sign > 0 else Polarity.AVOID
    criterion = Criterion(item.criterion.text, Weight.OPTIONAL, polarity)
    return ChecklistLine(item.label, criterion, 0.0, followed, Evidence(0, 0))


def places_of(
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
