"""How long a person waits from typing a criterion to the new ranking, step by step.

The steps are the service's own: folding the criterion into a direction, the score matrix, and the ranking
with bootstrap intervals, category columns and correlations with ∅. Larger benchmarks are the bundled ones
repeated. Beside the score matrix stands the least time it could take: reading the representation once.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice, product
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._report import Report, duration, size
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.model import embedded_crm
from crm.embedded.representation import NAME
from crm.errors import CRMError
from crm.processors import compute_in_one_thread
from crm.report_table import describe_machine, peak_memory
from db import Database, DatabaseError
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.cache import SharedCache
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service
from leaderboard.view import Against, View

app = typer.Typer(add_completion=False)

_QUALITIES = ("Concise", "Warm", "Playful", "Formal", "Cautious", "Vivid", "Blunt")
_ASPECTS = ("with examples", "in plain words", "step by step", "without lists", "like a friend")
MAX_REPETITIONS = len(_QUALITIES) * len(_ASPECTS) - 1


@dataclass(frozen=True)
class Case:
    """A benchmark cropped or repeated to ``llms`` LLMs, the baseline among them, and ``queries`` queries."""

    slug: str
    llms: int
    queries: int
    against: Against = Against.BASELINE


CASES = (
    Case("dailybench", 8, 522),
    Case("alpaca-eval", 32, 805),
    Case("alpaca-eval", 100, 1000),
    Case("alpaca-eval", 100, 1000, Against.ALL),
    Case("alpaca-eval", 228, 805),
    Case("alpaca-eval", 1000, 10_000),
)


@dataclass(frozen=True, eq=False)
class ResizedBenchmark(LoadedBenchmark):
    """A benchmark of another size, whose arrays are those of a stored one cropped or repeated."""

    arrays: Mapping[str, NDArray[Any]]

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        """Return the resized arrays; there are none under another name than the embedded CRM's."""
        return self.arrays


class ResizedService(Service):
    """A service in which one benchmark has another size; the stored one is still looked up each time."""

    def __init__(self, database: Database, case: Case) -> None:
        super().__init__(database)
        self._resized = resized(super().benchmark(case.slug), case)
        # The original arrays are no part of what serving the resized benchmark takes.
        self._kept.loaded = SharedCache(1)

    def benchmark(self, slug: str) -> LoadedBenchmark:
        """Return the resized benchmark."""
        super().benchmark(slug)
        return self._resized


def resized(benchmark: LoadedBenchmark, case: Case) -> LoadedBenchmark:
    """Return the benchmark with as many LLMs and queries as the case names, the baseline still last."""
    record, stored = benchmark.record, benchmark.representation(NAME)
    rows = np.append(np.resize(np.arange(len(benchmark.llms)), case.llms - 1), len(benchmark.llms))
    columns = np.resize(np.arange(benchmark.n_queries), case.queries)
    originals = {llm.name: llm for llm in record.llms}
    names = [*benchmark.llms, benchmark.baseline]
    llms = [
        replace(originals[names[row]], name=f"{names[row]}{_copy(place, len(benchmark.llms))}")
        for place, row in enumerate(rows[:-1])
    ]
    queries = [
        replace(
            record.queries[column],
            external_id=f"{record.queries[column].external_id}{_copy(place, benchmark.n_queries)}",
        )
        for place, column in enumerate(columns)
    ]
    return ResizedBenchmark(
        benchmark.database,
        replace(record, llms=(*llms, originals[benchmark.baseline]), queries=tuple(queries)),
        {name: _resized_array(stored[name], rows, columns) for name in stored},
    )


def _copy(place: int, distinct: int) -> str:
    return f"#{place // distinct + 1}" if place >= distinct else ""


def _resized_array(array: NDArray[Any], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[Any]:
    """``array[rows][:, columns]``, row by row so that no copy beside the result is made."""
    result = np.empty((len(rows), len(columns), *array.shape[2:]), array.dtype)
    for place, row in enumerate(rows):
        np.take(array[row], columns, axis=0, out=result[place])
    return result


def measure(database_url: str, case: Case, repetitions: int) -> tuple[str, ...]:
    """Return the case's row, each repetition with a criterion never seen before, after one to warm up."""
    compute_in_one_thread()  # As the server does.
    service = ResizedService(Database.open(database_url), case)
    texts = (f"{quality}, {aspect}" for aspect, quality in product(_ASPECTS, _QUALITIES))
    timings = [_rescore(service, case, text) for text in islice(texts, repetitions + 1)][1:]
    direction, scores, ranking, total = (median(step) for step in zip(*timings, strict=True))
    features = service.benchmark(case.slug).representation(NAME)["features"]
    read = median(_seconds(lambda: _read_once(features)) for _ in range(repetitions))
    return (
        f"{case.llms:,} × {case.queries:,}",
        "every other" if case.against is Against.ALL else "baseline",
        *map(duration, (direction, scores, ranking, total)),
        size(features.nbytes),
        duration(read),
        f"{scores / read:.1f}",
        size(peak_memory()),
    )


def _rescore(service: Service, case: Case, text: str) -> tuple[float, float, float, float]:
    """Return seconds of each step and of all; what a step finds done by the one before is not done again."""
    benchmark, crm = service.benchmark(case.slug), embedded_crm()
    gc.collect()
    start = perf_counter()
    criteria = CriteriaSet.of([text])
    crm.direction(criteria)
    folded = perf_counter()
    if case.against is Against.ALL:
        service.margins(benchmark, crm, criteria)
    else:
        service.score_matrix(benchmark, crm, criteria)
    scored = perf_counter()
    service.leaderboard(View(case.slug, criteria=criteria, keep_unjudged=True, against=case.against))
    ranked = perf_counter()
    return (folded - start, scored - folded, ranked - scored, ranked - start)


def _read_once(features: NDArray[np.int8]) -> None:
    """Touch every byte, eight at a time, with as little computation as NumPy can do."""
    flat = features.reshape(-1)
    flat[: flat.size // 8 * 8].view(np.int64).max()


def _seconds(action: Callable[[], None]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


@app.command()
def main(
    repetitions: Annotated[int, typer.Option(min=1, max=MAX_REPETITIONS, help="Criteria per case.")] = 5,
    large: Annotated[bool, typer.Option(help="Include 1,000 × 10,000, which takes about 7 GB.")] = True,
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Time the way from a typed criterion to the ranking, on benchmarks of several sizes."""
    cases = CASES if large else CASES[:-1]
    rows = []
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as folder:
        url = f"sqlite:///{Path(folder) / 'usl.sqlite3'}"
        Service.open(url).database.close()
        # Peak memory never falls within a process, so every case has its own.
        for case in cases:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                rows.append(process.submit(measure, url, case, repetitions).result())
    Report(
        title="From a typed criterion to the ranking",
        columns=(
            *("LLMs × queries", "against", "criterion", "score matrix", "ranking, intervals, τ", "total"),
            *("representation", "read once", "score matrix ÷ read", "peak memory"),
        ),
        rows=tuple(rows),
        note="The baseline is one of the LLMs; against every other, margins of single responses stand in for "
        f"the score matrix. Medians of {repetitions} new criteria after one to warm up, "
        f"each case in a process of its own. {describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
