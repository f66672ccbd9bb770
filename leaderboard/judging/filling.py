"""Fills one score matrix with a judge, stores it part by part, and goes on where it was left."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic

import numpy as np

from crm.criteria import CriteriaSet
from crm.protocol import CRM
from db import ScoreKey
from db.repositories import scores
from leaderboard.contest import StoredContest
from leaderboard.errors import JudgingError, ProbabilityError
from leaderboard.judging.progress import Progress, State, Throughput
from leaderboard.judging.remaining import RemainingContest
from leaderboard.statistics.matrix import Mask, ScoreMatrix

_STORE_SECONDS = 5.0
"""Least seconds between two times of storing: what a killed process may lose."""
_STORING_SHARE = 0.05
"""Largest share of the time that storing may take."""
_CRITERIA_SETS_STORED = 2000


class Filling:
    """The score matrix of one benchmark, judge and criteria set, on its way to being complete.

    May be shared between threads: one at a time fills it, and ``matrix``, which any may read, is replaced and
    never changed.
    """

    def __init__(self, contest: StoredContest, crm: CRM, criteria: CriteriaSet) -> None:
        """Begin with what is stored.

        Raises:
            TextsMissingError: Nothing is stored, and there are no texts to be judged.
            RepresentationMissingError: The judge reads representations that are not stored.
        """
        self.contest = contest
        self.crm = crm
        self.criteria = criteria
        self.key = ScoreKey(crm.name, crm.version, criteria.key)
        """Under which the matrix is stored."""
        self._lock = Lock()
        self.matrix = ScoreMatrix.empty(contest.judgeable(crm.representation))
        self._load()
        if crm.representation is None and not self.matrix.n_judged:
            contest.check_texts()
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
        """How much of the selected queries is judged.

        Args:
            selected: The queries that matter ``[Q]``.
            state: Where the work stands.
            ahead: Queries that are judged before or among the selected ones ``[Q]``; the selected by default.
        """
        matrix, speed = self.matrix, self.pairs_per_second
        done, total = matrix.count(selected)
        waiting = int(matrix.todo[:, selected if ahead is None else ahead].sum())
        running = state is State.RUNNING
        return Progress(
            State.FINISHED if done == total else state,
            done,
            total,
            seconds_left=waiting / speed if running and speed else None,
            silent=monotonic() - self.heard_at if running else 0.0,
        )

    def fill(self, wanted: Callable[[], Mask | None], tell: Callable[[], None] = lambda: None) -> None:
        """Judge what is wanted, then what is wanted by then, and so on; store it also if that fails.

        Args:
            wanted: Asked before the work and after every block for the queries to be judged next ``[Q]``;
                None ends the work.
            tell: Called after every block.

        Raises:
            CRMError: The judge says that it cannot.
            JudgingError: It answers what cannot be right.
            BenchmarkChangedError: The responses are no longer those that have been judged.
        """
        with self._lock:
            self.heard_at = monotonic()
            self._load()
            try:
                while (selected := wanted()) is not None and self.matrix.todo[:, selected].any():
                    self._fill(selected, wanted, tell)
            finally:
                self._store()

    def judge_now(self, selected: Mask, tell: Callable[[Progress], None] | None = None) -> None:
        """Judge the selected queries in this thread.

        Args:
            selected: The queries ``[Q]``.
            tell: Told how far it is, at the start and after every block.

        Raises:
            Exception: As ``fill``.
        """
        report = tell or (lambda _: None)
        report(self.progress(selected))
        self.fill(lambda: selected, lambda: report(self.progress(selected)))

    def _fill(self, selected: Mask, wanted: Callable[[], Mask | None], tell: Callable[[], None]) -> None:
        """Judge the selected queries until something else is wanted."""
        # A judge that reads representations is as quick with all queries as with some.
        todo = self.matrix.todo & (selected if self.crm.representation is None else True)
        remaining = RemainingContest(self.contest, todo)
        self.heard_at = monotonic()
        for number, block in enumerate(self.crm.score(self.criteria, remaining)):
            judged_before = self.matrix.n_judged
            try:
                self.matrix = self.matrix.with_block(remaining.of_whole(block))
            except ProbabilityError as error:
                raise JudgingError(f"“{self.crm.name}” cannot be used. {error}") from error
            heard = monotonic()
            if number > 0:  # the first block waits for texts to be read and perhaps a model to be loaded
                self._throughput.add(self.matrix.n_judged - judged_before, heard - self.heard_at)
            self.heard_at = heard
            self._store_now_and_then()
            tell()
            following = wanted()
            if following is None or not np.array_equal(following, selected):
                return
        if self.matrix.todo[:, selected].any():
            raise JudgingError(f"“{self.crm.name}” cannot be used. The judge leaves some of the pairs out.")

    def _load(self) -> None:
        """Take over what is stored, perhaps by another process."""
        with self.contest.database.session() as session:
            stored = scores.get_scores(session, self.contest.record.info.slug, self.key)
        self._n_stored = sum(int(row.judged.sum()) for row in stored.values())
        self.matrix = self.matrix.with_rows(self.contest.llms, stored)

    def _store_now_and_then(self) -> None:
        pause = max(_STORE_SECONDS, self._storing_took / _STORING_SHARE)
        if monotonic() - self._stored_at >= pause:
            self._store()

    def _store(self) -> None:
        matrix, start = self.matrix, monotonic()
        if matrix.n_judged > self._n_stored:
            slug = self.contest.record.info.slug
            criteria = [criterion.to_json() for criterion in self.criteria]
            rows = matrix.rows(self.contest.llms)
            with self.contest.database.session() as session:
                read_at = self.contest.record.updated_at
                scores.put_scores(session, slug, self.key, criteria, rows, computed_from=read_at)
                scores.prune_scores(session, _CRITERIA_SETS_STORED)
            self._n_stored = matrix.n_judged
        self._stored_at = monotonic()
        self._storing_took = self._stored_at - start
