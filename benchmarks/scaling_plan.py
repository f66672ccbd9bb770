"""What 1,000 LLMs × 100,000 queries take, stage by stage: bytes, time and cost at assumed prices."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from sqlalchemy import text

from benchmarks._report import Report, duration, size
from crm.baselines import LongerCRM
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.representation import NAME, representation
from crm.errors import CRMError
from crm.report_table import describe_machine
from db import Database, DatabaseError
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.contents import query_texts, response_texts
from db.repositories.representations import get_representation
from db.serialization import pack
from precompute.commands.options import BUNDLED
from precompute.errors import PrecomputeError
from precompute.score import score_benchmark

_HOUR = 3600.0
_PER_MILLION = 1e-6


@dataclass(frozen=True)
class Measured:
    """What one response or one pair takes on this computer.

    Attributes:
        text_bytes: A response in the database, indices included.
        query_bytes: The text of a query.
        vector_bytes: A representation's row in memory, as a criterion judged by its wording reads it.
        stored_vector_bytes: All that is stored of a response in the database of a large benchmark.
        stored_score_bytes: A pair's probability in the database, compressed.
        encoded_per_second: Responses that one core encodes.
        packed_per_second: Representations that the driver packs for the database on one core.
        matrix_seconds: For a pair's probability by the embedded CRM.
        ranking_seconds: For a pair's share of ranking, intervals and τ.
    """

    text_bytes: float
    query_bytes: float
    vector_bytes: float
    stored_vector_bytes: float
    stored_score_bytes: float
    encoded_per_second: float
    packed_per_second: float
    matrix_seconds: float
    ranking_seconds: float


@dataclass(frozen=True)
class Assumed:
    """The size of the plan and what is not measured here; the command's options say what each figure is."""

    llms: int
    queries: int
    criteria_sets: int
    prompt_tokens: float
    completion_tokens: float
    price_prompt: float
    price_completion: float
    request_seconds: float
    requests: int
    cores: int
    core_hour: float
    gpus: int
    gpu_hour: float
    judged_per_second: float
    gigabyte_month: float

    @property
    def pairs(self) -> float:
        """Number of responses; that of pairs is smaller by the baseline's, which changes nothing here."""
        return float(self.llms) * self.queries


@dataclass(frozen=True)
class Stage:
    """One line of the plan.

    Attributes:
        name: What is done.
        size: Bytes that are kept.
        work: Seconds of one core, GPU or connection.
        seconds: On as many as are assumed.
        cost: Money.
    """

    name: str
    size: float
    work: float
    seconds: float
    cost: float


def plan(measured: Measured, assumed: Assumed) -> tuple[Stage, ...]:
    """All stages, in the order of the pipeline; ``serve`` is one new list of criteria on one computer."""
    pairs, sets = assumed.pairs, assumed.criteria_sets
    asking = pairs * assumed.request_seconds
    tokens = (
        assumed.prompt_tokens * assumed.price_prompt + assumed.completion_tokens * assumed.price_completion
    )
    encoding = pairs / measured.encoded_per_second
    packing = pairs / measured.packed_per_second
    judging = pairs * sets / assumed.judged_per_second
    stored = pairs * (measured.text_bytes + measured.stored_vector_bytes + sets * measured.stored_score_bytes)
    serving = pairs * (measured.matrix_seconds + measured.ranking_seconds)
    return (
        Stage(
            "collect",
            pairs * measured.text_bytes + assumed.queries * measured.query_bytes,
            asking,
            asking / assumed.requests,
            pairs * tokens * _PER_MILLION,
        ),
        Stage(
            "embed",
            pairs * measured.stored_vector_bytes,
            encoding,
            encoding / assumed.cores,
            encoding / _HOUR * assumed.core_hour,
        ),
        Stage("store representations", 0.0, packing, packing, packing / _HOUR * assumed.core_hour),
        Stage(
            f"score, slow judge, criteria sets: {sets:,}",
            pairs * sets * measured.stored_score_bytes,
            judging,
            judging / assumed.gpus,
            judging / _HOUR * assumed.gpu_hour,
        ),
        Stage("keep for a month", stored, 0.0, 0.0, stored / 1e9 * assumed.gigabyte_month),
        Stage("serve one criteria set, embedded CRM", pairs * measured.vector_bytes, serving, serving, 0.0),
    )


app = typer.Typer(add_completion=False)

SLUG = "dailybench"
LIVE_PAIRS = 1_000 * 10_000
LIVE_MATRIX_SECONDS, LIVE_RANKING_SECONDS = 7.36, 1.72
"""The largest case of ``live_rescore``, on 2 cores."""
_READ = ("features", "counts", "passages")
"""Arrays that a criterion judged by its wording reads."""
_DAY = 86_400.0
_ROUNDS = 3
"""Of each speed the best counts: other work on the computer can only slow it down."""


