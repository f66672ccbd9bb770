"""Joins the ranking functions with the database and the judges: from a view to a leaderboard."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import compress
from pathlib import Path
from threading import local
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sqlalchemy.orm import Session

from crm.criteria import CriteriaSet, Criterion
from crm.data.taxonomy import THEMES_FILE, CriterionThemes
from crm.embedded.representation import MISSING
from crm.protocol import CRM, Explains, FindsPassages, MeasuresResponses, Reason
from db import Database
from db.errors import DatabaseError, NotFoundError
from db.records import BenchmarkSummary
from db.repositories import benchmarks
from db.repositories.collections import collection_of
from db.repositories.llm_answers import list_themes
from db.source_records import CollectionRecord
from leaderboard.amounts import shares_kept
from leaderboard.benchmark import LoadedBenchmark, response_features, style_counts
from leaderboard.cache import CacheFigures
from leaderboard.errors import LeaderboardError
from leaderboard.explain import CriterionVerdict, PairReport, QueryScore, TopicScore, topic_scores
from leaderboard.judged import Judged, by_lists
from leaderboard.kept_results import KeptResults, Rating
from leaderboard.live_grades import LiveGrades
from leaderboard.live_ranking import LiveRankings
from leaderboard.logs import told
from leaderboard.request import (
    Request,
    check_criteria,
    check_opponents,
    judges_of,
    measuring,
    weighting,
)
from leaderboard.result import Judging, Leaderboard
from leaderboard.scored import Scored
from leaderboard.scoring_jobs.progress import Progress, State
from leaderboard.scoring_jobs.scheduler import ANYBODY
from leaderboard.selection import lists_of_queries, queries_with
from leaderboard.statistics.anchoring import anchored
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.foretelling import with_foretold
from leaderboard.statistics.ranking import Ranking
from leaderboard.statistics.requirements import misses, seldom_kept
from leaderboard.statistics.style_control import Control, control_terms
from leaderboard.statistics.win_rate import Mask, outcomes
from leaderboard.view import BENCHMARK_VARIABLE, DEFAULT_BENCHMARK, FIRST_FLOOR, Against, View

T = TypeVar("T")

BUNDLED = Path(__file__).resolve().parent.parent / "bundled"
SHIPPED_THEMES = ""
"""Key of the shipped themes; no preference data has an empty name."""
_FEWEST_FOR_FLOOR = 10
"""LLMs of a benchmark; of fewer, half are too few to choose from."""

_ALIKE = 0.5
"""What a judge says of equal responses, which votes do not tell apart."""


class _Moment(local):
    """What a thread has looked up in the database within ``Service.at_one_moment``; None outside of it."""

    found: dict[str, LoadedBenchmark] | None = None


class Service:
    """The leaderboard of one database; may be shared between threads."""

    def __init__(
        self,
        database: Database,
        live: LiveRankings | None = None,
        *,
        ranks_once: bool = False,
        share: int = 1,
    ) -> None:
        """Serve an open database, with slow judges of its own if none are given (see ``LiveRankings``).

        Args:
            ranks_once: Keep less in memory for the next ranking, as of ``LoadedBenchmark``.
            share: Keep so many times less of what is large.
        """
        self.database = database
        self._ranks_once = ranks_once
        self._kept = KeptResults(share)
        self._listed: list[BenchmarkSummary] = []
        self._moment = _Moment()
        self._live = live or LiveRankings()

    @classmethod
    def open(cls, url: str | None = None, *, ranks_once: bool = False) -> Service:
        """Open the database, created and filled from the bundled benchmarks at the first start.

        Args:
            ranks_once: As of the class.
        """
        return cls(Database.open(url, bundles=sorted(BUNDLED.glob("*.usl.zip"))), ranks_once=ranks_once)

    def close(self) -> None:
        """Stop the judges, whose work is kept, and close the database's connections."""
        self._live.close()
        self.database.close()

    def jobs(self) -> dict[State, int]:
        """Return how many score matrices of slow judges are filled now and how many wait for that."""
        return self._live.jobs()

    def caches(self) -> dict[str, CacheFigures]:
        """Return what the caches of results have done, by what they keep."""
        return self._kept.figures()

    def derived(self, leaderboard: Leaderboard, what: Hashable, compute: Callable[[], T]) -> T:
        """Return what is worked out of a leaderboard, once for all who look at the same one.

        Args:
            what: Name of it, with all that it depends on besides the leaderboard and what is stored.
            compute: Works it out; what it returns is changed by nobody.
        """
        found: T = self._kept.derived.get((what, leaderboard.identity), compute)
        return found

    def benchmarks(self) -> list[BenchmarkSummary]:
        """Return all benchmarks; while the database does not answer, those that there were before.

        Raises:
            DatabaseError: It has not answered yet.
        """
        try:
            with self.database.session() as session:
                self._listed = benchmarks.list_benchmarks(session)
        except DatabaseError:
            if not self._listed:
                raise
        return self._listed

    def first_benchmark(self) -> str:
        """Return the slug of the benchmark to begin with: the default, or if that is gone the first one."""
        slugs = [summary.slug for summary in self.benchmarks()]
        return DEFAULT_BENCHMARK if DEFAULT_BENCHMARK in slugs else next(iter(slugs), DEFAULT_BENCHMARK)

    def first_floor(self, slug: str) -> float | None:
        """Return the floor that a person's first criteria come with; None for a benchmark of few LLMs."""
        n_llms = {summary.slug: summary.n_llms for summary in self.benchmarks()}
        return FIRST_FLOOR if n_llms.get(slug, 0) >= _FEWEST_FOR_FLOOR else None

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Ask the database only once within this block, and this thread, whether a benchmark has changed."""
        before, self._moment.found = self._moment.found, {}
        try:
            yield
        finally:
            self._moment.found = before

    def benchmark(self, slug: str) -> LoadedBenchmark:
        """Return a benchmark, kept in memory until it changes, and while the database does not answer.

        Raises:
            NotFoundError: There is none.
            DatabaseError: The database does not answer, and the benchmark is not in memory.
        """
        known = self._moment.found
        if known is None:
            return self._stored(slug)
        if slug not in known:
            known[slug] = self._stored(slug)
        return known[slug]

    def _stored(self, slug: str) -> LoadedBenchmark:
        """Return a benchmark as it is now; raises as ``benchmark``."""
        try:
            with self.database.session() as session:
                return self._found(session, slug)
        except NotFoundError as error:
            if slug != os.environ.get(BENCHMARK_VARIABLE):
                raise
            raise NotFoundError(f"{error} {BENCHMARK_VARIABLE} names the one to begin with.") from None
        except DatabaseError:
            kept = [found for _, found in self._kept.loaded.items() if found.record.info.slug == slug]
            if not kept:
                raise
            return kept[-1]

    def _found(self, session: Session, slug: str) -> LoadedBenchmark:
        benchmark, changed = benchmarks.find_with_date(session, slug)
        return self._kept.loaded.get(
            (slug, changed),
            lambda: LoadedBenchmark(
                self.database, benchmarks.get_benchmark(session, benchmark), ranks_once=self._ranks_once
            ),
        )

    def collection(self, slug: str, llm: str) -> CollectionRecord | None:
        """Return how a stored LLM's answers were collected; None where it is not stored, as of a session."""
        with self.database.session() as session:
            try:
                return collection_of(session, benchmarks.find_benchmark(session, slug), llm)
            except NotFoundError:
                return None

    def criterion_themes(self) -> dict[str, CriterionThemes]:
        """Return shipped themes under ``SHIPPED_THEMES``, then preference data's; a CRMError if damaged."""
        with self.database.session() as session:
            of_preferences = list_themes(session)
        return {SHIPPED_THEMES: CriterionThemes.load(THEMES_FILE)} | {
            slug: CriterionThemes.from_json(value) for slug, value in of_preferences.items()
        }

    def leaderboard(
        self, view: View, *, subscriber: str | None = ANYBODY, patience: float = 0.0
    ) -> Leaderboard:
        """Rank the LLMs for a view; a slow judge is set to work in the background.

        Of a slow judge this is what there is so far: call again for more. The criteria are judged first,
        then ∅ for comparison.

        Args:
            view: What a person chose.
            subscriber: Who wants to see it, by any name: the judge works on while the subscriber asks for the
                same view at least every three minutes. By default it works to the end; for None not at all.
            patience: Seconds to wait for a slow judge to finish.

        Raises:
            NotFoundError: There is no such benchmark.
            LeaderboardError: The benchmark lacks one of the topics; no query has one of the topics, or all
                that do have weight 0; the queries cannot be compared with the view's interests; there is no
                baseline to compare with, or the judge or a control needs one.
            CRMError: The judge is unknown or cannot judge this benchmark.
        """
        with told("ranking") as log:
            request = self._request(view)
            log.update(_size(request))
            found = self._leaderboard(request, subscriber, patience, log)
            if found.judging is not None:
                log["state"] = found.judging.current.state.value
            return found

    def _leaderboard(
        self, request: Request, subscriber: str | None, patience: float, log: dict[str, object]
    ) -> Leaderboard:
        """Return the leaderboard, and note whether it was there already."""
        if not request.is_instant:
            return self._live.leaderboard(
                request, subscriber, patience, lambda counted: self._default(request, counted)
            )
        if not request.default.is_instant:
            return self._ranked(request, subscriber, patience)
        key = _leaderboard_key(request)
        log["cached"] = key in self._kept.leaderboards
        found = self._kept.leaderboards.get(key, lambda: self._ranked(request, subscriber, patience))
        return replace(found, view=request.view)

    def _ranked(self, request: Request, subscriber: str | None, patience: float) -> Leaderboard:
        """Return the leaderboard of a judge that needs no time."""
        # Criteria first: a judge that reads responses for them finds what ∅ needs on the way.
        judged = self._judged(request, request.criteria)
        default, judging = self._compared_with(request, subscriber, patience)
        if not request.criteria and default is not None:
            return request.leaderboard(default, default, judged=judged)
        missed = self._misses(request)
        found = self._rate(request, judged, request.selected)
        under_floor = request.under_floor(default)
        ranking = request.ranked(found, request.selected, under_floor, missed.sum(axis=1))
        return request.leaderboard(ranking, default, misses=missed, judged=judged, judging=judging)

    def _compared_with(
        self, request: Request, subscriber: str | None, patience: float
    ) -> tuple[Ranking | None, Judging | None]:
        """Return ∅ on the view's queries as far as it is known, and how far a slow judge of it is."""
        if request.default.is_instant:
            return self._default(request, request.selected), None
        return self._live.comparison(request, subscriber, patience)

    def scored(self, view: View) -> Scored:
        """Return what a ranking rests on, as far as it is judged; raises as ``leaderboard``."""
        request = self._request(view)
        missed = self._misses(request).sum(axis=1)
        if not request.is_instant:
            so_far = self._live.judged(request, lambda counted: self._default(request, counted))
            return Scored(request, *so_far, missed, self._rate)
        judged = self._judged(request, request.criteria)
        under_floor = None
        if request.view.floor is not None and request.criteria:
            default, _ = self._compared_with(request, None, 0.0)
            under_floor = request.under_floor(default)
        return Scored(request, judged, request.selected, under_floor, missed, self._rate)

    def _rate(self, request: Request, judged: Judged, counted: Mask) -> Rating:
        """Return the win rates of what is judged; kept, where a judge needs no time."""
        if not request.is_instant:
            return request.estimate(judged, counted)
        return self._kept.estimates.get(
            request.estimate_key(counted), lambda: request.estimate(judged, counted)
        )

    def _misses(self, request: Request) -> Mask:
        """Return which LLM misses which must ``[L, K]``."""
        columns = [self._misses_of(request, must) for must in request.musts]
        return np.stack(columns, axis=1) if columns else np.zeros((len(request.llms), 0), np.bool_)

    def _misses_of(self, request: Request, must: Criterion) -> Mask:
        """Return which LLMs ``[L]`` miss one must on the view's queries."""
        view, selected, weights = request.view, request.selected, request.weighting.weights

        selected = selected & request.queries_of(must)

        def found() -> Mask:
            alone, counts = CriteriaSet((must.everywhere,)), selected * (1.0 if weights is None else weights)
            missed = misses(self._judged_by(request, alone), counts)
            for kept in shares_kept(request.crm, alone, request.benchmark, counts, request.llms):
                missed |= seldom_kept(kept)
            return missed

        weighed_by = view.topic_weights, view.interests, request.against
        return self._kept.missed.get((request.benchmark_key, must, weighed_by, selected.tobytes()), found)

    def stop(self, view: View, subscriber: str) -> None:
        """The subscriber wants no more of a slow judge's work on the view; what is judged is kept."""
        self._live.stop(self._request(view), subscriber)

    def resume(self, view: View, subscriber: str) -> None:
        """Go on with a slow judge's work on the view after a stop or an error."""
        self._live.resume(self._request(view), subscriber)

    def judge(
        self, view: View, on_progress: Callable[[Progress], None] | None = None, *, compare: bool = True
    ) -> None:
        """Have a slow judge do here and now what the view needs; of other judges there is nothing to do.

        Args:
            on_progress: Told how far the judge is, at the start and after every block.
            compare: Also judge ∅, for changes of rank.

        Raises:
            CRMError, LeaderboardError: The judge fails; what it judged before is kept.
            LeaderboardError, DatabaseError: As ``leaderboard``.
        """
        request = self._request(view)
        self._live.judge_now(request, on_progress, compare=compare)

    def live_grades(self, request: Request, criteria: Sequence[Criterion]) -> LiveGrades | None:
        """Return a slow judge's work on each of a view's criteria by itself; None of one that needs no time.

        Raises:
            CRMError: There are no texts to be judged.
        """
        return None if request.is_instant else self._live.grades(request, criteria)

    def score_matrix(
        self, benchmark: LoadedBenchmark, crm: CRM, criteria: CriteriaSet
    ) -> NDArray[np.float32]:
        """Return probabilities ``[L, Q]`` that each LLM beats the baseline, NaN where a response is missing.

        A judge that reads representations is quicker than the database, so its matrices are only kept in
        memory. Matrices of judges that read texts are stored and never computed twice; of such a one this is
        what has been judged so far.
        """
        if crm.representation is None:
            return self._live.task(benchmark, crm, criteria).matrix.prob
        return self._kept.matrices.get(
            (benchmark.identity, crm.name, crm.version, criteria.key),
            lambda: self._filled(benchmark, crm, criteria),
        )

    def _filled(self, benchmark: LoadedBenchmark, crm: CRM, criteria: CriteriaSet) -> NDArray[np.float32]:
        """Return what a judge that reads representations says ``[L, Q]``."""
        return filled(benchmark, crm, criteria)

    def margins(self, benchmark: LoadedBenchmark, crm: MeasuresResponses, criteria: CriteriaSet) -> Margins:
        """Return how the responses of all R respondents stand ``[R, Q]``, kept in memory like matrices."""
        return self._kept.margins.get(
            (benchmark.identity, crm.name, crm.version, criteria.key),
            lambda: self._measured(benchmark, crm, criteria),
        )

    def _measured(self, benchmark: LoadedBenchmark, crm: MeasuresResponses, criteria: CriteriaSet) -> Margins:
        """Return what a judge that measures responses says ``[R, Q]``."""
        return measured(benchmark, crm, criteria)

    def _judged(self, request: Request, criteria: CriteriaSet) -> Judged:
        """Return what a judge that needs no time says under the criteria, for the view's opponents."""
        lists = lists_of_queries(request.benchmark.record, criteria)
        return by_lists([(self._judged_by(request, one), queries) for one, queries in lists])

    def response_margins(self, request: Request) -> Margins:
        """Return how all responses stand, each query by its list; a LeaderboardError as of ``measuring``."""
        crm = measuring(request.crm)
        parts = [(self.margins(request.benchmark, crm, one), queries) for one, queries in request.lists]
        found = by_lists(parts)
        assert isinstance(found, Margins)  # of margins
        return found

    def _judged_by(self, request: Request, criteria: CriteriaSet) -> Judged:
        """Return the same by one list on all queries."""
        if request.against is Against.BASELINE:
            prob = self.score_matrix(request.benchmark, request.crm, criteria)
            return prob if criteria or not request.is_held_to_votes else self._held_matrix(request, prob)
        margins = self.margins(request.benchmark, measuring(request.crm), criteria)
        return margins if criteria else self._held_to_votes(request, margins)

    def _held_matrix(self, request: Request, prob: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return ``[L, Q]`` against the baseline with all respondents as strong as people rate them."""
        respondents = request.benchmark.respondents
        rows = [respondents.index(llm) for llm in request.llms]

        def held() -> NDArray[np.float32]:
            moved = self._moved_by_votes(request)
            ahead = moved[rows] - moved[respondents.index(request.benchmark.baseline)]
            found = expit(logit(prob) + ahead).astype(np.float32)
            return np.where(prob == _ALIKE, prob, found)

        return self._kept.matrices.get((request.benchmark_key, request.ratings_key), held)

    def _held_to_votes(self, request: Request, margins: Margins) -> Margins:
        """Return the margins under ∅ with LLMs as strong as people rate them, where enough are rated."""
        return self._kept.margins.get(
            (request.benchmark_key, request.ratings_key),
            lambda: held_to_votes(request.benchmark, margins, request.ratings_by_kind, request.known),
        )

    def _moved_by_votes(self, request: Request) -> NDArray[np.float32]:
        """Return by how much votes move the margins of all respondents under ∅, in log-odds ``[R, Q]``."""
        by_judge = self.margins(request.benchmark, measuring(request.crm), CriteriaSet())
        moved: NDArray[np.float32] = self._held_to_votes(request, by_judge).asked - by_judge.asked
        return moved

    def topic_scores(self, view: View, llm: str) -> list[TopicScore]:
        """Return the LLM's win rate by topic over the view's queries, best first."""
        request = self._request(view)
        won, selected = self._outcomes(request, llm, soft=view.soft), request.selected
        queries = list(compress(request.benchmark.record.queries, selected))
        weights = request.weighting.weights
        return topic_scores(
            won[selected],
            [query.category for query in queries],
            [query.topic for query in queries],
            weights=None if weights is None else weights[selected],
        )

    def query_scores(self, view: View, llm: str) -> list[QueryScore]:
        """Return the LLM's verdicts on the view's queries, clearest wins first; unanswered ones left out."""
        request = self._request(view)
        row = self._outcomes(request, llm, soft=True)
        verdicts = [
            QueryScore(query.external_id, query.category, query.topic, float(prob))
            for query, prob, chosen in zip(
                request.benchmark.record.queries, row, request.selected, strict=True
            )
            if chosen and np.isfinite(prob)
        ]
        return sorted(verdicts, key=lambda verdict: -verdict.prob)

    def query_texts(self, slug: str) -> list[str | None]:
        """Return texts of the benchmark's queries in their order, None where they are not stored."""
        return list(self.benchmark(slug).query_texts)

    def pair_report(self, view: View, llm: str, query: str) -> PairReport:
        """Responses to a query and verdicts by criterion; a LeaderboardError for no such LLM or query."""
        request = self._request(view)
        benchmark = request.benchmark
        judged, row = self._judged(request, request.criteria), self._row(request, llm)
        position = {item.external_id: index for index, item in enumerate(benchmark.record.queries)}
        if query not in position:
            raise LeaderboardError(f"There is no query {query!r} in {benchmark.record.info.title}.")
        index = position[query]
        record = benchmark.record.queries[index]
        if isinstance(judged, Margins):
            other = judged.best_other(row, index)
            if other is None:
                raise LeaderboardError(f"No other LLM answered the query {query!r}.")
            opponent = request.llms[other]
            prob = float(judged.between(row, soft=True)[other, index])
        else:
            opponent, prob = benchmark.baseline, float(judged[row, index])
        return PairReport(
            query=query,
            category=record.category,
            topic=record.topic,
            query_text=benchmark.query_texts[index],
            response=benchmark.text_at(llm, index),
            opponent=opponent,
            opponent_response=benchmark.text_at(opponent, index),
            prob=prob,
            verdicts=self._verdicts(request, (llm, opponent), index),
        )

    def _verdicts(self, request: Request, pair: tuple[str, str], query: int) -> tuple[CriterionVerdict, ...]:
        crm = request.crm
        if not isinstance(crm, Explains) or crm.representation is None:
            return ()
        first, second = (request.benchmark.arrays_at(crm.representation, llm, query) for llm in pair)
        if MISSING in (first["digest"], second["digest"]):
            return ()
        reasons_against = {
            item.criterion.everywhere: item.reason for item in request.checked.warnings if item.criterion
        }
        verdicts = []
        for criterion in request.list_at(query) or (None,):
            prob, reasons = crm.explain(CriteriaSet((criterion,) if criterion else ()), first, second)
            if criterion is None and (ahead := self._ahead_by_votes(request, pair, query)):
                prob = float(expit(logit(prob) + ahead))
                reasons = [_by_votes(ahead, known=request.are_rated(pair)), *reasons]
            warning = reasons_against.get(criterion) if criterion else None
            nearest = () if criterion is None else self._nearest(request, criterion, pair, query)
            verdicts.append(CriterionVerdict(criterion, prob, tuple(reasons), warning, nearest))
        return tuple(verdicts)

    def _nearest(
        self, request: Request, criterion: Criterion, pair: tuple[str, str], query: int
    ) -> tuple[str | None, ...]:
        """Return the passages of a pair of responses that come nearest to a criterion, if any."""
        crm = request.crm
        if not isinstance(crm, FindsPassages):
            return ()
        texts = [request.benchmark.text_at(llm, query) for llm in pair]
        return tuple(None if text is None else crm.nearest_passage(criterion, text) for text in texts)

    def _ahead_by_votes(self, request: Request, pair: tuple[str, str], query: int) -> float:
        """Return how far votes put the first LLM of a pair ahead of the other under ∅, in log-odds."""
        if not request.is_held_to_votes:
            return 0.0
        rows = [request.benchmark.respondents.index(llm) for llm in pair]
        first, second = self._moved_by_votes(request)[rows, query].tolist()
        return float(first - second)

    def _outcomes(self, request: Request, llm: str, *, soft: bool) -> NDArray[np.float64]:
        """Return what an LLM scores on each query, of its duels the share ``[Q]``; NaN without a verdict."""
        row, judged = self._row(request, llm), self._judged(request, request.criteria)
        if isinstance(judged, Margins):
            return judged.share_won(row, soft=soft)
        return np.asarray(outcomes(judged[[row]], soft=soft)[0])

    def _row(self, request: Request, llm: str) -> int:
        if llm not in request.llms:
            raise LeaderboardError(f"{llm!r} is not ranked in {request.benchmark.record.info.title}.")
        return request.llms.index(llm)

    def _request(self, view: View) -> Request:
        """Return the view with what it names looked up; raises as ``leaderboard``."""
        benchmark = self._benchmark_of(view)
        crm, default_crm = judges_of(view, benchmark)
        check_opponents(view, benchmark, crm, default_crm)
        selected = _selected(benchmark, view)
        terms = self._terms(benchmark, view.control)
        checked = check_criteria(crm, view)
        weighed = weighting(benchmark, view, selected)
        ranked_by = crm if checked.ranked else default_crm
        return Request(view, benchmark, ranked_by, default_crm, selected, checked, terms, weighed)

    def _terms(self, benchmark: LoadedBenchmark, control: Control) -> NDArray[np.float64] | None:
        """Return what the control takes out of win rates ``[L, Q, P]``, kept until the benchmark changes."""
        if control is Control.NONE:
            return None
        return self._kept.control_terms.get(
            (benchmark.identity, control), lambda: control_terms(style_counts(benchmark), control)
        )

    def _benchmark_of(self, view: View) -> LoadedBenchmark:
        return self.benchmark(view.benchmark)

    def _default(self, request: Request, counted: Mask) -> Ranking:
        """Return the ranking under ∅ on the counted queries ``[Q]`` by a judge of ∅ that needs no time, kept
        from view to view."""
        by_default = request.default
        return self._kept.defaults.get(
            (by_default.benchmark_key, request.scoring, counted.tobytes(), request.ratings_key),
            lambda: self._rank_by_default(by_default, counted),
        )

    def _rank_by_default(self, by_default: Request, counted: Mask) -> Ranking:
        judged = self._judged(by_default, CriteriaSet())
        return by_default.ranked(self._rate(by_default, judged, counted), counted)


def _size(request: Request) -> dict[str, object]:
    """Return how large a view is, for the log; the only words are names of stored benchmarks and judges."""
    view, benchmark = request.view, request.benchmark
    return {
        "benchmark": benchmark.record.info.slug if benchmark.is_stored else None,
        "judge": request.crm.name,
        "against": request.against.value,
        "llms": len(request.llms),
        "queries": int(request.selected.sum()),
        "criteria": len(view.criteria),
        "topics": len(view.topics),
    }


def _leaderboard_key(request: Request) -> Hashable:
    """Return what the leaderboard of judges that need no time depends on."""
    judges = tuple((crm.name, crm.version) for crm in (request.crm, request.default_crm))
    return request.view.whole, request.benchmark.identity, judges, request.ratings_key


def _by_votes(ahead: float, *, known: bool) -> Reason:
    rate = "rate" if known else "would probably rate"
    return Reason(f"from an LLM that people {rate} {'higher' if ahead > 0 else 'lower'}", ahead)


def _selected(benchmark: LoadedBenchmark, view: View) -> Mask:
    return queries_with(benchmark.record, view.topics, view.topic_weights)


def filled(benchmark: LoadedBenchmark, crm: CRM, criteria: CriteriaSet) -> NDArray[np.float32]:
    """The score matrix ``[L, Q]`` of a judge that reads representations, NaN where a response is missing.

    A LeaderboardError where there is no baseline.
    """
    _ = benchmark.baseline  # the judge would take the last LLM for it
    matrix = np.full((len(benchmark.llms), benchmark.n_queries), np.nan, dtype=np.float32)
    for block in crm.score(criteria, benchmark):
        matrix[np.ix_(block.llms, block.queries)] = block.prob
    return matrix


def measured(benchmark: LoadedBenchmark, crm: MeasuresResponses, criteria: CriteriaSet) -> Margins:
    """How the responses of all R respondents stand under the criteria ``[R, Q]``, NaN where there is none."""
    found = crm.margins(criteria, benchmark)
    asked = np.where(found.present, found.margins, np.float32(np.nan))
    return Margins(asked, found.penalty, found.alike, found.surely)


def held_to_votes(
    benchmark: LoadedBenchmark,
    margins: Margins,
    by_kind: Iterable[tuple[Mask, NDArray[np.float64]]],
    known: NDArray[np.float64] | None = None,
) -> Margins:
    """Return margins ``[R, Q]`` of all respondents with LLMs as strong as people rate them.

    What nobody rated is foretold from how the LLMs answer, where the benchmark stores it, and from what is
    known of them.

    Args:
        by_kind: Queries ``[Q]`` and the ratings that hold on these ``[R]``, in Elo points, NaN for none.
        known: What else is known of them ``[R, F]``, see ``with_foretold``.
    """
    topics, categories = benchmark.topic_index, benchmark.category_index
    features = response_features(benchmark)
    held = margins
    for queries, given in by_kind:
        rating = given if features is None else with_foretold(given, features, margins, queries, known)
        held = anchored(held, topics, categories, len(benchmark.category_names), rating, used=queries)
    return held
