"""What one visitor may make the server do, and all of them together: nobody makes it work for nothing.

Every limit is one environment variable, named after it: ``USL_CRITIQUES`` is ``critiques``.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from threading import Condition, Lock
from time import monotonic

from leaderboard.errors import BusyError, LeaderboardError
from leaderboard.logs import told

_HOUR = 3600.0
_LOOK = 1.0
"""Seconds between two looks at how far a line is."""
_MOST_DIGITS = 9


@dataclass(frozen=True)
class Limits:
    """The limits; a session is a visit, from the first page to the last.

    Attributes:
        upload_megabytes: Of the files that a session has sent; they are kept until it ends.
        upload_megabytes_of_all: Of those of all sessions together.
        upload_files: Uploads that a session keeps.
        upload_responses: Responses in them.
        upload_llms: LLMs in them.
        upload_responses_of_all: Responses that all sessions together keep.
        readings_waiting: Sessions that may wait until their file is read; one is read at a time.
        reading_minutes: For which one file may be read.
        judges_at_once: Slow judges that work at a time.
        judging_waiting: Score matrices that may wait for a slow judge.
        judging_of_client: Of those and of the ones that are worked on, how many may be for one client of the
            API; a session has one at a time.
        judging_minutes: For which a slow judge works for somebody before they are asked whether to go on.
        critiques: That a session may ask for.
        interviews: By an LLM with its own questions, that a session may begin.
        llm_requests: That all sessions together may make to LLMs in an hour: critiques, questions of an
            interview, and answers to live questions.
    """

    upload_megabytes: int = 200
    upload_megabytes_of_all: int = 500
    upload_files: int = 10
    upload_responses: int = 2_000
    upload_llms: int = 50
    upload_responses_of_all: int = 50_000
    readings_waiting: int = 8
    reading_minutes: int = 10
    judges_at_once: int = 2
    judging_waiting: int = 32
    judging_of_client: int = 8
    judging_minutes: int = 120
    critiques: int = 20
    interviews: int = 5
    llm_requests: int = 500

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Limits:
        """Read the variables; empty ones count as none. A LeaderboardError where one is no number."""
        texts = {field.name: environment.get(variable(field.name), "").strip() for field in fields(cls)}
        return cls(**{name: _number(variable(name), text) for name, text in texts.items() if text})


def variable(limit: str) -> str:
    """Return the environment variable that sets a limit."""
    return f"USL_{limit.upper()}"


def _number(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS or int(text) < 1:
        raise LeaderboardError(f"{name} is {text!r}: give a whole number from 1 up.")
    return int(text)


class Line:
    """A line before something that is done for one at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: deque[object] = deque()
        self._changed = Condition()
        self._served = False

    @contextmanager
    def turn(self, most_waiting: int, on_place: Callable[[int], None] = lambda _: None) -> Iterator[None]:
        """Wait for one's turn; it ends with the block.

        Args:
            most_waiting: How many may wait.
            on_place: Told every second at which place one waits, from 1; what it raises ends the waiting.

        Raises:
            BusyError: So many wait already.
        """
        me = object()
        with self._changed:
            if len(self._waiting) >= most_waiting:
                raise BusyError(
                    f"{most_waiting:,} files wait to be read already: try again in a few minutes."
                )
            self._waiting.append(me)
        try:
            while place := self._place(me):
                on_place(place)
                self._wait(me)
        finally:
            with self._changed:
                if me in self._waiting:
                    self._waiting.remove(me)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._served = False
                self._changed.notify_all()

    def _place(self, me: object) -> int:
        """Return one's place; 0 where it is one's turn, which begins."""
        with self._changed:
            if self._served or self._waiting[0] is not me:
                return self._waiting.index(me) + 1
            self._waiting.popleft()
            self._served = True
            return 0

    def _wait(self, me: object) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._served and self._waiting[0] is me, _LOOK)


_READING = Line()


@contextmanager
def reading(on_place: Callable[[int], None] = lambda _: None) -> Iterator[None]:
    """Wait for the turn of one visitor whose texts are read, as ``Line.turn``.

    One at a time: two would only be half as quick each, and take twice the memory.
    """
    came = monotonic()
    with told("upload") as log, _READING.turn(Limits.from_environment().readings_waiting, on_place):
        log["waited"] = round(monotonic() - came, 4)
        yield


class HourlyAllowance:
    """How often something may be done in an hour, by whomever."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._taken: deque[float] = deque()
        self._lock = Lock()

    def take(self, most: int) -> None:
        """Do it once; a BusyError if it was done so many times in the last hour."""
        with self._lock:
            now = self._clock()
            while self._taken and now - self._taken[0] >= _HOUR:
                self._taken.popleft()
            if len(self._taken) >= most:
                minutes = 1 + int((_HOUR - now + self._taken[0]) / 60)
                raise BusyError(
                    "LLMs were asked as often as is allowed in an hour here: try again in "
                    f"{minutes} minute{'' if minutes == 1 else 's'}."
                )
            self._taken.append(now)


_LLM_REQUESTS = HourlyAllowance()


def ask_llm_once_more() -> None:
    """Count one request of a visitor to an LLM; a BusyError if all made as many in an hour as they may."""
    _LLM_REQUESTS.take(Limits.from_environment().llm_requests)


def in_time(
    on_progress: Callable[[int, int], None] | None, clock: Callable[[], float] = monotonic
) -> Callable[[int, int], None]:
    """Return what tells on how far the reading of texts is, and ends it by a LeaderboardError in time."""
    minutes = Limits.from_environment().reading_minutes
    end = clock() + 60 * minutes

    def tell(done: int, total: int) -> None:
        if clock() > end:
            raise LeaderboardError(
                f"Reading took more than {minutes} minutes and was stopped at {done:,} of {total:,} texts: "
                "bring fewer or shorter ones."
            )
        if on_progress is not None:
            on_progress(done, total)

    return tell
