"""Slow judges at work in the background: one job a score matrix, however many people ask for it.

A job works while somebody subscribes to it. A page that turns to another view, or is closed, no longer does;
so nobody waits for what nobody wants. Jobs of one judge take turns, and only a few judges work at a time.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from threading import Condition, Thread
from time import monotonic

import numpy as np

from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.protocol import CRM
from db import DatabaseError
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.errors import BusyError, ClientBusyError, LeaderboardError
from leaderboard.limits import Limits, variable
from leaderboard.logs import told
from leaderboard.scoring_jobs.progress import Progress, State
from leaderboard.scoring_jobs.rounds import RoundsTask
from leaderboard.scoring_jobs.task import ScoringTask
from leaderboard.statistics.win_rate import Mask

JUDGES_VARIABLE = variable("judges_at_once")
ANYBODY = ""
"""A subscriber that never leaves: its jobs are finished even if no page shows them."""

_CLIENT_ENDS = "\n"

_LEASE = 180.0
"""Seconds for which a subscription lasts since the page last asked; browsers slow hidden pages down to a
question a minute."""
_FRESH = 15.0
"""Seconds since it last asked for which a page is surely looked at: such pages are served first."""
_TURN = 15.0
"""Seconds a job may work while another one of the same judge waits."""
_KEPT = 64
_FIXABLE = (CRMError, LeaderboardError, DatabaseError)

_log = logging.getLogger(__name__)


@dataclass
class _Subscription:
    """One subscriber's interest in a job: the queries, and when it last asked.

    Attributes:
        since: When it began, or was taken up again.
        stopped: Whether the subscriber said stop, or it had lasted too long, as ``lasted`` says.
    """

    selected: Mask
    seen: float
    since: float
    stopped: bool = False
    lasted: bool = False


def subscriber_of(client: str, what: str) -> str:
    """Return the name of one of a client's subscribers, which are held to what one client may have at work.

    Args:
        what: Tells it from the client's other subscribers.
    """
    return f"{client}{_CLIENT_ENDS}{what}"


def _begun(selected: Mask) -> _Subscription:
    now = monotonic()
    return _Subscription(selected, now, now)


@dataclass(eq=False)
class ScheduledTask:
    """One score matrix, or several, and those who want it; all but ``task`` belongs to ``Scheduler``."""

    task: ScoringTask | RoundsTask
    subscriptions: dict[str, _Subscription] = field(default_factory=dict)
    error: str | None = None

    @property
    def judge(self) -> str:
        """Name of the judge."""
        return self.task.crm.name


class Scheduler:
    """The jobs of a process; may be used by any of its threads."""

    def __init__(self, judges_at_once: int | None = None) -> None:
        """Let so many judges work at a time, by default as many as the environment says, else two.

        Raises a LeaderboardError where the environment's number is none.
        """
        self._limits = Limits.from_environment()
        self._most = judges_at_once or self._limits.judges_at_once
        self._jobs: OrderedDict[Hashable, ScheduledTask] = OrderedDict()
        self._queue: list[ScheduledTask] = []
        self._running: list[ScheduledTask] = []
        self._changed = Condition()

    def job(self, benchmark: LoadedBenchmark, crm: CRM, criteria: CriteriaSet) -> ScheduledTask:
        """Return the one job of this matrix, idle until somebody subscribes; a CRMError without texts."""
        key = (benchmark.identity, crm.name, crm.version, criteria.key)
        return self._job(key, lambda: ScoringTask(benchmark, crm, criteria))

    def task(self, benchmark: LoadedBenchmark, crm: CRM, criteria: CriteriaSet) -> ScoringTask:
        """Return what that job does; raises as ``job``."""
        task = self.job(benchmark, crm, criteria).task
        assert isinstance(task, ScoringTask)  # of one matrix
        return task

    def job_in_rounds(
        self, benchmark: LoadedBenchmark, crm: CRM, parts: Sequence[tuple[CriteriaSet, Mask]]
    ) -> ScheduledTask:
        """Return the one job of several matrices, each on its queries ``[Q]``, that are filled in rounds.

        Its matrix is theirs, one below the other. Raises a CRMError without texts.
        """
        key = tuple((criteria.key, queries.tobytes()) for criteria, queries in parts)

        def make() -> RoundsTask:
            # Those of jobs of their own: what is judged for one is seen by all.
            alone = [self.task(benchmark, crm, criteria) for criteria, _ in parts]
            return RoundsTask(alone, [queries for _, queries in parts])

        return self._job((benchmark.identity, crm.name, crm.version, key), make)

    def _job(self, key: Hashable, make: Callable[[], ScoringTask | RoundsTask]) -> ScheduledTask:
        with self._changed:
            if key in self._jobs:
                self._jobs.move_to_end(key)
                return self._jobs[key]
        loaded = ScheduledTask(make())
        with self._changed:
            job = self._jobs.setdefault(key, loaded)
            self._forget_old()
            return job

    def subscribe(self, job: ScheduledTask, subscriber: str, selected: Mask) -> None:
        """Want the selected queries ``[Q]`` judged, and nothing of other jobs any more.

        A job that the subscriber has stopped, or that failed before its eyes, stays so until ``resume``.

        Raises:
            ClientBusyError: The subscriber's client has as many at work as one may (see ``subscriber_of``).
            BusyError: It would have to wait, and too many wait already.
        """
        with self._changed:
            if subscriber != ANYBODY:
                self._leave_others(job, subscriber)
            subscription = job.subscriptions.get(subscriber)
            if subscription is None:
                self._check_share(job, subscriber)
                self._check_room(job)
                job.error = None
                subscription = job.subscriptions[subscriber] = _begun(selected)
            elif not np.array_equal(subscription.selected, selected):
                subscription.selected = selected
            subscription.seen = monotonic()
            self._enqueue(job)

    def stop(self, job: ScheduledTask, subscriber: str) -> None:
        """The subscriber wants no more of it; it goes on only if somebody else does."""
        with self._changed:
            if subscriber in job.subscriptions:
                job.subscriptions[subscriber].stopped = True
            self._changed.notify_all()

    def resume(self, job: ScheduledTask, subscriber: str) -> None:
        """Go on after a stop or an error. Raises as ``subscribe``."""
        with self._changed:
            self._check_share(job, subscriber)
            self._check_room(job)
            job.error = None
            if subscriber in job.subscriptions:
                selected = job.subscriptions[subscriber].selected
                job.subscriptions[subscriber] = _begun(selected)
            self._enqueue(job)

    def progress(self, job: ScheduledTask, subscriber: str, selected: Mask) -> Progress:
        """Return where the work on the selected queries ``[Q]`` stands for the subscriber."""
        with self._changed:
            subscription = job.subscriptions.get(subscriber)
            if job.error is not None:
                state = State.FAILED
            elif subscription is None or subscription.stopped:
                state = State.STOPPED
            else:
                state = State.RUNNING if job in self._running else State.WAITING
            progress = job.task.progress(selected, state, ahead=self._ahead(job, subscriber, selected))
            if progress.state is State.FAILED:
                return replace(progress, message=job.error)
            if progress.state is State.STOPPED and subscription is not None and subscription.lasted:
                minutes = self._limits.judging_minutes
                return replace(progress, message=f"Paused after {minutes:,} minutes: is it still wanted?")
            if progress.state is State.WAITING and job in self._queue:
                return replace(progress, place=1 + self._in_order().index(job))
            if progress.seconds_left is not None:
                return replace(progress, seconds_left=progress.seconds_left * self._taking_turns(job))
            return progress

    def wait(self, job: ScheduledTask, subscriber: str, selected: Mask, seconds: float) -> None:
        """Wait until the work on the selected queries ends or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: not self.progress(job, subscriber, selected).active, seconds)

    def counts(self) -> dict[State, int]:
        """Return how many jobs work and how many wait for their turn."""
        with self._changed:
            return {State.RUNNING: len(self._running), State.WAITING: len(self._queue)}

    def close(self) -> None:
        """Stop all jobs and wait until what they have is stored; they may be subscribed to again."""
        with self._changed:
            for job in self._jobs.values():
                job.subscriptions.clear()
            self._queue.clear()
            self._changed.wait_for(lambda: not self._running, _LEASE)

    def _leave_others(self, job: ScheduledTask, subscriber: str) -> None:
        for other in self._jobs.values():
            subscription = other.subscriptions.get(subscriber)
            if other is not job and subscription is not None and not subscription.stopped:
                del other.subscriptions[subscriber]

    def _ahead(self, job: ScheduledTask, subscriber: str, selected: Mask) -> Mask:
        """Return the queries that are judged before or among those the subscriber selected."""
        ahead = selected.copy()
        for name, subscription in job.subscriptions.items():
            if name == subscriber:
                break
            if not subscription.stopped:
                ahead |= subscription.selected
        return ahead

    def _taking_turns(self, job: ScheduledTask) -> int:
        return sum(other.judge == job.judge for other in (*self._running, *self._queue))

    def _next_selected(self, job: ScheduledTask) -> Mask | None:
        """Return what to judge next: the queries of the earliest subscriber who still waits."""
        now = monotonic()
        for name, subscription in list(job.subscriptions.items()):
            if name != ANYBODY and not subscription.stopped and now - subscription.seen > _LEASE:
                del job.subscriptions[name]
            elif name != ANYBODY and now - subscription.since > 60 * self._limits.judging_minutes:
                subscription.stopped = subscription.lasted = True
        todo = job.task.matrix.todo
        for subscription in job.subscriptions.values():
            if not subscription.stopped and todo[:, subscription.selected].any():
                return subscription.selected
        return None

    def _enqueue(self, job: ScheduledTask) -> None:
        idle = job not in self._queue and job not in self._running
        if idle and job.error is None and self._next_selected(job) is not None:
            self._queue.append(job)
        self._start_next()
        self._changed.notify_all()

    def _start_next(self) -> None:
        """Start waiting jobs, those looked at and the oldest first; a judge does one at a time."""
        for job in self._in_order():
            if len(self._running) >= self._most:
                return
            if all(job.judge != other.judge for other in self._running):
                self._queue.remove(job)
                self._running.append(job)
                Thread(target=self._work, args=(job,), name=f"judge {job.judge}", daemon=True).start()

    def _in_order(self) -> list[ScheduledTask]:
        """Return the waiting jobs, those that start first at the beginning."""
        return sorted(self._queue, key=_is_left)

    def _check_share(self, job: ScheduledTask, subscriber: str) -> None:
        """Raise a ClientBusyError if the subscriber's client waits for as many other jobs as one may."""
        client, ends, _ = subscriber.partition(_CLIENT_ENDS)
        others = (other for other in (*self._running, *self._queue) if other is not job)
        most = self._limits.judging_of_client
        if ends and sum(_is_wanted_by(other, client + ends) for other in others) >= most:
            raise ClientBusyError(
                f"{most:,} rankings that you asked for are at work or wait for slow judges already: ask "
                "again when one of them has finished."
            )

    def _check_room(self, job: ScheduledTask) -> None:
        """Raise a BusyError if the job would have to wait behind as many as may wait."""
        most = self._limits.judging_waiting
        if job in self._queue or job in self._running or len(self._queue) < most:
            return
        if sum(self._next_selected(other) is not None for other in self._queue) >= most:
            raise BusyError(
                f"{most:,} rankings wait for slow judges already: try again in a few minutes, or choose a "
                "judge that is quick."
            )

    def _work(self, job: ScheduledTask) -> None:
        """Fill the job's matrix until its turn is over; the body of a thread."""
        start, n_judged = monotonic(), job.task.matrix.n_judged

        def wanted() -> Mask | None:
            with self._changed:
                # However long a judge takes to begin, every turn brings something.
                served = job.task.matrix.n_judged > n_judged
                over = served and (_is_left(job) or monotonic() - start > _TURN)
                return None if over and self._is_awaited(job) else self._next_selected(job)

        error = None
        try:
            with told("job", judge=job.judge) as log:
                try:
                    job.task.fill(wanted, self._on_progress)
                finally:
                    log["verdicts"] = job.task.matrix.n_judged - n_judged
        except _FIXABLE as fixable:
            error = str(fixable)
        except Exception as unexpected:
            _log.exception("Judging with %s failed", job.judge)
            error = (
                f"Judging with “{job.judge}” failed unexpectedly ({type(unexpected).__name__}): "
                "try again, or see the log of the server."
            )
        with self._changed:
            self._running.remove(job)
            job.error = error
            self._enqueue(job)

    def _is_awaited(self, job: ScheduledTask) -> bool:
        """Return whether another job could work if this one paused."""
        full = len(self._running) >= self._most
        others = {other.judge for other in self._running if other is not job}
        return any(
            waiting.judge == job.judge or (full and waiting.judge not in others)
            for waiting in self._queue
            if not _is_left(waiting)
        )

    def _on_progress(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _forget_old(self) -> None:
        """Drop the jobs that nobody has asked for longest; what they have is stored."""
        for key, job in list(self._jobs.items()):
            if len(self._jobs) <= _KEPT:
                return
            if job not in self._running and job not in self._queue:
                del self._jobs[key]


def _is_wanted_by(job: ScheduledTask, beginning: str) -> bool:
    """Return whether a subscriber whose name begins so still asks for something that is left to do."""
    now, todo = monotonic(), job.task.matrix.todo
    return any(
        name.startswith(beginning)
        and not subscription.stopped
        and now - subscription.seen <= _LEASE
        and bool(todo[:, subscription.selected].any())
        for name, subscription in job.subscriptions.items()
    )


def _is_left(job: ScheduledTask) -> bool:
    """Return whether nobody has looked at the job for a while, though it may still be wanted."""
    now = monotonic()
    return not any(
        name == ANYBODY or now - subscription.seen <= _FRESH
        for name, subscription in job.subscriptions.items()
        if not subscription.stopped
    )
