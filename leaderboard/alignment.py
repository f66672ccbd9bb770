"""How well each LLM meets each criterion, and all of them together: PrefAlign (PrefDisco, Li et al. 2025).

The grade of a response under a criterion is five times the probability that it meets the criterion better
than the baseline's response, so 2.5 is as well as the baseline; without one, than the others' responses.
PrefAlign (eq. 1) is Σ_j w_j g_j with Σ_j w_j = 1. It averages over criteria; the ranking asks the judge for
all criteria at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.criteria import CriteriaSet, Criterion
from leaderboard.export import csv_line, number_cell, text_cell
from leaderboard.live_grades import LiveGrades
from leaderboard.request import Request, check_criteria
from leaderboard.scored import Scored
from leaderboard.service import Service
from leaderboard.statistics.style_control import Control
from leaderboard.statistics.win_rate import Mask
from leaderboard.view import View

BEST_GRADE = 5.0
MAX_CRITERIA = 20
"""So many are graded; each costs a score matrix."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """Grades of L LLMs under n criteria; of a slow judge, what there is so far.

    Attributes:
        llms: In the order of the benchmark.
        grades: Mean over the view's queries, as the view weighs them ``[L, n]``; NaN where there is none.
        pref_align: Of all graded criteria together ``[L]``, over the queries graded under all criteria in
            whose list they stand; NaN while there is none.
        n_graded: So many are these.
        n_queries: So many there are.
    """

    llms: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    grades: NDArray[np.float64]
    pref_align: NDArray[np.float64]
    n_graded: int = 0
    n_queries: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing more to come."""
        return self.n_graded == self.n_queries

    def to_csv(self) -> str:
        """One row an LLM: ``llm,pref_align`` and one column a criterion; safe to open in a spreadsheet."""
        lines = [csv_line(["llm", "pref_align", *(text_cell(str(criterion)) for criterion in self.criteria)])]
        for llm, whole, each in zip(self.llms, self.pref_align, self.grades, strict=True):
            lines.append(csv_line([text_cell(llm), *(number_cell(float(grade)) for grade in (whole, *each))]))
        return "".join(lines)


def alignment(service: Service, view: View) -> Alignment | None:
    """The grades of a view's LLMs by the criteria that its ranking is made by.

    A judge that reads texts is not asked for them: this is what it has judged so far (see ``grading``). None
    where no query has criteria.

    Raises as ``Service.leaderboard``.
    """
    asked = _asked(service, view)
    if asked is None:
        return None
    whole, criteria = asked
    live = service.live_grades(whole.request, criteria)
    if live is not None:
        return _so_far(live, criteria)
    scored = [_alone(service, whole, whole.request.view, one) for one in criteria]
    grades = np.stack([mean_grades(one) for one in scored], axis=1)
    return _together(whole.request, criteria, grades, whole.counted, int(whole.counted.sum()))


def grading(service: Service, view: View) -> LiveGrades | None:
    """The work of a judge that reads texts on the same grades; None where there are none, or no need to wait.

    Raises as ``alignment``.
    """
    asked = _asked(service, view)
    return None if asked is None else service.live_grades(asked[0].request, asked[1])


def _asked(service: Service, view: View) -> tuple[Scored, tuple[Criterion, ...]] | None:
    """Return the criteria that are graded, and what all together come to; None if there are none."""
    criteria = tuple(check_criteria(registry.get_crm(view.crm), view).ranked)[:MAX_CRITERIA]
    if not criteria:
        return None
    plain = replace(view, soft=True, control=Control.NONE, floor=None, must_have=False)
    whole = service.scored(replace(plain, criteria=CriteriaSet(criteria)))
    request = whole.request
    used = tuple(one for one in criteria if (request.queries_of(one) & request.selected).any())
    return (whole, used) if used else None


def _so_far(live: LiveGrades, criteria: tuple[Criterion, ...]) -> Alignment:
    """Return what a slow judge's grades are so far."""
    request, found = live.request, live.so_far()
    unknown = np.full(len(request.llms), np.nan)
    columns = [
        BEST_GRADE * request.estimate(prob, counted).win_rate if counted.any() else unknown
        for prob, counted in zip(found.probs, found.counted, strict=True)
    ]
    n_queries = int(live.selected.sum())
    return _together(request, criteria, np.stack(columns, axis=1), found.shared, n_queries)


def _together(
    request: Request, criteria: tuple[Criterion, ...], grades: NDArray[np.float64], shared: Mask, n: int
) -> Alignment:
    """Return grades ``[L, n]`` with what they come to on the queries ``[Q]`` that all are compared on."""
    whole = mean_grade(grades, _shares(request, criteria, shared))
    return Alignment(request.llms, criteria, grades, whole, int(shared.sum()), n)


def _alone(service: Service, whole: Scored, view: View, criterion: Criterion) -> Scored:
    """Return what one criterion of a view alone comes to, on the queries in whose list it stands."""
    scored = service.scored(replace(view, criteria=CriteriaSet((criterion.everywhere,))))
    counted = scored.counted & whole.request.queries_of(criterion)
    return replace(scored, counted=counted) if counted.any() else scored


def _shares(request: Request, criteria: Sequence[Criterion], counted: Mask) -> NDArray[np.float64]:
    """Return how much each criterion counts ``[n]``: its share of its list, over the queries ``[Q]``."""
    weights = np.array([criterion.weight.value_in_sum for criterion in criteria])
    inside = np.array([request.queries_of(criterion) for criterion in criteria])
    of_query = weights[:, np.newaxis] * inside  # [n, Q]
    total = of_query.sum(axis=0)
    share = of_query / np.where(total > 0, total, 1.0)
    counts = request.weighting.weights
    return np.asarray(share @ (counted * (1.0 if counts is None else counts)), dtype=np.float64)


def won_alone(
    service: Service, view: View, criteria: Sequence[Criterion]
) -> dict[Criterion, dict[str, float]]:
    """Return the share of comparisons that each LLM wins under single criteria, by its name.

    NaN for an LLM without a verdict. Nothing of a judge that reads texts, which is slow. Raises as
    ``Service.leaderboard``.
    """
    plain = replace(view, soft=False, control=Control.NONE, floor=None, must_have=False, keep_unjudged=True)
    found: dict[Criterion, dict[str, float]] = {}
    if not criteria:
        return found
    whole = service.scored(plain)
    for criterion in criteria:
        scored = _alone(service, whole, plain, criterion)
        if not scored.request.is_instant:
            return {}
        won = scored.rated().win_rate
        found[criterion] = dict(zip(scored.request.llms, won.tolist(), strict=True))
    return found


def mean_grades(scored: Scored) -> NDArray[np.float64]:
    """Mean grade of each LLM on the counted queries ``[L]``, of a view with soft scores and no control."""
    return BEST_GRADE * scored.rated().win_rate


def pref_align(grades: NDArray[np.float64], criteria: tuple[Criterion, ...]) -> NDArray[np.float64]:
    """Weighted mean of grades ``[L, n]`` under the criteria's weights ``[L]``."""
    return mean_grade(grades, np.array([criterion.weight.value_in_sum for criterion in criteria]))


def mean_grade(grades: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of grades ``[L, n]``, each criterion counting so much ``[n]``: ``[L]``; NaN where none counts."""
    used = weight > 0
    if not used.any():
        return np.full(len(grades), np.nan)
    return np.asarray(grades[:, used] @ (weight[used] / weight.sum()), dtype=np.float64)
