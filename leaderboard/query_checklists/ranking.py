"""LLMs of a benchmark by the checklist of each query: each response is judged by what its query calls for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.criteria import CriteriaSet
from crm.protocol import CRM, MeasuresResponses
from crm.report_table import ReportTable
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.query_checklists.checklist import QueryChecklist
from leaderboard.scoring_jobs.task import RemainingBenchmark
from leaderboard.service import Service
from leaderboard.statistics.bootstrap import percentile_interval
from leaderboard.statistics.win_rate import outcomes, weighted_means
from parsing.messages import quantity

_REDRAWN = 2000

Floats64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankedByChecklists:
    """What LLMs score by the checklist of each query.

    Attributes:
        won: 1 for a response that is better than the opponent's, ½ for a tie, 0 for a worse one; against
            several opponents the share of them ``[L, N]``. NaN where a response is missing.
        opponent: Whom the responses are compared with, in words.
    """

    llms: tuple[str, ...]
    won: Floats64
    opponent: str

    def rows(self, seed: int = 0) -> list[tuple[str, float, float, float]]:
        """Return LLM, win rate and its 95 % interval over queries, the best first."""
        rate = weighted_means(self.won)
        drawn = np.random.default_rng(seed).integers(0, self.won.shape[1], (_REDRAWN, self.won.shape[1]))
        # An LLM without a response to any drawn query has no rate there.
        samples = np.stack([weighted_means(self.won[:, columns]) for columns in drawn])
        low, high = percentile_interval(np.where(np.isnan(samples), rate, samples))
        rows = zip(self.llms, rate.tolist(), low.tolist(), high.tolist(), strict=True)
        return sorted(rows, key=lambda row: (np.isnan(row[1]), -row[1]))

    def table(self) -> ReportTable:
        """Return one row an LLM."""
        rows = (
            (llm, f"{100 * rate:.1f} %", f"{100 * low:.1f} to {100 * high:.1f} %")
            for llm, rate, low, high in self.rows()
        )
        return ReportTable(
            "By the checklist of each query",
            ("llm", "win rate", "95 %"),
            tuple(rows),
            f"Share of {quantity(self.won.shape[1], 'query')} on which the LLM's response is better than "
            f"{self.opponent}, by the checklist of that query.",
        )


def rank_by_checklists(
    service: Service, benchmark: LoadedBenchmark, checklists: Mapping[int, QueryChecklist], crm_name: str
) -> RankedByChecklists:
    """Rank the LLMs of a benchmark, each query by its own checklist.

    Args:
        checklists: By the place of their query, one or more.

    Raises:
        LeaderboardError: There is no baseline, and the judge compares pairs only.
        CRMError: The judge fails.
    """
    crm = registry.get_crm(crm_name)
    measures = isinstance(crm, MeasuresResponses)
    has_baseline = benchmark.record.baseline is not None
    opponent = f"that of {benchmark.baseline}" if has_baseline or not measures else "those of the others"
    columns = [
        _measured(service, benchmark, crm, checklist.criteria, query)
        if isinstance(crm, MeasuresResponses)
        else _compared(benchmark, crm, checklist.criteria, query)
        for query, checklist in checklists.items()
    ]
    return RankedByChecklists(benchmark.llms, np.stack(columns, axis=1), opponent)


def _measured(
    service: Service, benchmark: LoadedBenchmark, crm: MeasuresResponses, criteria: CriteriaSet, query: int
) -> Floats64:
    """Return what each LLM wins on one query by a judge that measures responses ``[L]``."""
    here = service.margins(benchmark, crm, criteria).on(np.array([query]))
    rows = range(len(benchmark.llms))
    if benchmark.record.baseline is None:
        return np.array([here.share_won(row, soft=False)[0] for row in rows])
    baseline = len(benchmark.respondents) - 1
    return np.array([here.between(row, soft=False)[baseline, 0] for row in rows])


def _compared(benchmark: LoadedBenchmark, crm: CRM, criteria: CriteriaSet, query: int) -> Floats64:
    """Return the same by a judge that compares two texts."""
    todo = np.zeros_like(benchmark.answered)
    todo[:, query] = benchmark.answered[:, query]
    won = np.full(len(benchmark.llms), np.nan)
    if todo.any():
        part = RemainingBenchmark(benchmark, todo)
        for block in map(part.of_whole, crm.score(criteria, part)):
            won[block.llms] = outcomes(block.prob)[:, 0]
    return won
