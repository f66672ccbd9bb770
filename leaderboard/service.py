"""Joins the ranking functions with the database and the judges: from a view to a leaderboard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.criteria import CriteriaSet
from crm.protocol import CRM, Explains
from crm.representation import MISSING
from db import BenchmarkRecord, BenchmarkSummary, Database, ScoreKey
from db.repositories import benchmarks, scores, texts
from leaderboard.contest import StoredContest
from leaderboard.correlation import Correlations, correlate
from leaderboard.drilldown import CriterionVerdict, PairReport, QueryScore, TopicScore, topic_scores
from leaderboard.errors import UnknownLLMError, UnknownQueryError
from leaderboard.interpretation import interpret
from leaderboard.ranking import Ranking, rank_changes, rank_llms
from leaderboard.recent import Recent
from leaderboard.selection import selected_queries
from leaderboard.view import View

Progress = Callable[[float], None]

BUNDLED = Path(__file__).resolve().parent.parent / "bundled"
_CONTESTS_KEPT = 4
_MATRICES_KEPT = 64
_CRITERIA_SETS_STORED = 2000


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """What a view shows.

    Attributes:
        view: What was asked for.
        benchmark: The benchmark.
        ranking: The LLMs under the view's criteria.
        default: The same queries under ∅, the same judge without criteria.
        changes: Places climbed since ∅, in the order of ``ranking.llms``.
        correlations: Of the ranking (predicted) with ∅ (reference).
        summary: One plain sentence on them.
        n_queries: Number of selected queries.
    """

    view: View
    benchmark: BenchmarkRecord
    ranking: Ranking
    default: Ranking
    changes: NDArray[np.float64]
    correlations: Correlations
    summary: str
    n_queries: int

    @property
    def shown_categories(self) -> tuple[str, ...]:
        """The categories of the selected queries, in display order: one column each."""
        selected = _selected(self.benchmark, self.view)
        present = {
            query.category for query, chosen in zip(self.benchmark.queries, selected, strict=True) if chosen
        }
        return tuple(category.name for category in self.benchmark.categories if category.name in present)

    @property
    def titles(self) -> dict[str, str]:
        """The name each LLM is shown by."""
        return {llm.name: llm.title for llm in self.benchmark.llms}

    @property
    def baseline_title(self) -> str:
        """The name the baseline is shown by."""
        return self.titles[self.benchmark.baseline or ""]


class Service:
    """The leaderboard of one database; may be shared between threads."""

    def __init__(self, database: Database) -> None:
        """Serve the benchmarks of an open database."""
        self.database = database
        self._contests: Recent[StoredContest] = Recent(_CONTESTS_KEPT)
        self._matrices: Recent[NDArray[np.float32]] = Recent(_MATRICES_KEPT)
        self._defaults: Recent[Ranking] = Recent(_MATRICES_KEPT)

    @classmethod
    def open(cls, url: str | None = None) -> Service:
        """Open the database, created and filled from the bundled benchmarks at the first start."""
        return cls(Database.open(url, bundles=sorted(BUNDLED.glob("*.usl.zip"))))

    def benchmarks(self) -> list[BenchmarkSummary]:
        """All benchmarks."""
        with self.database.session() as session:
            return benchmarks.list_benchmarks(session)

    def contest(self, slug: str) -> StoredContest:
        """A benchmark, kept in memory until it changes."""
        with self.database.session() as session:
            changed = benchmarks.updated_at(session, slug)
            return self._contests.get(
                (slug, changed), lambda: StoredContest(self.database, benchmarks.get_benchmark(session, slug))
            )

    def leaderboard(self, view: View, progress: Progress | None = None) -> Leaderboard:
        """Rank the LLMs for a view.

        Args:
            view: What a person chose.
            progress: Told the share of the judge's work that is done, from 0 to 1.

        Raises:
            BenchmarkNotFoundError: There is no such benchmark.
            UnknownTopicError: The benchmark lacks one of the topics.
            CRMError: The judge is unknown or cannot judge this benchmark.
        """
        contest = self.contest(view.benchmark)
        crm = registry.get_crm(view.crm)
        selected = _selected(contest.record, view)
        for criteria in (CriteriaSet(), view.criteria):
            self.score_matrix(contest, crm, criteria, progress)
        default = self._default(contest, crm, view, selected)
        ranking = (
            self._rank(contest, crm, view.criteria, selected, soft=view.soft) if view.criteria else default
        )
        correlations = correlate(ranking.ranks, default.ranks)
        n_queries = int(selected.sum())
        return Leaderboard(
            view=view,
            benchmark=contest.record,
            ranking=ranking,
            default=default,
            changes=rank_changes(ranking, default),
            correlations=correlations,
            summary=interpret(correlations, queries=n_queries),
            n_queries=n_queries,
        )

    def score_matrix(
        self, contest: StoredContest, crm: CRM, criteria: CriteriaSet, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Probabilities ``[L, Q]`` that each LLM beats the baseline, NaN where a response is missing.

        Matrices of judges that read texts are stored and never computed twice; a judge that reads
        representations is quicker than the database, so its matrices are only kept in memory.
        """
        return self._matrices.get(
            (*_identity(contest), crm.name, crm.version, criteria.key),
            lambda: self._stored_matrix(contest, crm, criteria, progress),
        )

    def topic_scores(self, view: View, llm: str) -> list[TopicScore]:
        """The LLM's win rate by topic over the view's queries, best first."""
        contest = self.contest(view.benchmark)
        row, selected = self._row(contest, view, llm), _selected(contest.record, view)
        queries = [query for query, chosen in zip(contest.record.queries, selected, strict=True) if chosen]
        return topic_scores(
            row[selected],
            [query.category for query in queries],
            [query.topic for query in queries],
            soft=view.soft,
        )

    def query_scores(self, view: View, llm: str) -> list[QueryScore]:
        """The LLM's verdicts on the view's queries, clearest wins first; unanswered ones left out."""
        contest = self.contest(view.benchmark)
        row, selected = self._row(contest, view, llm), _selected(contest.record, view)
        verdicts = [
            QueryScore(query.external_id, query.category, query.topic, float(prob))
            for query, prob, chosen in zip(contest.record.queries, row, selected, strict=True)
            if chosen and np.isfinite(prob)
        ]
        return sorted(verdicts, key=lambda verdict: -verdict.prob)

    def query_texts(self, slug: str) -> list[str | None]:
        """Texts of the benchmark's queries in their order, None where they are not stored."""
        with self.database.session() as session:
            return texts.query_texts(session, slug)

    def pair_report(self, view: View, llm: str, query: str) -> PairReport:
        """Both responses to one query and the verdict per criterion, with reasons where the judge has any.

        Raises:
            UnknownLLMError: The LLM is not ranked here.
            UnknownQueryError: There is no such query.
        """
        contest = self.contest(view.benchmark)
        prob = self._row(contest, view, llm)
        position = {item.external_id: index for index, item in enumerate(contest.record.queries)}
        if query not in position:
            raise UnknownQueryError(f"There is no query {query!r} in {contest.record.info.title}.")
        with self.database.session() as session:
            [query_text] = texts.query_texts(session, view.benchmark, [query])
            responses = texts.response_pair(session, view.benchmark, query, llm, contest.baseline)
        index = position[query]
        record = contest.record.queries[index]
        return PairReport(
            query=query,
            category=record.category,
            topic=record.topic,
            query_text=query_text,
            response=responses[0],
            baseline_response=responses[1],
            prob=float(prob[index]),
            verdicts=self._verdicts(contest, view, llm, index),
        )

    def _verdicts(
        self, contest: StoredContest, view: View, llm: str, query: int
    ) -> tuple[CriterionVerdict, ...]:
        crm = registry.get_crm(view.crm)
        if not isinstance(crm, Explains) or crm.representation is None:
            return ()
        stored = contest.representation(crm.representation)
        row = contest.llms.index(llm)
        if MISSING in (stored["digest"][row, query], stored["digest"][-1, query]):
            return ()
        first = {name: array[row, query] for name, array in stored.items()}
        second = {name: array[-1, query] for name, array in stored.items()}
        verdicts = []
        for criterion in view.criteria or (None,):
            prob, reasons = crm.explain(CriteriaSet((criterion,) if criterion else ()), first, second)
            verdicts.append(CriterionVerdict(criterion, prob, tuple(reasons)))
        return tuple(verdicts)

    def _row(self, contest: StoredContest, view: View, llm: str) -> NDArray[np.float32]:
        if llm not in contest.llms:
            raise UnknownLLMError(f"{llm!r} is not ranked in {contest.record.info.title}.")
        matrix = self.score_matrix(contest, registry.get_crm(view.crm), view.criteria)
        row: NDArray[np.float32] = matrix[contest.llms.index(llm)]
        return row

    def _default(self, contest: StoredContest, crm: CRM, view: View, selected: NDArray[np.bool_]) -> Ranking:
        """The ranking under ∅, kept from view to view of the same topics."""
        return self._defaults.get(
            (*_identity(contest), crm.name, crm.version, view.soft, selected.tobytes()),
            lambda: self._rank(contest, crm, CriteriaSet(), selected, soft=view.soft),
        )

    def _rank(
        self,
        contest: StoredContest,
        crm: CRM,
        criteria: CriteriaSet,
        selected: NDArray[np.bool_],
        *,
        soft: bool,
    ) -> Ranking:
        return rank_llms(
            contest.llms,
            self.score_matrix(contest, crm, criteria),
            contest.topic_index,
            contest.category_index,
            contest.category_names,
            selected=selected,
            soft=soft,
        )

    def _stored_matrix(
        self, contest: StoredContest, crm: CRM, criteria: CriteriaSet, progress: Progress | None
    ) -> NDArray[np.float32]:
        if crm.representation is not None:
            return _filled(contest, crm, criteria, progress)
        slug = contest.record.info.slug
        key = ScoreKey(crm.name, crm.version, criteria.key)
        with self.database.session() as session:
            stored = scores.get_scores(session, slug, key)
        if stored is not None:
            return np.stack([stored[llm]["prob"] for llm in contest.llms])
        matrix = _filled(contest, crm, criteria, progress)
        rows = {llm: {"prob": matrix[index]} for index, llm in enumerate(contest.llms)}
        with self.database.session() as session:
            scores.put_scores(session, slug, key, [criterion.to_json() for criterion in criteria], rows)
            scores.prune_scores(session, _CRITERIA_SETS_STORED)
        return matrix


def _identity(contest: StoredContest) -> tuple[str, datetime]:
    """What changes whenever the benchmark does."""
    return contest.record.info.slug, contest.record.updated_at


def _filled(
    contest: StoredContest, crm: CRM, criteria: CriteriaSet, progress: Progress | None
) -> NDArray[np.float32]:
    matrix = np.full((len(contest.llms), contest.n_queries), np.nan, dtype=np.float32)
    done = 0
    for block in crm.score(criteria, contest):
        matrix[np.ix_(block.llms, block.queries)] = block.prob
        done += block.prob.size
        if progress is not None:
            progress(done / matrix.size)
    return matrix


def _selected(record: BenchmarkRecord, view: View) -> NDArray[np.bool_]:
    return selected_queries(
        view.topics,
        [query.category for query in record.queries],
        [query.topic for query in record.queries],
    )
