"""The answers of a benchmark's LLMs as a file, and those that failed or were refused with the reason."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from sqlalchemy.orm import Session

from db import Database
from db.records import BenchmarkRef
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.collections import answers_of
from db.source_records import AnswerRecord, AnswerStatus
from leaderboard.export import csv_line, text_cell
from precompute.bundles import redistributable_as
from precompute.errors import PrecomputeError, unknown_llm

COLUMNS = tuple(column.name for column in fields(AnswerRecord))
_WHOLE = ("prompt_tokens", "completion_tokens", "reasoning_tokens")
Rows = Iterable[Sequence[AnswerRecord]]
"""The answers of one LLM after another."""


@dataclass(frozen=True, slots=True)
class ExportedAnswers:
    """What was written; `note` is what a person should know about the texts, empty if there is nothing."""

    n_answers: int
    n_llms: int
    note: str


def export_answers(
    database: Database,
    slug: str,
    target: Path | None,
    *,
    llms: Sequence[str] = (),
    statuses: Sequence[AnswerStatus] = (),
) -> ExportedAnswers:
    """Write answers to a file, whole or not at all, or as CSV to standard output; one LLM after another.

    Args:
        target: its ending says how: .parquet, .jsonl or .csv. Texts that a spreadsheet would run as a formula
            get an apostrophe in front in CSV; the other two hold them as they are.
        llms: only theirs; default all.
        statuses: only answers that ended so, with the reason where they failed; default all with a text.

    Raises:
        NotFoundError: no benchmark has this slug.
        PrecomputeError: the benchmark lacks one of the LLMs; the file's ending is another, or it cannot be
            written.
        BrokenPipeError: whoever reads standard output reads no more.
    """
    write = _writer(target)
    counts: list[int] = []
    with database.session() as session:
        benchmark = find_benchmark(session, slug)
        record = get_benchmark(session, benchmark)
        known = [llm.name for llm in record.llms]
        for llm in llms:
            if llm not in known:
                raise unknown_llm(llm, f"the benchmark {slug!r}", known)
        chosen = [llm for llm in known if not llms or llm in llms]
        try:
            write(_read(session, benchmark, chosen, statuses, counts))
        except BrokenPipeError:
            raise
        except OSError as error:
            raise PrecomputeError(
                f"Cannot write {target or 'the answers'} ({error.strerror}): check the path."
            ) from error
    licence = record.info.licence
    note = ""
    if any(counts) and not redistributable_as(licence):
        known_as = (
            f"the licence {licence!r} is not known to allow" if licence else "no licence is given that allows"
        )
        note = f"{known_as} passing the texts on: make sure that you may before you give the file away."
    return ExportedAnswers(sum(counts), sum(map(bool, counts)), note)


def _read(
    session: Session,
    benchmark: BenchmarkRef,
    llms: Sequence[str],
    statuses: Sequence[AnswerStatus],
    counts: list[int],
) -> Iterator[Sequence[AnswerRecord]]:
    for llm in llms:
        answers = list(answers_of(session, benchmark, llm, statuses))
        counts.append(len(answers))
        yield answers


def _writer(target: Path | None) -> Callable[[Rows], None]:
    if target is None:
        return lambda answers: _write_csv(sys.stdout, answers)
    writers: dict[str, Callable[[Path, Rows], None]] = {
        ".parquet": _write_parquet,
        ".jsonl": lambda path, answers: _write_text(path, _write_json_lines, answers),
        ".csv": lambda path, answers: _write_text(path, _write_csv, answers),
    }
    writer = writers.get(target.suffix.lower())
    if writer is None:
        raise PrecomputeError(f"{target}: its name must end in {', '.join(writers)}.")

    def write(answers: Rows) -> None:
        with _whole(target) as unfinished:
            writer(unfinished, answers)

    return write


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Yield a file that takes the target's place once it is written to the end."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_text(path: Path, write: Callable[[TextIO, Rows], None], answers: Rows) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        write(file, answers)


def _write_csv(file: TextIO, answers: Rows) -> None:
    file.write(csv_line(COLUMNS))
    for part in answers:
        for answer in part:
            file.write(csv_line([_cell(value) for value in _values(answer).values()]))


def _write_json_lines(file: TextIO, answers: Rows) -> None:
    for part in answers:
        for answer in part:
            line = {
                key: value.isoformat() if isinstance(value, datetime) else value
                for key, value in _values(answer).items()
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _write_parquet(path: Path, answers: Rows) -> None:
    import pyarrow as pa  # noqa: PLC0415  # takes long to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    special = {"cost": pa.float64(), "collected_at": pa.timestamp("us", "UTC")}
    special |= dict.fromkeys(_WHOLE, pa.int64())
    schema = pa.schema([(name, special.get(name, pa.string())) for name in COLUMNS])
    with pq.ParquetWriter(path, schema) as file:
        for part in answers:
            file.write_table(pa.Table.from_pylist(list(map(_values, part)), schema=schema))


def _values(answer: AnswerRecord) -> dict[str, Any]:
    values = asdict(answer)
    return values | {"status": None if answer.status is None else answer.status.value}


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return "" if value is None else text_cell(str(value)) if isinstance(value, str) else str(value)
