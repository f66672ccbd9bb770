"""What many visitors at once wait for who each change their criteria every few seconds.

The visitors speak Streamlit's own protocol (``benchmarks/_visitor.py``), so that the server does all that it
does for browsers. Their processor time comes on top of the server's, on the same machine.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from benchmarks._load import (
    Load,
    Outcome,
    circumstances,
    failures,
    seconds_or_none,
    visitors,
    warm_servers,
)
from benchmarks._report import Report
from benchmarks.first_paint import MeasurementError
from crm.cli_runner import run_cli

app = typer.Typer(add_completion=False)


@app.command()
def main(
    *,
    sessions: Annotated[list[int] | None, typer.Option(min=1, help="Visitors at once; a row each.")] = None,
    minutes: Annotated[float, typer.Option(min=0.1, help="For which they stay.")] = 1.0,
    pause: Annotated[float, typer.Option(min=0.1, help="Seconds between two changes of one visitor.")] = 5.0,
    popular: Annotated[
        float, typer.Option(min=0, max=1, help="Share of changes to criteria that others choose too.")
    ] = 0.5,
    processes: Annotated[int, typer.Option(min=1, help="Processes of the server, on one database.")] = 1,
    benchmark: Annotated[str, typer.Option(help="What they look at.")] = "modern",
    beside: Annotated[str, typer.Option(help="What else the machine does, for the note.")] = "",
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Time changes of criteria by many visitors at once."""
    rows, notes = [], ""
    for number in sessions or [10]:
        load = Load(number, 60 * minutes, pause, popular, benchmark)
        outcome = Outcome()
        with (
            tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name,
            warm_servers(Path(name), processes) as servers,
        ):
            figures = asyncio.run(visitors(servers, load, outcome))
        times = [*outcome.percentiles(), outcome.finished()[1], figures.processor / max(1, len(outcome.runs))]
        counts = (str(number), f"{len(outcome.runs):,}", str(len(outcome.errors)))
        rows.append((*counts, *map(seconds_or_none, times), *figures.cells()))
        notes += failures(outcome)
    Report(
        title="Many visitors at once",
        columns=(
            *("visitors", "changes", "errors", "median", "95 %", "99 %", "page complete, 95 %"),
            *("processor a change", "memory", "threads", "open files"),
        ),
        rows=tuple(rows),
        note=f"From a change of criteria to its ranking, on {benchmark}, {minutes:g} min, one change each "
        f"{pause:g} s, {100 * popular:.0f} % of them to popular criteria. "
        f"{processes} process{'' if processes == 1 else 'es'} of the server, whose processor time includes "
        f"the pages opened.{notes} {circumstances()} {beside}".strip(),
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
