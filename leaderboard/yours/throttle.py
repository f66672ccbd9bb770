"""Makes guessing slow: after failures one has to wait, twice as long each time."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import monotonic

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait after so many failures.

    Attributes:
        free: Failures that cost no wait.
        first: Seconds of the first wait; each further failure doubles it.
        longest: Seconds that no wait exceeds.
        forget: Seconds without a failure after which all are forgotten.
    """

    free: int
    first: float
    longest: float
    forget: float

    def wait(self, failures: int) -> float:
        """Seconds to wait from the last of so many failures on."""
        beyond = failures - self.free
        if beyond <= 0:
            return 0.0
        # Beyond 64 doublings any wait is the longest, and a float would overflow later.
        return min(self.longest, self.first * 2.0 ** min(beyond - 1, 64))


@dataclass(slots=True)
class _Failures:
    count: int
    last: float


class Throttle:
    """Counts the failures of each key; it is for its owner to see that one thread at a time uses it."""

    def __init__(self, backoff: Backoff, clock: Clock = monotonic) -> None:
        """Begin without failures; ``clock`` gives seconds that never go back."""
        self._backoff = backoff
        self._clock = clock
        self._failures: dict[Hashable, _Failures] = {}

    def __len__(self) -> int:
        return len(self._failures)

    def wait(self, key: Hashable) -> float:
        """Seconds that the key has to wait yet, 0 if it may try."""
        self._forget()
        failures = self._failures.get(key)
        if failures is None:
            return 0.0
        return max(0.0, failures.last + self._backoff.wait(failures.count) - self._clock())

    def fail(self, key: Hashable) -> None:
        """Notes a failure now."""
        self._forget()
        failures = self._failures.setdefault(key, _Failures(0, 0.0))
        failures.count += 1
        failures.last = self._clock()

    def succeed(self, key: Hashable) -> None:
        """Forgets the failures of the key."""
        self._failures.pop(key, None)

    def _forget(self) -> None:
        """Forgets old failures, so that keys that come once and never again take no memory."""
        horizon = self._clock() - self._backoff.forget
        for key in [key for key, failures in self._failures.items() if failures.last <= horizon]:
            del self._failures[key]
