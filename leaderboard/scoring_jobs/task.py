"""Filling one score matrix with a judge, stored part by part and resumed where it was left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.protocol import CRM, Pair, ScoreBlock
from db.records import ScoreKey, ScoreRow
from db.repositories import scores
from db.repositories.benchmarks import find_benchmark
from db.repositories.reuse import scores_elsewhere
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.errors import LeaderboardError
from leaderboard.scoring_jobs.progress import Progress, State, Throughput
from leaderboard.statistics.win_rate import Mask


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """One state of the score matrix of L LLMs on Q queries; filling it makes another one.

    Attributes:
        prob: Probability that the LLM's response is preferred to the baseline's ``[L, Q]``, NaN where there
            is none.
        judged: The judge has been asked ``[L, Q]``; that it had no answer counts too.
        answered: There are two responses to be judged ``[L, Q]``.
    """

    prob: NDArray[np.float32]
    judged: Mask
    answered: Mask

    @classmethod
    def empty(cls, answered: Mask) -> ScoreMatrix:
        """Nothing is judged yet."""
        unknown = np.full(answered.shape, np.nan, dtype=np.float32)
        return cls(unknown, np.zeros_like(answered, dtype=np.bool_), answered)

    def with_rows(self, llms: Sequence[str], rows: Mapping[str, ScoreRow]) -> ScoreMatrix:
        """Return the matrix with what is judged in the LLMs' stored rows."""
        prob, judged = self.prob.copy(), self.judged.copy()
        for index, llm in enumerate(llms):
            if llm in rows:
                row = rows[llm].onto(ScoreRow(prob[index], judged[index]))
                prob[index], judged[index] = row.prob, row.judged
        return replace(self, prob=prob, judged=judged)

    def rows(self, llms: Sequence[str]) -> dict[str, ScoreRow]:
        """Return the rows of the LLMs, as they are stored."""
        return {llm: ScoreRow(self.prob[index], self.judged[index]) for index, llm in enumerate(llms)}

    def with_block(self, block: ScoreBlock) -> ScoreMatrix:
        """Return the matrix with a block's pairs still to be judged; a LeaderboardError outside [0, 1]."""
        if np.any((block.prob < 0) | (block.prob > 1)):
            worst = block.prob.flat[np.nanargmax(np.abs(block.prob - 0.5))]
            raise LeaderboardError(f"The judge gave the probability {worst:g}, which is not between 0 and 1.")
        cells = np.ix_(block.llms, block.queries)
        fresh = self.todo[cells]
        prob, judged = self.prob.copy(), self.judged.copy()
        prob[cells] = np.where(fresh, block.prob, prob[cells])
        judged[cells] |= fresh
        return replace(self, prob=prob, judged=judged)

    @cached_property
    def todo(self) -> Mask:
        """Pairs still to be judged ``[L, Q]``."""
        return self.answered & ~self.judged

    @cached_property
    def n_judged(self) -> int:
        """Number of pairs that have been judged."""
        return int(self.judged.sum())

    def count(self, selected: Mask) -> tuple[int, int]:
        """Return numbers of judged pairs and of all pairs on the selected queries ``[Q]``."""
        done = int(self.judged[:, selected].sum())
        return done, done + int(self.todo[:, selected].sum())

    def comparable(self, selected: Mask) -> Mask:
        """Return the selected queries ``[Q]`` on which every LLM that can be judged has been, and any has."""
        return selected & ~self.todo.any(axis=0) & self.judged.any(axis=0)


def progress_of(
    matrix: ScoreMatrix,
    selected: Mask,
    state: State,
    *,
    speed: float | None,
    heard_at: float,
    ahead: Mask | None = None,
) -> Progress:
    """Return how much of the selected queries ``[Q]`` of a matrix is judged.

    Args:
        speed: Pairs a second; None while nothing is known.
        heard_at: When the judge last gave a result, or was set to work.
        ahead: As of ``ScoringTask.progress``.
    """
    done, total = matrix.count(selected)
    waiting = int(matrix.todo[:, selected if ahead is None else ahead].sum())
    running = state is State.RUNNING
    return Progress(
        State.FINISHED if done == total else state,
        done,
        total,
        seconds_left=waiting / speed if running and speed else None,
        silent=monotonic() - heard_at if running else 0.0,
    )


