"""What embedded CRMs store of responses and queries, so that scoring needs no text; embeddings of texts.

Representations belong to a benchmark; embeddings are found by encoder and content, so that what was embedded
once is not embedded again.
"""

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Semaphore
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from db.models import LLM, QueryRepresentation, Representation, TextEmbedding, now
from db.records import BenchmarkRef
from db.repositories import _rows
from db.repositories._rows import upsert
from db.repositories.scores import delete_scores
from db.serialization import pack, packed_names, reading_payload, same_arrays, unpack
from parsing.arrays import PackedArray, packed_arrays


def put_representation(
    session: Session, benchmark: BenchmarkRef, llm: str, name: str, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Store the arrays of the LLM's responses, by convention with one row a query in position order.

    Arrays that differ from stored ones make the stored scores of the benchmark void. Raises NotFoundError:
    the benchmark has no such LLM. Raises DatabaseError: an array holds Python objects.
    """
    put_payload(session, benchmark, llm, name, pack(arrays))


def put_query_representation(
    session: Session, benchmark: BenchmarkRef, name: str, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Store the arrays of the queries, by convention with one row a query in position order.

    Arrays that differ from stored ones make the stored scores of the benchmark void. Raises DatabaseError: an
    array holds Python objects.
    """
    put_payload(session, benchmark, None, name, pack(arrays))


def get_representation(
    session: Session, benchmark: BenchmarkRef, llm: str, name: str
) -> dict[str, NDArray[Any]] | None:
    """Return the stored arrays of one LLM, None if it has no such representation.

    Raises NotFoundError: the benchmark has no such LLM. Raises DatabaseError: the stored bytes are damaged.
    """
    payload = _stored(session, benchmark, _rows.llm_id(session, benchmark, llm), name)
    return None if payload is None else unpack(payload)


def representation_arrays(
    session: Session, benchmark: BenchmarkRef, llms: Sequence[str], name: str
) -> tuple[str, ...]:
    """Return the names of the arrays that a representation consists of, by the first LLM that has it."""
    payloads = (_stored(session, benchmark, _rows.llm_id(session, benchmark, llm), name) for llm in llms)
    return next((packed_names(payload) for payload in payloads if payload is not None), ())


def read_representations(
    session: Session,
    benchmark: BenchmarkRef,
    llms: Sequence[str],
    name: str,
    *,
    only: Collection[str],
    take: Callable[[int, Mapping[str, NDArray[Any]] | None], None],
) -> None:
    """Pass on some of the stored arrays of LLMs by their places, None for one without such a representation.

    All processors unpack them, while the next ones are read, and call ``take``. The arrays are read-only.
    Raises as `get_representation`.
    """
    workers = os.cpu_count() or 1
    ids = _rows.llm_ids(session, benchmark, llms)
    stored = _stored_ids(session, benchmark, name)
    # No more of them are in memory than the processors have work.
    free = Semaphore(2 * workers)

    def unpacked(place: int, packed: Mapping[str, PackedArray] | None) -> None:
        try:
            take(place, None if packed is None else _unpacked(packed))
        finally:
            free.release()

    with ThreadPoolExecutor(workers) as pool:
        tasks = []
        for place, llm in enumerate(llms):
            free.acquire()
            row = stored.get(ids[llm])
            packed = None if row is None else _packed(session, row, only)
            tasks.append(pool.submit(unpacked, place, packed))
        for task in tasks:
            task.result()


def _stored_ids(session: Session, benchmark: BenchmarkRef, name: str) -> dict[int, int]:
    """Return the ids of rows with a representation by those of the LLMs."""
    rows = session.execute(
        select(Representation.llm_id, Representation.id).where(
            Representation.benchmark_id == benchmark.id, Representation.name == name
        )
    )
    return dict(rows.all())


def _packed(session: Session, row: int, only: Collection[str]) -> dict[str, PackedArray] | None:
    """Return some of the arrays of a row, None where it has been removed; SQLite reads no more than these."""
    if session.get_bind().dialect.name == "sqlite":
        connection = session.connection().connection.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        # Without the row, or where it is locked, the statement below says so.
        with (
            suppress(sqlite3.OperationalError),
            _open(connection, row) as blob,
            reading_payload(len(blob)),
        ):
            return packed_arrays(partial(_read, blob), len(blob), only)
    payload = session.scalar(select(Representation.payload).where(Representation.id == row))
    if payload is None:
        return None
    content = memoryview(payload)
    with reading_payload(len(payload)):
        return packed_arrays(lambda start, size: content[start : start + size], len(payload), only)


def _unpacked(packed: Mapping[str, PackedArray]) -> dict[str, NDArray[Any]]:
    with reading_payload(sum(len(array.content) for array in packed.values())):
        return {key: array.unpacked() for key, array in packed.items()}


def _open(connection: sqlite3.Connection, row: int) -> sqlite3.Blob:
    return connection.blobopen(Representation.__tablename__, Representation.payload.name, row, readonly=True)


def _read(blob: sqlite3.Blob, start: int, size: int) -> bytes:
    blob.seek(start)
    return blob.read(size)


def get_query_representation(
    session: Session, benchmark: BenchmarkRef, name: str
) -> dict[str, NDArray[Any]] | None:
    """Return the stored arrays of the queries, None if they have no such representation.

    Raises DatabaseError: the stored bytes are damaged.
    """
    payload = _stored(session, benchmark, None, name)
    return None if payload is None else unpack(payload)


def list_representations(session: Session, benchmark: BenchmarkRef) -> dict[str, tuple[str, ...]]:
    """Return the LLMs, in LLM order, that have each representation; names are in alphabetical order."""
    rows = session.execute(
        select(Representation.name, LLM.name)
        .join(LLM, LLM.id == Representation.llm_id)
        .where(Representation.benchmark_id == benchmark.id)
        .order_by(Representation.name, LLM.position, LLM.id)
    )
    found: dict[str, tuple[str, ...]] = {}
    for name, llm in rows:
        found[name] = (*found.get(name, ()), llm)
    return found


def put_payload(
    session: Session, benchmark: BenchmarkRef, llm: str | None, name: str, payload: bytes
) -> None:
    """Store packed arrays of an LLM, or of the queries (None); `put_representation` without the packing.

    Equal arrays that are packed otherwise take the place of stored ones and change nothing else. Raises
    NotFoundError: the benchmark has no such LLM.
    """
    llm_id = None if llm is None else _rows.llm_id(session, benchmark, llm)
    stored = _stored(session, benchmark, llm_id, name)
    if stored == payload:
        return
    row = {"benchmark_id": benchmark.id, "name": name, "payload": payload, "updated_at": now()}
    changed = ("payload", "updated_at")
    if llm_id is None:
        upsert(session, QueryRepresentation, [row], key=("benchmark_id", "name"), update=changed)
    else:
        upsert(session, Representation, [row | {"llm_id": llm_id}], key=("llm_id", "name"), update=changed)
    if stored is not None:
        if same_arrays(stored, payload):
            return
        delete_scores(session, benchmark)
    _rows.touch(session, benchmark)


def payloads_by_llm(session: Session, benchmark: BenchmarkRef, name: str) -> dict[str, bytes]:
    """Return the packed arrays of every LLM that has this representation, in LLM order."""
    rows = session.execute(
        select(LLM.name, Representation.payload)
        .join(LLM, LLM.id == Representation.llm_id)
        .where(Representation.benchmark_id == benchmark.id, Representation.name == name)
        .order_by(LLM.position, LLM.id)
    )
    return dict(rows.all())


def query_payloads(session: Session, benchmark: BenchmarkRef) -> dict[str, bytes]:
    """Return the packed arrays of the queries by name of the representation."""
    rows = session.execute(
        select(QueryRepresentation.name, QueryRepresentation.payload)
        .where(QueryRepresentation.benchmark_id == benchmark.id)
        .order_by(QueryRepresentation.name)
    )
    return dict(rows.all())


def known_embeddings(
    session: Session, encoder: str, sha256s: Iterable[str]
) -> dict[str, NDArray[np.float32]]:
    """Return the stored embeddings ``[d]`` of texts, by the SHA-256 (hex) of the text."""
    found: dict[str, NDArray[np.float32]] = {}
    for part in _rows.in_parts(sha256s):
        rows = session.execute(
            select(TextEmbedding.text_sha256, TextEmbedding.vector).where(
                TextEmbedding.encoder == encoder, TextEmbedding.text_sha256.in_(part)
            )
        )
        found |= {sha256: np.frombuffer(vector, dtype="<f4") for sha256, vector in rows}
    return found


def put_embeddings(session: Session, encoder: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
    """Store embeddings ``[d]`` by the SHA-256 (hex) of their text; those that are there stay."""
    rows = [
        {"encoder": encoder, "text_sha256": sha256, "vector": vector.astype("<f4").tobytes()}
        for sha256, vector in vectors.items()
    ]
    upsert(session, TextEmbedding, rows, key=("encoder", "text_sha256"))


def _stored(session: Session, benchmark: BenchmarkRef, llm: int | None, name: str) -> bytes | None:
    if llm is None:
        return session.scalar(
            select(QueryRepresentation.payload).where(
                QueryRepresentation.benchmark_id == benchmark.id, QueryRepresentation.name == name
            )
        )
    return session.scalar(
        select(Representation.payload).where(Representation.llm_id == llm, Representation.name == name)
    )
