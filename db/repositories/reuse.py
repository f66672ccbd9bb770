"""What other benchmarks hold of the same queries and LLMs, so that nothing is asked or computed twice.

An LLM is the same if it has the same name. A query is the same if it has the same text and is the same one
among those of this text in its benchmark: of several samples of an answer each stands for itself.
"""

from collections.abc import Sequence

import numpy as np
from sqlalchemy import ColumnElement, Subquery, and_, func, select
from sqlalchemy.orm import Session, aliased

from db.models import (
    CRM,
    LLM,
    Benchmark,
    CollectedResponse,
    CriteriaSet,
    Query,
    Representation,
    Response,
    ScoreMatrix,
)
from db.records import BenchmarkRef, ScoreKey, ScoreRow
from db.repositories import _rows
from db.repositories.scores import get_scores
from db.source_records import AnswerStatus, CollectedRecord


def answers_elsewhere(
    session: Session, benchmark: BenchmarkRef, llm: str, settings_digest: str
) -> dict[str, CollectedRecord]:
    """Return what an LLM of this name answered with these settings, by external id of the query here.

    The first answer is taken, whole, refused or truncated; failures are none. It cost nothing here: no
    attempt, tokens or money are counted again. What is to be asked for again there is not taken.
    """
    here, there = _numbered(benchmark, others=False), _numbered(benchmark, others=True)
    answered = CollectedResponse
    rows = session.execute(
        select(
            here.c.external_id,
            answered.status,
            answered.seconds,
            answered.reasoning,
            Response.text,
            answered.replied_as,
            answered.created_at,
        )
        .select_from(answered)
        .join(LLM, LLM.id == answered.llm_id)
        .join(there, there.c.id == answered.query_id)
        .join(here, _same_query(here, there))
        .outerjoin(Response, and_(Response.query_id == answered.query_id, Response.llm_id == answered.llm_id))
        .where(
            LLM.name == llm,
            answered.settings_digest == settings_digest,
            answered.status != AnswerStatus.FAILED.value,
            answered.ask_again.is_(False),
        )
        .order_by(answered.id.desc())
    )
    return {
        external_id: CollectedRecord(
            AnswerStatus(status),
            settings_digest,
            text,
            reasoning,
            seconds=seconds,
            attempts=0,
            replied_as=replied_as,
            collected_at=collected_at,
        )
        for external_id, status, seconds, reasoning, text, replied_as, collected_at in rows
    }


def benchmarks_with(session: Session, benchmark: BenchmarkRef, llm: str, name: str) -> list[BenchmarkRef]:
    """Return the other benchmarks that hold this representation of an LLM and share a query."""
    rows = session.execute(
        select(Benchmark.id, Benchmark.slug)
        .join(LLM, LLM.benchmark_id == Benchmark.id)
        .join(Representation, Representation.llm_id == LLM.id)
        .where(
            Benchmark.id != benchmark.id,
            LLM.name == llm,
            Representation.name == name,
            _shares_a_query(benchmark),
        )
        .order_by(Benchmark.id)
    )
    return [BenchmarkRef(*row) for row in rows]


def scores_elsewhere(
    session: Session, benchmark: BenchmarkRef, baseline: str, key: ScoreKey, llms: Sequence[str]
) -> dict[str, ScoreRow]:
    """Return verdicts of a judge on the same two responses to the same query, in the order of queries here.

    Args:
        baseline: The LLM that the others are compared with here.
        llms: Those of which verdicts are wanted.
    """
    place = {query: row for row, query in enumerate(_rows.query_ids(session, benchmark).values())}
    found: dict[str, ScoreRow] = {}
    for other in _scored_benchmarks(session, benchmark, key):
        order = {query: row for row, query in enumerate(_rows.query_ids(session, other).values())}
        stored = get_scores(session, other, key)
        for llm in (llm for llm in llms if llm in stored):
            row = found.setdefault(llm, _nothing(len(place)))
            for here, there in _same_pairs(session, benchmark, baseline, other, llm):
                if stored[llm].judged[order[there]]:
                    row.prob[place[here]] = stored[llm].prob[order[there]]
                    row.judged[place[here]] = True
    return found