@dataclass(frozen=True, eq=False)
class RemainingBenchmark:
    """Some pairs of a benchmark; any judge can resume by scoring it.

    Implements ``crm.protocol.JudgedBenchmark``.

    Attributes:
        todo: The pairs to be judged, at least one ``[L, Q]``; all others are seen as missing.
    """

    benchmark: LoadedBenchmark
    todo: NDArray[np.bool_]

    @cached_property
    def llms(self) -> tuple[str, ...]:
        """Names of the contenders with a pair to be judged."""
        return tuple(self.benchmark.llms[row] for row in self._rows)

    @property
    def n_queries(self) -> int:
        """Number of queries with a pair to be judged."""
        return len(self._columns)

    @property
    def topic_index(self) -> NDArray[np.intp]:
        """Topic of every query, as an index ``[Q]``."""
        return self.benchmark.topic_index[self._columns]

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        """Return the pairs, None where there is nothing to be judged; a CRMError if the texts have gone."""
        pairs, todo = self.benchmark.pairs(llm), self.todo[self.benchmark.llms.index(llm)]
        return [pairs[query] if todo[query] else None for query in self._columns]

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of these LLMs and queries, the baseline last; raises as the whole benchmark's."""
        stored = self.benchmark.representation(name)
        if (len(self._rows), len(self._columns)) == self.todo.shape:
            # Copies would take longer than scoring, and judges remember what they know of these arrays.
            return stored
        rows = np.ix_(np.append(self._rows, -1), self._columns)
        return {key: array[rows] for key, array in stored.items()}

    def of_whole(self, block: ScoreBlock) -> ScoreBlock:
        """Return a block of this benchmark's score matrix as a block of the whole one."""
        return ScoreBlock(self._rows[block.llms], self._columns[block.queries], block.prob)

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.todo.any(axis=1))

    @cached_property
    def _columns(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.todo.any(axis=0))


_STORE_SECONDS = 5.0
"""Least seconds between two times of storing: what a killed process may lose."""
_STORING_SHARE = 0.05
"""Largest share of the time that storing may take."""
_CRITERIA_SETS_STORED = 2000


