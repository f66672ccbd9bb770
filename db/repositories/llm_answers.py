"""What LLMs answered, how, and at what cost: collected responses, and criteria extracted from preferences.

Both kinds are stored in the same way, each in its table: again without harm, and a failure never takes the
place of an answer.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from sqlalchemy import Select, and_, delete, func, select
from sqlalchemy.orm import Session

from db.errors import NotFoundError
from db.models import (
    LLM,
    CollectedResponse,
    CriterionThemeSet,
    ExtractedCriteria,
    LLMAnswerColumns,
    Preference,
    PreferenceSet,
    Query,
    Response,
    now,
)
from db.records import BenchmarkRef
from db.repositories import _rows
from db.repositories._rows import upsert
from db.repositories.scores import delete_scores
from db.serialization import storable_text
from db.source_records import (
    AnswerState,
    AnswerStatus,
    AnswerTotals,
    CollectedRecord,
    ExtractedRecord,
    LLMAnswer,
    PreferenceSetRef,
    SideKey,
    Winner,
)

_SHARED = ("prompt_tokens", "completion_tokens", "cost", "seconds", "attempts", "error")
"""The columns and fields that both kinds have, beside status, settings and time."""

_Key = TypeVar("_Key")
_Answer = TypeVar("_Answer", bound=LLMAnswer)


def put_collected(
    session: Session, benchmark: BenchmarkRef, llm: str, records: Mapping[str, CollectedRecord]
) -> None:
    """Store responses of an LLM by external id of the query, with how they were collected.

    Texts that differ from stored ones make the stored scores of the benchmark void. Raises NotFoundError: the
    benchmark has no such LLM, or lacks one of the queries.
    """
    chosen = _rows.llm_id(session, benchmark, llm)
    changed = False
    for part in _rows.in_parts(records.items()):
        changed |= _put_collected_part(session, benchmark, chosen, dict(part))
    if changed:
        delete_scores(session, benchmark)
    _rows.touch(session, benchmark)


def collection_states(session: Session, benchmark: BenchmarkRef, llm: str) -> dict[str, AnswerState]:
    """Return for every query, in position order, what is stored of the LLM's answer; it may be unknown."""
    # No id is negative: of an LLM that is not there yet nothing is found.
    chosen = _rows.llm_ids(session, benchmark).get(llm, -1)
    rows = session.execute(
        _with_answers_of(
            chosen,
            Query.external_id,
            Response.id.is_not(None),
            CollectedResponse.status,
            CollectedResponse.settings_digest,
            CollectedResponse.ask_again,
        )
        .where(Query.benchmark_id == benchmark.id)
        .order_by(Query.position, Query.id)
    )
    return {
        external_id: AnswerState(
            has_response, None if status is None else AnswerStatus(status), digest, bool(ask_again)
        )
        for external_id, has_response, status, digest, ask_again in rows
    }


def collection_totals(session: Session, benchmark: BenchmarkRef) -> dict[str, AnswerTotals]:
    """Return the sums of every LLM of which something was collected, in LLM order."""
    statement = (
        _sums(CollectedResponse, LLM.name)
        .join(LLM, LLM.id == CollectedResponse.llm_id)
        .where(LLM.benchmark_id == benchmark.id)
        .group_by(LLM.id, LLM.position)
        .order_by(LLM.position, LLM.id)
    )
    return _totals(session, statement)


def put_extracted(
    session: Session, preference_set: PreferenceSetRef, records: Mapping[SideKey, ExtractedRecord]
) -> None:
    """Store extracted criteria. Raises NotFoundError: the set lacks one of the preferences."""
    for part in _rows.in_parts(records.items()):
        _put_extracted_part(session, preference_set, dict(part))


def get_extracted(session: Session, preference_set: PreferenceSetRef) -> dict[SideKey, ExtractedRecord]:
    """Return everything that was extracted from a set, in the order of its file, A before B."""
    table = ExtractedCriteria
    shared = (getattr(table, name) for name in _SHARED)
    columns = (table.settings_digest, table.criteria, table.first_shown, table.llm, *shared)
    return {
        key: ExtractedRecord(
            status,
            digest,
            tuple(criteria or ()),
            first_shown=Winner(first_shown),
            llm=llm,
            **dict(zip(_SHARED, values, strict=True)),
        )
        for key, status, (digest, criteria, first_shown, llm, *values) in _extracted_in_order(
            session, preference_set, *columns
        )
    }


