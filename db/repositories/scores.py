"""Score matrices, whole or in part, and the win rates they come to.

A matrix has one compressed row per CRM, criteria set and LLM. It is stored while it is being filled, so that
a job that ends early is continued, not repeated. Win rates are computed from a whole matrix and stored for
readers of SQL: they say nothing that the matrix does not say, and are deleted whenever it is or the queries
move to other topics. Those of bundled benchmarks come without their matrices.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from sqlalchemy import delete, exists, func, or_, select
from sqlalchemy.orm import Session

from db.errors import DatabaseError, NotFoundError
from db.models import CRM, LLM, Category, CriteriaSet, Query, ScoreMatrix, WinRate
from db.records import BenchmarkRef, ScoreKey, ScoreRow, StoredScores, WinRateRecord
from db.repositories import _rows
from db.repositories._rows import upsert
from db.serialization import pack, unpack

ALL_QUERIES = ""
"""What stands in place of a category where all queries count."""

_MEASURES = ("hard", "soft", "ci_low", "ci_high", "n_queries")


def put_scores(
    session: Session,
    benchmark: BenchmarkRef,
    key: ScoreKey,
    criteria: Sequence[object],
    scores: Mapping[str, ScoreRow],
    *,
    computed_from: datetime | None = None,
) -> None:
    """Add to the scores of some or all LLMs under a CRM and a criteria set what is judged in the rows.

    What was judged before stays, also what another process stored a moment ago.

    `criteria` is the criteria set itself, as a JSON list; `computed_from` is the `updated_at` of the
    benchmark when its contents were read for scoring. Raises NotFoundError: the benchmark lacks one of the
    LLMs. Raises DatabaseError: it has changed since `computed_from`, so the scores may be of other responses;
    a row has another length than the benchmark has queries, or stored bytes are damaged.
    """
    llms = _rows.llm_ids(session, benchmark, needed=scores)
    common = {
        "crm_id": _crm_id(session, key),
        "criteria_set_id": _criteria_set_id(session, key, criteria),
        "benchmark_id": benchmark.id,
        "created_at": _rows.after(session.scalar(select(func.max(ScoreMatrix.created_at)))),
    }
    # From here on nobody else writes these scores, nor (on PostgreSQL by the lock) changes the benchmark.
    _rows.check_unchanged(session, benchmark, computed_from)
    _check_lengths(session, benchmark, scores)
    stored = get_scores(session, benchmark, key)
    rows = {llm: row.onto(stored[llm]) if llm in stored else row for llm, row in scores.items()}
    upsert(
        session,
        ScoreMatrix,
        [
            common | {"llm_id": llms[llm], "payload": pack({"prob": row.prob, "judged": row.judged})}
            for llm, row in rows.items()
        ],
        key=("crm_id", "criteria_set_id", "llm_id"),
        update=("payload", "created_at"),
    )


def get_scores(session: Session, benchmark: BenchmarkRef, key: ScoreKey) -> dict[str, ScoreRow]:
    """Return what is stored, by LLM in LLM order; LLMs of which nothing is stored are left out.

    Raises DatabaseError: the stored bytes are damaged.
    """
    rows = session.execute(
        select(LLM.name, ScoreMatrix.payload)
        .join(ScoreMatrix, ScoreMatrix.llm_id == LLM.id)
        .join(CRM, CRM.id == ScoreMatrix.crm_id)
        .join(CriteriaSet, CriteriaSet.id == ScoreMatrix.criteria_set_id)
        .where(
            ScoreMatrix.benchmark_id == benchmark.id,
            CRM.name == key.crm,
            CRM.version == key.crm_version,
            CriteriaSet.key == key.criteria,
        )
        .order_by(LLM.position, LLM.id)
    )
    return {llm: _unpacked(payload) for llm, payload in rows}


def list_scores(session: Session, benchmark: BenchmarkRef) -> list[StoredScores]:
    """Return what score matrices of the benchmark are stored, by CRM, version and criteria set's key."""
    return _list_stored(session, benchmark, ScoreMatrix)


def list_win_rates(session: Session, benchmark: BenchmarkRef) -> list[StoredScores]:
    """Return under what there are win rates of the benchmark, by CRM, version and criteria set's key."""
    return _list_stored(session, benchmark, WinRate)


