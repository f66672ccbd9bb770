"""``leaderboard rank`` from start to table on a large stored benchmark: what the whole command takes.

The benchmark is drawn from the responses of ``alpaca-eval``: each LLM has the representations of one of its
LLMs on queries drawn with repetition, so that rows are as real ones are and nothing has to be encoded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._report import Report, duration, size
from crm.cli_runner import run_cli
from crm.embedded.representation import NAME
from crm.errors import CRMError
from crm.report_table import describe_machine
from db import Database, DatabaseError
from db.records import BenchmarkInfo, LLMRecord, QuerySource
from db.repositories import benchmarks, contents, representations
from db.serialization import text_sha256
from leaderboard.benchmark import QUERY_REPRESENTATION
from precompute.commands.options import BUNDLED

SLUG, SOURCE = "large", "alpaca-eval"
COMMAND = ("-m", "leaderboard", "rank", "--benchmark", SLUG, "--format", "csv")
CRITERION = ("--criterion", "Concise and direct")
ROUNDS = 3


@dataclass(frozen=True)
class Ranked:
    """What a command took: seconds from start to end, of processors, and most bytes of memory."""

    seconds: float
    processor: float
    memory: int


def fill(database: Database, n_llms: int, n_queries: int, seed: int = 0) -> None:
    """Store a benchmark of so many LLMs and queries beside the one that it is drawn from."""
    draw = np.random.default_rng(seed)
    with database.session() as session:
        source = benchmarks.find_benchmark(session, SOURCE)
        record = benchmarks.get_benchmark(session, source)
        names = [llm.name for llm in record.llms]
        asked = representations.get_query_representation(session, source, QUERY_REPRESENTATION)
        stored: dict[str, dict[str, NDArray[Any]] | None] = {
            name: representations.get_representation(session, source, name, NAME) for name in names
        }
        queries = draw.integers(len(record.queries), size=n_queries)
        benchmarks.upsert_benchmark(session, BenchmarkInfo(SLUG, "Large"))
        benchmark = benchmarks.find_benchmark(session, SLUG)
        places = [record.queries[index] for index in queries]
        sources = [
            QuerySource(f"q{number}", place.category, place.topic, text_sha256(f"query {number}"))
            for number, place in enumerate(places)
        ]
        contents.upsert_queries(session, benchmark, sources)
        made = [f"llm-{number:04d}" for number in range(n_llms)]
        contents.upsert_llms(session, benchmark, [LLMRecord(name, name) for name in made])
        if asked is not None:
            drawn = {key: array[queries] for key, array in asked.items()}
            representations.put_query_representation(session, benchmark, QUERY_REPRESENTATION, drawn)
        for number, name in enumerate(made):
            arrays = stored[names[number % len(names)]]
            assert arrays is not None
            rows = queries if number < len(names) else draw.permutation(queries)
            representations.put_representation(
                session, benchmark, name, NAME, {key: array[rows] for key, array in arrays.items()}
            )
        benchmarks.set_baseline(session, benchmark, made[0])


def rank(url: str, *options: str) -> Ranked:
    """Run the command in a process of its own."""
    started = perf_counter()
    process = subprocess.Popen(
        [sys.executable, *COMMAND, *options],
        stdout=subprocess.PIPE,
        env=os.environ | {"USL_DATABASE_URL": url},
    )
    assert process.stdout is not None
    process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = perf_counter() - started
    if status:
        raise CRMError(f"The command ended with {os.waitstatus_to_exitcode(status)}: see above.")
    return Ranked(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


app = typer.Typer(add_completion=False)


@app.command()
def measure(
    llms: Annotated[int, typer.Option(min=2, help="LLMs.")] = 200,
    queries: Annotated[int, typer.Option(min=20, help="Queries.")] = 5_000,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print what the command takes, with a criterion and without."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/usl.sqlite3"
        with closing(Database.open(url, bundles=[BUNDLED / f"{SOURCE}.usl.zip"])) as database:
            fill(database, llms, queries)
        stored = sum(file.stat().st_size for file in Path(folder).iterdir())
        rows = []
        for what, options in (("without criteria", ()), ("with a criterion", CRITERION)):
            ranked = [rank(url, *options) for _ in range(ROUNDS)]
            rows.append(
                (
                    f"{llms:,} × {queries:,}, {what}",
                    duration(median(each.seconds for each in ranked)),
                    duration(min(each.seconds for each in ranked)),
                    duration(min(each.processor for each in ranked)),
                    size(max(each.memory for each in ranked)),
                )
            )
    Report(
        "`leaderboard rank` on a large stored benchmark",
        ("LLMs × queries", "median", "least", "of processors", "peak memory"),
        tuple(rows),
        f"Of {ROUNDS} runs each, from the start of the process to its end, on SQLite ({size(stored)}). Other "
        f"work on the computer lengthens the time, not the processors'. Rows are representations of {SOURCE} "
        f"drawn with repetition. {describe_machine()}.",
    ).finish(output)


def main() -> None:
    """Run the command line."""
    run_cli(app, CRMError, DatabaseError)


if __name__ == "__main__":
    main()
