"""What belongs to an LLM, a benchmark or a pool, and goes with it when it is removed.

The tables' references delete what belongs to a deleted row. Hold `db.database.exclusive`, so that nothing is
written beside it.
"""

from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.orm import Session

from db.errors import DatabaseError
from db.models import (
    LLM,
    Base,
    Benchmark,
    CollectedResponse,
    CollectionBatch,
    CurationEdit,
    PoolQuery,
    Query,
    RemovedBenchmark,
    Representation,
    Response,
    ScoreMatrix,
    TopicMap,
    WinRate,
    now,
)
from db.records import BenchmarkRef
from db.repositories import _rows
from db.repositories._rows import upsert
from db.repositories.benchmarks import delete_benchmark, make_own
from db.source_records import BatchState, PoolRef

Contents = dict[str, int]
"""How many of what there is, in words for a sentence; what there is none of is left out."""


def benchmarks_with_llm(session: Session, llm: str) -> list[BenchmarkRef]:
    """Return the benchmarks that have an LLM of this name, by slug."""
    rows = session.execute(
        select(Benchmark.id, Benchmark.slug)
        .join(LLM, LLM.benchmark_id == Benchmark.id)
        .where(LLM.name == llm)
        .order_by(Benchmark.slug)
    )
    return [BenchmarkRef(*row) for row in rows]


def llm_contents(session: Session, benchmark: BenchmarkRef, llm: str) -> Contents:
    """Return what belongs to an LLM. Raises NotFoundError: the benchmark has no such LLM."""
    return _of_llms(session, LLM.id == _rows.llm_id(session, benchmark, llm))


def benchmark_contents(session: Session, benchmark: BenchmarkRef) -> Contents:
    """Return what belongs to a benchmark."""
    of_benchmark = LLM.benchmark_id == benchmark.id
    under_way = and_(
        CollectionBatch.benchmark_id == benchmark.id, CollectionBatch.state == BatchState.UNDER_WAY.value
    )
    return _present(
        {
            "queries": _count(session, Query, Query.benchmark_id == benchmark.id),
            "LLMs": _count(session, LLM, of_benchmark),
            **_of_llms(session, of_benchmark),
            "batches under way": _count(session, CollectionBatch, under_way),
        }
    )


def pool_contents(session: Session, pool: PoolRef) -> Contents:
    """Return what belongs to a pool."""
    maps = select(TopicMap.id).where(TopicMap.pool_id == pool.id)
    topics = session.scalar(select(TopicMap.topics).where(TopicMap.pool_id == pool.id))
    return _present(
        {
            "queries": _count(session, PoolQuery, PoolQuery.pool_id == pool.id),
            "topics": len(topics or ()),
            "changes to topics": _count(session, CurationEdit, CurationEdit.topic_map_id.in_(maps)),
        }
    )


def llm_names(session: Session) -> list[str]:
    """Return the names of all LLMs of all benchmarks."""
    return list(session.scalars(select(LLM.name).distinct().order_by(LLM.name)))


def check_removable(session: Session, benchmark: BenchmarkRef, llm: str) -> None:
    """Check that an LLM may go.

    Raises NotFoundError: the benchmark has no such LLM. Raises DatabaseError: it is the baseline.
    """
    chosen = _rows.llm_id(session, benchmark, llm)
    if chosen == session.scalar(select(Benchmark.baseline_llm_id).where(Benchmark.id == benchmark.id)):
        raise DatabaseError(
            f"{llm!r} is the baseline of {benchmark.slug!r}, with which the others are compared: choose "
            f"another first with “python -m precompute benchmarks baseline {benchmark.slug} NAME”."
        )


def remove_llm(session: Session, benchmark: BenchmarkRef, llm: str) -> None:
    """Delete an LLM with all that belongs to it; a bundled benchmark becomes the user's own.

    Raises NotFoundError: the benchmark has no such LLM. Raises DatabaseError: it is the baseline.
    """
    check_removable(session, benchmark, llm)
    session.execute(delete(LLM).where(LLM.id == _rows.llm_id(session, benchmark, llm)))
    # A later version of the bundled file would bring it back.
    make_own(session, benchmark)
    _rows.touch(session, benchmark)


def remove_benchmark(session: Session, benchmark: BenchmarkRef) -> None:
    """Delete a benchmark with all that belongs to it; no bundled file fills it again by itself."""
    delete_benchmark(session, benchmark)
    upsert(session, RemovedBenchmark, [{"slug": benchmark.slug, "removed_at": now()}], key=("slug",))


def removed_benchmarks(session: Session) -> set[str]:
    """Return the slugs of benchmarks that were removed and not brought back from a bundle."""
    return set(session.scalars(select(RemovedBenchmark.slug)))


def _of_llms(session: Session, chosen: ColumnElement[bool]) -> Contents:
    llms = select(LLM.id).where(chosen)
    kinds: dict[str, type[Response | CollectedResponse | Representation | ScoreMatrix | WinRate]] = {
        "responses": Response,
        "records of how they were collected": CollectedResponse,
        "representations": Representation,
        "rows of scores": ScoreMatrix,
        "win rates": WinRate,
    }
    return _present({words: _count(session, table, table.llm_id.in_(llms)) for words, table in kinds.items()})


def _count(session: Session, table: type[Base], where: ColumnElement[bool]) -> int:
    return session.scalar(select(func.count()).select_from(table).where(where)) or 0


def _present(counts: Contents) -> Contents:
    return {words: n for words, n in counts.items() if n}
