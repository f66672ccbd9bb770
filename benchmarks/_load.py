"""Many visitors at once: each changes its criteria every few seconds, and what that takes is counted."""

from __future__ import annotations

import asyncio
import os
import random
import ssl
from collections import Counter
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
_AWAY = 1.0
"""Seconds for which a visitor whose connection broke is away."""
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
        broken: Share of the changes after which a visitor's connection breaks, behind a proxy.
    """

    sessions: int
    seconds: float
    pause: float = 5.0
    popular: float = 0.5
    benchmark: str = "modern"
    seed: int = 0
    broken: float = 0.1


@dataclass(frozen=True)
class Site:
    """Where visitors go.

    Attributes:
        address: E.g. ``http://localhost:8501``.
        trusted: Whose certificates it may have; those that the system trusts by default.
        sticky: Name of the cookie by which a proxy leads each visitor back to their process; empty without
            a proxy.
    """

    address: str
    trusted: ssl.SSLContext | None = None
    sticky: str = ""


@dataclass
class Outcome:
    """What visitors met.

    Attributes:
        runs: Of all changes that brought a ranking.
        opened: Of all pages that were opened.
        errors: Messages, one for each page or change that brought no ranking, and each visitor who was led to
            another process.
        returns: How often a visitor's connection broke, who then came back.
        elsewhere: How often that led to another process than before.
        processes: How many pages each process got, by what the proxy calls it.
    """

    runs: list[Run] = field(default_factory=list)
    opened: list[Run] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    returns: int = 0
    elsewhere: int = 0
    processes: Counter[str] = field(default_factory=Counter)

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


async def visit(site: Site, load: Load, number: int, until: float, outcome: Outcome) -> None:
    """Be one visitor, from opening the page until the time of ``perf_counter`` is over."""
    draw = random.Random(f"{load.seed} {number}")
    typed = wishes(draw, load.popular)
    await asyncio.sleep(draw.random() * min(load.pause, load.seconds / 4))
    while perf_counter() < until:
        try:
            async with Visitor(
                site.address, query_of(load.benchmark), trusted=site.trusted, loads=bool(site.sticky)
            ) as visitor:
                outcome.opened.append(await open_in_time(visitor))
                outcome.processes[visitor.cookies.get(site.sticky, "")] += 1
                while (pause := load.pause * (0.5 + draw.random())) < until - perf_counter():
                    await asyncio.sleep(pause)
                    outcome.runs.append(await change_in_time(visitor, next(typed)))
                    if site.sticky and draw.random() < load.broken:
                        await come_back(visitor, site, outcome)
                return
        except VisitError as error:
            outcome.errors.append(str(error))
            await asyncio.sleep(1.0)


async def come_back(visitor: Visitor, site: Site, outcome: Outcome) -> None:
    """Lose the connection, come back as a browser does, and fetch the table, which only that process has.

    Raises a VisitError where that leads to another process, or brings no ranking or table.
    """
    outcome.returns += 1
    before = visitor.session, visitor.cookies.get(site.sticky)
    await visitor.lose()
    await asyncio.sleep(_AWAY)
    await visitor.connect()
    run = await open_in_time(visitor)
    if (visitor.session, visitor.cookies.get(site.sticky)) != before:
        outcome.elsewhere += 1
        raise VisitError("A visitor who came back was led to another process.")
    if not run.shown or not run.files:
        raise VisitError("A visitor who came back found no ranking.")
    try:
        await visitor.download(run.files[0])
    except VisitError:
        raise VisitError("A visitor who came back did not get the table of their ranking.") from None


async def open_in_time(visitor: Visitor) -> Run:
    """Open a visitor's page; a VisitError if it does not come, or says that something failed."""
    return await _in_time(visitor.open())


async def open_chart_in_time(visitor: Visitor) -> Run:
    """Open the chart of a visitor's ranking in place of its table; a VisitError as with `open_in_time`."""
    return await _in_time(visitor.open_tab("tabs", "Chart"))


async def change_in_time(visitor: Visitor, text: str, *, in_table: bool = True) -> Run:
    """Change a visitor's criteria; a VisitError if their ranking does not come.

    Args:
        in_table: Whether it comes as a table, as it does unless another tab is open.
    """
    run = await _in_time(visitor.type_criteria(text))
    if in_table and run.ranking is None:
        raise VisitError("The page was drawn without the ranking.")
    return run


async def _in_time(coming: Coroutine[Any, Any, Run]) -> Run:
    try:
        run = await asyncio.wait_for(coming, PATIENCE)
    except TimeoutError:
        raise VisitError(f"Nothing came within {PATIENCE:.0f} s.") from None
    if run.errors:
        raise VisitError(run.errors[0])
    return run


async def visitors(
    servers: Sequence[Server], load: Load, outcome: Outcome, site: Site | None = None
) -> ProcessFigures:
    """Have all visitors come, and return the most that the server's processes held.

    Their processor time is what they took meanwhile.

    Args:
        site: Where all visitors go; to one process after another by default.
    """
    until, before = perf_counter() + load.seconds, ProcessFigures.of(servers)
    sites = [site] if site is not None else [Site(server.address) for server in servers]
    visits = asyncio.gather(
        *(visit(sites[number % len(sites)], load, number, until, outcome) for number in range(load.sessions))
    )
    most = before
    while not visits.done():
        await asyncio.wait([visits], timeout=_LOOK)
        most = most.or_more(ProcessFigures.of(servers))
    await visits
    return replace(most, processor=most.processor - before.processor)


@contextmanager
def warm_servers(
    folder: Path, processes: int, url: str | None = None, *, port: int | None = None, **settings: str
) -> Iterator[list[Server]]:
    """Start the app in so many processes on one database, each with a page opened and a criterion read.

    Args:
        url: Of the database; a SQLite file in the folder by default.
        port: At which all of them listen, each at its own one of `addresses_of`; each at its own by default.
        settings: More variables of their environment.
    """
    with ExitStack() as running:
        servers = []
        for number, address in enumerate(addresses_of(processes)):
            own = {} if port is None else {"STREAMLIT_SERVER_ADDRESS": address}
            server = running.enter_context(
                running_server(
                    url or folder / "usl.sqlite3",
                    folder / f"server-{number}.log",
                    port=port,
                    **own,
                    **settings,
                )
            )
            if port is not None:
                server = replace(server, address=f"http://{address}:{port}")
            server.wait_until_up()
            try:
                asyncio.run(_warm(server.address))
            except VisitError as error:
                raise server.failure(str(error)) from None
            servers.append(server)
        yield servers


def addresses_of(processes: int) -> list[str]:
    """Return an address of this machine for each process: 127.0.0.1, 127.0.0.2 …"""
    return [f"127.0.0.{number}" for number in range(1, processes + 1)]


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
