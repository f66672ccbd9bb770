"""How long embedding takes in this process and in Ray actors on the same computer.

    python -m benchmarks.ray_engine [--llms N] [--actors N] [--output FILE.md]

Some LLMs of DailyBench lose their representations and get them again, from database to database. Starting
Ray, and starting a pool of actors that load the encoder, are timed by themselves.
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
    actors: Annotated[int, typer.Option(min=1, help="Largest number of actors.")] = 2,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    rows: list[tuple[str, ...]] = []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(f"sqlite:///{folder}/usl.sqlite3", bundles=[BUNDLED / f"{SLUG}.usl.zip"])
        try:
            sentence_encoder()
            rows.append(_embedded("local", database, LocalEngine(), llms))
            start = perf_counter()
            with open_engine(EngineOptions(EngineKind.RAY, workers=actors)) as engine:
                rows.append(("start Ray", "", duration(perf_counter() - start), ""))
                start = perf_counter()
                list(engine.map(_loader, range(actors)))
                what = f"start {actors} actors with the encoder"
                rows.append((what, "", duration(perf_counter() - start), ""))
                rows.append(_embedded(f"ray, {actors} actors", database, engine, llms))
            with open_engine(EngineOptions(EngineKind.RAY, workers=1)) as engine:
                rows.append(_embedded("ray, 1 actor", database, engine, llms))
        finally:
            database.close()
    Report(
        title="Embedding in this process and in Ray actors",
        columns=("engine", "responses", "time", "responses / s"),
        rows=tuple(rows),
        note="From database to database; with Ray the start of the actors is in it, the start of Ray is not. "
        f"{describe_machine()}; load of other work before: {load:.1f}.",
    ).finish(output)


def _loader() -> Callable[[int], int]:
    """Return a worker that has the encoder and does nothing."""
    sentence_encoder()
    return abs


def _embedded(name: str, database: Database, engine: Engine, n_llms: int) -> tuple[str, ...]:
    _clear(database, n_llms)
    start = perf_counter()
    computed = embed_benchmark(database, SLUG, engine=engine).computed
    seconds = perf_counter() - start
    return name, f"{computed:,}", duration(seconds), f"{computed / seconds:,.0f}"


def _clear(database: Database, n_llms: int) -> None:
    with database.session() as session:
        benchmark = find_benchmark(session, SLUG)
        record = get_benchmark(session, benchmark)
        chosen: Sequence[str] = [llm.name for llm in record.llms][:n_llms]
        for llm in chosen:
            put_representation(session, benchmark, llm, NAME, representation().blank(len(record.queries)))


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, PrecomputeError)
