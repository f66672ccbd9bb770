"""How long embedding takes in this process, in several processes and in Ray actors on the same computer.

    python -m benchmarks.ray_engine [--llms N] [--actors N] [--without-ray] [--output FILE.md]

Some LLMs of DailyBench lose their representations and get them again, from database to database. Starting
Ray, and starting processes or actors that load the encoder, are timed by themselves. The last column compares
with the first row of the same run: other work on the computer changes times more than it changes that.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from benchmarks._report import Report, duration
from crm.cli_runner import run_cli
from crm.embedded.encoder import sentence_encoder
from crm.embedded.representation import NAME, representation
from crm.errors import CRMError
from crm.report_table import describe_machine
from db import Database, DatabaseError
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.representations import put_representation
from precompute.commands.options import BUNDLED
from precompute.embed import embed_benchmark
from precompute.engines import Engine, EngineKind, EngineOptions, LocalEngine, open_engine
from precompute.errors import PrecomputeError

app = typer.Typer(add_completion=False)

SLUG = "dailybench"


@app.command()
def measure(
    llms: Annotated[int, typer.Option(min=1, max=8, help="LLMs of DailyBench to embed.")] = 6,
    actors: Annotated[int, typer.Option(min=1, help="Largest number of processes and actors.")] = 2,
    without_ray: Annotated[bool, typer.Option("--without-ray", help="Leave Ray out.")] = False,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    rows: list[tuple[str, ...]] = []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(f"sqlite:///{folder}/usl.sqlite3", bundles=[BUNDLED / f"{SLUG}.usl.zip"])
        try:
            sentence_encoder()
            alone, row = _embedded("local", database, LocalEngine(), llms)
            rows.append(row)
            for workers in sorted({1, actors}):
                with open_engine(EngineOptions(EngineKind.PROCESSES, workers=workers)) as engine:
                    rows.append(_started(engine, f"start {_amount(workers, 'process', 'es')}", workers))
                    name = f"processes, {workers}"
                    rows.append(_embedded(name, database, engine, llms, alone)[1])
            for workers in [] if without_ray else sorted({1, actors}):
                start = perf_counter()
                with open_engine(EngineOptions(EngineKind.RAY, workers=workers)) as engine:
                    rows.append(("start Ray", "", duration(perf_counter() - start), "", ""))
                    rows.append(_started(engine, f"start {_amount(workers, 'actor')}", workers))
                    name = f"ray, {_amount(workers, 'actor')}"
                    rows.append(_embedded(name, database, engine, llms, alone)[1])
        finally:
            database.close()
    Report(
        title="Embedding in this process, in several and in Ray actors",
        columns=("engine", "responses", "time", "responses / s", "of local"),
        rows=tuple(rows),
        note="From database to database; the start of workers is in it, the start of Ray is not. "
        f"{describe_machine()}; load of other work before: {load:.1f}.",
    ).finish(output)


def _loader() -> Callable[[int], int]:
    """Return a worker that has the encoder and does nothing."""
    sentence_encoder()
    return abs


def _amount(number: int, what: str, several: str = "s") -> str:
    return f"{number} {what}{several if number > 1 else ''}"


def _started(engine: Engine, what: str, workers: int) -> tuple[str, ...]:
    """Time a pool of workers that load the encoder and end again."""
    start = perf_counter()
    list(engine.map(_loader, range(workers)))
    return f"{what} with the encoder", "", duration(perf_counter() - start), "", ""


def _embedded(
    name: str, database: Database, engine: Engine, n_llms: int, alone: float | None = None
) -> tuple[float, tuple[str, ...]]:
    """Return the seconds that it took, and the row; ``alone`` are those of this process."""
    _clear(database, n_llms)
    start = perf_counter()
    computed = embed_benchmark(database, SLUG, engine=engine).computed
    seconds = perf_counter() - start
    share = f"{(alone or seconds) / seconds:.2f}"
    return seconds, (name, f"{computed:,}", duration(seconds), f"{computed / seconds:,.0f}", share)


def _clear(database: Database, n_llms: int) -> None:
    with database.session() as session:
        benchmark = find_benchmark(session, SLUG)
        record = get_benchmark(session, benchmark)
        chosen: Sequence[str] = [llm.name for llm in record.llms][:n_llms]
        for llm in chosen:
            put_representation(session, benchmark, llm, NAME, representation().blank(len(record.queries)))


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, PrecomputeError)
