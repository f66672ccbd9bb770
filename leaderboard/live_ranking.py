"""Leaderboards of slow judges: what there is so far, while the rest is judged in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion
from crm.protocol import CRM
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.cache import SharedCache
from leaderboard.errors import LeaderboardError
from leaderboard.judged import by_lists
from leaderboard.live_grades import LiveGrades
from leaderboard.request import Request
from leaderboard.result import Judging, Leaderboard
from leaderboard.scoring_jobs.progress import Progress, State, together
from leaderboard.scoring_jobs.scheduler import ANYBODY, ScheduledTask, Scheduler
from leaderboard.scoring_jobs.task import ScoringTask
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.ranking import Ranking
from leaderboard.statistics.win_rate import Mask

_RANKINGS_KEPT = 64

DefaultOn = Callable[[Mask], Ranking]


@dataclass(frozen=True, eq=False)
class _Work:
    """What fills the score matrix of a request: a job for each list, on its selected queries ``[Q]``."""

    request: Request
    parts: tuple[tuple[ScheduledTask, Mask], ...]

    @property
    def prob(self) -> NDArray[np.float32]:
        """What is judged so far ``[L, Q]``, each query by its list."""
        found = by_lists([(job.task.matrix.prob, queries) for job, queries in self.parts])
        assert not isinstance(found, Margins)  # of matrices
        return found

    @property
    def n_judged(self) -> int:
        """Number of pairs that have been judged."""
        return sum(job.task.matrix.n_judged for job, _ in self.parts)

    @property
    def unfinished(self) -> tuple[ScheduledTask, ...]:
        """The jobs with something left to do."""
        return tuple(job for job, queries in self.parts if job.task.matrix.todo[:, queries].any())

    def comparable(self) -> Mask:
        """Return the queries ``[Q]`` on which all LLMs have been judged."""
        return np.asarray(np.any([job.task.matrix.comparable(at) for job, at in self.parts], axis=0))


class LiveRankings:
    """Slow judges' leaderboards; may be shared between threads.

    A view's criteria are judged first: they are what the person waits for. ∅, which only tells what has
    changed, comes after them, is shown when it is complete, and then serves all criteria. Either may be a
    judge's that needs no time.
    """

    def __init__(self) -> None:
        """No judge works yet; a LeaderboardError if the environment's number of judges at once is none."""
        self._scheduler = Scheduler()
        self._rankings: SharedCache[Ranking] = SharedCache(_RANKINGS_KEPT)

    def close(self) -> None:
        """Stop all judges and store what they have."""
        self._scheduler.close()

    def jobs(self) -> dict[State, int]:
        """Return how many score matrices are filled now and how many wait for that."""
        return self._scheduler.counts()

    def task(self, benchmark: LoadedBenchmark, crm: CRM, criteria: CriteriaSet) -> ScoringTask:
        """Return the score matrix under the criteria and what fills it; a CRMError if there are no texts."""
        return self._scheduler.task(benchmark, crm, criteria)

    def grades(self, request: Request, criteria: Sequence[Criterion]) -> LiveGrades:
        """Return the work of grading each of some criteria by itself; a CRMError if there are no texts."""
        return LiveGrades.of(self._scheduler, request, criteria)

    def leaderboard(
        self, request: Request, subscriber: str | None, patience: float, default_on: DefaultOn
    ) -> Leaderboard:
        """Return the leaderboard on the queries judged so far; see ``Service.leaderboard``.

        Args:
            default_on: Returns ∅ on some queries ``[Q]``, where its judge needs no time.

        Raises:
            LeaderboardError: No query is selected.
            CRMError: There are no texts to be judged.
        """
        if not request.selected.any():
            raise LeaderboardError("No query is selected: choose at least one topic that has queries.")
        works = self._needed(request)
        if subscriber is not None:
            self._subscribe(works, subscriber, patience)
        own, *comparison = (self._progress(work, subscriber) for work in works)
        return self._ranked(request, works, Judging(own, *comparison), default_on)

    def comparison(
        self, request: Request, subscriber: str | None, patience: float
    ) -> tuple[Ranking | None, Judging]:
        """Return ∅ for a view whose criteria need no time, None until it is judged; raises as ``task``."""
        [work] = self._needed(request)
        if subscriber is not None:
            self._subscribe([work], subscriber, patience)
        progress = self._progress(work, subscriber)
        judging = Judging(Progress(State.FINISHED, progress.pairs_all, progress.pairs_all), progress)
        if progress.state is not State.FINISHED:
            return None, judging
        return self._ranking(work, request.selected), judging

    def judged(
        self, request: Request, default_on: DefaultOn
    ) -> tuple[NDArray[np.float32], Mask, Mask | None]:
        """Return what there is so far: matrix, queries ``[Q]`` LLMs can be compared on, LLMs under the floor.

        Raises as ``task``.
        """
        own, *comparison = self._needed(request)
        counted = own.comparable() if own.unfinished else request.selected
        if request.view.floor is None or not counted.any() or not request.criteria:
            return own.prob, counted, None
        if not comparison:
            return own.prob, counted, request.under_floor(default_on(counted))
        [under_default] = comparison
        default = None if under_default.unfinished else self._ranking(under_default, counted)
        return own.prob, counted, request.under_floor(default)

    def stop(self, request: Request, subscriber: str) -> None:
        """The subscriber wants no more of the work that is left."""
        self._with_next(request, lambda job: self._scheduler.stop(job, subscriber))

    def resume(self, request: Request, subscriber: str) -> None:
        """Go on with the work that is left after a stop or an error."""
        self._with_next(request, lambda job: self._scheduler.resume(job, subscriber))

    def judge_now(
        self, request: Request, on_progress: Callable[[Progress], None] | None, *, compare: bool
    ) -> None:
        """Do the view's work in this thread; see ``Service.judge``."""
        for work in self._needed(request):
            if compare or work.request is request:
                for job, queries in work.parts:
                    job.task.judge_now(queries, on_progress)

    def _needed(self, request: Request) -> list[_Work]:
        """Return the work of the view's slow judges, in the order in which it is done."""
        asked = [request, request.default] if request.criteria else [request]
        return [self._work(one) for one in asked if not one.is_instant]

    def _work(self, request: Request) -> _Work:
        parts = [(criteria, queries & request.selected) for criteria, queries in request.lists]
        wanted = [part for part in parts if part[1].any()] or parts[:1]
        return _Work(
            request,
            tuple(
                (self._scheduler.job(request.benchmark, request.crm, criteria), queries)
                for criteria, queries in wanted
            ),
        )

    def _subscribe(self, works: Sequence[_Work], subscriber: str, patience: float) -> None:
        """Subscribe to the jobs one after the other, each until it is finished or patience is over."""
        until = monotonic() + patience
        parts = [part for work in works for part in work.parts]
        # Whoever subscribes leaves other jobs: by way of a finished one, one that failed would be begun anew.
        left = [part for part in parts if part[0].task.matrix.todo[:, part[1]].any()]
        for job, queries in left or parts[-1:]:
            self._scheduler.subscribe(job, subscriber, queries)
            self._scheduler.wait(job, subscriber, queries, max(0.0, until - monotonic()))
            if self._scheduler.progress(job, subscriber, queries).state is not State.FINISHED:
                return

    def _progress(self, work: _Work, subscriber: str | None) -> Progress:
        who = subscriber or ANYBODY
        return together([self._scheduler.progress(job, who, queries) for job, queries in work.parts])

    def _with_next(self, request: Request, act: Callable[[ScheduledTask], None]) -> None:
        """Do something with the first of the view's jobs that is not finished, if there is any."""
        for job in (job for work in self._needed(request) for job in work.unfinished):
            act(job)
            return

    def _ranked(
        self, request: Request, works: Sequence[_Work], judging: Judging, default_on: DefaultOn
    ) -> Leaderboard:
        own, under_default = works[0], works[-1]
        finished = judging.own.state is State.FINISHED
        counted = request.selected if finished else own.comparable()
        if not counted.any():
            nothing = np.full_like(own.prob, np.nan)
            return request.leaderboard(
                request.rank(nothing, request.selected), None, counted=counted, judging=judging
            )
        default: Ranking | None = None
        if request.criteria and request.default.is_instant:
            default = default_on(counted)
        elif judging.comparison is None or judging.comparison.state is State.FINISHED:
            default = self._ranking(under_default, counted)
        ranking = self._ranking(own, counted, request.under_floor(default))
        return request.leaderboard(ranking, default, counted=counted, judging=judging, judged=own.prob)

    def _ranking(self, work: _Work, counted: Mask, under_floor: Mask | None = None) -> Ranking:
        """Return the ranking on the counted queries, computed once until more is judged."""
        request = work.request
        floor = None if under_floor is None else under_floor.tobytes()
        state = request.criteria.key, work.n_judged, counted.tobytes(), floor
        return self._rankings.get(
            (request.benchmark_key, request.scoring, *state),
            lambda: request.rank(work.prob, counted, under_floor),
        )
