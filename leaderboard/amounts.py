"""How much of what a ranking's criteria count is in the answers of each LLM, as numbers to check it by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.protocol import CRM, CountsAmounts, JudgedBenchmark
from leaderboard.statistics.win_rate import weighted_means

_MOST = 3
"""So many properties are given, the weightiest."""
_DECIMALS = ((100.0, 0), (10.0, 1), (0.0, 2))
"""From these largest amounts down, so many decimals are written."""
_UNKNOWN = "–"


@dataclass(frozen=True, eq=False)
class MeanAmount:
    """The mean amount of one counted property in answers.

    Attributes:
        unit: What follows an amount, e.g. “emojis an answer”.
        by_llm: By the LLM's name, over the queries it has answered; NaN where that is none.
        baseline: That of the baseline; NaN where LLMs are not compared with one.
        wished: More of it is wished: 1, less: −1, neither: 0.
        limit: What is wished where an amount is named, e.g. “at most 2 sentences”; else empty.
        kept: Share of its answers in which an LLM keeps to the limit; empty without one.
    """

    unit: str
    by_llm: Mapping[str, float]
    baseline: float
    wished: int = 0
    limit: str = ""
    kept: Mapping[str, float] = field(default_factory=dict)

    def written(self, amount: float) -> str:
        """Return an amount with as many decimals as all of this property have; unknown is a dash."""
        return _UNKNOWN if math.isnan(amount) else f"{amount:.{self._decimals}f}"

    @cached_property
    def _decimals(self) -> int:
        largest = np.nanmax([*self.by_llm.values(), self.baseline])
        return next(decimals for least, decimals in _DECIMALS if largest >= least)


def mean_amounts(
    crm: CRM,
    criteria: CriteriaSet,
    benchmark: JudgedBenchmark,
    weights: NDArray[np.floating],
    llms: Sequence[str],
) -> tuple[MeanAmount, ...]:
    """Return the weightiest of what the criteria count; nothing of a judge that does not count.

    Args:
        weights: How much each query counts ``[Q]``, 0 for one that does not.
        llms: The LLMs that are ranked, as of ``Request.llms``.

    Raises:
        RepresentationMissingError: The benchmark lacks what the judge reads.
    """
    if not isinstance(crm, CountsAmounts):
        return ()
    found = []
    for counted in crm.amounts(criteria, benchmark)[:_MOST]:
        means = weighted_means(counted.amount, weights).tolist()
        by_llm = dict(zip(llms, means, strict=False))  # what is left over is the baseline's
        baseline = means[-1] if len(means) > len(llms) else math.nan
        kept: dict[str, float] = {}
        if counted.kept is not None:
            known = np.where(np.isnan(counted.amount), np.nan, counted.kept)
            kept = dict(zip(llms, weighted_means(known, weights).tolist(), strict=False))
        found.append(MeanAmount(counted.unit, by_llm, baseline, counted.wished, counted.limit, kept))
    return tuple(found)
