"""What asking LLMs has brought so far: counts, the line of progress, and the summary at the end."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from crm.llm.chat_model import FailureKind, LLMFailure, Outcome, ReplyStatus
from leaderboard.scoring_jobs.progress import status_line, time_left
from parsing.messages import quantity
from precompute.errors import PrecomputeError


@dataclass
class LLMStats:
    """Counts of one LLM's outcomes in this run.

    Attributes:
        asked: Number of responses asked for.
        answered: Number of answers, by status.
        failed: Number of responses that failed, by kind.
        retried: Number of requests that were repeated, by kind.
        cost: Money at the configured prices.
        seconds: Sum of what the answers took.
        stopped: Why the LLM could not be asked any more; empty if it could.
    """

    asked: int
    answered: Counter[ReplyStatus] = field(default_factory=Counter)
    failed: Counter[FailureKind] = field(default_factory=Counter)
    retried: Counter[FailureKind] = field(default_factory=Counter)
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    stopped: str = ""

    @property
    def n_answered(self) -> int:
        """Number of answers."""
        return self.answered.total()

    @property
    def n_failed(self) -> int:
        """Number of responses that failed."""
        return self.failed.total()

    @property
    def n_unasked(self) -> int:
        """Number of responses that were not asked for in the end."""
        return self.asked - self.n_answered - self.n_failed

    def stop(self, why: str) -> None:
        """Note why the LLM cannot be asked any more, after what was noted before."""
        self.stopped = f"{self.stopped} {why}".strip()

    def add(self, outcome: Outcome, cost: float) -> None:
        """Count an outcome."""
        self.retried.update(outcome.retried)
        self.tokens += (outcome.tokens.prompt or 0) + (outcome.tokens.completion or 0)
        self.cost += cost
        if isinstance(outcome.result, LLMFailure):
            self.failed[outcome.result.kind] += 1
            return
        self.answered[outcome.result.status] += 1
        self.seconds += outcome.seconds


_REMEMBERED = 200
"""Outcomes of which the present speed is an average."""


@dataclass(frozen=True)
class TaskWords:
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
        return quantity(n, self.one, self.many)


RESPONSES = TaskWords("Collecting", "response", "responses")


class ReplyRate:
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


def in_one_line(stats: Collection[LLMStats], speed: ReplyRate, work: TaskWords = RESPONSES) -> str:
    """“Collecting: 34 %, 120 of 350 responses · 2 failed · 10,230 tokens · cost 0.12 · about 3 min left”."""
    asked = sum(each.asked for each in stats)
    answered = sum(each.n_answered for each in stats)
    failed = sum(each.n_failed for each in stats)
    ahead = sum(each.n_unasked for each in stats if not each.stopped)
    parts = [f"{answered:,} of {asked:,} {work.many}"]
    if failed:
        parts.append(f"{failed:,} failed")
    parts.append(f"{sum(each.tokens for each in stats):,} tokens")
    if cost := sum(each.cost for each in stats):
        parts.append(f"cost {cost:,.2f}")
    if ahead and (seconds := speed.seconds_for(ahead)) is not None:
        parts.append(time_left(seconds))
    share = int(100 * answered / asked) if asked else 100
    return f"{work.doing}: {share} %, {' · '.join(parts)}"


@contextmanager
def asking_line(work: TaskWords = RESPONSES) -> Iterator[Callable[[Collection[LLMStats]], None]]:
    """Yield a function that is called after every outcome; an interruption says what is kept.

    Raises:
        PrecomputeError: The person interrupted the work with Ctrl-C.
    """
    speed, answered = ReplyRate(), [0]
    try:
        with status_line() as write:

            def on_progress(stats: Collection[LLMStats]) -> None:
                speed.tick()
                answered[0] = sum(each.n_answered for each in stats)
                write(in_one_line(stats, speed, work))

            yield on_progress
    except KeyboardInterrupt:
        raise PrecomputeError(
            f"Stopped after {work.count(answered[0])}, which are kept: the same command continues there."
        ) from None


def failures_in_words(stats: Iterable[LLMStats], work: TaskWords = RESPONSES) -> Iterator[str]:
    """Yield what went wrong, by kind; nothing where nothing did."""
    failed: Counter[FailureKind] = Counter()
    retried: Counter[FailureKind] = Counter()
    for each in stats:
        failed += each.failed
        retried += each.retried
    if failed:
        yield f"{work.count(failed.total())} failed: {_by_kind(failed)}."
    if retried:
        requests = "1 request was" if retried.total() == 1 else f"{retried.total():,} requests were"
        yield f"{requests} repeated: {_by_kind(retried)}."


def check_complete(stats: Mapping[str, LLMStats], work: TaskWords = RESPONSES) -> None:
    """Make sure that everything asked for is there. Raises PrecomputeError: Saying what is not, and why."""
    stopped = [f"{name}: {each.stopped}" for name, each in stats.items() if each.stopped]
    failed = sum(each.n_failed for each in stats.values())
    if stopped:
        what = "One LLM" if len(stopped) == 1 else f"{len(stopped)} LLMs"
        raise PrecomputeError(f"{what} could not be asked to the end; {' '.join(stopped)}")
    if failed:
        raise PrecomputeError(f"{work.count(failed)} failed: the same command asks for them again.")


def _by_kind(kinds: Counter[FailureKind]) -> str:
    return ", ".join(f"{kind} {n:,}" for kind, n in kinds.most_common())
