"""Leaderboards of slow judges: what there is so far, while the rest is judged in the background."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.protocol import CRM
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.cache import SharedCache
from leaderboard.errors import LeaderboardError
from leaderboard.request import Request
from leaderboard.result import Judging, Leaderboard
from leaderboard.scoring_jobs.progress import Progress, State
from leaderboard.scoring_jobs.scheduler import ANYBODY, ScheduledTask, Scheduler
from leaderboard.scoring_jobs.task import ScoringTask
from leaderboard.statistics.ranking import Ranking
from leaderboard.statistics.win_rate import Mask

_RANKINGS_KEPT = 64

DefaultOn = Callable[[Mask], Ranking]


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
        return self._scheduler.job(benchmark, crm, criteria).task

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
        jobs = self._needed(request)
        if subscriber is not None:
            self._subscribe(jobs, subscriber, request, patience)
        own, *comparison = (
            self._scheduler.progress(job, subscriber or ANYBODY, request.selected) for job in jobs
        )
        return self._ranked(request, jobs, Judging(own, *comparison), default_on)

    def comparison(
        self, request: Request, subscriber: str | None, patience: float
    ) -> tuple[Ranking | None, Judging]:
        """Return ∅ for a view whose criteria need no time, None until it is judged; raises as ``task``."""
        [job] = self._needed(request)
        if subscriber is not None:
            self._subscribe([job], subscriber, request, patience)
        progress = self._scheduler.progress(job, subscriber or ANYBODY, request.selected)
        judging = Judging(Progress(State.FINISHED, progress.pairs_all, progress.pairs_all), progress)
        if progress.state is not State.FINISHED:
            return None, judging
        return self._ranking(request, job.task, request.selected), judging

    def judged(
        self, request: Request, default_on: DefaultOn
    ) -> tuple[NDArray[np.float32], Mask, Mask | None]:
        """Return what there is so far: matrix, queries ``[Q]`` LLMs can be compared on, LLMs under the floor.

        Raises as ``task``.
        """
        own, *comparison = (job.task for job in self._needed(request))
        matrix, selected = own.matrix, request.selected
        counted = matrix.comparable(selected) if matrix.todo[:, selected].any() else selected
        if request.view.floor is None or not counted.any() or not request.criteria:
            return matrix.prob, counted, None
        if not comparison:
            return matrix.prob, counted, request.under_floor(default_on(counted))
        [under_default] = comparison
        known = not under_default.matrix.todo[:, selected].any()
        default = self._ranking(request, under_default, counted) if known else None
        return matrix.prob, counted, request.under_floor(default)

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
        for job in self._needed(request):
            if compare or job.task.criteria == request.criteria:
                job.task.judge_now(request.selected, on_progress)

    def _needed(self, request: Request) -> list[ScheduledTask]:
        """Return the jobs of the view's slow judges, in the order in which they are done."""
        asked = [request, request.default] if request.criteria else [request]
        return [
            self._scheduler.job(one.benchmark, one.crm, one.criteria) for one in asked if not one.is_instant
        ]

    def _subscribe(
        self, jobs: list[ScheduledTask], subscriber: str, request: Request, patience: float
    ) -> None:
        """Subscribe to the jobs one after the other, each until it is finished or patience is over."""
        until = monotonic() + patience
        for job in jobs:
            self._scheduler.subscribe(job, subscriber, request.selected)
            self._scheduler.wait(job, subscriber, request.selected, max(0.0, until - monotonic()))
            if self._scheduler.progress(job, subscriber, request.selected).state is not State.FINISHED:
                return

    def _with_next(self, request: Request, act: Callable[[ScheduledTask], None]) -> None:
        """Do something with the first of the view's jobs that is not finished, if there is any."""
        for job in self._needed(request):
            if job.task.matrix.todo[:, request.selected].any():
                act(job)
                return

    def _ranked(
        self, request: Request, jobs: list[ScheduledTask], judging: Judging, default_on: DefaultOn
    ) -> Leaderboard:
        own, under_default = jobs[0].task, jobs[-1].task
        finished = judging.own.state is State.FINISHED
        counted = request.selected if finished else own.matrix.comparable(request.selected)
        if not counted.any():
            nothing = np.full_like(own.matrix.prob, np.nan)
            return request.leaderboard(
                request.rank(nothing, request.selected), None, counted=counted, judging=judging
            )
        default: Ranking | None = None
        if request.criteria and request.default.is_instant:
            default = default_on(counted)
        elif judging.comparison is None or judging.comparison.state is State.FINISHED:
            default = self._ranking(request, under_default, counted)
        ranking = self._ranking(request, own, counted, request.under_floor(default))
        return request.leaderboard(ranking, default, counted=counted, judging=judging, judged=own.matrix.prob)

    def _ranking(
        self, request: Request, task: ScoringTask, counted: Mask, under_floor: Mask | None = None
    ) -> Ranking:
        """Return the ranking on the counted queries, computed once until more is judged."""
        matrix = task.matrix
        floor = None if under_floor is None else under_floor.tobytes()
        state = task.criteria.key, matrix.n_judged, counted.tobytes(), floor
        judged_by = request if task.criteria else request.default
        return self._rankings.get(
            (judged_by.benchmark_key, request.scoring, *state),
            lambda: judged_by.rank(matrix.prob, counted, under_floor),
        )