def _nothing(n_queries: int) -> ScoreRow:
    return ScoreRow(np.full(n_queries, np.nan, dtype=np.float32), np.zeros(n_queries, dtype=np.bool_))


def _scored_benchmarks(session: Session, benchmark: BenchmarkRef, key: ScoreKey) -> list[BenchmarkRef]:
    """Return the other benchmarks with scores under the key that share a query and have a baseline."""
    rows = session.execute(
        select(Benchmark.id, Benchmark.slug)
        .join(ScoreMatrix, ScoreMatrix.benchmark_id == Benchmark.id)
        .join(CRM, CRM.id == ScoreMatrix.crm_id)
        .join(CriteriaSet, CriteriaSet.id == ScoreMatrix.criteria_set_id)
        .where(
            Benchmark.id != benchmark.id,
            Benchmark.baseline_llm_id.is_not(None),
            CRM.name == key.crm,
            CRM.version == key.crm_version,
            CriteriaSet.key == key.criteria,
            _shares_a_query(benchmark),
        )
        .distinct()
        .order_by(Benchmark.id)
    )
    return [BenchmarkRef(*row) for row in rows]


def _same_pairs(
    session: Session, benchmark: BenchmarkRef, baseline: str, other: BenchmarkRef, llm: str
) -> list[tuple[int, int]]:
    """Return the ids of queries here and there of equal text, with equal responses of LLM and baseline."""
    here, there = aliased(Query), aliased(Query)
    own, of_baseline = aliased(Response), aliased(Response)
    own_there, of_baseline_there = aliased(Response), aliased(Response)
    ids = _rows.llm_ids(session, benchmark, [llm, baseline])
    their = _rows.llm_id(session, other, llm)
    their_baseline = select(Benchmark.baseline_llm_id).where(Benchmark.id == other.id).scalar_subquery()
    rows = session.execute(
        select(here.id, there.id)
        .join(there, there.text_sha256 == here.text_sha256)
        .join(own, and_(own.query_id == here.id, own.llm_id == ids[llm]))
        .join(of_baseline, and_(of_baseline.query_id == here.id, of_baseline.llm_id == ids[baseline]))
        .join(own_there, and_(own_there.query_id == there.id, own_there.llm_id == their))
        .join(
            of_baseline_there,
            and_(of_baseline_there.query_id == there.id, of_baseline_there.llm_id == their_baseline),
        )
        .where(
            here.benchmark_id == benchmark.id,
            there.benchmark_id == other.id,
            own.text == own_there.text,
            of_baseline.text == of_baseline_there.text,
        )
        .order_by(there.id.desc())
    )
    return [(own_query, their_query) for own_query, their_query in rows]


def _shares_a_query(benchmark: BenchmarkRef) -> ColumnElement[bool]:
    """Return the condition, on the benchmark of the enclosing select, that it shares a query's text."""
    there, here = aliased(Query), aliased(Query)
    of_here = select(here.text_sha256).where(here.benchmark_id == benchmark.id)
    return (
        select(there.id)
        .where(there.benchmark_id == Benchmark.id, there.text_sha256.in_(of_here))
        .correlate(Benchmark)
        .exists()
    )


def _numbered(benchmark: BenchmarkRef, *, others: bool) -> Subquery:
    """Return the queries here, or of all other benchmarks, with a number among those of the same text."""
    return (
        select(
            Query.id,
            Query.external_id,
            Query.text_sha256,
            func.row_number()
            .over(partition_by=(Query.benchmark_id, Query.text_sha256), order_by=(Query.position, Query.id))
            .label("sample"),
        )
        .where(Query.benchmark_id != benchmark.id if others else Query.benchmark_id == benchmark.id)
        .subquery()
    )


def _same_query(here: Subquery, there: Subquery) -> ColumnElement[bool]:
    return and_(here.c.text_sha256 == there.c.text_sha256, here.c.sample == there.c.sample)
