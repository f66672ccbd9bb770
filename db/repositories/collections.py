"""How responses were collected: settings, time, model, marks to ask again; and answers to be given out."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.orm import Session

from db.models import LLM, Category, CollectedResponse, CollectionSettings, Query, Response, Topic, now
from db.records import BenchmarkRef
from db.repositories import _rows
from db.repositories._rows import upsert
from db.source_records import AnswerRecord, AnswerStatus, AnswerTotals, CollectionRecord


def put_settings(session: Session, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Store settings in clear by their digest; those that are there stay."""
    rows = [
        {"digest": digest, "settings": dict(one), "created_at": now()} for digest, one in settings.items()
    ]
    upsert(session, CollectionSettings, rows, key=("digest",))


def collection_of(session: Session, benchmark: BenchmarkRef, llm: str) -> CollectionRecord:
    """Return how an LLM's responses were collected. Raises NotFoundError: the benchmark has no such LLM."""
    chosen, collected = _rows.llm_id(session, benchmark, llm), CollectedResponse
    asked = select(collected.query_id).where(collected.llm_id == chosen)
    n_imported = session.scalar(
        select(func.count())
        .select_from(Response)
        .where(Response.llm_id == chosen, Response.query_id.not_in(asked))
    )
    rows = session.execute(
        select(
            collected.status,
            collected.settings_digest,
            collected.replied_as,
            collected.prompt_tokens,
            collected.completion_tokens,
            collected.reasoning_tokens,
            collected.cost,
            collected.seconds,
            collected.ask_again,
            collected.created_at,
        )
        .where(collected.llm_id == chosen)
        .order_by(collected.created_at, collected.id)
    ).all()
    answered = [row for row in rows if row.status != AnswerStatus.FAILED]
    by_digest = Counter(row.settings_digest for row in answered)
    known: dict[str, Any] = dict(
        session.execute(
            select(CollectionSettings.digest, CollectionSettings.settings).where(
                CollectionSettings.digest.in_(by_digest)
            )
        ).all()
    )
    reasoning = [row.reasoning_tokens for row in rows if row.reasoning_tokens is not None]
    return CollectionRecord(
        n_imported=n_imported or 0,
        totals=AnswerTotals(
            {AnswerStatus(status): n for status, n in Counter(row.status for row in rows).items()},
            sum(row.prompt_tokens or 0 for row in rows),
            sum(row.completion_tokens or 0 for row in rows),
            sum(row.cost for row in rows),
            sum(row.seconds for row in rows),
        ),
        first=answered[0].created_at if answered else None,
        last=answered[-1].created_at if answered else None,
        replied_as=Counter(row.replied_as for row in answered if row.replied_as is not None),
        settings=tuple((digest, known.get(digest), n) for digest, n in by_digest.items()),
        reasoning_tokens=sum(reasoning) if reasoning else None,
        n_ask_again=sum(row.ask_again for row in rows),
    )


def mark_to_ask_again(
    session: Session, benchmark: BenchmarkRef, llm: str, queries: Collection[str] | None = None
) -> int:
    """Mark collected answers to these queries, or all, to be asked for again; return how many are marked.

    They stay until there are new ones. Raises NotFoundError: the benchmark lacks the LLM, or a query.
    """
    chosen, collected = _rows.llm_id(session, benchmark, llm), CollectedResponse
    of_llm = update(collected).where(collected.llm_id == chosen).values(ask_again=True)
    if queries is None:
        return len(session.scalars(of_llm.returning(collected.id)).all())
    n_marked = 0
    for part in _rows.in_parts(_rows.chosen_query_ids(session, benchmark, list(dict.fromkeys(queries)))):
        marked = session.scalars(of_llm.where(collected.query_id.in_(part)).returning(collected.id))
        n_marked += len(marked.all())
    return n_marked


def answers_of(
    session: Session, benchmark: BenchmarkRef, llm: str, statuses: Sequence[AnswerStatus] = ()
) -> Iterator[AnswerRecord]:
    """Yield an LLM's answers in query order: those that have a text, or those that ended so, text or not.

    Raises NotFoundError: the benchmark has no such LLM.
    """
    chosen, collected = _rows.llm_id(session, benchmark, llm), CollectedResponse
    wanted: ColumnElement[bool] = (
        collected.status.in_([status.value for status in statuses]) if statuses else Response.id.is_not(None)
    )
    if AnswerStatus.OK in statuses:
        wanted = or_(wanted, and_(Response.id.is_not(None), collected.id.is_(None)))
    rows = session.execute(
        select(
            Query.external_id,
            Category.name,
            Topic.name,
            Query.text,
            LLM.name,
            Response.text,
            LLM.title,
            collected.status,
            collected.error,
            collected.replied_as,
            collected.settings_digest,
            collected.prompt_tokens,
            collected.completion_tokens,
            collected.reasoning_tokens,
            collected.cost,
            collected.created_at,
        )
        .select_from(Query)
        .join(Topic, Topic.id == Query.topic_id)
        .join(Category, Category.id == Topic.category_id)
        .join(LLM, LLM.id == chosen)
        .outerjoin(Response, and_(Response.query_id == Query.id, Response.llm_id == chosen))
        .outerjoin(collected, and_(collected.query_id == Query.id, collected.llm_id == chosen))
        .where(Query.benchmark_id == benchmark.id, wanted)
        .order_by(Query.position, Query.id)
    )
    place = tuple(column.name for column in fields(AnswerRecord)).index("status")
    for row in rows:
        values: list[Any] = list(row)
        values[place] = None if values[place] is None else AnswerStatus(values[place])
        yield AnswerRecord(*values)
