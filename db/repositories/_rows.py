"""What the repositories share: from names to the ids of rows, and INSERT … ON CONFLICT for both databases.

The repositories select columns, never whole mapped objects: a session would go on serving the object of a
replaced benchmark whose id was given out again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from db.errors import DatabaseError, NotFoundError, known
from db.models import LLM, Base, Benchmark, Query, now
from db.records import BenchmarkRef

MAX_IDS_IN_ONE_STATEMENT = 500
"""SQLite takes a limited number of variables."""

_Item = TypeVar("_Item")


def in_parts(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Yield the items in lists that are short enough for one statement."""
    remaining = iter(items)
    while part := list(islice(remaining, MAX_IDS_IN_ONE_STATEMENT)):
        yield part


def llm_ids(session: Session, benchmark: BenchmarkRef, needed: Iterable[str] = ()) -> dict[str, int]:
    """Return the ids of the LLMs of a benchmark by name, in position order.

    Raises:
        NotFoundError: the benchmark lacks one of those needed.
    """
    rows = session.execute(
        select(LLM.name, LLM.id).where(LLM.benchmark_id == benchmark.id).order_by(LLM.position, LLM.id)
    )
    ids = dict(rows.all())
    for name in needed:
        if name not in ids:
            raise NotFoundError(f"Benchmark {benchmark.slug!r} has no LLM {name!r}; {known(ids)}.")
    return ids


def llm_id(session: Session, benchmark: BenchmarkRef, name: str) -> int:
    """Return the id of an LLM of a benchmark. Raises NotFoundError: the benchmark has no such LLM."""
    return llm_ids(session, benchmark, [name])[name]


def query_ids(session: Session, benchmark: BenchmarkRef) -> dict[str, int]:
    """Return the ids of the queries of a benchmark by external id, in position order."""
    rows = session.execute(
        select(Query.external_id, Query.id)
        .where(Query.benchmark_id == benchmark.id)
        .order_by(Query.position, Query.id)
    )
    return dict(rows.all())


def chosen_query_ids(session: Session, benchmark: BenchmarkRef, external_ids: Sequence[str]) -> list[int]:
    """Return the ids of the named queries in their order. Raises NotFoundError: one of them is not known."""
    ids = query_ids(session, benchmark)
    check_queries(benchmark, ids, external_ids)
    return [ids[external_id] for external_id in external_ids]


def check_queries(benchmark: BenchmarkRef, stored: Mapping[str, Any], external_ids: Iterable[str]) -> None:
    """Check that the queries are among the stored ones. Raises NotFoundError: one of them is not."""
    for external_id in external_ids:
        if external_id not in stored:
            raise NotFoundError(f"Benchmark {benchmark.slug!r} has no query with the id {external_id!r}.")


def after(latest: datetime | None) -> datetime:
    """Return the present moment, or the first one after the latest where the clock has been set back.

    So a change is told from the one before, and comes after it, whatever the clock says.
    """
    moment = now()
    return moment if latest is None or latest < moment else latest + timedelta(microseconds=1)


def touch(session: Session, benchmark: BenchmarkRef) -> None:
    """Note that the contents of a benchmark changed now."""
    stored = session.scalar(
        select(Benchmark.updated_at).where(Benchmark.id == benchmark.id).with_for_update()
    )
    session.execute(update(Benchmark).where(Benchmark.id == benchmark.id).values(updated_at=after(stored)))


def check_unchanged(session: Session, benchmark: BenchmarkRef, computed_from: datetime | None) -> None:
    """Check that a benchmark is still what it was when `updated_at` was read; None: whatever it was.

    PostgreSQL keeps it so until the transaction ends; on SQLite call it after the first write, which does.

    Raises:
        DatabaseError: it has changed since, so what was computed from it comes too late.
    """
    if computed_from is None:
        return
    updated_at = session.scalar(
        select(Benchmark.updated_at).where(Benchmark.id == benchmark.id).with_for_update(read=True)
    )
    if updated_at != computed_from:
        raise DatabaseError(
            f"The benchmark {benchmark.slug!r} has changed in the meantime; start again with what it is now."
        )


def upsert(
    session: Session,
    table: type[Base],
    rows: Sequence[Mapping[str, Any]],
    key: Sequence[str],
    update: Sequence[str] = (),
) -> None:
    """Insert rows of equal columns, or change the `update` columns of those whose `key` columns are stored.

    With no `update` columns stored rows stay as they are. Sent as one batch, and safe when another process
    inserts the same rows at the same moment.
    """
    if not rows:
        return
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    statement = insert(table)
    if update:
        statement = statement.on_conflict_do_update(
            index_elements=key, set_={column: statement.excluded[column] for column in update}
        )
    else:
        statement = statement.on_conflict_do_nothing(index_elements=key)
    session.execute(statement, rows)
