"""Finished score matrices: computed once by a slow CRM, one compressed row per CRM, criteria set and LLM."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from db.errors import LLMNotFoundError
from db.models import CRM, LLM, Benchmark, CriteriaSet, ScoreMatrix, now
from db.payload import pack, unpack
from db.records import ScoreKey
from db.repositories import _lookup
from db.repositories._upsert import upsert


def put_scores(
    session: Session,
    slug: str,
    key: ScoreKey,
    criteria: Sequence[object],
    scores: Mapping[str, Mapping[str, NDArray[Any]]],
) -> None:
    """Stores the arrays of some or all LLMs under a CRM and a criteria set; stored ones are replaced.

    Several processes may store the same rows at the same moment.

    Args:
        session: an open session.
        slug: the benchmark.
        key: the CRM and the criteria set.
        criteria: the criteria set itself, as a JSON list.
        scores: for each LLM its arrays, by convention with one entry a query in position order.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        LLMNotFoundError: the benchmark lacks one of the LLMs.
        PayloadError: an array holds Python objects.
    """
    benchmark = _lookup.benchmark_id(session, slug)
    llms = _lookup.llm_ids(session, benchmark)
    unknown = next((llm for llm in scores if llm not in llms), None)
    if unknown is not None:
        raise LLMNotFoundError(slug, unknown, llms)
    common = {
        "crm_id": _crm_id(session, key),
        "criteria_set_id": _criteria_set_id(session, key, criteria),
        "benchmark_id": benchmark,
        "created_at": now(),
    }
    upsert(
        session,
        ScoreMatrix,
        [common | {"llm_id": llms[llm], "payload": pack(scores[llm])} for llm in scores],
        key=("crm_id", "criteria_set_id", "llm_id"),
        update=("payload", "created_at"),
    )


def get_scores(session: Session, slug: str, key: ScoreKey) -> dict[str, dict[str, NDArray[Any]]] | None:
    """Returns the stored arrays by LLM, in LLM order; None unless every LLM but the baseline has its own.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        PayloadError: the stored bytes are damaged.
    """
    needed = session.scalars(
        select(LLM.name)
        .join(Benchmark, Benchmark.id == LLM.benchmark_id)
        .where(Benchmark.slug == slug, LLM.id.is_distinct_from(Benchmark.baseline_llm_id))
    )
    scores = get_partial_scores(session, slug, key)
    return scores if all(llm in scores for llm in needed) else None


def get_partial_scores(session: Session, slug: str, key: ScoreKey) -> dict[str, dict[str, NDArray[Any]]]:
    """Returns the stored arrays by LLM, in LLM order, of those LLMs that have any.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        PayloadError: the stored bytes are damaged.
    """
    rows = session.execute(
        select(LLM.name, ScoreMatrix.payload)
        .join(ScoreMatrix, ScoreMatrix.llm_id == LLM.id)
        .join(CRM, CRM.id == ScoreMatrix.crm_id)
        .join(CriteriaSet, CriteriaSet.id == ScoreMatrix.criteria_set_id)
        .where(
            ScoreMatrix.benchmark_id == _lookup.benchmark_id(session, slug),
            CRM.name == key.crm,
            CRM.version == key.crm_version,
            CriteriaSet.key == key.criteria,
        )
        .order_by(LLM.position, LLM.id)
    )
    return {llm: unpack(payload) for llm, payload in rows}


def delete_scores(session: Session, slug: str) -> None:
    """Deletes every stored score of the benchmark.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
    """
    benchmark = _lookup.benchmark_id(session, slug)
    session.execute(delete(ScoreMatrix).where(ScoreMatrix.benchmark_id == benchmark))


def prune_scores(session: Session, keep: int) -> int:
    """Keeps the `keep` criteria sets whose scores were stored last, over all benchmarks; deletes the others.

    Returns:
        how many criteria sets were deleted, each with its scores.
    """
    stored_last = func.max(ScoreMatrix.created_at)
    by_age = session.scalars(
        select(CriteriaSet.id)
        .outerjoin(ScoreMatrix, ScoreMatrix.criteria_set_id == CriteriaSet.id)
        .group_by(CriteriaSet.id)
        .order_by(stored_last.is_not(None).desc(), stored_last.desc(), CriteriaSet.id.desc())
    ).all()
    surplus = by_age[keep:]
    session.execute(delete(CriteriaSet).where(CriteriaSet.id.in_(surplus)))
    return len(surplus)


def _crm_id(session: Session, key: ScoreKey) -> int:
    row = {"name": key.crm, "version": key.crm_version}
    upsert(session, CRM, [row], key=("name", "version"))
    return session.scalars(select(CRM.id).filter_by(**row)).one()


def _criteria_set_id(session: Session, key: ScoreKey, criteria: Sequence[object]) -> int:
    # Writing a stored set anew locks it: `prune_scores` cannot take it away before its scores are there, and
    # processes that store the same scores do so one after another instead of waiting for each other's rows.
    row = {"key": key.criteria, "criteria": list(criteria)}
    upsert(session, CriteriaSet, [row], key=("key",), update=("criteria",))
    return session.scalars(select(CriteriaSet.id).where(CriteriaSet.key == key.criteria)).one()