def extraction_states(session: Session, preference_set: PreferenceSetRef) -> dict[SideKey, AnswerState]:
    """Return how far the extraction from a set is; what is missing here has not been asked for."""
    rows = _extracted_in_order(session, preference_set, ExtractedCriteria.settings_digest)
    return {
        key: AnswerState(status != AnswerStatus.FAILED, status, digest) for key, status, (digest,) in rows
    }


def extraction_totals(session: Session, preference_set: PreferenceSetRef) -> AnswerTotals:
    """Return the sums over a set."""
    statement = (
        _sums(ExtractedCriteria, PreferenceSet.slug)
        .join(Preference, Preference.id == ExtractedCriteria.preference_id)
        .join(PreferenceSet, PreferenceSet.id == Preference.preference_set_id)
        .where(PreferenceSet.id == preference_set.id)
        .order_by(ExtractedCriteria.status)
    )
    return _totals(session, statement).get(preference_set.slug, AnswerTotals({}))


def put_themes(session: Session, preference_set: PreferenceSetRef, themes: Mapping[str, Any]) -> None:
    """Store the themes of a set's criteria in place of earlier ones."""
    row = {"preference_set_id": preference_set.id, "themes": dict(themes), "created_at": now()}
    upsert(session, CriterionThemeSet, [row], key=("preference_set_id",), update=("themes", "created_at"))


def get_themes(session: Session, preference_set: PreferenceSetRef) -> dict[str, Any] | None:
    """Return the themes of a set's criteria; None where none were found yet."""
    return session.scalar(
        select(CriterionThemeSet.themes).where(CriterionThemeSet.preference_set_id == preference_set.id)
    )


def list_themes(session: Session) -> dict[str, dict[str, Any]]:
    """Return the themes of every set that has some, by slug."""
    rows = session.execute(
        select(PreferenceSet.slug, CriterionThemeSet.themes)
        .join(CriterionThemeSet, CriterionThemeSet.preference_set_id == PreferenceSet.id)
        .order_by(PreferenceSet.slug)
    )
    return dict(rows.all())


def _put_collected_part(
    session: Session, benchmark: BenchmarkRef, llm: int, records: Mapping[str, CollectedRecord]
) -> bool:
    """Store a few; return whether a stored text changed."""
    rows = session.execute(
        _with_answers_of(llm, Query.external_id, Query.id, CollectedResponse.status, Response.text).where(
            Query.benchmark_id == benchmark.id, Query.external_id.in_(records)
        )
    )
    stored = {external_id: (query, status, text) for external_id, query, status, text in rows}
    _rows.check_queries(benchmark, stored, records)
    kept = _to_store(records, {key: status for key, (_, status, _) in stored.items() if status is not None})
    answers = [
        ({"query_id": stored[key][0], "llm_id": llm}, _own_columns(record), record)
        for key, record in kept.items()
    ]
    _upsert_answers(session, CollectedResponse, answers)
    texts = {
        stored[external_id][0]: _storable(record.text)
        for external_id, record in kept.items()
        if record.status != AnswerStatus.FAILED
    }
    _put_texts(session, llm, texts)
    before = {query: text for query, _, text in stored.values() if text is not None}
    return any(query in before and before[query] != text for query, text in texts.items())


def _own_columns(record: CollectedRecord) -> dict[str, Any]:
    return {
        "reasoning": _storable(record.reasoning),
        "replied_as": _storable(record.replied_as),
        "reasoning_tokens": record.reasoning_tokens,
        "ask_again": False,
    } | ({} if record.collected_at is None else {"created_at": record.collected_at})


def _put_texts(session: Session, llm: int, texts: Mapping[int, str | None]) -> None:
    """Store texts by query id; None takes a stored text away."""
    rows = [
        {"query_id": query, "llm_id": llm, "text": text} for query, text in texts.items() if text is not None
    ]
    upsert(session, Response, rows, key=("query_id", "llm_id"), update=("text",))
    gone = [query for query, text in texts.items() if text is None]
    if gone:
        session.execute(delete(Response).where(Response.llm_id == llm, Response.query_id.in_(gone)))


