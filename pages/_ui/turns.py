"""Pages are drawn in turn: as many at a time as there are processors, first come, first served.

Each visitor's page runs in a thread of its own. Fifty that run at once take the interpreter's lock and
Streamlit's from each other at every element they draw: that costs half of the processors' time, and all of
them are late.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from time import monotonic

from crm.processors import n_processors

_LONGEST = 2.0
"""Seconds after which a run is no longer counted: it waits for an LLM, or works for one visitor alone."""


class Turns:
    """Lets few runs go on at a time; may be shared between threads.

    Nobody waits for ever: a run that takes long goes on, but the next one begins beside it.
    """

    def __init__(
        self, at_once: int, longest: float = _LONGEST, clock: Callable[[], float] = monotonic
    ) -> None:
        """Let so many go on at once, each counted for the ``longest`` seconds at most."""
        self._at_once, self._longest, self._clock = at_once, longest, clock
        self._lock = Lock()
        self._waiting: deque[Condition] = deque()
        self._begun: dict[Condition, float] = {}

    @property
    def n_waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    @contextmanager
    def turn(self) -> Iterator[float]:
        """Wait for one's turn, which ends with the block.

        Yields:
            Seconds that were waited.
        """
        came, me = self._clock(), Condition(self._lock)
        with self._lock:
            self._waiting.append(me)
            while self._waiting[0] is not me or (left := self._seconds_left()) > 0:
                me.wait(left if self._waiting[0] is me else None)
            self._waiting.popleft()
            self._begun[me] = begun = self._clock()
            self._call_next()
        try:
            yield begun - came
        finally:
            with self._lock:
                self._begun.pop(me, None)
                self._call_next()

    def _seconds_left(self) -> float:
        """Return how long it takes at most until another run may begin; 0 if one may now."""
        now = self._clock()
        counted = {run: begun for run, begun in self._begun.items() if now - begun < self._longest}
        self._begun = counted
        if len(counted) < self._at_once:
            return 0.0
        return min(counted.values()) + self._longest - now

    def _call_next(self) -> None:
        if self._waiting:
            self._waiting[0].notify()


PAGES = Turns(n_processors())
"""Of all pages of this process."""