@app.command()
def measure(
    *,
    llms: Annotated[int, typer.Option(help="LLMs.")] = 1_000,
    queries: Annotated[int, typer.Option(help="Queries.")] = 100_000,
    criteria_sets: Annotated[int, typer.Option(help="Lists of criteria scored ahead by a slow judge.")] = 1,
    prompt_tokens: Annotated[float, typer.Option(help="Read for a response.")] = 50,
    completion_tokens: Annotated[float, typer.Option(help="Written for a response.")] = 400,
    price_prompt: Annotated[float, typer.Option(help="Money for a million tokens read.")] = 0.5,
    price_completion: Annotated[float, typer.Option(help="Money for a million tokens written.")] = 1.5,
    request_seconds: Annotated[float, typer.Option(help="That a response takes.")] = 5,
    requests: Annotated[int, typer.Option(help="Under way at a time, over all endpoints.")] = 2_000,
    cores: Annotated[int, typer.Option(help="Processors that encode.")] = 64,
    core_hour: Annotated[float, typer.Option(help="Money for a processor for an hour.")] = 0.05,
    gpus: Annotated[int, typer.Option(help="GPUs that judge.")] = 16,
    gpu_hour: Annotated[float, typer.Option(help="Money for a GPU for an hour.")] = 2.5,
    judged_per_second: Annotated[float, typer.Option(help="Pairs that a slow judge judges on a GPU.")] = 50,
    gigabyte_month: Annotated[float, typer.Option(help="Money for storing 1 GB for a month.")] = 0.1,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the plan."""
    assumed = Assumed(
        llms=llms,
        queries=queries,
        criteria_sets=criteria_sets,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        price_prompt=price_prompt,
        price_completion=price_completion,
        request_seconds=request_seconds,
        requests=requests,
        cores=cores,
        core_hour=core_hour,
        gpus=gpus,
        gpu_hour=gpu_hour,
        judged_per_second=judged_per_second,
        gigabyte_month=gigabyte_month,
    )
    measured = _measured()
    Report(
        title=f"{llms:,} LLMs × {queries:,} queries",
        columns=("stage", "bytes", "work of one", "time on all", "cost"),
        rows=tuple(_row(stage) for stage in plan(measured, assumed)),
        note=_note(measured, assumed),
    ).finish(output)


def _measured() -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(f"sqlite:///{folder}/usl.sqlite3", bundles=[BUNDLED / f"{SLUG}.usl.zip"])
        try:
            (judged,) = score_benchmark(database, SLUG, [LongerCRM()], [CriteriaSet()])
            with database.session() as session:
                benchmark = find_benchmark(session, SLUG)
                record = get_benchmark(session, benchmark)
                first = record.llms[0].name
                texts = response_texts(session, benchmark, first)
                asked = query_texts(session, benchmark)
                stored = [get_representation(session, benchmark, llm.name, NAME) for llm in record.llms]
                n_responses = len(record.llms) * len(record.queries)
                statement = text("SELECT SUM(pgsize) FROM dbstat WHERE name = :name OR name LIKE :index")
                names = {"name": "response", "index": "%_response_%"}
                held = session.scalar(statement, names) or 0
                scores = session.scalar(text("SELECT SUM(LENGTH(payload)) FROM score_matrix")) or 0
        finally:
            database.close()
    arrays = [each for each in stored if each is not None]
    return Measured(
        text_bytes=held / n_responses,
        query_bytes=float(np.mean([len((query or "").encode()) for query in asked])),
        vector_bytes=float(sum(arrays[0][name][0].nbytes for name in _READ)),
        # As large benchmarks are packed; the bundled one's are as small as can be.
        stored_vector_bytes=sum(len(pack(each)) for each in arrays) / n_responses,
        stored_score_bytes=scores / judged.judged,
        encoded_per_second=_encoding_speed([response or "" for response in texts], [q or "" for q in asked]),
        packed_per_second=_packing_speed(arrays[0]),
        matrix_seconds=LIVE_MATRIX_SECONDS / LIVE_PAIRS,
        ranking_seconds=LIVE_RANKING_SECONDS / LIVE_PAIRS,
    )


def _encoding_speed(texts: list[str], queries: list[str]) -> float:
    """Return responses a second of a core's own time, once the encoder is loaded."""
    torch.set_num_threads(1)
    fitted = representation()
    fitted.encode(texts[:8], queries[:8])
    return max(len(texts) / _seconds(lambda: fitted.encode(texts, queries)) for _ in range(_ROUNDS))


def _packing_speed(arrays: Mapping[str, NDArray[Any]]) -> float:
    return max(len(arrays["digest"]) / _seconds(lambda: pack(arrays)) for _ in range(_ROUNDS))


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def _row(stage: Stage) -> tuple[str, ...]:
    return (
        stage.name,
        size(stage.size) if stage.size else "–",
        _time(stage.work),
        _time(stage.seconds),
        f"{stage.cost:,.0f}" if stage.cost else "–",
    )


def _time(seconds: float) -> str:
    """As people plan: seconds, hours or days."""
    if not seconds:
        return "–"
    if seconds < 600:
        return duration(seconds)
    return f"{seconds / 3600:,.1f} h" if seconds < 3 * _DAY else f"{seconds / _DAY:,.1f} d"


def _note(measured: Measured, assumed: Assumed) -> str:
    return (
        f"Measured: a response {measured.text_bytes:,.0f} B, its representation "
        f"{measured.stored_vector_bytes:,.0f} B stored and {measured.vector_bytes:,.0f} B in memory, a score "
        f"{measured.stored_score_bytes:.1f} B; {measured.encoded_per_second:,.0f} responses encoded and "
        f"{measured.packed_per_second:,.0f} packed a second and core; "
        f"{1e9 * (measured.matrix_seconds + measured.ranking_seconds):,.0f} ns a pair to rank "
        f"({describe_machine()}). "
        f"Assumed: {assumed.prompt_tokens:g} tokens read at {assumed.price_prompt:g} and "
        f"{assumed.completion_tokens:g} written at {assumed.price_completion:g} a million, "
        f"{assumed.request_seconds:g} s a response, {assumed.requests:,} at a time; "
        f"{assumed.cores:,} cores at {assumed.core_hour:g} an hour; {assumed.gpus:,} GPUs at "
        f"{assumed.gpu_hour:g}, each judging {assumed.judged_per_second:g} pairs a second; "
        f"{assumed.gigabyte_month:g} a GB and month."
    )


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, PrecomputeError)
