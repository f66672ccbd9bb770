"""Scoring of a benchmark under many criteria sets ahead of time: score matrices and their win rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.protocol import CRM, JudgedBenchmark, Question, ScoreBlock, Verdict, win_rate_error
from crm.registry import get_crm, judge_maker
from crm.scoring import BATCH, HasBatch, QuestionBlock, question_blocks
from db import Database
from db.database import job_locks
from db.records import WinRateRecord
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.scores import ALL_QUERIES, list_scores, put_win_rates, win_rate_coverage
from leaderboard.benchmark import LoadedBenchmark, embed_command, missing_texts_message
from leaderboard.scoring_jobs.task import ScoringTask
from leaderboard.selection import queries_with
from leaderboard.statistics.bootstrap import win_rate_interval
from leaderboard.statistics.ranking import estimate
from leaderboard.statistics.win_rate import Mask
from precompute.engines import Engine
from precompute.errors import PrecomputeError
from precompute.progress import ScoringCounter, ScoringProgress


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """What scoring with one judge did, and what of it is stored now.

    Attributes:
        judged: Pairs judged now.
        stored: Pairs that were judged before.
        seconds: What it took.
        sets_stored: Criteria sets of which scores by this judge are stored, also those not asked for.
        sets_complete: Those of them that have win rates, because every pair is judged.
    """

    judge: str
    judged: int
    stored: int
    seconds: float
    sets_stored: int
    sets_complete: int

    @property
    def pairs_per_second(self) -> float:
        """The judge's speed, loading included."""
        return self.judged / self.seconds if self.seconds else 0.0


def score_benchmark(
    database: Database,
    slug: str,
    crms: Sequence[CRM],
    criteria_sets: Sequence[CriteriaSet],
    *,
    topics: Sequence[str] = (),
    on_progress: Callable[[ScoringProgress], None] = lambda _: None,
) -> list[ScoreSummary]:
    """Judge what is not judged yet under each of the criteria sets, and store win rates; one summary a judge.

    Stored part by part, so an interrupted run continues where it was. Win rates of a criteria set are stored
    when all of its pairs are judged.

    Args:
        criteria_sets: what to judge by; a set without criteria is the default ranking.
        topics: only queries of these categories or topics; none for all. A judge that reads representations
            judges all in any case.
        on_progress: called with how far a judge is, at the start of every set and after every block.

    Raises:
        DatabaseError: another process is scoring the benchmark with one of the judges; it changed while it
            was scored; what is stored is of its earlier state.
        NotFoundError: no benchmark has this slug.
        UnknownTopicError: the benchmark lacks one of the topics.
        PrecomputeError: no LLM has a response that a judge can compare with the baseline's.
        CRMError, LeaderboardError: a judge cannot judge the benchmark, or fails; what it did is stored.
    """
    distinct = list({criteria.key: criteria for criteria in criteria_sets}.values())
    with job_locks(database.engine, [f"scoring {slug!r} with {crm.name}" for crm in crms]):
        with database.session() as session:
            benchmark = LoadedBenchmark(database, get_benchmark(session, find_benchmark(session, slug)))
        selected = queries_with(benchmark.record, topics)
        return [_score(benchmark, crm, distinct, selected, on_progress) for crm in crms]


def _score(
    benchmark: LoadedBenchmark,
    crm: CRM,
    criteria_sets: Sequence[CriteriaSet],
    selected: Mask,
    on_progress: Callable[[ScoringProgress], None],
) -> ScoreSummary:
    start = monotonic()
    given = benchmark.judgeable(crm.representation)
    if not given.any():
        raise PrecomputeError(_nothing_to_judge(benchmark, crm))
    complete = {llm: int(n) for llm, n in zip(benchmark.llms, given.sum(axis=1), strict=True) if n}
    covered = _coverage(benchmark, crm)
    n_pairs = int(given[:, selected].sum())
    counter = ScoringCounter(crm.name, len(criteria_sets), n_pairs, on_progress)
    judged = stored = 0
    scored = [criteria for criteria in criteria_sets if covered.get(criteria.key) == complete]
    for _ in scored:
        counter.skip()
        stored += n_pairs
    for criteria in criteria_sets:
        if criteria not in scored:
            task = ScoringTask(benchmark, crm, criteria)
            before = task.matrix.n_judged
            _judge(task, selected, counter)
            n_new = task.matrix.n_judged - before
            judged += n_new
            stored += max(0, task.matrix.count(selected)[0] - n_new)
            if not task.matrix.todo.any():
                _store_win_rates(task)
            counter.end()
    seconds = monotonic() - start
    return ScoreSummary(crm.name, judged, stored, seconds, *_counts(benchmark, crm))


def _nothing_to_judge(benchmark: LoadedBenchmark, crm: CRM) -> str:
    slug, baseline = benchmark.record.info.slug, benchmark.record.baseline
    if crm.representation is None:
        if not benchmark.readable.any():
            return missing_texts_message(benchmark.record)
        return f"No LLM of {slug!r} has a response to a query that {baseline!r} responded to, too."
    return (
        f"No response of {slug!r} can be judged by {crm.name!r} yet, as their representations or "
        f"{baseline!r}'s are missing: run “{embed_command(slug)}”."
    )


def _judge(task: ScoringTask, selected: Mask, counter: ScoringCounter) -> None:
    """Judge what is missing under one criteria set: the only place where pairs are judged."""
    counter.begin(task.matrix.count(selected)[0])
    if np.any(task.matrix.todo[:, selected]):
        task.fill(lambda: selected, lambda: counter.reach(task.matrix.count(selected)[0]))


