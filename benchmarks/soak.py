"""Whether the server stays as it is while visitors come, change their criteria and go, for half an hour.

A place is taken by one visitor after another, each of whom makes so many changes. A row of the table is one
stretch of time; what leaks shows as memory, threads or open files that grow from row to row.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from benchmarks._load import (
    Load,
    Outcome,
    ProcessFigures,
    Site,
    circumstances,
    failures,
    seconds_or_none,
    visit,
    warm_servers,
)
from benchmarks._report import Report
from benchmarks.first_paint import MeasurementError, Server
from crm.cli_runner import run_cli

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Stretch:
    """What happened in one stretch of time, and what the server held at its end."""

    minutes: float
    visitors: int
    outcome: Outcome
    figures: ProcessFigures

    def cells(self) -> tuple[str, ...]:
        """Return the stretch as a row."""
        times = self.outcome.percentiles()
        counts = (f"{self.minutes:g}", str(self.visitors), f"{len(self.outcome.runs):,}")
        return (*counts, str(len(self.outcome.errors)), *map(seconds_or_none, times), *self.figures.cells())


async def soak(servers: Sequence[Server], load: Load, stay: float, stretches: int) -> list[Stretch]:
    """Have all places taken by visitors who stay so many seconds each, for all of the stretches."""
    until, found = perf_counter() + load.seconds, []
    current = Outcome()

    async def take(place: int) -> None:
        number = place
        while perf_counter() < until:
            ends = min(until, perf_counter() + stay)
            await visit(Site(servers[place % len(servers)].address), load, number, ends, current)
            number += load.sessions

    places = asyncio.gather(*(take(place) for place in range(load.sessions)))
    began = perf_counter()
    for number in range(1, stretches + 1):
        await asyncio.sleep(max(0.0, began + number * load.seconds / stretches - perf_counter()))
        so_far = Outcome(current.runs[:], current.opened[:], current.errors[:])
        for taken in (current.runs, current.opened, current.errors):
            taken.clear()
        minutes = (perf_counter() - began) / 60
        found.append(Stretch(round(minutes, 1), len(so_far.opened), so_far, ProcessFigures.of(servers)))
    await places
    return found


def in_all(stretches: Sequence[Stretch]) -> tuple[str, ...]:
    """Return the row of all stretches together, with the most that the server held."""
    outcomes = [stretch.outcome for stretch in stretches]
    everything = Outcome(
        runs=[run for outcome in outcomes for run in outcome.runs],
        errors=[error for outcome in outcomes for error in outcome.errors],
    )
    most = reduce(ProcessFigures.or_more, (stretch.figures for stretch in stretches))
    visitors = sum(stretch.visitors for stretch in stretches)
    return ("in all", *Stretch(0.0, visitors, everything, most).cells()[1:])


@app.command()
def main(
    *,
    sessions: Annotated[int, typer.Option(min=1, help="Visitors at once.")] = 20,
    minutes: Annotated[float, typer.Option(min=0.2, help="In all.")] = 30.0,
    stay: Annotated[float, typer.Option(min=5, help="Seconds that a visitor stays.")] = 60.0,
    pause: Annotated[float, typer.Option(min=0.1, help="Seconds between two changes of one visitor.")] = 5.0,
    stretches: Annotated[int, typer.Option(min=2, help="Rows of the table.")] = 10,
    processes: Annotated[int, typer.Option(min=1, help="Processes of the server, on one database.")] = 1,
    benchmark: Annotated[str, typer.Option(help="What they look at.")] = "modern",
    beside: Annotated[str, typer.Option(help="What else the machine does, for the note.")] = "",
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Watch the server while visitors come and go."""
    load = Load(sessions, 60 * minutes, pause, benchmark=benchmark)
    with (
        tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name,
        warm_servers(Path(name), processes) as servers,
    ):
        before = ProcessFigures.of(servers)
        found = asyncio.run(soak(servers, load, stay, stretches))
    errors = Outcome(errors=[error for stretch in found for error in stretch.outcome.errors])
    Report(
        title="A server that many visit",
        columns=(
            *("minutes", "sessions", "changes", "errors", "median", "95 %", "99 %"),
            *("memory", "threads", "open files"),
        ),
        rows=(
            ("0", "0", "0", "0", "–", "–", "–", *before.cells()),
            *(stretch.cells() for stretch in found),
            in_all(found),
        ),
        note=f"{sessions} places on {benchmark}, taken by visitors of {stay:g} s each, with a change each "
        f"{pause:g} s. Seconds are from a change of criteria to its ranking; a session is a page opened; the "
        "last row has the most that the server held at the end of a stretch. "
        f"{processes} process{'' if processes == 1 else 'es'} of the server.{failures(errors)} "
        f"{circumstances()} {beside}".strip(),
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
