"""Batches of requests that were handed in at a provider: what they ask for, until they are fetched."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from db.models import CollectionBatch, now
from db.records import BenchmarkRef
from db.source_records import BatchRecord, BatchState


def add_batch(
    session: Session,
    benchmark: BenchmarkRef,
    llm: str,
    *,
    url: str,
    settings_digest: str,
    queries: Sequence[str],
    file_id: str,
) -> BatchRecord:
    """Store a batch that the provider is about to be asked for."""
    moment = now()
    row = {
        "llm": llm,
        "url": url,
        "settings_digest": settings_digest,
        "queries": list(queries),
        "file_id": file_id,
        "batch_id": None,
        "created_at": moment,
    }
    number = session.scalars(
        insert(CollectionBatch)
        .values(benchmark_id=benchmark.id, state=BatchState.UNDER_WAY.value, **row)
        .returning(CollectionBatch.id)
    ).one()
    return BatchRecord(number, llm, url, settings_digest, tuple(queries), file_id, None, moment)


def name_batch(session: Session, batch: BatchRecord, batch_id: str) -> BatchRecord:
    """Store what the provider calls a batch that it has begun; return the batch with that."""
    session.execute(update(CollectionBatch).where(CollectionBatch.id == batch.id).values(batch_id=batch_id))
    return replace(batch, batch_id=batch_id)


def end_batch(session: Session, batch: BatchRecord, state: BatchState) -> None:
    """Note that a batch has been fetched, or is lost."""
    session.execute(
        update(CollectionBatch)
        .where(CollectionBatch.id == batch.id)
        .values(state=state.value, ended_at=now())
    )


def drop_batch(session: Session, batch: BatchRecord) -> None:
    """Forget a batch that the provider never began."""
    session.execute(delete(CollectionBatch).where(CollectionBatch.id == batch.id))


def batches_under_way(session: Session, benchmark: BenchmarkRef) -> list[BatchRecord]:
    """Return the batches that are neither fetched nor lost, in the order in which they were handed in."""
    table = CollectionBatch
    rows = session.execute(
        select(
            table.id,
            table.llm,
            table.url,
            table.settings_digest,
            table.queries,
            table.file_id,
            table.batch_id,
            table.created_at,
        )
        .where(table.benchmark_id == benchmark.id, table.state == BatchState.UNDER_WAY.value)
        .order_by(table.id)
    )
    return [
        BatchRecord(number, llm, url, digest, tuple(queries), file_id, batch_id, created_at)
        for number, llm, url, digest, queries, file_id, batch_id, created_at in rows
    ]
