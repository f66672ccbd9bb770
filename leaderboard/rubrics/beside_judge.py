"""How a judge grades the same LLMs on the same queries: PrefAlign as in `leaderboard.alignment`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from leaderboard.alignment import mean_grades, pref_align
from leaderboard.errors import LeaderboardError
from leaderboard.request import check_criteria
from leaderboard.scored import Scored
from leaderboard.service import Service
from leaderboard.statistics.correlation import kendall_tau
from leaderboard.view import DEFAULT_CRM, View

FEWEST_FOR_TAU = 3
"""LLMs, of which two are either the same way round or not."""


@dataclass(frozen=True, eq=False)
class JudgesGrades:
    """PrefAlign of L LLMs by a judge.

    Attributes:
        crm: The judge's name.
        pref_align: 0 to 5 by LLM, as far as there is any ``[L]``; NaN of others, such as the baseline.
        note: What it could not judge, or why nothing, in a sentence; empty where nothing is to be said.
    """

    crm: str
    pref_align: NDArray[np.float64]
    note: str = ""

    def tau(self, other: NDArray[np.float64]) -> float | None:
        """Return Kendall's τ-b with other values ``[L]``; None for fewer than three LLMs with both."""
        both = ~np.isnan(self.pref_align) & ~np.isnan(other)
        if both.sum() < FEWEST_FOR_TAU:
            return None
        return float(kendall_tau(-self.pref_align[both], -np.asarray(other[both], dtype=np.float64))[0])


def judges_grades(
    service: Service, slug: str, llms: Sequence[str], criteria: CriteriaSet, queries: Sequence[str]
) -> JudgesGrades:
    """Return PrefAlign by the judge `embedded` on the queries with these external ids.

    What it cannot do is a note.
    """
    view = View(slug, criteria=criteria, soft=True, keep_partial=True)
    unknown = np.full(len(llms), np.nan)
    try:
        checked = check_criteria(registry.get_crm(DEFAULT_CRM), view)
        ranked = tuple(checked.ranked)
        if not ranked:
            return JudgesGrades(
                DEFAULT_CRM, unknown, f"The judge {DEFAULT_CRM} can judge none of the criteria."
            )
        scored = [service.scored(replace(view, criteria=CriteriaSet((one,)))) for one in ranked]
        counted = np.isin(
            [query.external_id for query in scored[0].request.benchmark.record.queries], queries
        )
        grades = np.stack([_on(one, counted) for one in scored], axis=1)
    except (CRMError, LeaderboardError) as error:
        return JudgesGrades(DEFAULT_CRM, unknown, f"Nothing by the judge {DEFAULT_CRM}: {error}")
    by_name = dict(zip(scored[0].request.llms, pref_align(grades, ranked).tolist(), strict=True))
    left_out = ", ".join(f"“{item.criterion}”" for item in checked.left_out)
    note = (
        f"The judge {DEFAULT_CRM} cannot judge {left_out}, which its PrefAlign is without."
        if left_out
        else ""
    )
    return JudgesGrades(DEFAULT_CRM, np.array([by_name.get(llm, np.nan) for llm in llms]), note)


def _on(scored: Scored, queries: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean grades on some of the queries ``[L]``."""
    return mean_grades(replace(scored, counted=scored.counted & queries))
