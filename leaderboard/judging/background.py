"""Leaderboards of slow judges: what there is so far, while the rest is judged in the background."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.protocol import CRM
from leaderboard.contest import StoredContest
from leaderboard.errors import NoQueriesError
from leaderboard.judging.filling import Filling
from leaderboard.judging.jobs import ANYBODY, Job, Jobs
from leaderboard.judging.progress import Progress, State
from leaderboard.recent import Recent
from leaderboard.request import Request
from leaderboard.result import Judging, Leaderboard
from leaderboard.statistics.matrix import Mask
from leaderboard.statistics.ranking import Ranking

_RANKINGS_KEPT = 64


class Background:
    """Slow judges' leaderboards; may be shared between threads.

    A view's criteria are judged first: they are what the person waits for. ∅, which only tells what has
    changed, comes after them, is shown when it is complete, and then serves all criteria.
    """

    def __init__(self) -> None:
        """No judge works yet.

        Raises:
            OptionsError: The environment's number of judges at once is none.
        """
        self._jobs = Jobs()
        self._rankings: Recent[Ranking] = Recent(_RANKINGS_KEPT)

    def close(self) -> None:
        """Stop all judges and store what they have."""
        self._jobs.close()

    def filling(self, contest: StoredContest, crm: CRM, criteria: CriteriaSet) -> Filling:
        """The score matrix under the criteria and what fills it, as far as it is.

        Raises:
            TextsMissingError: There are no texts to be judged.
        """
        return self._jobs.job(contest, crm, criteria).filling

    def leaderboard(self, request: Request, watcher: str | None, patience: float) -> Leaderboard:
        """The leaderboard on the queries judged so far; see ``Service.leaderboard``.

        Raises:
            NoQueriesError: No query is selected.
            TextsMissingError: There are no texts to be judged.
        """
        if not request.selected.any():
            raise NoQueriesError("No query is selected: choose at least one topic that has queries.")
        jobs = self._needed(request)
        if watcher is not None:
            self._watch(jobs, watcher, request, patience)
        own, *comparison = (self._jobs.progress(job, watcher or ANYBODY, request.selected) for job in jobs)
        return self._ranked(request, jobs, Judging(own, *comparison))

    def judged(self, request: Request) -> tuple[NDArray[np.float32], Mask]:
        """The score matrix as far as it is, and the queries ``[Q]`` on which LLMs can be compared.

        Raises:
            TextsMissingError: There are no texts to be judged.
        """
        matrix = self._jobs.job(request.contest, request.crm, request.view.criteria).filling.matrix
        finished = not matrix.todo[:, request.selected].any()
        return matrix.prob, request.selected if finished else matrix.comparable(request.selected)

    def stop(self, request: Request, watcher: str) -> None:
        """The watcher wants no more of the work that is left."""
        self._with_next(request, lambda job: self._jobs.stop(job, watcher))

    def resume(self, request: Request, watcher: str) -> None:
        """Go on with the work that is left after a stop or an error."""
        self._with_next(request, lambda job: self._jobs.resume(job, watcher))

    def judge_now(self, request: Request, tell: Callable[[Progress], None] | None, *, compare: bool) -> None:
        """Do the view's work in this thread; see ``Service.judge``."""
        for job in self._needed(request) if compare else self._needed(request)[:1]:
            job.filling.judge_now(request.selected, tell)

    def _needed(self, request: Request) -> list[Job]:
        """The jobs of the view, in the order in which they are done."""
        needed = [request.view.criteria, CriteriaSet()] if request.view.criteria else [CriteriaSet()]
        return [self._jobs.job(request.contest, request.crm, criteria) for criteria in needed]

    def _watch(self, jobs: list[Job], watcher: str, request: Request, patience: float) -> None:
        """Watch the jobs one after the other, each until it is finished or patience is over."""
        until = monotonic() + patience
        for job in jobs:
            self._jobs.watch(job, watcher, request.selected)
            self._jobs.wait(job, watcher, request.selected, max(0.0, until - monotonic()))
            if self._jobs.progress(job, watcher, request.selected).state is not State.FINISHED:
                return

    def _with_next(self, request: Request, act: Callable[[Job], None]) -> None:
        """Do something with the first of the view's jobs that is not finished, if there is any."""
        for job in self._needed(request):
            if job.filling.matrix.todo[:, request.selected].any():
                act(job)
                return

    def _ranked(self, request: Request, jobs: list[Job], judging: Judging) -> Leaderboard:
        """Rank on the queries that all LLMs can be compared on."""
        own, under_default = jobs[0].filling, jobs[-1].filling
        finished = judging.own.state is State.FINISHED
        counted = request.selected if finished else own.matrix.comparable(request.selected)
        if not counted.any():
            nothing = np.full_like(own.matrix.prob, np.nan)
            return request.leaderboard(
                request.rank(nothing, request.selected), None, n_judged=0, judging=judging
            )
        ranking = self._ranking(request, own, counted)
        default: Ranking | None = ranking
        if judging.comparison is not None:
            known = judging.comparison.state is State.FINISHED
            default = self._ranking(request, under_default, counted) if known else None
        return request.leaderboard(ranking, default, n_judged=int(counted.sum()), judging=judging)

    def _ranking(self, request: Request, filling: Filling, counted: Mask) -> Ranking:
        """The ranking on the counted queries, computed once until more is judged."""
        matrix = filling.matrix
        state = filling.criteria.key, matrix.n_judged, counted.tobytes()
        return self._rankings.get(
            (request.contest_key, request.scoring, *state), lambda: request.rank(matrix.prob, counted)
        )