def _list_stored(
    session: Session, benchmark: BenchmarkRef, table: type[ScoreMatrix | WinRate]
) -> list[StoredScores]:
    rows = session.execute(
        select(CRM.name, CRM.version, CriteriaSet.key, CriteriaSet.criteria)
        .where(
            CRM.id == table.crm_id,
            CriteriaSet.id == table.criteria_set_id,
            table.benchmark_id == benchmark.id,
        )
        .group_by(CRM.id, CRM.name, CRM.version, CriteriaSet.id, CriteriaSet.key)
    )
    found = [
        StoredScores(ScoreKey(crm, version, key), tuple(criteria)) for crm, version, key, criteria in rows
    ]
    return sorted(found, key=lambda scores: (scores.key.crm, scores.key.crm_version, scores.key.criteria))


def delete_scores(session: Session, benchmark: BenchmarkRef) -> None:
    """Delete every stored score of the benchmark, and the win rates that were computed from them."""
    session.execute(delete(ScoreMatrix).where(ScoreMatrix.benchmark_id == benchmark.id))
    delete_win_rates(session, benchmark)


def prune_scores(session: Session, keep: int) -> int:
    """Delete all criteria sets but the `keep` whose scores were stored last; return how many.

    Sets of which there are only win rates, those of bundled benchmarks, stay and are not counted.
    """
    stored_last = func.max(ScoreMatrix.created_at)
    has_win_rates = exists().where(WinRate.criteria_set_id == CriteriaSet.id)
    by_age = session.scalars(
        select(CriteriaSet.id)
        .outerjoin(ScoreMatrix, ScoreMatrix.criteria_set_id == CriteriaSet.id)
        .where(or_(ScoreMatrix.id.is_not(None), ~has_win_rates))
        .group_by(CriteriaSet.id)
        .order_by(stored_last.is_not(None).desc(), stored_last.desc(), CriteriaSet.id.desc())
    ).all()
    surplus = by_age[keep:]
    session.execute(delete(CriteriaSet).where(CriteriaSet.id.in_(surplus)))
    return len(surplus)


def put_win_rates(
    session: Session,
    benchmark: BenchmarkRef,
    key: ScoreKey,
    records: Sequence[WinRateRecord],
    *,
    computed_from: datetime | None = None,
    criteria: Sequence[object] | None = None,
) -> None:
    """Store the win rates under a CRM and a criteria set in place of those that are stored.

    The records are all of them, each LLM and category once; `computed_from` is as in `put_scores`. With
    `criteria`, the criteria set as a JSON list, the scores that they were computed from need not be stored.

    Raises:
        NotFoundError: the benchmark lacks one of the LLMs, or there are no scores under this key that the win
            rates could have been computed from.
        DatabaseError: the benchmark has changed since `computed_from`.
    """
    llms = _rows.llm_ids(session, benchmark, needed=(record.llm for record in records))
    crm: int | None
    criteria_set: int | None
    if criteria is not None:
        crm, criteria_set = _crm_id(session, key), _criteria_set_id(session, key, criteria)
    else:
        crm = session.scalar(select(CRM.id).filter_by(name=key.crm, version=key.crm_version))
        criteria_set = session.scalar(select(CriteriaSet.id).where(CriteriaSet.key == key.criteria))
    if crm is None or criteria_set is None:
        raise NotFoundError(
            f"No scores of {benchmark.slug!r} by {key.crm!r} are stored under these criteria; "
            "store them first."
        )
    common = {"benchmark_id": benchmark.id, "crm_id": crm, "criteria_set_id": criteria_set}
    # Deleting first takes SQLite's write lock, so that nothing changes between the check and the end.
    session.execute(delete(WinRate).filter_by(**common))
    _rows.check_unchanged(session, benchmark, computed_from)
    rows = [
        common
        | {"llm_id": llms[record.llm], "category": record.category}
        | {measure: getattr(record, measure) for measure in _MEASURES}
        for record in records
    ]
    # Another process may have stored the same a moment ago.
    upsert(session, WinRate, rows, key=("crm_id", "criteria_set_id", "llm_id", "category"), update=_MEASURES)


