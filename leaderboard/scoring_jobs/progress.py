"""How far a slow judge is: pairs judged, speed, time left, and one status line on standard error."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Event, Lock, Thread
from time import monotonic
from typing import Protocol, TypeVar

from rich.console import Console
from rich.live import Live
from rich.text import Text

from leaderboard.errors import LeaderboardError

_REMEMBERED_BLOCKS = 20
_SILENCE = 30.0
"""Seconds without a result after which it is worth saying so."""


class State(StrEnum):
    """Where the work on a score matrix stands, as one person sees it."""

    WAITING = "waiting"
    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"
    FINISHED = "finished"


@dataclass(frozen=True)
class Progress:
    """How much of the selected queries is judged.

    Attributes:
        seconds_left: Estimate from the present speed; None where nothing is known yet or nobody works on it.
        silent: Seconds since the judge last gave a result; 0 where it is not running.
        message: Why it failed or was stopped, in one sentence.
        place: At which it waits among all that wait for slow judges, from 1.
    """

    state: State
    pairs_done: int
    pairs_all: int
    seconds_left: float | None = None
    silent: float = 0.0
    message: str | None = None
    place: int | None = None

    @property
    def active(self) -> bool:
        """Whether more results are to come without anybody doing anything."""
        return self.state in (State.WAITING, State.RUNNING)

    @property
    def share(self) -> float:
        """Share of the pairs that is judged, from 0 to 1."""
        return self.pairs_done / self.pairs_all if self.pairs_all else 1.0

    @property
    def percentage(self) -> str:
        """The share as “34 %”; never 100 % before the end."""
        return f"{int(100 * self.share)} %"

    def __str__(self) -> str:
        parts = [f"{self.pairs_done:,} of {self.pairs_all:,} pairs"]
        if self.silent > _SILENCE:
            parts.append(f"no answer for {duration(self.silent)}")
        elif self.seconds_left is not None:
            parts.append(time_left(self.seconds_left))
        return " · ".join(parts)


_FIRST_TO_TELL = (State.FAILED, State.RUNNING, State.WAITING, State.STOPPED, State.FINISHED)
"""A job that comes after another is not asked for yet, as if it were stopped."""


def together(parts: Sequence[Progress]) -> Progress:
    """Return how far several jobs of one person are, done one after the other."""
    if len(parts) == 1:
        return parts[0]
    told = min(parts, key=lambda part: _FIRST_TO_TELL.index(part.state))
    left = [part.seconds_left for part in parts if part.state is not State.FINISHED]
    known = [seconds for seconds in left if seconds is not None]
    return replace(
        told,
        pairs_done=sum(part.pairs_done for part in parts),
        pairs_all=sum(part.pairs_all for part in parts),
        seconds_left=sum(known) if len(known) == len(left) and left else None,
    )


class Throughput:
    """Pairs judged per second, over the last few blocks."""

    def __init__(self) -> None:
        self._blocks: deque[tuple[int, float]] = deque(maxlen=_REMEMBERED_BLOCKS)

    def add(self, pairs: int, seconds: float) -> None:
        """Take note of a block."""
        self._blocks.append((pairs, seconds))

    @property
    def pairs_per_second(self) -> float | None:
        """The speed; None before the first block."""
        # A list first: another thread may add a block meanwhile.
        blocks = list(self._blocks)
        seconds = sum(seconds for _, seconds in blocks)
        return sum(pairs for pairs, _ in blocks) / seconds if seconds > 0 else None


def time_left(seconds: float) -> str:
    """“about 3 min left”, as coarse as such an estimate is."""
    return f"about {duration(seconds)} left"


def duration(seconds: float) -> str:
    """“25 s”, “3 min”, “2 h”."""
    if seconds < 55:  # noqa: PLR2004
        return f"{max(5, 5 * round(seconds / 5))} s"
    if seconds < 90 * 60:
        return f"{max(1, round(seconds / 60))} min"
    return f"{round(2 * seconds / 3600) / 2:g} h"


_LOG_SECONDS = 5.0
_IDLE_SECONDS = 1.0


JOB_LOG = logging.getLogger("usl.jobs")
"""Where long jobs say how far they are, what failed and how they ended; nothing listens unless asked to."""


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Yield a function which shows what the line says now, and logs it every few seconds.

    Where standard error is no terminal, the line is written every few seconds, also while nothing changes.
    """
    console = Console(stderr=True)
    with _terminal_line(console) if console.is_terminal else _log_lines(console) as show:

        def write(line: str) -> None:
            show(line)
            log_progress(line)

        yield write


def log_progress(line: str) -> None:
    """Log a line on progress, unless there was one a few seconds ago."""
    if line and JOB_LOG.isEnabledFor(logging.INFO) and _FILE_CLOCK.take():
        JOB_LOG.info(line)


@contextmanager
def _terminal_line(console: Console) -> Iterator[Callable[[str], None]]:
    with Live(console=console, transient=True, refresh_per_second=4) as live:
        yield lambda line: live.update(Text(line))


class _LogClock:
    """When a line may be written; jobs that follow each other share it, however short each of them is."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._written_at = self._ended_at = -math.inf

    def begin(self) -> None:
        """Something is to be told of; after a pause the first line waits as long as any other."""
        with self._lock:
            if monotonic() - self._ended_at > _IDLE_SECONDS:
                self._written_at = monotonic()

    def end(self) -> None:
        """There is nothing more to tell."""
        with self._lock:
            self._ended_at = monotonic()

    def take(self) -> bool:
        """Return whether a line may be written now; it is then."""
        with self._lock:
            due = monotonic() - self._written_at >= _LOG_SECONDS
            if due:
                self._written_at = monotonic()
            return due


_CLOCK, _FILE_CLOCK = _LogClock(), _LogClock()


@contextmanager
def _log_lines(console: Console) -> Iterator[Callable[[str], None]]:
    latest = [""]
    over = Event()

    def write(line: str) -> None:
        latest[0] = line
        if line and _CLOCK.take():
            console.print(Text(line), soft_wrap=True)

    def write_again() -> None:
        while not over.wait(max(_LOG_SECONDS, _IDLE_SECONDS)):
            write(latest[0])

    _CLOCK.begin()
    again = Thread(target=write_again, daemon=True)
    again.start()
    try:
        yield write
    finally:
        over.set()
        again.join()
        _CLOCK.end()


class CountsPairs(Protocol):
    """How far something is that judges pairs."""

    @property
    def pairs_done(self) -> int:
        """Pairs that are judged."""

    @property
    def pairs_all(self) -> int:
        """Pairs there are."""

    @property
    def percentage(self) -> str:
        """The share as “34 %”."""


P = TypeVar("P", bound=CountsPairs)


def progress_line(judge: str) -> AbstractContextManager[Callable[[Progress], None]]:
    """``judging_line`` of one judge and one score matrix."""
    return judging_line(lambda progress: f"Judging with {judge}: {progress.percentage}, {progress}")


@contextmanager
def judging_line(words: Callable[[P], str]) -> Iterator[Callable[[P], None]]:
    """Yield a function that shows in ``words`` how far the judge is; Ctrl-C becomes a LeaderboardError."""
    latest: list[P] = []
    try:
        with status_line() as write:

            def on_progress(progress: P) -> None:
                latest[:] = [progress]
                if progress.pairs_done < progress.pairs_all:
                    write(words(progress))

            yield on_progress
    except KeyboardInterrupt:
        share = latest[0].percentage if latest else "0 %"
        raise LeaderboardError(
            f"Stopped at {share} of the pairs, which are kept: the same command continues there."
        ) from None
