"""Grades of a slow judge under each criterion by itself: what there is so far, and the work on the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion, Weight
from leaderboard.request import Request
from leaderboard.scoring_jobs.progress import Progress
from leaderboard.scoring_jobs.rounds import RoundsTask
from leaderboard.scoring_jobs.scheduler import ANYBODY, ScheduledTask, Scheduler
from leaderboard.statistics.win_rate import Mask


@dataclass(frozen=True, eq=False)
class SoFar:
    """What a judge has said under n criteria.

    Attributes:
        probs: The score matrix of each ``[L, Q]``.
        counted: The queries that LLMs are compared on under each ``[n, Q]``: the shared ones in whose list it
            stands; while there is none of these, all on which the LLMs have been judged under it.
        shared: The queries ``[Q]`` on which all LLMs have been judged under all criteria in whose list they
            stand.
    """

    probs: Sequence[NDArray[np.float32]]
    counted: NDArray[np.bool_]
    shared: Mask


@dataclass(frozen=True, eq=False)
class LiveGrades:
    """A slow judge asked for n criteria one by one; nobody sets it to work but ``go_on`` and ``judge_now``.

    Attributes:
        request: What is asked for, without a control.
        queries: The selected queries in whose list each criterion stands ``[n, Q]``.
        job: Fills the n score matrices.
    """

    request: Request
    queries: NDArray[np.bool_]
    scheduler: Scheduler
    job: ScheduledTask

    @classmethod
    def of(cls, scheduler: Scheduler, request: Request, criteria: Sequence[Criterion]) -> LiveGrades:
        """Look up what there is; a CRMError if there are no texts to be judged."""
        queries = np.array([request.queries_of(criterion) for criterion in criteria])
        parts = [
            (CriteriaSet((_alone(criterion),)), of_list)
            for criterion, of_list in zip(criteria, queries, strict=True)
        ]
        job = scheduler.job_in_rounds(request.benchmark, request.crm, parts)
        return cls(request, queries & request.selected, scheduler, job)

    @property
    def selected(self) -> Mask:
        """The queries ``[Q]`` to be judged under any of the criteria."""
        return np.asarray(self.queries.any(axis=0))

    def progress(self, subscriber: str | None = None) -> Progress:
        """Return how far the judge is, as a subscriber sees it."""
        return self.scheduler.progress(self.job, subscriber or ANYBODY, self.selected)

    def go_on(self, subscriber: str, patience: float = 0.0) -> Progress:
        """Want the rest judged in the background, as of ``Service.leaderboard``; return how far it is.

        Raises BusyError: Too many wait already.
        """
        self.scheduler.subscribe(self.job, subscriber, self.selected)
        self.scheduler.wait(self.job, subscriber, self.selected, patience)
        return self.progress(subscriber)

    def stop(self, subscriber: str) -> None:
        """The subscriber wants no more of it; what is judged is kept."""
        self.scheduler.stop(self.job, subscriber)

    def resume(self, subscriber: str) -> None:
        """Go on after a stop or an error. Raises BusyError: Too many wait already."""
        self.scheduler.resume(self.job, subscriber)

    def judge_now(self, on_progress: Callable[[Progress], None] | None = None) -> None:
        """Judge the rest in this thread; raises as ``Service.judge``."""
        self.job.task.judge_now(self.selected, on_progress)

    def so_far(self) -> SoFar:
        """Return what there is, on the same queries for all LLMs and criteria as soon as there are any."""
        rounds = self.job.task
        assert isinstance(rounds, RoundsTask)
        done, total = rounds.matrix.count(self.selected)
        shared = self.selected if done == total else rounds.matrix.comparable(self.selected)
        alone = [task.matrix for task in rounds.tasks]
        own = [matrix.comparable(queries) for matrix, queries in zip(alone, self.queries, strict=True)]
        counted = self.queries & shared if shared.any() else np.array(own)
        return SoFar([matrix.prob for matrix in alone], counted, shared)


def _alone(criterion: Criterion) -> Criterion:
    """Return a criterion as the judge is asked by it alone: there is nothing to weigh it with."""
    return replace(criterion.everywhere, weight=Weight.ESSENTIAL)
