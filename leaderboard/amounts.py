"""How much of what a ranking's criteria count is in the answers of each LLM, as numbers to check it by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.protocol import CRM, Amounts, CountsAmounts, JudgedBenchmark
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
    lists: Sequence[tuple[CriteriaSet, NDArray[np.bool_]]],
    benchmark: JudgedBenchmark,
    weights: NDArray[np.floating],
    llms: Sequence[str],
) -> tuple[MeanAmount, ...]:
    """Return the weightiest of what the criteria count; nothing of a judge that does not count.

    What several lists count is meant over their queries together. Where they wish for different amounts of
    it, none is said to be wished.

    Args:
        lists: Criteria and the queries ``[Q]`` that they hold on, as of ``Request.lists``.
        weights: How much each query counts ``[Q]``, 0 for one that does not.
        llms: The LLMs that are ranked, as of ``Request.llms``.

    Raises:
        RepresentationMissingError: The benchmark lacks what the judge reads.
    """
    if not isinstance(crm, CountsAmounts):
        return ()
    by_unit: dict[str, list[tuple[Amounts, NDArray[np.bool_]]]] = {}
    for criteria, queries in lists:
        if (weights * queries).any():
            for counted in crm.amounts(criteria, benchmark)[:_MOST]:
                by_unit.setdefault(counted.unit, []).append((counted, queries))
    return tuple(_mean_amount(counted, weights, llms) for counted in [*by_unit.values()][:_MOST])


def shares_kept(
    crm: CRM,
    criteria: CriteriaSet,
    benchmark: JudgedBenchmark,
    weights: NDArray[np.floating],
    llms: Sequence[str],
) -> list[NDArray[np.float64]]:
    """Return in which share of its answers each LLM keeps to each of the limits that criteria name ``[L]``.

    The arguments, and what is raised, as of ``mean_amounts``; NaN of an LLM that answered nothing.
    """
    counted = mean_amounts(crm, [(criteria, np.ones(len(weights), np.bool_))], benchmark, weights, llms)
    return [np.array([amount.kept[llm] for llm in llms]) for amount in counted if amount.kept]


def _mean_amount(
    counted: Sequence[tuple[Amounts, NDArray[np.bool_]]],
    weights: NDArray[np.floating],
    llms: Sequence[str],
) -> MeanAmount:
    """Return the mean of one unit over the queries of all lists that count it."""
    first = counted[0][0]
    alike = len({(each.wished, each.limit) for each, _ in counted}) == 1
    within = weights * np.any([queries for _, queries in counted], axis=0)
    means = weighted_means(first.amount, within).tolist()
    by_llm = dict(zip(llms, means, strict=False))  # what is left over is the baseline's
    baseline = means[-1] if len(means) > len(llms) else math.nan
    if not alike:
        return MeanAmount(first.unit, by_llm, baseline)
    kept: dict[str, float] = {}
    if first.kept is not None:
        known = np.where(np.isnan(first.amount), np.nan, first.kept)
        kept = dict(zip(llms, weighted_means(known, within).tolist(), strict=False))
    return MeanAmount(first.unit, by_llm, baseline, first.wished, first.limit, kept)
