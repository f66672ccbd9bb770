"""Progress on standard error: a bar, or where that is no terminal a line every few seconds."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import gmtime, monotonic

from rich.console import Console
from rich.progress import Progress

from leaderboard.scoring_jobs.progress import JOB_LOG, Throughput, log_progress, status_line, time_left
from precompute.errors import PrecomputeError


@contextmanager
def job_log(file: Path | None) -> Iterator[None]:
    """Add to a file when a job began, how far it is every few seconds, what failed, and how it ended.

    Raises PrecomputeError: The file cannot be written.
    """
    if file is None:
        yield
        return
    try:
        handler = logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise PrecomputeError(
            f"The log {file} cannot be written ({error.strerror}): check the path."
        ) from None
    format_ = logging.Formatter("%(asctime)sZ %(message)s", "%Y-%m-%dT%H:%M:%S")
    format_.converter = gmtime
    handler.setFormatter(format_)
    level = JOB_LOG.level
    JOB_LOG.addHandler(handler)
    JOB_LOG.setLevel(logging.INFO)
    JOB_LOG.info("begun: %s", shlex.join(sys.argv[1:]))
    try:
        yield
        JOB_LOG.info("done")
    except BaseException as error:
        JOB_LOG.info("ended: %s", str(error) or type(error).__name__)
        raise
    finally:
        JOB_LOG.removeHandler(handler)
        JOB_LOG.setLevel(level)
        handler.close()


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes how much is done and how much there is in all."""
    with stage_line() as update:
        update(description, 0, 0)
        yield partial(update, description)


@contextmanager
def stage_line() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes what is being done, how much of it is done, and how much there is."""
    console = Console(stderr=True)
    if not console.is_terminal:
        with status_line() as write:
            yield lambda what, done, total: write(stage_in_words(what, done, total))
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def update(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total or None)
            log_progress(stage_in_words(what, done, total))

        yield update


def stage_in_words(what: str, done: int, total: int) -> str:
    """“Embedding gpt: 1,000 of 5,000”; what is done alone where it is not known how much there is."""
    return f"{what}: {done:,} of {total:,}" if total else what


@dataclass(frozen=True, slots=True)
class ScoringProgress:
    """How far one judge is with its criteria sets.

    Attributes:
        sets_done: Criteria sets that are finished.
        sets_all: Criteria sets there are.
        pairs_done: Pairs judged under all of them, now or before.
        pairs_all: Pairs there are under all of them.
        pairs_per_second: Present speed; None while nothing is known.
    """

    judge: str
    sets_done: int
    sets_all: int
    pairs_done: int
    pairs_all: int
    pairs_per_second: float | None = None

    @property
    def percentage(self) -> str:
        """The share of the pairs as “34 %”; never 100 % before the end."""
        return f"{100 * self.pairs_done // self.pairs_all if self.pairs_all else 100} %"

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the present speed; None while nothing is known."""
        if not self.pairs_per_second:
            return None
        return (self.pairs_all - self.pairs_done) / self.pairs_per_second

    def __str__(self) -> str:
        number = min(self.sets_done + 1, self.sets_all)
        parts = [
            f"Judging with {self.judge}: {self.percentage}, list {number} of {self.sets_all}",
            f"{self.pairs_done:,} of {self.pairs_all:,} pairs",
        ]
        if self.pairs_per_second is not None and self.seconds_left is not None:
            parts += [f"{self.pairs_per_second:,.1f} pairs/s", time_left(self.seconds_left)]
        return " · ".join(parts)


class ScoringCounter:
    """Counts pairs as a judge goes from one criteria set to the next, and tells how far it is."""

    def __init__(
        self,
        judge: str,
        sets_all: int,
        pairs_a_set: int,
        on_progress: Callable[[ScoringProgress], None] = lambda _: None,
    ) -> None:
        """Nothing is done yet; each set is taken to have as many pairs as the benchmark."""
        self._judge = judge
        self._sets_all = sets_all
        self._pairs_a_set = pairs_a_set
        self._on_progress = on_progress
        self._sets_done = 0
        self._pairs_before = 0
        self._pairs = 0
        self._throughput = Throughput()
        self._heard: tuple[int, float] | None = None

    def skip(self) -> None:
        """A set is finished that was scored before."""
        self._pairs_before += self._pairs_a_set
        self._sets_done += 1

    def begin(self, pairs_judged: int) -> None:
        """A set is begun of which so many pairs were judged before."""
        self._pairs = pairs_judged
        # Storing the set before and loading this one is part of the speed.
        self._heard = (pairs_judged, self._heard[1]) if self._heard else None
        self._report()

    def reach(self, pairs_judged: int) -> None:
        """So many pairs of the present set are judged."""
        moment = monotonic()
        if self._heard is not None:  # the first block waits for texts to be read and a model to be loaded
            pairs, heard = self._heard
            self._throughput.add(pairs_judged - pairs, moment - heard)
        self._heard = (pairs_judged, moment)
        self._pairs = pairs_judged
        self._report()

    def end(self) -> None:
        """The present set is finished."""
        self._pairs_before += self._pairs
        self._pairs = 0
        self._sets_done += 1
        self._report()

    def _report(self) -> None:
        done = self._pairs_before + self._pairs
        self._on_progress(
            ScoringProgress(
                self._judge,
                self._sets_done,
                self._sets_all,
                done,
                max(done, self._sets_all * self._pairs_a_set),
                self._throughput.pairs_per_second,
            )
        )
