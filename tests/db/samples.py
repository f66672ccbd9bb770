"""A small benchmark that several tests use."""

import numpy as np
from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from db.bundle import Bundle
from db.models import LLM, Base, CollectedResponse, Query, Response
from db.records import BenchmarkInfo, BenchmarkRef, CategoryTree, LLMRecord, QuerySource, ScoreKey, ScoreRow
from db.repositories import benchmarks, contents, representations, scores
from db.serialization import pack, text_sha256
from db.source_records import AnswerStatus, CollectedRecord

SLUG = "tiny"
INFO = BenchmarkInfo(
    SLUG, "Tiny", version="1", licence="CC0", text_import_command="python -m precompute import"
)
TREE = (CategoryTree("Home", ("Cooking", "Garden")), CategoryTree("Work", ("Mail",)))
LLMS = (LLMRecord("base", "The baseline"), LLMRecord("zeta", "Zeta", "a note"), LLMRecord("alpha", "Alpha"))
TEXTS = {"q2": "How do I boil an egg?", "q1": "Write a short mail.", "q3": "Prune my roses?"}
TOPICS = {"q2": ("Home", "Cooking"), "q1": ("Work", "Mail"), "q3": ("Home", "Garden")}
KEY = ScoreKey("judge", "1", "c" * 64)


def queries(with_text: bool = True) -> tuple[QuerySource, ...]:
    return tuple(
        QuerySource(name, *TOPICS[name], text_sha256(text), text if with_text else None)
        for name, text in TEXTS.items()
    )


def responses(llm: str) -> dict[str, str]:
    return {name: f"{llm} answers {name}" for name in TEXTS}


def arrays(seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {"phi": generator.normal(size=(3, 4)).astype(np.float32), "length": np.arange(3)}


def bundle(with_texts: bool = True) -> Bundle:
    return Bundle(
        info=INFO,
        baseline="base",
        categories=TREE,
        llms=LLMS,
        queries=queries(with_texts),
        responses={llm.name: responses(llm.name) for llm in LLMS} if with_texts else {},
        representations={"style-1": {llm.name: pack(arrays(place)) for place, llm in enumerate(LLMS)}},
        query_representations={"style-1": pack(arrays(9))},
    )


def row_counts(session: Session) -> dict[str, int]:
    return {
        table.name: session.execute(select(func.count()).select_from(table)).scalar_one()
        for table in Base.metadata.sorted_tables
    }


def all_rows(session: Session) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, but for the moments they were written at."""
    return {
        table.name: [
            tuple(row)
            for row in session.execute(
                select(*(column for column in table.columns if not column.name.endswith("_at"))).order_by(
                    *table.primary_key.columns
                )
            )
        ]
        for table in Base.metadata.sorted_tables
    }


def store(session: Session) -> None:
    """Stores the benchmark step by step, as an importer does."""
    benchmark = benchmarks.upsert_benchmark(session, INFO)
    contents.upsert_categories(session, benchmark, TREE)
    contents.upsert_llms(session, benchmark, LLMS)
    benchmarks.set_baseline(session, benchmark, "base")
    contents.upsert_queries(session, benchmark, queries())
    for place, llm in enumerate(LLMS):
        contents.set_responses(session, benchmark, llm.name, responses(llm.name))
        representations.put_representation(session, benchmark, llm.name, "style-1", arrays(place))
    representations.put_query_representation(session, benchmark, "style-1", arrays(9))


def score_row(*prob: float | None) -> ScoreRow:
    """A row in which None is a query that has not been judged."""
    return ScoreRow(
        np.array([np.nan if value is None else value for value in prob], dtype=np.float32),
        np.array([value is not None for value in prob]),
    )


def store_scores(session: Session, key: ScoreKey = KEY) -> None:
    rows = {"zeta": score_row(0.1, 0.2, 0.3), "alpha": score_row(0.4, 0.5, 0.6)}
    scores.put_scores(session, benchmarks.find_benchmark(session, SLUG), key, [{"text": "short"}], rows)


def collected(session: Session, benchmark: BenchmarkRef, llm: str) -> dict[str, CollectedRecord]:
    """What was collected of an LLM, by external id of the query in position order."""
    rows = session.execute(
        select(Query.external_id, CollectedResponse, Response.text)
        .join(Query, Query.id == CollectedResponse.query_id)
        .join(LLM, LLM.id == CollectedResponse.llm_id)
        .outerjoin(Response, and_(Response.query_id == Query.id, Response.llm_id == LLM.id))
        .where(Query.benchmark_id == benchmark.id, LLM.name == llm)
        .order_by(Query.position)
        .execution_options(populate_existing=True)
    )
    shared = ("prompt_tokens", "completion_tokens", "cost", "seconds", "attempts", "error")
    return {
        external_id: CollectedRecord(
            AnswerStatus(row.status),
            row.settings_digest,
            text,
            row.reasoning,
            **{name: getattr(row, name) for name in shared},
        )
        for external_id, row, text in rows
    }


def has_scores(session: Session, key: ScoreKey = KEY) -> bool:
    return bool(scores.get_scores(session, benchmarks.find_benchmark(session, SLUG), key))