class ScoringTask:
    """The score matrix of one benchmark, judge and criteria set, on its way to being complete.

    May be shared between threads: one at a time fills it, and ``matrix``, which any may read, is replaced and
    never changed.
    """

    def __init__(self, benchmark: LoadedBenchmark, crm: CRM, criteria: CriteriaSet) -> None:
        """Begin with what is stored.

        Raises:
            CRMError: Nothing is stored, and there are no texts to be judged.
            RepresentationMissingError: The judge reads representations that are not stored.
        """
        self.benchmark = benchmark
        self.crm = crm
        self.criteria = criteria
        self.key = ScoreKey(crm.name, crm.version, criteria.key)
        """Under which the matrix is stored."""
        self._lock = Lock()
        self.matrix = ScoreMatrix.empty(benchmark.judgeable(crm.representation))
        self._load()
        if crm.representation is None and not self.matrix.n_judged:
            benchmark.check_texts()
        self._stored_at = monotonic()
        self._storing_took = 0.0
        self._throughput = Throughput()
        self.heard_at = monotonic()
        """When the judge last gave a result, or was set to work."""

    @property
    def pairs_per_second(self) -> float | None:
        """The judge's present speed; None while nothing is known."""
        return self._throughput.pairs_per_second

    def progress(
        self, selected: Mask, state: State = State.RUNNING, *, ahead: Mask | None = None
    ) -> Progress:
        """Return how much of the selected queries is judged.

        Args:
            ahead: Queries that are judged before or among the selected ones ``[Q]``; the selected by default.
        """
        speed = self.pairs_per_second
        return progress_of(self.matrix, selected, state, speed=speed, heard_at=self.heard_at, ahead=ahead)

    def fill(self, wanted: Callable[[], Mask | None], on_progress: Callable[[], None] = lambda: None) -> None:
        """Judge what is wanted, then what is wanted by then, and so on; store it also if that fails.

        Args:
            wanted: Asked before the work and after every block for the queries to be judged next ``[Q]``;
                None ends the work.
            on_progress: Called after every block.

        Raises:
            CRMError: The judge says that it cannot.
            LeaderboardError: It answers what cannot be right.
            DatabaseError: The responses are no longer those that have been judged.
        """
        with self._lock:
            self.heard_at = monotonic()
            self._load()
            self._reuse()
            try:
                while (selected := wanted()) is not None and self.matrix.todo[:, selected].any():
                    self._fill(selected, wanted, on_progress)
            finally:
                self._store()

    def judge_now(self, selected: Mask, on_progress: Callable[[Progress], None] | None = None) -> None:
        """Judge the selected queries ``[Q]`` in this thread, with reports by block; raises as ``fill``."""
        report = on_progress or (lambda _: None)
        report(self.progress(selected))
        self.fill(lambda: selected, lambda: report(self.progress(selected)))

    def _fill(
        self, selected: Mask, wanted: Callable[[], Mask | None], on_progress: Callable[[], None]
    ) -> None:
        """Judge the selected queries until something else is wanted."""
        # A judge that reads representations is as quick with all queries as with some.
        todo = self.matrix.todo & (selected if self.crm.representation is None else True)
        remaining = RemainingBenchmark(self.benchmark, todo)
        self.heard_at = monotonic()
        for number, block in enumerate(self.crm.score(self.criteria, remaining)):
            judged_before = self.matrix.n_judged
            try:
                self.matrix = self.matrix.with_block(remaining.of_whole(block))
            except LeaderboardError as error:
                raise LeaderboardError(f"“{self.crm.name}” cannot be used. {error}") from error
            heard = monotonic()
            if number > 0:  # the first block waits for texts to be read and perhaps a model to be loaded
                self._throughput.add(self.matrix.n_judged - judged_before, heard - self.heard_at)
            self.heard_at = heard
            if monotonic() - self._stored_at >= max(_STORE_SECONDS, self._storing_took / _STORING_SHARE):
                self._store()
            on_progress()
            following = wanted()
            if following is None or not np.array_equal(following, selected):
                return
        if self.matrix.todo[:, selected].any():
            raise LeaderboardError(
                f"“{self.crm.name}” cannot be used. The judge leaves some of the pairs out."
            )

    def _load(self) -> None:
        """Take over what is stored, perhaps by another process."""
        with self.benchmark.database.session() as session:
            stored = scores.get_scores(
                session, find_benchmark(session, self.benchmark.record.info.slug), self.key
            )
        self._n_stored = sum(int(row.judged.sum()) for row in stored.values())
        self.matrix = self.matrix.with_rows(self.benchmark.llms, stored)

    def _reuse(self) -> None:
        """Take over verdicts on the same pairs of texts in other benchmarks."""
        # Who reads representations is quicker than the database, and may look at the others' responses.
        if self.crm.representation is not None or not self.matrix.todo.any():
            return
        benchmark = self.benchmark
        with benchmark.database.session() as session:
            stored = find_benchmark(session, benchmark.record.info.slug)
            found = scores_elsewhere(session, stored, benchmark.baseline, self.key, benchmark.llms)
        todo = self.matrix.todo
        new = {
            llm: replace(row, judged=row.judged & todo[benchmark.llms.index(llm)])
            for llm, row in found.items()
        }
        self.matrix = self.matrix.with_rows(benchmark.llms, new)

    def _store(self) -> None:
        matrix, start = self.matrix, monotonic()
        if matrix.n_judged > self._n_stored:
            slug = self.benchmark.record.info.slug
            criteria = [criterion.to_json() for criterion in self.criteria]
            rows = matrix.rows(self.benchmark.llms)
            with self.benchmark.database.session() as session:
                read_at = self.benchmark.record.updated_at
                scores.put_scores(
                    session, find_benchmark(session, slug), self.key, criteria, rows, computed_from=read_at
                )
                scores.prune_scores(session, _CRITERIA_SETS_STORED)
            self._n_stored = matrix.n_judged
        self._stored_at = monotonic()
        self._storing_took = self._stored_at - start
