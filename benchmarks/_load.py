"""Many visitors at once: each changes its criteria every few seconds, and what that takes is counted."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._report import duration, size
from benchmarks._visitor import Run, VisitError, Visitor, query_of
from benchmarks.first_paint import Server, running_server
from crm.criteria import popular_criteria
from crm.report_table import describe_machine

PATIENCE = 60.0
"""Seconds after which a page that has not come is an error."""
_LOOK = 1.0
"""Seconds between two looks at the server's memory."""
_ASKS = ("Mentions", "Explains", "Compares", "Jokes about", "Gives an example of", "Warns of", "Begins with")
_THINGS = (
    *("history", "money", "the weather", "children", "costs", "risks", "cats", "a recipe", "feelings"),
    *("science", "law", "a story", "music", "numbers", "friends", "the sea", "politics", "work", "health"),
    *("food", "maps", "dreams", "machines", "gardens", "sports", "exams", "travel", "dates", "poems"),
)


@dataclass(frozen=True)
class Load:
    """How visitors behave.

    Attributes:
        sessions: Visitors at the same time.
        seconds: For which they stay.
        pause: Seconds between two changes of a visitor on average, each half of it to one and a half.
        popular: Share of the changes that are to popular criteria, which several visitors choose; the others
            are in words that nobody else uses.
        benchmark: Slug of what they look at.
        seed: Of all that is drawn.
    """

    sessions: int
    seconds: float
    pause: float = 5.0
    popular: float = 0.5
    benchmark: str = "modern"
    seed: int = 0


@dataclass
class Outcome:
    """What visitors met.

    Attributes:
        runs: Of all changes that brought a ranking.
        opened: Of all pages that were opened.
        errors: Messages, one for each page or change that brought no ranking.
    """

    runs: list[Run] = field(default_factory=list)
    opened: list[Run] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def percentiles(self) -> tuple[float, float, float]:
        """Median, 95th and 99th percentile of seconds from a change to its ranking; NaN without any."""
        return percentiles([run.ranking for run in self.runs if run.ranking is not None])

    def finished(self) -> tuple[float, float, float]:
        """The same of seconds until the whole page was drawn."""
        return percentiles([run.finished for run in self.runs])


def percentiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    """Median, 95th and 99th percentile; NaN of none."""
    if not seconds:
        return float("nan"), float("nan"), float("nan")
    median, most, nearly_all = np.percentile(seconds, [50, 95, 99]).tolist()
    return median, most, nearly_all


@dataclass(frozen=True)
class ProcessFigures:
    """What a server's processes hold together: bytes of resident memory, threads, open files.

    Attributes:
        processor: Seconds of processors that they have taken so far.
    """

    memory: int
    threads: int
    files: int
    processor: float

    @classmethod
    def of(cls, servers: Sequence[Server]) -> ProcessFigures:
        """Read them from the operating system."""
        folders = [Path(f"/proc/{server.process.pid}") for server in servers]
        return cls(
            memory=sum(server.memory() for server in servers),
            threads=sum(len(list((folder / "task").iterdir())) for folder in folders),
            files=sum(len(list((folder / "fd").iterdir())) for folder in folders),
            processor=sum(map(_processor, folders)),
        )

    def or_more(self, later: ProcessFigures) -> ProcessFigures:
        """Return the larger one of each figure."""
        return ProcessFigures(
            *(max(getattr(self, one.name), getattr(later, one.name)) for one in fields(ProcessFigures))
        )

    def cells(self) -> tuple[str, str, str]:
        """Return them for a table."""
        return size(self.memory), str(self.threads), str(self.files)


def _processor(process: Path) -> float:
    """Seconds of processors that a process of /proc has taken, in user and in system mode."""
    after_name = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def wishes(draw: random.Random, popular: float) -> Iterator[str]:
    """Yield what a visitor types, criteria one a line, never the same twice in a row."""
    known, before = ["\n".join(map(str, item.criteria)) for item in popular_criteria()], ""
    while True:
        chosen = draw.choice(known) if draw.random() < popular else _in_own_words(draw)
        if chosen != before:
            yield chosen
            before = chosen


def _in_own_words(draw: random.Random) -> str:
    return "\n".join(
        f"{draw.choice(_ASKS)} {' and '.join(draw.sample(_THINGS, 2))}"
        for _ in range(draw.choice((1, 1, 2, 3)))
    )


async def visit(address: str, load: Load, number: int, until: float, outcome: Outcome) -> None:
    """Be one visitor, from opening the page until the time of ``perf_counter`` is over."""
    draw = random.Random(f"{load.seed} {number}")
    typed = wishes(draw, load.popular)
    await asyncio.sleep(draw.random() * min(load.pause, load.seconds / 4))
    while perf_counter() < until:
        try:
            async with Visitor(address, query_of(load.benchmark)) as visitor:
                outcome.opened.append(_checked(await _in_time(visitor.open())))
                while (pause := load.pause * (0.5 + draw.random())) < until - perf_counter():
                    await asyncio.sleep(pause)
                    run = _checked(await _in_time(visitor.type_criteria(next(typed))))
                    if run.ranking is None:
                        raise VisitError("The page was drawn without the ranking.")
                    outcome.runs.append(run)
                return
        except (VisitError, TimeoutError) as error:
            outcome.errors.append(str(error) or f"Nothing came within {PATIENCE:.0f} s.")
            await asyncio.sleep(1.0)


async def _in_time(run: Coroutine[Any, Any, Run]) -> Run:
    return await asyncio.wait_for(run, PATIENCE)


def _checked(run: Run) -> Run:
    if run.errors:
        raise VisitError(run.errors[0])
    return run


async def visitors(servers: Sequence[Server], load: Load, outcome: Outcome) -> ProcessFigures:
    """Have all visitors come, each to one of the server's processes, and return the most that these held.

    Their processor time is what they took meanwhile.
    """
    until, before = perf_counter() + load.seconds, ProcessFigures.of(servers)
    places = (servers[number % len(servers)].address for number in range(load.sessions))
    visits = asyncio.gather(
        *(visit(place, load, number, until, outcome) for number, place in enumerate(places))
    )
    most = before
    while not visits.done():
        await asyncio.wait([visits], timeout=_LOOK)
        most = most.or_more(ProcessFigures.of(servers))
    await visits
    return replace(most, processor=most.processor - before.processor)


@contextmanager
def warm_servers(folder: Path, processes: int) -> Iterator[list[Server]]:
    """Start the app in so many processes on one database, each with a page opened and a criterion read."""
    with ExitStack() as running:
        servers = []
        for number in range(processes):
            server = running.enter_context(
                running_server(folder / "usl.sqlite3", folder / f"server-{number}.log")
            )
            server.wait_until_up()
            try:
                asyncio.run(_warm(server.address))
            except VisitError as error:
                raise server.failure(str(error)) from None
            servers.append(server)
        yield servers


async def _warm(address: str) -> None:
    async with Visitor(address) as visitor:
        await visitor.open()
        await visitor.type_criteria("Concise")


def failures(outcome: Outcome) -> str:
    """Return the errors of a table's note, each kind once; empty without any."""
    kinds = sorted(set(outcome.errors))
    return f" Errors: {'; '.join(kinds[:3])}." if kinds else ""


def circumstances() -> str:
    """Return what the machine is, and what else it had to do."""
    return (
        f"{describe_machine()}, load at the end {os.getloadavg()[0]:.1f}, the visitors on the same machine."
    )


def seconds_or_none(seconds: float) -> str:
    """Return a duration for a table, a dash where there is none."""
    return "–" if np.isnan(seconds) else duration(seconds)
