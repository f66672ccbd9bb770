"""What a change of criteria is made of: the share of each part of the app in the processor's time.

A few visitors change their criteria while py-spy looks many times a second at what the server's threads do.
Each look is counted for the innermost part of the app that is at work, libraries for whoever calls them.
Python's garbage collector, which no such look shows, is timed inside the server.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from benchmarks._load import (
    Load,
    Outcome,
    ProcessFigures,
    change_in_time,
    circumstances,
    failures,
    open_chart_in_time,
    open_in_time,
    warm_servers,
    wishes,
)
from benchmarks._report import Report, duration
from benchmarks._visitor import VisitError, Visitor, query_of
from benchmarks.first_paint import PROJECT_ROOT, MeasurementError, Server
from crm.cli_runner import run_cli

app = typer.Typer(add_completion=False)

MODELS, READING = "reading the wish: language models", "reading the wish: the rest"
SCORING, STATISTICS, DATABASE = "scoring", "ranking, bootstrap and significance", "database"
ANSWER, TABLE, CHARTS = "page: answer card", "page: table", "page: charts and pictures"
TOPICS, CRITERIA, PAGE = "page: topics", "page: criteria", "page: the rest"
STREAMLIT, OTHER = "Streamlit: messages and forwarding", "other"

_READ_BY = (
    *("absence", "clauses", "concepts", "forms", "idioms", "known", "limit_cues", "limits", "mixtures"),
    *("numerals", "spelling", "surface", "validity", "wish_network"),
)
PARTS: dict[str, tuple[str, ...]] = {
    MODELS: tuple(f"crm/embedded/{name}.py" for name in ("encoder", "minilm", "smollm2", "wish_decoder")),
    READING: (
        *(f"crm/embedded/{name}.py" for name in _READ_BY),
        *("leaderboard/coach", "leaderboard/reading.py", "leaderboard/several_wishes.py", "crm/criteria.py"),
    ),
    SCORING: (
        *("crm/", "leaderboard/amounts.py", "leaderboard/judged.py", "leaderboard/scored.py"),
        *("leaderboard/scoring_jobs/", "leaderboard/stored_arrays.py", "leaderboard/benchmark.py"),
    ),
    STATISTICS: ("leaderboard/statistics/", "leaderboard/robustness.py"),
    DATABASE: ("db/", "parsing/"),
    ANSWER: (
        *("leaderboard/answer.py", "leaderboard/sentences.py", "leaderboard/three_answers.py"),
        *("leaderboard/render/answer_card", "leaderboard/render/robustness_sentences.py"),
        *("leaderboard/render/three_answers.py", "leaderboard/render/templates/answer"),
        *("pages/_ui/answer.py", "pages/_ui/three_answers.py", "pages/_ui/reach.py"),
    ),
    CHARTS: (
        *(
            "leaderboard/render/canvas.py",
            "leaderboard/render/chart_style.py",
            "leaderboard/render/picture.py",
        ),
        *(f"leaderboard/render/{name}_charts.py" for name in ("judge", "ranking")),
        "leaderboard/render/price_chart.py",
    ),
    TOPICS: (
        *("leaderboard/selection.py", "leaderboard/topics/", "leaderboard/render/topic_charts.py"),
        *("pages/_ui/topic_choice.py", "pages/_ui/topic_map.py", "pages/topics.py"),
    ),
    TABLE: (
        *(
            "leaderboard/listed.py",
            "leaderboard/llm_facts/",
            "leaderboard/offers.py",
            "leaderboard/export.py",
        ),
        *(
            "leaderboard/render/tables.py",
            "leaderboard/render/fact_tables.py",
            "leaderboard/render/templates/",
        ),
        *("pages/_ui/ranking_tabs.py", "pages/_ui/listing.py", "pages/_ui/grades.py"),
    ),
    CRITERIA: ("pages/_ui/criteria", "pages/_ui/coach.py", "pages/_ui/requirements.py"),
    PAGE: ("pages/", "leaderboard/", "app.py", "serve.py", "api/"),
}
"""Parts of the app by the beginning of their files' names; a file is of the first part that has it."""
FOR_CALLER = ("leaderboard/cache.py", "leaderboard/render/html.py", "crm/processors.py", "pages/_ui/turns.py")
"""What is counted for whoever calls it, like a library."""
ORDER = (
    *(MODELS, READING, SCORING, STATISTICS, DATABASE),
    *(ANSWER, TABLE, CHARTS, TOPICS, CRITERIA, PAGE, STREAMLIT, OTHER),
)

