"""Judges compared: evaluations that can stand side by side, who can judge what, and how rankings agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from crm import registry
from crm.errors import CRMError
from crm.evaluation.report import JudgeReport
from db import Database
from db.records import BenchmarkSummary
from db.repositories.benchmarks import find_benchmark
from db.repositories.representations import list_representations
from leaderboard.errors import LeaderboardError
from leaderboard.result import Leaderboard
from leaderboard.sentences import CLOSE, LARGELY, MIN_LLMS, SIGNIFICANCE, WEAK
from leaderboard.statistics.correlation import Correlations, correlate

DESCRIPTIONS = {
    "embedded": "trained, on stored representations",
    "longer": "prefers the longer answer",
    "cosine": "embedding similarity to the criteria",
    "smollm2": "zero-shot LLM judge, 135 M parameters",
}
"""What the bundled judges are, in a few words."""


@dataclass(frozen=True)
class ComparableReports:
    """Evaluations on the same sets, and the names of judges whose evaluations are on other sets."""

    shown: tuple[JudgeReport, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class RankPair:
    """One LLM, by the name it is shown by, with rank and win rate under two judges."""

    title: str
    first: int
    second: int
    first_win_rate: float
    second_win_rate: float

    @property
    def change(self) -> int:
        """Places that the second judge lets it climb."""
        return self.first - self.second


@dataclass(frozen=True)
class Agreement:
    """Two judges' rankings of the same LLMs.

    Attributes:
        first: Name of the first judge, whose ranking counts as the prediction.
        second: Name of the second judge, whose ranking counts as the reference.
        llms: The LLMs that both rank, in the first judge's order.
    """

    first: str
    second: str
    correlations: Correlations
    llms: tuple[RankPair, ...]

    @property
    def sentence(self) -> str:
        """What the correlations say, for readers without statistics."""
        tau, n = self.correlations.tau, self.correlations.n
        names = f"“{self.first}” and “{self.second}”"
        if n < MIN_LLMS:
            return f"{names} rank only {n} LLMs in common: any agreement could be chance."
        if abs(tau) < CLOSE and self.correlations.p_value >= SIGNIFICANCE:
            return f"{names} show no clear agreement: with {n} LLMs, this could be chance."
        return f"{names} {_relation(tau)}."


def comparable(reports: Sequence[JudgeReport]) -> ComparableReports:
    """Keep the reports on those evaluation sets that most of them, else the first, are on."""
    if not reports:
        return ComparableReports((), ())
    [(data, _)] = Counter(report.data for report in reports).most_common(1)
    return ComparableReports(
        tuple(report for report in reports if report.data == data),
        tuple(report.judge for report in reports if report.data != data),
    )


def able_judges(database: Database, benchmark: BenchmarkSummary) -> list[str]:
    """Return names of the judges that can judge a benchmark: by its texts, or by what is stored of them."""
    with database.session() as session:
        stored = set(list_representations(session, find_benchmark(session, benchmark.slug)))
    return [name for name in registry.crm_names() if _is_able(name, stored, has_texts=benchmark.has_texts)]


def _is_able(name: str, stored: set[str], *, has_texts: bool) -> bool:
    try:
        representation = registry.get_crm(name).representation
    except CRMError:  # it cannot even be made; whoever chooses it is told why
        return has_texts
    return has_texts if representation is None else representation in stored


def agreement(first: Leaderboard, second: Leaderboard) -> Agreement:
    """Compare two judges' leaderboards of the same benchmark, criteria and topics.

    Raises:
        LeaderboardError: One of the two has not ranked anything yet; they share no LLM.
    """
    for leaderboard in (first, second):
        if not leaderboard.ranking.ranks:
            raise LeaderboardError(f"“{leaderboard.view.crm}” has not judged anything yet: let it begin.")
    correlations = correlate(first.ranking.ranks, second.ranking.ranks)
    rates = [dict(zip(one.ranking.llms, one.ranking.win_rate, strict=True)) for one in (first, second)]
    ranks = [one.ranking.ranks for one in (first, second)]
    common = sorted(set(ranks[0]) & set(ranks[1]), key=lambda llm: (ranks[0][llm], ranks[1][llm], llm))
    llms = tuple(
        RankPair(first.titles[llm], ranks[0][llm], ranks[1][llm], float(rates[0][llm]), float(rates[1][llm]))
        for llm in common
    )
    return Agreement(first.view.crm, second.view.crm, correlations, llms)


def _relation(tau: float) -> str:
    if tau == 1:
        return "rank the LLMs in the same order"
    if tau >= CLOSE:
        return "hardly differ"
    if tau >= LARGELY:
        return "largely agree, with some LLMs changing places"
    if tau >= WEAK:
        return "partly agree"
    if tau > -WEAK:
        return "have little to do with each other"
    return "lean opposite ways" if tau > -CLOSE else "are nearly the reverse of each other"
