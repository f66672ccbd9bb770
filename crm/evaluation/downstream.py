"""Does a benchmark foretell how useful a judge is? Its ranking of judges beside that of what they choose.

As in “Personalized RewardBench” (Ma et al. 2026, section 5), each judge chooses the best of N responses to a
prompt, and another one that knows the rubric marks what it chose. A benchmark is worth something where the
judges that do well on it choose what is marked high: ``python -m leaderboard correlate`` says how far.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from crm.data.judge_benchmarks import JudgedPrompt
from crm.embedded.encoder import ProgressCallback
from crm.errors import CRMError
from crm.evaluation.benchmarks import BenchmarkReport, log_odds
from crm.evaluation.report import percent
from crm.evaluation.rubric_judge import RubricJudge
from crm.protocol import CRM, reads_criteria
from crm.report_table import ReportTable

BENCHMARK_RANKING = "benchmark.csv"
DOWNSTREAM_RANKING = "best_of_n.csv"
FIRST = "the first response"
"""What is got without choosing."""

Candidates = Mapping[str, Sequence[str]]
"""Responses to choose from, by the id of the prompt."""


@dataclass(frozen=True)
class Downstream:
    """How what a judge chose is marked.

    Attributes:
        marks: Mean mark by domain, 0 to 1.
    """

    judge: str
    marks: Mapping[str, float]

    @property
    def average(self) -> float:
        """Mean of the domains."""
        return sum(self.marks.values()) / len(self.marks)


def best_of_n(
    crm: CRM,
    prompts: Sequence[JudgedPrompt],
    candidates: Candidates,
    *,
    without_criteria: bool = False,
    progress: ProgressCallback = lambda done, total: None,
) -> list[str]:
    """Return the response that a judge prefers to each prompt.

    All pairs are compared, N(N − 1) / 2 a prompt, and the sum of a response's log-odds decides: of a reward
    model that is the highest score. Of equal ones the first is taken.

    Raises:
        CRMError: The judge cannot answer.
    """
    without_criteria |= not reads_criteria(crm)
    chosen = []
    for done, prompt in enumerate(prompts, start=1):
        texts = candidates[prompt.id]
        pairs = list(combinations(range(len(texts)), 2))
        asked = [(prompt, texts[one], texts[other]) for one, other in pairs]
        sums = np.zeros(len(texts))
        for (one, other), margin in zip(
            pairs, log_odds(crm, asked, without_criteria=without_criteria) if asked else [], strict=True
        ):
            sums[one] += margin
            sums[other] -= margin
        chosen.append(texts[int(np.argmax(np.round(sums, 6)))])
        progress(done, len(prompts))
    return chosen


def downstream(
    judge: str, prompts: Sequence[JudgedPrompt], chosen: Sequence[str], rubric_judge: RubricJudge
) -> Downstream:
    """Mark what was chosen of each prompt.

    Raises:
        CRMError: The judge by rubric cannot answer, or gave no marks of any choice in a domain.
    """
    asked = [(prompt.criteria, prompt.query, text) for prompt, text in zip(prompts, chosen, strict=True)]
    marks: dict[str, list[float]] = {prompt.domain: [] for prompt in prompts}
    for prompt, mark in zip(prompts, rubric_judge.mark(asked), strict=True):
        if mark is not None:
            marks[prompt.domain].append(mark)
    if empty := [domain for domain, found in marks.items() if not found]:
        raise CRMError(f"{rubric_judge.name} gave no marks in {empty[0]}: choose another LLM.")
    return Downstream(judge, {domain: float(np.mean(found)) for domain, found in marks.items()})


def downstream_table(
    reports: Sequence[BenchmarkReport], results: Sequence[Downstream], first: Downstream, marked_by: str
) -> ReportTable:
    """Judges with their score on the benchmark, the marks of what they chose, and their rank by either."""
    domains = list(first.marks)
    by_score = _ranks([report.average for report in reports])
    by_marks = _ranks([result.average for result in results])
    rows = [
        (
            result.judge,
            percent(report.average),
            f"{score_rank:g}",
            *(percent(result.marks[domain]) for domain in domains),
            percent(result.average),
            f"{marks_rank:g}",
        )
        for report, result, score_rank, marks_rank in zip(reports, results, by_score, by_marks, strict=True)
    ]
    marks_of_first = [percent(first.marks[domain]) for domain in domains]
    without = (FIRST, "", "", *marks_of_first, percent(first.average), "")
    return ReportTable(
        "Best of N",
        ("judge", "benchmark", "rank", *domains, "average", "rank by choices"),
        (*rows, without),
        "Benchmark: mean score of the domains in %. Domains: mark of what the judge chose, in % of the "
        f"highest, by {marked_by}.",
    )


def write_rankings(
    folder: Path, reports: Sequence[BenchmarkReport], results: Sequence[Downstream]
) -> tuple[Path, Path]:
    """Write both rankings of the judges as CSV, as ``python -m leaderboard correlate`` reads them.

    Raises:
        CRMError: A file cannot be written.
    """
    paths = folder / BENCHMARK_RANKING, folder / DOWNSTREAM_RANKING
    names = [result.judge for result in results]
    by_benchmark = _ranking_csv(names, [report.average for report in reports])
    by_choices = _ranking_csv(names, [result.average for result in results])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, (by_benchmark, by_choices), strict=True):
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CRMError(f"{folder} cannot be written ({error.strerror}).") from error
    return paths


def _ranking_csv(names: Sequence[str], scores: Sequence[float | None]) -> str:
    """Return a ranking, best first; equal scores share their place."""
    rows = sorted(zip(_ranks(scores), names, scores, strict=True), key=lambda row: row[0])
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("rank", "llm", "score"))
    lines.writerows((f"{rank:g}", name, f"{score:.6f}") for rank, name, score in rows if score is not None)
    return text.getvalue()


def _ranks(scores: Sequence[float | None]) -> list[float]:
    values = [-np.inf if score is None else round(score, 9) for score in scores]
    return [float(rank) for rank in rankdata([-value for value in values])]