_FRAME = re.compile(r"^(?P<function>.*) \((?P<file>.*):\d+\)$")
_WAITS = (
    ("threading.py", ("wait", "Condition.wait")),
    ("selectors.py", ("select", "EpollSelector.select")),
    ("concurrent/futures/thread.py", ("_worker",)),
    ("streamlit/watcher/polling_path_watcher.py", ("PollingPathWatcher._schedule.<locals>.task",)),
)
"""Where threads wait; py-spy now and then takes one for at work, as it looks without stopping the server."""
_LOOKS_A_SECOND = 50
_TO_SAVE = 120.0
"""Seconds that py-spy may take to write what it saw."""
TIMES_COLLECTIONS = """
import gc, mmap, os, struct, time


def _time_collections():
    with open(os.environ["COLLECTED_SECONDS_FILE"], "r+b") as file:
        shared = mmap.mmap(file.fileno(), 8)
    began = taken = 0.0

    def called(phase, _):
        nonlocal began, taken
        if phase == "start":
            began = time.thread_time()
        else:
            taken += time.thread_time() - began
            struct.pack_into("d", shared, 0, taken)

    gc.callbacks.append(called)


_time_collections()
"""


@dataclass(frozen=True)
class Profile:
    """What the server's threads were seen at.

    Attributes:
        looks: In all, a thread each, those that waited left out.
        parts: Of them by part and by file, or package and file outside of the project.
        reached: Of them by part, also where something that it calls is at work.
    """

    looks: int
    parts: dict[str, Counter[str]]
    reached: Counter[str]

    @classmethod
    def of(cls, stacks: Iterable[str]) -> Profile:
        """Read it from py-spy's raw format: frames from the outermost one, parted by “;”, and how often."""
        parts: dict[str, Counter[str]] = {}
        reached: Counter[str] = Counter()
        for line in stacks:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            frames = [
                (found["function"], found["file"]) for found in map(_FRAME.match, stack.split(";")) if found
            ]
            if frames and not _waits(*frames[-1]):
                at_work = [found for _, path in reversed(frames) if (found := _part_of(path))]
                part, file = at_work[0] if at_work else (OTHER, _named(frames[-1][1]))
                parts.setdefault(part, Counter())[file] += int(count)
                reached.update(dict.fromkeys({part, *(part for part, _ in at_work)}, int(count)))
        return cls(sum(counts.total() for counts in parts.values()), parts, reached)

    def rows(self, processor: float) -> Iterator[tuple[str, ...]]:
        """Yield a row for each part, of so many seconds of processors a change."""
        for part in ORDER:
            files = self.parts.get(part, Counter())
            share = files.total() / max(1, self.looks)
            reached = self.reached[part] / max(1, self.looks)
            most = ", ".join(f"{file} {_percent(count / self.looks)}" for file, count in files.most_common(3))
            yield part, _percent(share), duration(share * processor), _percent(reached), most or "–"


def _waits(function: str, file: str) -> bool:
    return any(file.endswith(name) and function in functions for name, functions in _WAITS)


def _part_of(path: str) -> tuple[str, str] | None:
    """Return a file's part, and its name there; None where it works for whoever calls it."""
    if "/site-packages/" in path:
        return (STREAMLIT, _named(path)) if "/site-packages/streamlit/" in path else None
    file = path.removeprefix(f"{PROJECT_ROOT}/")
    if file == path or file in FOR_CALLER:
        return None
    return next(((part, file) for part, begins in PARTS.items() if file.startswith(begins)), None)


def _named(path: str) -> str:
    """Return a library's file as it is called, without where it is installed."""
    return re.sub(r"^.*/(?:site-packages|python3\.\d+)/", "", path)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


async def changed(server: Server, load: Load, with_chart: int, raw: Path, outcome: Outcome) -> float:
    """Have visitors open the page, then change criteria while py-spy looks; return seconds of processors.

    Args:
        with_chart: How many of them have the chart open.
        raw: The file for what py-spy sees.
    """
    async with AsyncExitStack() as leaving:
        visitors = []
        for number in range(load.sessions):
            visitor = await leaving.enter_async_context(Visitor(server.address, query_of(load.benchmark)))
            outcome.opened.append(await open_in_time(visitor))
            if number < with_chart:
                await open_chart_in_time(visitor)
            visitors.append(visitor)
        before = ProcessFigures.of([server]).processor
        spy = await _spy(server, load.seconds, raw)
        until = perf_counter() + load.seconds
        await asyncio.gather(
            *(
                _change(visitor, load, number, until, outcome, in_table=number >= with_chart)
                for number, visitor in enumerate(visitors)
            )
        )
        processor = ProcessFigures.of([server]).processor - before
        try:
            said, _ = await asyncio.wait_for(spy.communicate(), load.seconds + _TO_SAVE)
        except TimeoutError:
            spy.kill()
            raise MeasurementError("py-spy did not end: let the machine do less beside it.") from None
    if spy.returncode or not raw.exists():
        raise MeasurementError(f"py-spy could not look at the server: {said.decode().strip()[-300:]}")
    return processor


