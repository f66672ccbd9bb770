"""How far asking LLMs is, in one line."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from leaderboard.judging.changing_line import changing_line
from leaderboard.judging.progress import time_left
from precompute.errors import IncompleteCollectionError
from precompute.llms.tally import Tally

_REMEMBERED = 200
"""Outcomes of which the present speed is an average."""


@dataclass(frozen=True)
class Work:
    """What LLMs are asked for, in the words of progress and errors.

    Attributes:
        doing: “Collecting”.
        one: “response”.
        many: “responses”.
    """

    doing: str
    one: str
    many: str

    def count(self, n: int) -> str:
        """“1 response”, “2,000 responses”."""
        return f"1 {self.one}" if n == 1 else f"{n:,} {self.many}"


RESPONSES = Work("Collecting", "response", "responses")


class Speed:
    """Outcomes a second, over the last few of them."""

    def __init__(self) -> None:
        """Nothing has come in yet."""
        self._times = deque([monotonic()], maxlen=_REMEMBERED)

    def tick(self) -> None:
        """Note that an outcome came in."""
        self._times.append(monotonic())

    def seconds_for(self, n: int) -> float | None:
        """Estimate for so many more; None before the first."""
        spent, ticks = self._times[-1] - self._times[0], len(self._times) - 1
        return n * spent / ticks if ticks else None


def in_one_line(tallies: Collection[Tally], speed: Speed, work: Work = RESPONSES) -> str:
    """“Collecting: 34 %, 120 of 350 responses · 2 failed · 10,230 tokens · cost 0.12 · about 3 min left”."""
    asked = sum(tally.asked for tally in tallies)
    answered = sum(tally.n_answered for tally in tallies)
    failed = sum(tally.n_failed for tally in tallies)
    ahead = sum(tally.n_unasked for tally in tallies if not tally.stopped)
    parts = [f"{answered:,} of {asked:,} {work.many}"]
    if failed:
        parts.append(f"{failed:,} failed")
    parts.append(f"{sum(tally.tokens for tally in tallies):,} tokens")
    if cost := sum(tally.cost for tally in tallies):
        parts.append(f"cost {cost:,.2f}")
    if ahead and (seconds := speed.seconds_for(ahead)) is not None:
        parts.append(time_left(seconds))
    share = int(100 * answered / asked) if asked else 100
    return f"{work.doing}: {share} %, {' · '.join(parts)}"


@contextmanager
def asking_line(work: Work = RESPONSES) -> Iterator[Callable[[Collection[Tally]], None]]:
    """Yields a function that is called after every outcome; an interruption says what is kept.

    Raises:
        IncompleteCollectionError: The person interrupted the work with Ctrl-C.
    """
    speed, answered = Speed(), [0]
    try:
        with changing_line() as write:

            def tell(tallies: Collection[Tally]) -> None:
                speed.tick()
                answered[0] = sum(tally.n_answered for tally in tallies)
                write(in_one_line(tallies, speed, work))

            yield tell
    except KeyboardInterrupt:
        raise IncompleteCollectionError(
            f"Stopped after {work.count(answered[0])}, which are kept: the same command continues there."
        ) from None
