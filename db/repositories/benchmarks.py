"""The benchmarks themselves: list, get, create or change, choose the baseline, freeze, delete."""

from dataclasses import asdict
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, exists, func, select, update
from sqlalchemy.orm import Session

from db.errors import DatabaseError, NotFoundError, known
from db.models import LLM, Benchmark, Category, Query, Response, SampledBenchmark, Topic, now
from db.records import (
    BenchmarkInfo,
    BenchmarkRecord,
    BenchmarkRef,
    BenchmarkSummary,
    CategoryRecord,
    LLMRecord,
    QueryRecord,
    SampleRecord,
    StepCount,
    TopicRecord,
)
from db.repositories import _rows
from db.repositories._rows import upsert
from db.repositories.scores import delete_scores


def find_benchmark(session: Session, slug: str) -> BenchmarkRef:
    """Return the benchmark of a slug, for the functions that work on one.

    Raises:
        NotFoundError: no benchmark has this slug.
    """
    return find_with_date(session, slug)[0]


def find_with_date(session: Session, slug: str) -> tuple[BenchmarkRef, datetime]:
    """Return the benchmark of a slug and when (UTC) its contents last changed; raises as the former."""
    found = session.execute(select(Benchmark.id, Benchmark.updated_at).where(Benchmark.slug == slug)).first()
    if found is None:
        slugs = session.scalars(select(Benchmark.slug).order_by(Benchmark.slug))
        raise NotFoundError(f"There is no benchmark {slug!r}; {known(slugs)}.")
    return BenchmarkRef(found[0], slug), found[1]


def list_benchmarks(session: Session) -> list[BenchmarkSummary]:
    """Return one line for every benchmark, by title."""
    n_queries = select(func.count()).where(Query.benchmark_id == Benchmark.id).scalar_subquery()
    n_llms = (
        select(func.count())
        .where(LLM.benchmark_id == Benchmark.id, LLM.id.is_distinct_from(Benchmark.baseline_llm_id))
        .scalar_subquery()
    )
    rows = session.execute(
        select(
            Benchmark.slug,
            Benchmark.title,
            Benchmark.version,
            n_queries,
            n_llms,
            _has_texts(),
            Benchmark.updated_at,
        ).order_by(Benchmark.title, Benchmark.slug)
    )
    return [BenchmarkSummary(*row) for row in rows]


def get_benchmark(session: Session, benchmark: BenchmarkRef) -> BenchmarkRecord:
    """Return a whole benchmark but for its texts and arrays."""
    row = session.execute(
        select(
            Benchmark.slug,
            Benchmark.title,
            Benchmark.description,
            Benchmark.version,
            Benchmark.licence,
            Benchmark.attribution,
            Benchmark.source_url,
            Benchmark.text_import_command,
            LLM.name,
            Benchmark.bundle_digest,
            _has_texts(),
            Benchmark.updated_at,
        )
        .outerjoin(LLM, LLM.id == Benchmark.baseline_llm_id)
        .where(Benchmark.id == benchmark.id)
    ).one()
    *info, baseline, digest, has_texts, updated_at = row
    return BenchmarkRecord(
        info=BenchmarkInfo(*info),
        baseline=baseline,
        categories=_categories(session, benchmark),
        queries=_queries(session, benchmark),
        llms=_llms(session, benchmark),
        bundle_digest=digest,
        has_texts=has_texts,
        updated_at=updated_at,
    )


def updated_at(session: Session, benchmark: BenchmarkRef) -> datetime:
    """Return when (UTC) the benchmark's contents last changed; much cheaper than the whole record."""
    return session.execute(select(Benchmark.updated_at).where(Benchmark.id == benchmark.id)).scalar_one()


def upsert_benchmark(session: Session, info: BenchmarkInfo) -> BenchmarkRef:
    """Create the benchmark, as one made by the user, or change what a stored one says about itself."""
    columns = asdict(info)
    stored = session.scalar(select(Benchmark.updated_at).where(Benchmark.slug == info.slug).with_for_update())
    row = columns | {"created_at": now(), "updated_at": _rows.after(stored)}
    upsert(session, Benchmark, [row], key=("slug",), update=(*columns, "updated_at"))
    return find_benchmark(session, info.slug)


def set_baseline(session: Session, benchmark: BenchmarkRef, llm: str | None) -> None:
    """Make the LLM the baseline, or leave the benchmark without one (None).

    Another baseline than before makes the stored scores of the benchmark void. Raises NotFoundError: the
    benchmark has no such LLM.
    """
    chosen = None if llm is None else _rows.llm_id(session, benchmark, llm)
    stored = session.scalar(select(Benchmark.baseline_llm_id).where(Benchmark.id == benchmark.id))
    if chosen == stored:
        return
    session.execute(update(Benchmark).where(Benchmark.id == benchmark.id).values(baseline_llm_id=chosen))
    _rows.touch(session, benchmark)
    delete_scores(session, benchmark)


def make_own(session: Session, benchmark: BenchmarkRef) -> bool:
    """Make a benchmark the user's own, which no bundle replaces; return whether it was a bundle's."""
    changed = session.scalars(
        update(Benchmark)
        .where(Benchmark.id == benchmark.id, Benchmark.bundle_digest.is_not(None))
        .values(bundle_digest=None)
        .returning(Benchmark.id)
    )
    return changed.first() is not None


def delete_benchmark(session: Session, benchmark: BenchmarkRef) -> None:
    """Delete a benchmark with everything that belongs to it."""
    session.execute(delete(Benchmark).where(Benchmark.id == benchmark.id))