def _put_extracted_part(
    session: Session, preference_set: PreferenceSetRef, records: Mapping[SideKey, ExtractedRecord]
) -> None:
    wanted = {key.external_id for key in records}
    of_set = (Preference.preference_set_id == preference_set.id, Preference.external_id.in_(wanted))
    ids = dict(session.execute(select(Preference.external_id, Preference.id).where(*of_set)).all())
    for external_id in wanted:
        if external_id not in ids:
            raise NotFoundError(
                f"The preference data {preference_set.slug!r} has no preference with the id {external_id!r}."
            )
    stored = session.execute(
        select(Preference.external_id, ExtractedCriteria.side, ExtractedCriteria.status)
        .join(ExtractedCriteria, ExtractedCriteria.preference_id == Preference.id)
        .where(*of_set)
    )
    statuses = {SideKey(external_id, Winner(side)): status for external_id, side, status in stored}
    _upsert_answers(
        session,
        ExtractedCriteria,
        [
            (
                {"preference_id": ids[key.external_id], "side": key.side.value},
                {
                    "criteria": [storable_text(text) for text in record.criteria]
                    if record.status == AnswerStatus.OK
                    else None,
                    "first_shown": record.first_shown.value,
                    "llm": record.llm,
                },
                record,
            )
            for key, record in _to_store(records, statuses).items()
        ],
    )


def _to_store(records: Mapping[_Key, _Answer], statuses: Mapping[_Key, str]) -> dict[_Key, _Answer]:
    """Return the records but for failures where an answer is stored; `statuses` are those of stored rows."""
    return {
        key: record
        for key, record in records.items()
        if record.status != AnswerStatus.FAILED or statuses.get(key, "failed") == AnswerStatus.FAILED
    }


def _upsert_answers(
    session: Session,
    table: type[CollectedResponse | ExtractedCriteria],
    answers: Iterable[tuple[Mapping[str, Any], Mapping[str, Any], LLMAnswer]],
) -> None:
    """Store answers as (key columns, columns of this kind, record)."""
    moment = now()
    rows: list[dict[str, Any]] = []
    for key, own, record in answers:
        shared = {name: getattr(record, name) for name in _SHARED} | {
            "status": record.status.value,
            "error": _storable(record.error),
            "settings_digest": record.settings_digest,
            "created_at": moment,
        }
        rows.append({**shared, **own, **key})
        changed = tuple({**shared, **own})
    if rows:
        upsert(session, table, rows, key=tuple(key), update=changed)


def _with_answers_of(llm: int, *columns: Any) -> Select[Any]:
    """Return a select of queries with an LLM's response and how it was collected, where there are such."""
    collected = CollectedResponse
    return (
        select(*columns)
        .select_from(Query)
        .outerjoin(Response, and_(Response.query_id == Query.id, Response.llm_id == llm))
        .outerjoin(collected, and_(collected.query_id == Query.id, collected.llm_id == llm))
    )


def _extracted_in_order(
    session: Session, preference_set: PreferenceSetRef, *columns: Any
) -> Iterator[tuple[SideKey, AnswerStatus, tuple[Any, ...]]]:
    """Yield key, status and columns of what was extracted, in the order of the file."""
    table = ExtractedCriteria
    statement: Select[Any] = (
        select(Preference.external_id, table.side, table.status, *columns)
        .join(table, table.preference_id == Preference.id)
        .where(Preference.preference_set_id == preference_set.id)
        .order_by(Preference.position, table.side)
    )
    for external_id, side, status, *values in session.execute(statement):
        yield SideKey(external_id, Winner(side)), AnswerStatus(status), tuple(values)


def _sums(table: type[LLMAnswerColumns], group: Any) -> Select[Any]:
    """Return a select of the sums by group and status; what is joined and counted is added to it."""
    return (
        select(
            group,
            table.status,
            func.count(),
            func.coalesce(func.sum(table.prompt_tokens), 0),
            func.coalesce(func.sum(table.completion_tokens), 0),
            func.sum(table.cost),
            func.sum(table.seconds),
        )
        .select_from(table)
        .group_by(group, table.status)
    )


def _totals(session: Session, sums: Select[Any]) -> dict[str, AnswerTotals]:
    totals: dict[str, AnswerTotals] = {}
    for group, status, n, prompt_tokens, completion_tokens, cost, seconds in session.execute(sums):
        before = totals.get(group, AnswerTotals({}))
        totals[group] = AnswerTotals(
            {**before.n_by_status, AnswerStatus(status): n},
            before.prompt_tokens + int(prompt_tokens),
            before.completion_tokens + int(completion_tokens),
            before.cost + cost,
            before.seconds + seconds,
        )
    return totals


def _storable(text: str | None) -> str | None:
    return None if text is None else storable_text(text)