def get_win_rates(session: Session, benchmark: BenchmarkRef, key: ScoreKey) -> tuple[WinRateRecord, ...]:
    """Return what is stored: all queries first, then by category; within each by LLM order."""
    stored = session.execute(select(Category.name, Category.position).filter_by(benchmark_id=benchmark.id))
    places = dict(stored.all())
    rows = session.execute(
        select(LLM.name, WinRate.category, *(getattr(WinRate, measure) for measure in _MEASURES))
        .join(LLM, LLM.id == WinRate.llm_id)
        .join(CRM, CRM.id == WinRate.crm_id)
        .join(CriteriaSet, CriteriaSet.id == WinRate.criteria_set_id)
        .where(
            WinRate.benchmark_id == benchmark.id,
            CRM.name == key.crm,
            CRM.version == key.crm_version,
            CriteriaSet.key == key.criteria,
        )
        .order_by(LLM.position, LLM.id)
    )
    found = [WinRateRecord(*row) for row in rows]
    return tuple(sorted(found, key=lambda record: (places.get(record.category, -1), record.category)))


def win_rate_coverage(
    session: Session, benchmark: BenchmarkRef, crm: str, crm_version: str
) -> dict[str, dict[str, int]]:
    """Return on how many queries each LLM's win rate over all queries rests, by key of the criteria set.

    Win rates whose scores are not stored, those of bundled benchmarks, are left out.
    """
    rows = session.execute(
        select(CriteriaSet.key, LLM.name, WinRate.n_queries)
        .join(LLM, LLM.id == WinRate.llm_id)
        .join(CRM, CRM.id == WinRate.crm_id)
        .join(CriteriaSet, CriteriaSet.id == WinRate.criteria_set_id)
        .where(
            WinRate.benchmark_id == benchmark.id,
            WinRate.category == ALL_QUERIES,
            CRM.name == crm,
            CRM.version == crm_version,
            exists().where(
                ScoreMatrix.crm_id == WinRate.crm_id,
                ScoreMatrix.criteria_set_id == WinRate.criteria_set_id,
                ScoreMatrix.llm_id == WinRate.llm_id,
            ),
        )
    )
    covered: dict[str, dict[str, int]] = {}
    for criteria, llm, n_queries in rows:
        covered.setdefault(criteria, {})[llm] = n_queries
    return covered


def delete_win_rates(session: Session, benchmark: BenchmarkRef) -> None:
    """Delete every win rate of the benchmark; to be called when queries change their topic or category."""
    session.execute(delete(WinRate).where(WinRate.benchmark_id == benchmark.id))


def _check_lengths(session: Session, benchmark: BenchmarkRef, scores: Mapping[str, ScoreRow]) -> None:
    n_queries = session.scalar(select(func.count()).where(Query.benchmark_id == benchmark.id))
    for llm, row in scores.items():
        if row.prob.shape != (n_queries,) or row.judged.shape != (n_queries,):
            raise DatabaseError(
                f"The scores of {llm!r} are {row.prob.shape}, but there are {n_queries} queries."
            )


def _unpacked(payload: bytes) -> ScoreRow:
    arrays = unpack(payload)
    if "prob" not in arrays:
        raise DatabaseError("The stored arrays are no scores.")
    prob = arrays["prob"]
    # Before matrices were stored in part, a number was missing only where a response was.
    return ScoreRow(prob, arrays.get("judged", np.isfinite(prob)))


def _crm_id(session: Session, key: ScoreKey) -> int:
    row = {"name": key.crm, "version": key.crm_version}
    upsert(session, CRM, [row], key=("name", "version"))
    return session.scalars(select(CRM.id).filter_by(**row)).one()


def _criteria_set_id(session: Session, key: ScoreKey, criteria: Sequence[object]) -> int:
    # Writing a stored set again locks it: `prune_scores` cannot take it away before its scores are there, and
    # processes that store the same scores do so one after another instead of waiting for each other's rows.
    row = {"key": key.criteria, "criteria": list(criteria)}
    upsert(session, CriteriaSet, [row], key=("key",), update=("criteria",))
    return session.scalars(select(CriteriaSet.id).where(CriteriaSet.key == key.criteria)).one()