def _has_texts() -> ColumnElement[bool]:
    """Return the condition, on the benchmark of the enclosing select, of `BenchmarkSummary.has_texts`."""
    query_of_benchmark = Query.benchmark_id == Benchmark.id
    query_without_text = exists().where(query_of_benchmark, Query.text.is_(None))
    answered = exists().where(Response.llm_id == LLM.id).correlate(LLM)
    llm_without_responses = exists().where(LLM.benchmark_id == Benchmark.id, ~answered).correlate(Benchmark)
    return and_(exists().where(query_of_benchmark), ~query_without_text, ~llm_without_responses)


def _categories(session: Session, benchmark: BenchmarkRef) -> tuple[CategoryRecord, ...]:
    rows = session.execute(
        select(Category.name, Topic.name, func.count(Query.id))
        .outerjoin(Topic, Topic.category_id == Category.id)
        .outerjoin(Query, Query.topic_id == Topic.id)
        .where(Category.benchmark_id == benchmark.id)
        .group_by(Category.id, Category.name, Category.position, Topic.id, Topic.name, Topic.position)
        .order_by(Category.position, Category.id, Topic.position, Topic.id)
    )
    topics: dict[str, list[TopicRecord]] = {}
    for category, topic, n_queries in rows:
        listed = topics.setdefault(category, [])
        if topic is not None:
            listed.append(TopicRecord(topic, n_queries))
    return tuple(
        CategoryRecord(category, sum(topic.n_queries for topic in listed), tuple(listed))
        for category, listed in topics.items()
    )


def _queries(session: Session, benchmark: BenchmarkRef) -> tuple[QueryRecord, ...]:
    rows = session.execute(
        select(Query.external_id, Category.name, Topic.name, Query.text_sha256, Query.text.is_not(None))
        .join(Topic, Topic.id == Query.topic_id)
        .join(Category, Category.id == Topic.category_id)
        .where(Query.benchmark_id == benchmark.id)
        .order_by(Query.position, Query.id)
    )
    return tuple(QueryRecord(*row) for row in rows)


def _llms(session: Session, benchmark: BenchmarkRef) -> tuple[LLMRecord, ...]:
    rows = session.execute(
        select(LLM.name, LLM.title, LLM.note)
        .where(LLM.benchmark_id == benchmark.id)
        .order_by(LLM.position, LLM.id)
    )
    return tuple(LLMRecord(*row) for row in rows)


def freeze(session: Session, benchmark: BenchmarkRef, sample: SampleRecord) -> None:
    """Freeze a benchmark as this version of its family, for ever.

    Raises:
        DatabaseError: it is frozen already, or another benchmark is this version of the family.
    """
    check_not_frozen(session, benchmark)
    taken = select(SampledBenchmark.benchmark_id).where(
        SampledBenchmark.family == sample.family, SampledBenchmark.version == sample.version
    )
    if session.scalar(taken) is not None:
        raise slug_is_taken(f"{sample.family}-v{sample.version}")
    session.add(
        SampledBenchmark(
            benchmark_id=benchmark.id,
            family=sample.family,
            version=sample.version,
            digest=sample.digest,
            settings=dict(sample.settings),
            counts=[{"step": count.step, "kept": count.kept} for count in sample.counts],
            created_at=sample.created_at or now(),
        )
    )
    session.flush()


def sample_of(session: Session, benchmark: BenchmarkRef) -> SampleRecord | None:
    """Return how a benchmark was sampled, None if it is not frozen."""
    row = session.execute(
        select(
            SampledBenchmark.family,
            SampledBenchmark.version,
            SampledBenchmark.digest,
            SampledBenchmark.settings,
            SampledBenchmark.counts,
            SampledBenchmark.created_at,
        ).where(SampledBenchmark.benchmark_id == benchmark.id)
    ).one_or_none()
    if row is None:
        return None
    family, version, digest, settings, counts, created_at = row
    steps = tuple(StepCount(**count) for count in counts)
    return SampleRecord(family, version, digest, settings, steps, created_at)


def sampled_as(session: Session, family: str, digest: str) -> str | None:
    """Return the slug of the version of a family that has this content, None if there is none."""
    return session.scalar(
        select(Benchmark.slug)
        .join(SampledBenchmark, SampledBenchmark.benchmark_id == Benchmark.id)
        .where(SampledBenchmark.family == family, SampledBenchmark.digest == digest)
        .order_by(SampledBenchmark.version)
        .limit(1)
    )


def last_version(session: Session, family: str) -> int:
    """Return the number of the latest version of a family, 0 if there is none."""
    latest = select(func.max(SampledBenchmark.version)).where(SampledBenchmark.family == family)
    return session.scalar(latest) or 0


def check_not_frozen(session: Session, benchmark: BenchmarkRef) -> None:
    """Check that the queries and topics of the benchmark may change. Raises DatabaseError: they may not."""
    frozen = select(SampledBenchmark.benchmark_id).where(SampledBenchmark.benchmark_id == benchmark.id)
    if session.scalar(frozen) is not None:
        raise DatabaseError(
            f"The benchmark {benchmark.slug!r} is frozen: its queries and topics never change. "
            "Sample a new version, or import under another slug."
        )


def slug_is_taken(slug: str) -> DatabaseError:
    """Return the error that another benchmark has this slug."""
    return DatabaseError(f"Another benchmark {slug!r} is stored; choose another slug with --benchmark.")