async def _spy(server: Server, seconds: float, raw: Path) -> asyncio.subprocess.Process:
    program = shutil.which("py-spy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        raise MeasurementError("py-spy is missing: pip install -r requirements-dev.txt")
    return await asyncio.create_subprocess_exec(
        *(program, "record", "--pid", str(server.process.pid), "--duration", str(round(seconds))),
        *("--rate", str(_LOOKS_A_SECOND), "--nonblocking", "--full-filenames"),
        *("--format", "raw", "--output", str(raw)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def _change(
    visitor: Visitor, load: Load, number: int, until: float, outcome: Outcome, *, in_table: bool
) -> None:
    """Change a visitor's criteria until the time of ``perf_counter`` is over."""
    draw = random.Random(f"{load.seed} {number}")
    typed = wishes(draw, load.popular)
    while (pause := load.pause * (0.5 + draw.random())) < until - perf_counter():
        await asyncio.sleep(pause)
        try:
            outcome.runs.append(await change_in_time(visitor, next(typed), in_table=in_table))
        except VisitError as error:
            outcome.errors.append(str(error))
            return


def _collected(file: Path) -> float:
    """Return the seconds that the server's garbage collector has taken so far."""
    seconds: float = struct.unpack("d", file.read_bytes())[0]
    return seconds


@app.command()
def main(
    *,
    sessions: Annotated[int, typer.Option(min=1, help="Visitors at once.")] = 10,
    seconds: Annotated[float, typer.Option(min=5, help="For which they change criteria.")] = 40.0,
    pause: Annotated[float, typer.Option(min=0.1, help="Seconds between two changes of one visitor.")] = 5.0,
    popular: Annotated[
        float, typer.Option(min=0, max=1, help="Share of changes to criteria that others choose too.")
    ] = 0.5,
    charts: Annotated[float, typer.Option(min=0, max=1, help="Share of visitors with the chart open.")] = 0.3,
    benchmark: Annotated[str, typer.Option(help="What they look at.")] = "modern",
    stacks: Annotated[
        Path | None,
        typer.Option(help="Also keep what py-spy saw, in its format “raw”, e.g. for flame graphs."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Say which parts of the app a change of criteria keeps busy."""
    load, outcome = Load(sessions, seconds, pause, popular, benchmark), Outcome()
    with_chart = round(charts * sessions)
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name:
        folder = Path(name)
        raw, collected = folder / "stacks", folder / "collected"
        (folder / "sitecustomize.py").write_text(TIMES_COLLECTIONS, encoding="utf-8")
        collected.write_bytes(bytes(8))
        path = os.pathsep.join(filter(None, (name, os.environ.get("PYTHONPATH"))))
        with warm_servers(folder, 1, PYTHONPATH=path, COLLECTED_SECONDS_FILE=str(collected)) as [server]:
            try:
                before = _collected(collected)
                processor = asyncio.run(changed(server, load, with_chart, raw, outcome))
                garbage = _collected(collected) - before
            except VisitError as error:
                raise server.failure(str(error)) from None
        if stacks is not None:
            shutil.copy(raw, stacks)
        with raw.open(encoding="utf-8") as lines:
            profile = Profile.of(lines)
    if not outcome.runs or not profile.looks:
        raise MeasurementError(f"No change was seen.{failures(outcome)}")
    each = processor / len(outcome.runs)
    collecting = garbage / processor
    Report(
        title="What a change of criteria is made of",
        columns=("part", "share of the processor's time", "a change", "with what it calls", "most of it"),
        rows=(
            *profile.rows(each),
            (
                "garbage collection, in all of these",
                _percent(collecting),
                duration(collecting * each),
                "–",
                "–",
            ),
        ),
        note=f"{sessions} visitors of {benchmark}, {with_chart} of them with the chart open and the others "
        f"with the table, for {seconds:g} s, {len(outcome.runs)} changes, one each {pause:g} s, "
        f"{100 * popular:.0f} % of them to popular criteria; {profile.looks:,} looks of "
        "py-spy at threads that ran or waited for a processor. A look is counted for the innermost part of "
        "the app, libraries for whoever calls them; “with what it calls” also for every part on the way."
        f"{failures(outcome)} {circumstances()}",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
