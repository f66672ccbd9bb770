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
from leaderboard.request import check_criteria
from leaderboard.scored import Scored
from leaderboard.service import Service
from leaderboard.statistics.style_control import Control
from leaderboard.view import View

BEST_GRADE = 5.0
MAX_CRITERIA = 20
"""So many are graded; each costs a score matrix."""
_LEAST = 1e-9
"""What a query counts that LLMs are not compared on, lest nothing counts."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """Grades of L LLMs under n criteria.

    Attributes:
        llms: In the order of the benchmark.
        grades: Mean over the view's queries, as the view weighs them ``[L, n]``; NaN where there is none.
        pref_align: Of all graded criteria together ``[L]``.
    """

    llms: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    grades: NDArray[np.float64]
    pref_align: NDArray[np.float64]

    def to_csv(self) -> str:
        """One row an LLM: ``llm,pref_align`` and one column a criterion; safe to open in a spreadsheet."""
        lines = [csv_line(["llm", "pref_align", *(text_cell(str(criterion)) for criterion in self.criteria)])]
        for llm, whole, each in zip(self.llms, self.pref_align, self.grades, strict=True):
            lines.append(csv_line([text_cell(llm), *(number_cell(float(grade)) for grade in (whole, *each))]))
        return "".join(lines)


def alignment(service: Service, view: View) -> Alignment | None:
    """The grades of a view's LLMs by the criteria that its ranking is made by.

    None without criteria, and for a judge that reads texts, which is slow.

    Raises as ``Service.leaderboard``.
    """
    criteria = tuple(check_criteria(registry.get_crm(view.crm), view).ranked)[:MAX_CRITERIA]
    if not criteria:
        return None
    plain = replace(view, soft=True, control=Control.NONE)
    whole = service.scored(replace(plain, criteria=CriteriaSet(criteria)))
    if not whole.request.is_instant:
        return None
    scored = [_alone(service, whole, plain, one) for one in criteria]
    grades = np.stack([mean_grades(one) for one in scored], axis=1)
    return Alignment(whole.request.llms, criteria, grades, mean_grade(grades, _shares(whole, criteria)))


def _alone(service: Service, whole: Scored, view: View, criterion: Criterion) -> Scored:
    """Return what one criterion of a view alone comes to, on the queries in whose list it stands."""
    scored = service.scored(replace(view, criteria=CriteriaSet((criterion.everywhere,))))
    counted = scored.counted & whole.request.queries_of(criterion)
    return replace(scored, counted=counted) if counted.any() else scored


def _shares(whole: Scored, criteria: Sequence[Criterion]) -> NDArray[np.float64]:
    """Return how much each criterion counts ``[n]``: its share of its list, over the queries."""
    weights = np.array([criterion.weight.value_in_sum for criterion in criteria])
    inside = np.array([whole.request.queries_of(criterion) for criterion in criteria])
    of_query = weights[:, np.newaxis] * inside  # [n, Q]
    total = of_query.sum(axis=0)
    share = of_query / np.where(total > 0, total, 1.0)
    return np.asarray(share @ (whole.weights + _LEAST), dtype=np.float64)


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
    """Mean of grades ``[L, n]``, each criterion counting so much ``[n]``: ``[L]``."""
    return np.asarray(grades @ (weight / weight.sum()), dtype=np.float64)