def _store_win_rates(task: ScoringTask) -> None:
    record = task.benchmark.record
    records = win_rate_records(
        task.benchmark, task.matrix.prob, judge_error=win_rate_error(task.crm, task.criteria)
    )
    with task.benchmark.database.session() as session:
        put_win_rates(
            session,
            find_benchmark(session, record.info.slug),
            task.key,
            records,
            computed_from=record.updated_at,
        )


def _coverage(benchmark: LoadedBenchmark, crm: CRM) -> Mapping[str, Mapping[str, int]]:
    with benchmark.database.session() as session:
        return win_rate_coverage(
            session, find_benchmark(session, benchmark.record.info.slug), crm.name, crm.version
        )


def _counts(benchmark: LoadedBenchmark, crm: CRM) -> tuple[int, int]:
    """Return how many criteria sets have scores by the judge, and how many have win rates."""
    with benchmark.database.session() as session:
        keys = [
            scores.key for scores in list_scores(session, find_benchmark(session, benchmark.record.info.slug))
        ]
    n_stored = sum((key.crm, key.crm_version) == (crm.name, crm.version) for key in keys)
    return n_stored, len(_coverage(benchmark, crm))


def distributed_judge(engine: Engine, name: str) -> CRM:
    """Return the judge of this name; one that reads texts does so in the engine's workers.

    Raises CRMError: There is none, or it cannot be made.
    """
    crm = get_crm(name)
    if engine.in_process or crm.representation is not None:
        return crm
    return DistributedCRM(crm, judge_maker(name), engine)


class DistributedCRM:
    """Judges blocks of questions in workers; implements ``CRM``.

    The blocks are those that the judge would get in this process, so the probabilities are the same too,
    but they come in any order.
    """

    representation: str | None = None

    def __init__(self, crm: CRM, make: Callable[[], CRM], engine: Engine) -> None:
        """Spread a judge over an engine; ``make`` makes it in a worker."""
        self.name = crm.name
        self.version = crm.version
        self._crm = crm
        self._make = make
        self._engine = engine

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Judge a few pairs in this process."""
        return self._crm.judge(questions)

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        """Blocks of all LLMs on a few queries each, each as soon as it is judged.

        Raises PrecomputeError: The workers fail, or have another version of the judge. Raises CRMError: The
        judge fails.
        """
        batch = self._crm.pairs_at_once if isinstance(self._crm, HasBatch) else BATCH
        waiting: dict[int, QuestionBlock] = {}

        def asked() -> Iterator[_AskedBlock]:
            for number, block in enumerate(question_blocks(criteria, benchmark, batch=batch)):
                waiting[number] = block
                yield _AskedBlock(number, block.questions)

        for judged in self._engine.map(partial(_JudgeWorker, self._make, self.name, self.version), asked()):
            yield waiting.pop(judged.number).answered(judged.prob_a)


@dataclass(frozen=True)
class _AskedBlock:
    number: int
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class _JudgedBlock:
    number: int
    prob_a: tuple[float, ...]


class _JudgeWorker:
    """Judges blocks with a judge of its own."""

    def __init__(self, make: Callable[[], CRM], name: str, version: str) -> None:
        self._crm = make()
        if self._crm.version != version:
            raise PrecomputeError(
                f"The judge {name!r} has the version {self._crm.version!r} at a worker and {version!r} here: "
                "its files must be the same on all nodes."
            )

    def __call__(self, asked: _AskedBlock) -> _JudgedBlock:
        verdicts = self._crm.judge(asked.questions) if asked.questions else []
        return _JudgedBlock(asked.number, tuple(verdict.prob_a for verdict in verdicts))


def win_rate_records(
    benchmark: LoadedBenchmark, prob: NDArray[np.float32], *, judge_error: float = 0.0
) -> list[WinRateRecord]:
    """Return the win rates of every LLM, each the same that the leaderboard shows for these topics.

    Args:
        prob: Its score matrix ``[L, Q]``, NaN where there is no verdict.
        judge_error: By how much the judge mistakes an LLM on all queries alike, see ``Estimate``.

    Returns:
        All queries first, then the categories that have queries in display order; LLMs without a verdict on
        any of the queries are left out.

    Raises:
        LeaderboardError: A value lies outside [0, 1].
    """
    every = np.ones(benchmark.n_queries, dtype=np.bool_)
    records = _win_rates_within(benchmark, prob, ALL_QUERIES, every, judge_error)
    for index, name in enumerate(benchmark.category_names):
        inside = benchmark.category_index == index
        if inside.any():
            records += _win_rates_within(benchmark, prob, name, inside, judge_error)
    return records


def _win_rates_within(
    benchmark: LoadedBenchmark,
    prob: NDArray[np.float32],
    category: str,
    selected: Mask,
    judge_error: float,
) -> list[WinRateRecord]:
    found = estimate(prob, benchmark.topic_index, used=selected, judge_error=judge_error)
    hard, soft, n_queries = found.win_rate, found.mean_prob, found.n_queries
    ci_low, ci_high = win_rate_interval(found.samples(), hard, n_queries)
    return [
        WinRateRecord(
            llm,
            category,
            float(hard[row]),
            float(soft[row]),
            float(ci_low[row]),
            float(ci_high[row]),
            int(n_queries[row]),
        )
        for row, llm in enumerate(benchmark.llms)
        if n_queries[row]
    ]
