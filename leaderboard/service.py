"""Joins the ranking functions with the database and the judges: from a view to a leaderboard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.criteria import CriteriaSet
from crm.protocol import CRM, Explains
from crm.representation import MISSING
from db import BenchmarkSummary, Database
from db.repositories import benchmarks
from leaderboard.contest import StoredContest
from leaderboard.control import Control, control_terms
from leaderboard.drilldown import CriterionVerdict, PairReport, QueryScore, TopicScore, topic_scores
from leaderboard.errors import UnknownLLMError, UnknownQueryError
from leaderboard.judging.background import Background
from leaderboard.judging.jobs import ANYBODY
from leaderboard.judging.progress import Progress
from leaderboard.recent import Recent
from leaderboard.request import Request, doubts_of
from leaderboard.result import Leaderboard
from leaderboard.selection import queries_with
from leaderboard.statistics.matrix import Mask
from leaderboard.statistics.ranking import Ranking
from leaderboard.style_counts import style_counts
from leaderboard.view import View
from leaderboard.weighting import weighting

BUNDLED = Path(__file__).resolve().parent.parent / "bundled"
_CONTESTS_KEPT = 4
_MATRICES_KEPT = 64


@dataclass(frozen=True, eq=False)
class Scored:
    """What a ranking rests on.

    Attributes:
        request: What was asked for.
        prob: Probabilities ``[L, Q]`` that each LLM beats the baseline, NaN where unknown.
        counted: The queries ``[Q]`` on which LLMs are compared.
    """

    request: Request
    prob: NDArray[np.float32]
    counted: Mask


class Service:
    """The leaderboard of one database; may be shared between threads."""

    def __init__(self, database: Database, background: Background | None = None) -> None:
        """Serve the benchmarks of an open database, with slow judges of its own if none are given.

        Raises:
            OptionsError: The environment's number of judges at once is none.
        """
        self.database = database
        self._contests: Recent[StoredContest] = Recent(_CONTESTS_KEPT)
        self._matrices: Recent[NDArray[np.float32]] = Recent(_MATRICES_KEPT)
        self._defaults: Recent[Ranking] = Recent(_MATRICES_KEPT)
        self._control_terms: Recent[NDArray[np.float64]] = Recent(_CONTESTS_KEPT)
        self._background = background or Background()

    @classmethod
    def open(cls, url: str | None = None) -> Service:
        """Open the database, created and filled from the bundled benchmarks at the first start."""
        return cls(Database.open(url, bundles=sorted(BUNDLED.glob("*.usl.zip"))))

    def close(self) -> None:
        """Stop the judges, whose work is kept, and close the database's connections."""
        self._background.close()
        self.database.close()

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

    def leaderboard(self, view: View, *, watcher: str | None = ANYBODY, patience: float = 0.0) -> Leaderboard:
        """Rank the LLMs for a view; a slow judge is set to work in the background.

        Of a slow judge this is what there is so far: call again for more. The criteria are judged first,
        then ∅ for comparison.

        Args:
            view: What a person chose.
            watcher: Who wants to see it, by any name: the judge works on while the watcher asks for the same
                view at least every three minutes. By default it works to the end; for None not at all.
            patience: Seconds to wait for a slow judge to finish.

        Raises:
            BenchmarkNotFoundError: There is no such benchmark.
            UnknownTopicError: The benchmark lacks one of the topics.
            NoQueriesError: No query has one of the topics, or all that do have weight 0.
            EmbeddingsMissingError: The queries cannot be compared with the view's interests.
            CRMError: The judge is unknown or cannot judge this benchmark.
            StyleCountsMissingError: The view controls for what is not known of the responses.
        """
        request = self._request(view)
        if not request.is_instant:
            return self._background.leaderboard(request, watcher, patience)
        default = self._default(request)
        if not view.criteria:
            return request.leaderboard(default, default)
        matrix = self.score_matrix(request.contest, request.crm, view.criteria)
        return request.leaderboard(request.rank(matrix, request.selected), default)

    def scored(self, view: View) -> Scored:
        """The score matrix that the view's ranking rests on, as far as a slow judge has filled it.

        Raises:
            LeaderboardError, CRMError, DatabaseError: As ``leaderboard``.
        """
        request = self._request(view)
        if not request.is_instant:
            return Scored(request, *self._background.judged(request))
        matrix = self.score_matrix(request.contest, request.crm, view.criteria)
        return Scored(request, matrix, request.selected)

    def stop(self, view: View, watcher: str) -> None:
        """The watcher wants no more of a slow judge's work on the view; what is judged is kept."""
        self._background.stop(self._request(view), watcher)

    def resume(self, view: View, watcher: str) -> None:
        """Go on with a slow judge's work on the view after a stop or an error."""
        self._background.resume(self._request(view), watcher)

    def judge(
        self, view: View, tell: Callable[[Progress], None] | None = None, *, compare: bool = True
    ) -> None:
        """Have a slow judge do here and now what the view needs; of other judges there is nothing to do.

        Args:
            view: What a person chose.
            tell: Told how far the judge is, at the start and after every block.
            compare: Also judge ∅, for changes of rank.

        Raises:
            CRMError, JudgingError: The judge fails; what it judged before is kept.
            LeaderboardError, DatabaseError: As ``leaderboard``.
        """
        request = self._request(view)
        if not request.is_instant:
            self._background.judge_now(request, tell, compare=compare)

    def score_matrix(self, contest: StoredContest, crm: CRM, criteria: CriteriaSet) -> NDArray[np.float32]:
        """Probabilities ``[L, Q]`` that each LLM beats the baseline, NaN where a response is missing.

        A judge that reads representations is quicker than the database, so its matrices are only kept in
        memory. Matrices of judges that read texts are stored and never computed twice; of such a one this is
        what has been judged so far.
        """
        if crm.representation is None:
            return self._background.filling(contest, crm, criteria).matrix.prob
        return self._matrices.get(
            (contest.identity, crm.name, crm.version, criteria.key),
            lambda: self._filled(contest, crm, criteria),
        )

    def _filled(self, contest: StoredContest, crm: CRM, criteria: CriteriaSet) -> NDArray[np.float32]:
        """What a judge that reads representations says ``[L, Q]``."""
        return filled(contest, crm, criteria)

    def topic_scores(self, view: View, llm: str) -> list[TopicScore]:
        """The LLM's win rate by topic over the view's queries, best first."""
        contest = self._contest_of(view)
        row, selected = self._row(contest, view, llm), _selected(contest, view)
        queries = [query for query, chosen in zip(contest.record.queries, selected, strict=True) if chosen]
        weights = weighting(contest, view, selected).weights
        return topic_scores(
            row[selected],
            [query.category for query in queries],
            [query.topic for query in queries],
            soft=view.soft,
            weights=None if weights is None else weights[selected],
        )

    def query_scores(self, view: View, llm: str) -> list[QueryScore]:
        """The LLM's verdicts on the view's queries, clearest wins first; unanswered ones left out."""
        contest = self._contest_of(view)
        row, selected = self._row(contest, view, llm), _selected(contest, view)
        verdicts = [
            QueryScore(query.external_id, query.category, query.topic, float(prob))
            for query, prob, chosen in zip(contest.record.queries, row, selected, strict=True)
            if chosen and np.isfinite(prob)
        ]
        return sorted(verdicts, key=lambda verdict: -verdict.prob)

    def query_texts(self, slug: str) -> list[str | None]:
        """Texts of the benchmark's queries in their order, None where they are not stored."""
        return list(self.contest(slug).query_texts)

    def pair_report(self, view: View, llm: str, query: str) -> PairReport:
        """Both responses to one query and the verdict per criterion, with reasons where the judge has any.

        Raises:
            UnknownLLMError: The LLM is not ranked here.
            UnknownQueryError: There is no such query.
        """
        contest = self._contest_of(view)
        prob = self._row(contest, view, llm)
        position = {item.external_id: index for index, item in enumerate(contest.record.queries)}
        if query not in position:
            raise UnknownQueryError(f"There is no query {query!r} in {contest.record.info.title}.")
        index = position[query]
        record = contest.record.queries[index]
        response, baseline_response = contest.texts_at(llm, index)
        return PairReport(
            query=query,
            category=record.category,
            topic=record.topic,
            query_text=contest.query_texts[index],
            response=response,
            baseline_response=baseline_response,
            prob=float(prob[index]),
            verdicts=self._verdicts(contest, view, llm, index),
        )

    def _verdicts(
        self, contest: StoredContest, view: View, llm: str, query: int
    ) -> tuple[CriterionVerdict, ...]:
        crm = registry.get_crm(view.crm)
        if not isinstance(crm, Explains) or crm.representation is None:
            return ()
        first, second = contest.arrays_at(crm.representation, llm, query)
        if MISSING in (first["digest"], second["digest"]):
            return ()
        doubted = {doubt.criterion: doubt.reason for doubt in doubts_of(crm, view.criteria)}
        verdicts = []
        for criterion in view.criteria or (None,):
            prob, reasons = crm.explain(CriteriaSet((criterion,) if criterion else ()), first, second)
            doubt = doubted.get(criterion) if criterion else None
            verdicts.append(CriterionVerdict(criterion, prob, tuple(reasons), doubt))
        return tuple(verdicts)

    def _row(self, contest: StoredContest, view: View, llm: str) -> NDArray[np.float32]:
        if llm not in contest.llms:
            raise UnknownLLMError(f"{llm!r} is not ranked in {contest.record.info.title}.")
        matrix = self.score_matrix(contest, registry.get_crm(view.crm), view.criteria)
        row: NDArray[np.float32] = matrix[contest.llms.index(llm)]
        return row

    def _request(self, view: View) -> Request:
        """The view with what it names looked up; raises as ``leaderboard``."""
        contest = self._contest_of(view)
        crm = registry.get_crm(view.crm)
        selected = _selected(contest, view)
        terms = self._terms(contest, view.control)
        return Request(view, contest, crm, selected, terms, weighting(contest, view, selected))

    def _terms(self, contest: StoredContest, control: Control) -> NDArray[np.float64] | None:
        """What the control takes out of the win rates ``[L, Q, P]``, kept until the benchmark changes.

        Raises:
            StyleCountsMissingError: Length and style are not known.
        """
        if control is Control.NONE:
            return None
        return self._control_terms.get(
            (contest.identity, control), lambda: control_terms(style_counts(contest), control)
        )

    def _contest_of(self, view: View) -> StoredContest:
        """The contest that the view's judge judges."""
        return self.contest(view.benchmark)

    def _default(self, request: Request) -> Ranking:
        """The ranking under ∅, kept from view to view of the same topics."""
        return self._defaults.get(
            (request.contest_key, request.scoring, request.selected.tobytes()),
            lambda: request.rank(
                self.score_matrix(request.contest, request.crm, CriteriaSet()), request.selected
            ),
        )


def _selected(contest: StoredContest, view: View) -> Mask:
    """The queries that count ``[Q]``."""
    return queries_with(contest.record, view.topics, view.topic_weights)


def filled(contest: StoredContest, crm: CRM, criteria: CriteriaSet) -> NDArray[np.float32]:
    """The score matrix ``[L, Q]`` of a judge that reads representations, NaN where a response is missing."""
    matrix = np.full((len(contest.llms), contest.n_queries), np.nan, dtype=np.float32)
    for block in crm.score(criteria, contest):
        matrix[np.ix_(block.llms, block.queries)] = block.prob
    return matrix
