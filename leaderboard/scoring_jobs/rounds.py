"""Several score matrices of one judge, filled in rounds: all have the same queries early on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crm.scoring import query_order
from leaderboard.scoring_jobs.progress import Progress, State
from leaderboard.scoring_jobs.task import ScoreMatrix, ScoringTask, progress_of
from leaderboard.statistics.win_rate import Mask

_FIRST_ROUND = 4
"""Queries; every later round has as many as all before it, so that there are few of them."""


@dataclass(eq=False)
class RoundsTask:
    """Score matrices of one benchmark and judge under n criteria sets, each wanted on its own queries.

    In a round, all of them are filled on the same few queries before any goes on: whenever one looks, LLMs
    and criteria can be compared on the same queries. May be shared between threads, as ``ScoringTask``.

    Attributes:
        tasks: The n matrices.
        queries: Where each is wanted ``[Q]``.
    """

    tasks: Sequence[ScoringTask]
    queries: Sequence[Mask]

    def __post_init__(self) -> None:
        self.crm = self.tasks[0].crm
        self._last: tuple[tuple[ScoreMatrix, ...], ScoreMatrix] | None = None

    @property
    def matrix(self) -> ScoreMatrix:
        """What there is so far, one matrix below the other ``[n·L, Q]``."""
        parts = tuple(task.matrix for task in self.tasks)
        last = self._last
        if last is None or last[0] != parts:
            last = self._last = parts, _stacked(parts, self.queries)
        return last[1]

    def progress(
        self, selected: Mask, state: State = State.RUNNING, *, ahead: Mask | None = None
    ) -> Progress:
        """Return how much of the selected queries is judged, as ``ScoringTask.progress``."""
        known = [task.pairs_per_second for task in self.tasks]
        speeds = [speed for speed in known if speed is not None]
        speed = sum(speeds) / len(speeds) if speeds else None
        heard_at = max(task.heard_at for task in self.tasks)
        return progress_of(self.matrix, selected, state, speed=speed, heard_at=heard_at, ahead=ahead)

    def fill(self, wanted: Callable[[], Mask | None], on_progress: Callable[[], None] = lambda: None) -> None:
        """Judge what is wanted, then what is wanted by then, and so on; raises as ``ScoringTask.fill``."""
        while (selected := wanted()) is not None and (step := self._next_step(selected)) is not None:
            task, queries = step
            task.fill(_as_long_as(wanted, selected, queries), on_progress)

    def judge_now(self, selected: Mask, on_progress: Callable[[Progress], None] | None = None) -> None:
        """Judge the selected queries ``[Q]`` in this thread, with reports by block; raises as ``fill``."""
        report = on_progress or (lambda _: None)
        report(self.progress(selected))
        self.fill(lambda: selected, lambda: report(self.progress(selected)))

    def _next_step(self, selected: Mask) -> tuple[ScoringTask, Mask] | None:
        """Return a matrix and the queries ``[Q]`` on which it is filled next; None when all is done."""
        wanted = np.array(self.queries) & selected  # [n, Q]
        todo = wanted & np.array([task.matrix.todo.any(axis=0) for task in self.tasks])
        left = np.flatnonzero(todo.any(axis=0))
        if not len(left):
            return None
        size = max(_FIRST_ROUND, int(self.matrix.comparable(selected).sum()))
        # First what some matrices have already, as in a round that was begun.
        done = (wanted & ~todo).sum(axis=0)
        in_round = np.zeros_like(selected)
        in_round[left[np.lexsort((self._place[left], -done[left]))][:size]] = True
        row = int(np.flatnonzero((todo & in_round).any(axis=1))[0])
        return self.tasks[row], todo[row] & in_round

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        """Return when each query comes ``[Q]``: topics are spread evenly."""
        return np.argsort(query_order(self.tasks[0].benchmark))


def _stacked(parts: Sequence[ScoreMatrix], queries: Sequence[Mask]) -> ScoreMatrix:
    """Return the matrices below each other, each on its queries ``[Q]`` alone."""
    return ScoreMatrix(
        np.concatenate(
            [np.where(at, part.prob, np.float32(np.nan)) for part, at in zip(parts, queries, strict=True)]
        ),
        np.concatenate([part.judged & at for part, at in zip(parts, queries, strict=True)]),
        np.concatenate([part.answered & at for part, at in zip(parts, queries, strict=True)]),
    )


def _as_long_as(
    wanted: Callable[[], Mask | None], selected: Mask, queries: Mask
) -> Callable[[], Mask | None]:
    """Return what wants the queries ``[Q]`` as long as the selected ones are wanted."""

    def still() -> Mask | None:
        now = wanted()
        return queries if now is not None and np.array_equal(now, selected) else None

    return still
