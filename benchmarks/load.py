"""What many visitors at once wait for who each change their criteria every few seconds.

The visitors speak Streamlit's own protocol (``benchmarks/_visitor.py``), so that the server does all that it
does for browsers. Their processor time comes on top of the server's, on the same machine. Behind a proxy the
app stands as `compose.yaml` has it (``benchmarks/_deployed.py``).
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from benchmarks._deployed import deployed
from benchmarks._load import (
    Load,
    Outcome,
    ProcessFigures,
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


@dataclass(frozen=True)
class Case:
    """One row of the table: the app in so many processes, on what, behind what, and what came of it.

    Attributes:
        figures: Of the app's processes.
        proxy_processor: Seconds of processors that the proxy took; None without one.
    """

    processes: int
    database: str
    proxy: str
    outcome: Outcome
    figures: ProcessFigures
    proxy_processor: float | None = None

    def cells(self, visitors: int) -> tuple[str, ...]:
        """Return the row of so many visitors."""
        changes = len(self.outcome.runs)
        times = (
            *self.outcome.percentiles(),
            self.outcome.finished()[1],
            self.figures.processor / max(1, changes),
        )
        return (
            *(str(visitors), str(self.processes), self.database, self.proxy),
            *(f"{changes:,}", str(len(self.outcome.errors)), self._returned()),
            *map(seconds_or_none, times),
            *self.figures.cells(),
        )

    def _returned(self) -> str:
        return "–" if self.proxy_processor is None else f"{self.outcome.elsewhere} of {self.outcome.returns}"

    def remark(self, visitors: int) -> str:
        """Return what a note says of it; empty without a proxy."""
        if self.proxy_processor is None:
            return ""
        pages = " and ".join(str(count) for _, count in self.outcome.processes.most_common())
        return (
            f" Of {visitors} visitors the proxy gave the {self.processes} processes {pages} pages, "
            f"and took {self.proxy_processor:.1f} s of processors."
        )


def visited(load: Load, processes: int, *, behind_proxy: bool) -> Case:
    """Start the app and have visitors come; a MeasurementError if it does not start."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name:
        if not behind_proxy:
            with warm_servers(Path(name), processes) as servers:
                figures = asyncio.run(visitors(servers, load, outcome))
            return Case(processes, "SQLite", "–", outcome, figures)
        with deployed(Path(name), processes) as app:
            before = ProcessFigures.of([app.proxy]).processor
            figures = asyncio.run(visitors(app.servers, load, outcome, app.site))
            taken = ProcessFigures.of([app.proxy]).processor - before
        return Case(processes, app.database_name, app.proxy_name, outcome, figures, taken)


@app.command()
def main(
    *,
    sessions: Annotated[list[int] | None, typer.Option(min=1, help="Visitors at once; a row each.")] = None,
    minutes: Annotated[float, typer.Option(min=0.1, help="For which they stay.")] = 1.0,
    pause: Annotated[float, typer.Option(min=0.1, help="Seconds between two changes of one visitor.")] = 5.0,
    popular: Annotated[
        float, typer.Option(min=0, max=1, help="Share of changes to criteria that others choose too.")
    ] = 0.5,
    processes: Annotated[
        list[int] | None, typer.Option(min=1, help="Processes of the server, on one database; a row each.")
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="On PostgreSQL and behind Caddy with deploy/Caddyfile, which alone visitors speak to.",
        ),
    ] = False,
    broken: Annotated[
        float, typer.Option(min=0, max=1, help="Share of changes after which a connection breaks, there.")
    ] = 0.1,
    benchmark: Annotated[str, typer.Option(help="What they look at.")] = "modern",
    beside: Annotated[str, typer.Option(help="What else the machine does, for the note.")] = "",
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Time changes of criteria by many visitors at once."""
    rows, notes = [], ""
    for number, count in product(sessions or [10], processes or [1]):
        load = Load(number, 60 * minutes, pause, popular, benchmark, broken=broken)
        case = visited(load, count, behind_proxy=behind_proxy)
        rows.append(case.cells(number))
        notes += case.remark(number) + failures(case.outcome)
    returns = (
        f" After {100 * broken:.0f} % of the changes the connection breaks, and the visitor comes back and "
        "fetches the table, which only the process of before has; whom the proxy leads to another one is "
        "counted there, and as an error. Visitors speak TLS to the proxy alone, and keep its cookies."
    )
    Report(
        title="Many visitors at once",
        columns=(
            *("visitors", "processes", "database", "proxy", "changes", "errors", "came back elsewhere"),
            *("median", "95 %", "99 %", "page complete, 95 %"),
            *("processor a change", "memory", "threads", "open files"),
        ),
        rows=tuple(rows),
        note=f"From a change of criteria to its ranking, on {benchmark}, {minutes:g} min, one change each "
        f"{pause:g} s, {100 * popular:.0f} % of them to popular criteria. Memory, threads, files and "
        "processor time are of the app's processes together; processor time includes the pages opened."
        f"{returns if behind_proxy else ''}{notes} {circumstances()} {beside}".strip(),
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
