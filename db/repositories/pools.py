"""Pools of queries, the topics found in them, and the log of what people changed in these.

A pool has every text once, in the order in which the texts were added.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Select, delete, exists, func, select, update
from sqlalchemy.orm import Session

from db.errors import NotFoundError, known
from db.models import CurationEdit, PoolQuery, QueryPool, TopicMap, now
from db.repositories import _rows
from db.repositories._rows import upsert
from db.serialization import pack, storable_text, text_sha256, unpack
from db.source_records import CurationRecord, FoundTopic, PoolQueryRecord, PoolRecord, PoolRef, TopicMapRecord

_POOL_DIGEST, _STEPS = "pool_digest", "steps"
"""Kept among the settings, as arrays and settings are read together."""


def find_pool(session: Session, slug: str) -> PoolRef:
    """Return the pool of a slug, for the functions that work on one.

    Raises:
        NotFoundError: no pool has this slug.
    """
    found = session.scalar(select(QueryPool.id).where(QueryPool.slug == slug))
    if found is None:
        slugs = session.scalars(select(QueryPool.slug).order_by(QueryPool.title, QueryPool.slug))
        raise NotFoundError(f"There is no query pool {slug!r}; {known(slugs)}.")
    return PoolRef(found, slug)


def list_pools(session: Session) -> list[PoolRecord]:
    """Return every pool, by title."""
    rows = session.execute(_pools().order_by(QueryPool.title, QueryPool.slug))
    return [PoolRecord(*row) for row in rows]


def get_pool(session: Session, pool: PoolRef) -> PoolRecord:
    """Return what a pool says about itself."""
    return PoolRecord(*session.execute(_pools().where(QueryPool.id == pool.id)).one())


def put_pool(session: Session, slug: str, title: str | None = None) -> PoolRef:
    """Create a pool without queries, or gives a stored one another title."""
    row = {"slug": slug, "title": title or slug, "created_at": now(), "updated_at": now()}
    upsert(session, QueryPool, [row], key=("slug",), update=("title",) if title else ())
    return find_pool(session, slug)


def add_to_pool(session: Session, pool: PoolRef, queries: Iterable[tuple[str, str]]) -> int:
    """Add queries, as (text, origin), after the stored ones, unless their text is there; return how many."""
    stored = set(session.scalars(select(PoolQuery.text_sha256).where(PoolQuery.pool_id == pool.id)))
    rows: list[dict[str, object]] = []
    for text, origin in queries:
        sha256 = text_sha256(text)
        if sha256 in stored:
            continue
        stored.add(sha256)
        rows.append(
            {
                "pool_id": pool.id,
                "position": len(stored) - 1,
                "text": storable_text(text),
                "text_sha256": sha256,
                "origin": origin,
            }
        )
    if rows:
        upsert(session, PoolQuery, rows, key=("pool_id", "text_sha256"))
        _touch(session, pool)
    return len(rows)


def pool_queries(session: Session, pool: PoolRef) -> tuple[PoolQueryRecord, ...]:
    """Return the queries of a pool in position order."""
    rows = session.execute(
        select(PoolQuery.text, PoolQuery.text_sha256, PoolQuery.origin)
        .where(PoolQuery.pool_id == pool.id)
        .order_by(PoolQuery.position)
    )
    return tuple(PoolQueryRecord(*row) for row in rows)


def delete_pool(session: Session, pool: PoolRef) -> None:
    """Delete a pool with its queries, topics and curation; benchmarks sampled from it stay."""
    session.execute(delete(QueryPool).where(QueryPool.id == pool.id))


def put_topic_map(session: Session, pool: PoolRef, found: TopicMapRecord) -> None:
    """Store the topics of a pool in place of earlier ones, whose curation is deleted with them."""
    session.execute(delete(TopicMap).where(TopicMap.pool_id == pool.id))
    session.add(
        TopicMap(
            pool_id=pool.id,
            digest=found.digest,
            settings=dict(found.settings),
            topics=[asdict(topic) for topic in found.topics],
            quality=_quality(found),
            payload=_payload(found),
            created_at=found.created_at or now(),
        )
    )
    session.flush()


def extend_topic_map(session: Session, pool: PoolRef, found: TopicMapRecord) -> None:
    """Store the topics of a pool with queries that were added to it; their curation stays."""
    session.execute(
        update(TopicMap)
        .where(TopicMap.pool_id == pool.id)
        .values(
            digest=found.digest,
            settings=dict(found.settings),
            quality=_quality(found),
            payload=_payload(found),
        )
    )
    _touch(session, pool)


def _quality(found: TopicMapRecord) -> dict[str, Any]:
    return {"figures": dict(found.quality), _POOL_DIGEST: found.pool_digest, _STEPS: list(found.steps)}


def _payload(found: TopicMapRecord) -> bytes:
    return pack({"topic_of": found.topic_of, "step_of": found.step_of, "xy": found.xy})


def set_topics(session: Session, pool: PoolRef, digest: str, topics: Sequence[FoundTopic]) -> None:
    """Give the topics of a pool other names and summaries; nothing changes if they are not those any more.

    `topics` are all topics of the topic map with this digest, in their order.
    """
    session.execute(
        update(TopicMap)
        .where(TopicMap.pool_id == pool.id, TopicMap.digest == digest)
        .values(topics=[asdict(topic) for topic in topics])
    )
    _touch(session, pool)


def get_topic_map(session: Session, pool: PoolRef) -> TopicMapRecord:
    """Return the topics of a pool as they were found.

    Raises:
        NotFoundError: no topics were looked for in it.
        DatabaseError: the stored bytes are damaged.
    """
    row = session.execute(
        select(
            TopicMap.topics,
            TopicMap.quality,
            TopicMap.payload,
            TopicMap.digest,
            TopicMap.settings,
            TopicMap.created_at,
        ).where(TopicMap.pool_id == pool.id)
    ).one_or_none()
    if row is None:
        raise _no_topics(pool)
    topics, quality, payload, digest, settings, created_at = row
    arrays = unpack(payload)
    return TopicMapRecord(
        topics=tuple(FoundTopic(**{**topic, "keywords": tuple(topic["keywords"])}) for topic in topics),
        steps=tuple(quality[_STEPS]),
        topic_of=arrays["topic_of"],
        step_of=arrays["step_of"],
        xy=arrays["xy"],
        pool_digest=quality[_POOL_DIGEST],
        digest=digest,
        settings=settings,
        quality=quality["figures"],
        created_at=created_at,
    )


def topic_map_digest(session: Session, pool: PoolRef) -> str:
    """Return the digest of a pool's topics as they were found; much cheaper than the topics.

    Raises:
        NotFoundError: no topics were looked for in it.
    """
    digest = session.scalar(select(TopicMap.digest).where(TopicMap.pool_id == pool.id))
    if digest is None:
        raise _no_topics(pool)
    return digest


def curation_of(session: Session, pool: PoolRef) -> tuple[CurationRecord, ...]:
    """Return every change made to the topics of a pool, in order, the undone ones included.

    Raises NotFoundError: no topics were looked for in it.
    """
    rows = session.execute(
        select(
            CurationEdit.position,
            CurationEdit.action,
            CurationEdit.reason,
            CurationEdit.created_at,
            CurationEdit.undone_at,
        )
        .where(CurationEdit.topic_map_id == _map_id(session, pool))
        .order_by(CurationEdit.position)
    )
    return tuple(CurationRecord(*row) for row in rows)


def add_curation(session: Session, pool: PoolRef, action: Mapping[str, Any], reason: str) -> CurationRecord:
    """Append a change to the log; hold `db.database.exclusive`, so that it is made to what was looked at.

    Raises NotFoundError: no topics were looked for in it.
    """
    topic_map = _map_id(session, pool)
    n_edits = session.scalar(select(func.count()).where(CurationEdit.topic_map_id == topic_map)) or 0
    record = CurationRecord(n_edits, dict(action), reason, now())
    session.add(CurationEdit(topic_map_id=topic_map, **asdict(record)))
    session.flush()
    return record


def undo_curation(session: Session, pool: PoolRef) -> CurationRecord | None:
    """Mark the last change that is not undone as undone; return it as it was, None if there is none.

    Raises NotFoundError: no topics were looked for in it.
    """
    last = next((edit for edit in reversed(curation_of(session, pool)) if edit.undone_at is None), None)
    if last is not None:
        session.execute(
            update(CurationEdit)
            .filter_by(topic_map_id=_map_id(session, pool), position=last.position)
            .values(undone_at=now())
        )
    return last


def _pools() -> Select[Any]:
    n_queries = select(func.count()).where(PoolQuery.pool_id == QueryPool.id).scalar_subquery()
    has_topics = exists().where(TopicMap.pool_id == QueryPool.id)
    return select(QueryPool.slug, QueryPool.title, n_queries, has_topics, QueryPool.updated_at)


def _touch(session: Session, pool: PoolRef) -> None:
    stored = session.scalar(select(QueryPool.updated_at).where(QueryPool.id == pool.id).with_for_update())
    moment = _rows.after(stored)
    session.execute(update(QueryPool).where(QueryPool.id == pool.id).values(updated_at=moment))


def _map_id(session: Session, pool: PoolRef) -> int:
    found = session.scalar(select(TopicMap.id).where(TopicMap.pool_id == pool.id))
    if found is None:
        raise _no_topics(pool)
    return found


def _no_topics(pool: PoolRef) -> NotFoundError:
    return NotFoundError(
        f"The query pool {pool.slug!r} has no topics yet: run “python -m precompute cluster {pool.slug}”."
    )
