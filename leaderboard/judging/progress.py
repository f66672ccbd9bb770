"""How far a slow judge is: pairs judged, how fast, how long it may still take, and that in words."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

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
        state: Where the work stands.
        pairs_done: Pairs judged on the selected queries.
        pairs_all: Pairs there are.
        seconds_left: Estimate from the present speed; None where nothing is known yet or nobody works on it.
        silent: Seconds since the judge last gave a result; 0 where it is not running.
        message: Why it failed, in one sentence.
    """

    state: State
    pairs_done: int
    pairs_all: int
    seconds_left: float | None = None
    silent: float = 0.0
    message: str | None = None

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
            parts.append(f"no answer for {_duration(self.silent)}")
        elif self.seconds_left is not None:
            parts.append(time_left(self.seconds_left))
        return " · ".join(parts)


class Throughput:
    """Pairs judged per second, over the last few blocks."""

    def __init__(self) -> None:
        """Nothing is known yet."""
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
    return f"about {_duration(seconds)} left"


def _duration(seconds: float) -> str:
    if seconds < 55:  # noqa: PLR2004
        return f"{max(5, 5 * round(seconds / 5))} s"
    if seconds < 90 * 60:
        return f"{max(1, round(seconds / 60))} min"
    return f"{round(2 * seconds / 3600) / 2:g} h"
