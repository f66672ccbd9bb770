"""Responses that a person brings for one session: kept in memory, ranked with the others, never stored.

Either LLMs of one's own that answered the queries of a stored benchmark, or queries of one's own with the
responses of several LLMs, which make a benchmark that only this session has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from weakref import WeakSet

from numpy.typing import NDArray

from crm.embedded.encoder import ProgressCallback
from crm.embedded.representation import Representation, representation
from db.records import BenchmarkInfo, BenchmarkRecord, CategoryRecord, LLMRecord, QueryRecord, TopicRecord
from db.serialization import text_sha256
from leaderboard.errors import BusyError, LeaderboardError, UploadError
from leaderboard.limits import Limits, in_time, reading
from leaderboard.user_data.uploads import UploadedResponse, checked_name

MARK = "(yours, this session)"
_OWN_SLUG = "session:"
"""In front of the slug of a session's benchmark: no stored slug has a colon."""
_OWN_CATEGORY = "Your queries"
_NAMED_UNMATCHED = 3
_ID_DIGITS = 16

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class SessionData:
    """One upload of a session.

    Attributes:
        key: What tells it from any other upload, SHA-256 in hex.
        benchmark: Slug of the benchmark that it adds to or makes.
        responses: From LLM and external id of the query to the response.
        queries: Texts of queries by external id, as far as they are known.
        made: The benchmark that it makes; None where it adds to a stored one.
    """

    key: str
    benchmark: str
    responses: Mapping[str, Mapping[str, str]]
    queries: Mapping[str, str]
    made: BenchmarkRecord | None = None
    notices: tuple[str, ...] = ()
    _encoded: dict[str, dict[str, dict[str, Arrays]]] = field(default_factory=dict, repr=False)

    @property
    def n_responses(self) -> int:
        """Number of responses."""
        return sum(map(len, self.responses.values()))

    @property
    def llms(self) -> tuple[str, ...]:
        """Names of the LLMs in the order of the file."""
        return tuple(self.responses)

    def encode(
        self,
        name: str,
        on_progress: ProgressCallback | None = None,
        on_place: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Compute the representation of all responses, unless it is there already.

        Raises as ``limits.reading`` and ``limits.in_time``.
        """
        if name in self._encoded:
            return
        fitted = representation(name)
        places = [(llm, query) for llm, given in self.responses.items() for query in given]
        texts = [self.responses[llm][query] for llm, query in places]
        queries = [self.queries.get(query, "") for _, query in places]
        with reading(on_place):
            arrays = fitted.encode(texts, queries, in_time(on_progress))
        rows: dict[str, dict[str, Arrays]] = {llm: {} for llm in self.responses}
        for row, (llm, query) in enumerate(places):
            rows[llm][query] = {key: array[row] for key, array in arrays.items()}
        self._encoded[name] = rows
        _kept.add(self)

    def rows(self, name: str, llm: str, queries: Sequence[str]) -> Arrays:
        """Return one LLM's arrays under a representation, leading axis ``[Q]`` as these external ids."""
        self.encode(name)
        fitted: Representation = representation(name)
        found: dict[str, NDArray[Any]] = fitted.blank(len(queries))
        given = self._encoded[name].get(llm, {})
        for place, query in enumerate(queries):
            for key, value in given.get(query, {}).items():
                found[key][place] = value
        return found


_kept: WeakSet[SessionData] = WeakSet()
"""What the sessions of this process keep; it goes with them."""


def check_room(held: Iterable[SessionData], more: SessionData) -> None:
    """Raise a LeaderboardError if one more upload is too much for a session, or has an LLM that is there.

    A BusyError if it is too much for all sessions together.
    """
    held, limits = tuple(held), Limits.from_environment()
    if len(held) >= limits.upload_files:
        raise LeaderboardError(f"A session keeps up to {limits.upload_files} uploads: remove one first.")
    for most, number, what in (
        (limits.upload_responses, lambda material: material.n_responses, "responses"),
        (limits.upload_llms, lambda material: len(material.llms), "LLMs of yours"),
    ):
        if sum(map(number, (*held, more))) > most:
            raise LeaderboardError(
                f"A session keeps up to {most:,} {what}: remove an upload first, or upload fewer."
            )
    if sum(material.n_responses for material in {*_kept, more}) > limits.upload_responses_of_all:
        raise BusyError(
            f"All visitors together keep up to {limits.upload_responses_of_all:,} responses here, which are "
            "reached: try again later, or upload fewer."
        )
    taken = {llm for material in held if material.benchmark == more.benchmark for llm in material.llms}
    if twice := taken & set(more.llms):
        raise LeaderboardError(f"{min(twice)!r} is among your uploads already: give another name.")


def added_llms(
    answers: Sequence[UploadedResponse], record: BenchmarkRecord, name: str, file: str
) -> SessionData:
    """Return LLMs of one's own that answered queries of a stored benchmark.

    A row belongs to the query of its id, else to all queries of exactly its text; rows that belong to none
    are left out and counted.

    Args:
        name: Of the LLM, for rows that name none.

    Raises:
        UploadError: A row names no LLM or answers a query twice, a name is taken, or no row belongs here.
    """
    default = checked_name(file, "name", name)
    taken = {known.casefold() for llm in record.llms for known in (llm.name, llm.title)}
    by_text = _ids_by_text(record)
    by_id = {query.external_id: query for query in record.queries}
    responses: dict[str, dict[str, str]] = {}
    queries: dict[str, str] = {}
    unmatched: list[UploadedResponse] = []
    for answer in answers:
        llm = _llm_of(file, answer, default)
        if llm.casefold() in taken:
            raise UploadError(file, f"{llm!r} is ranked here already; give another name.", answer.row)
        ids = [answer.id] if answer.id in by_id else by_text.get(text_sha256(answer.query), [])
        if not ids:
            unmatched.append(answer)
            continue
        _put(file, answer, responses.setdefault(llm, {}), ids)
        if answer.query:
            # A query whose text differs from the stored one's was matched by its id: the stored one counts.
            queries |= {each: answer.query for each in ids if by_id[each].sha256 == text_sha256(answer.query)}
    if not responses:
        raise UploadError(file, f"no row has the id or the exact text of a query of {record.info.title}.")
    lacking = len(record.queries) - len(set().union(*responses.values()))
    notices = (*_unmatched_notice(unmatched), *([_lacking_notice(lacking)] if lacking else []))
    return SessionData(
        _key(record.info.slug, responses, queries), record.info.slug, responses, queries, notices=notices
    )


def own_benchmark(answers: Sequence[UploadedResponse], title: str, baseline: str, file: str) -> SessionData:
    """Return queries of one's own with the responses of several LLMs, as a benchmark.

    Rows of the same id, or of the same text where there is none, are about one query. Queries without a
    category or topic are put under “Your queries”.

    Args:
        title: Of the benchmark; the file's name if there is none.
        baseline: The LLM that the others are compared to; the first of the file if none is named.

    Raises:
        UploadError: A row has no text or names no LLM, a query is answered twice or contradicts an earlier
            row, there is only one LLM, or the baseline is none of them.
    """
    responses: dict[str, dict[str, str]] = {}
    first: dict[str, UploadedResponse] = {}
    for answer in answers:
        llm = _llm_of(file, answer, "")
        query = answer.id or text_sha256(answer.query)[:_ID_DIGITS]
        if query not in first and not answer.query.strip():
            raise UploadError(file, "'query' is empty.", answer.row)
        known = first.setdefault(query, answer)
        if answer.query.strip() and answer.query != known.query:
            reason = "'query' is another than in a row before with the same id."
            raise UploadError(file, reason, answer.row)
        _put(file, answer, responses.setdefault(llm, {}), [query])
    if len(responses) == 1:
        raise UploadError(file, "there is one LLM in it; two are needed, the baseline among them.")
    chosen = checked_name(file, "baseline", baseline) or next(iter(responses))
    if chosen not in responses:
        raise UploadError(file, f"the baseline {chosen!r} is none of its LLMs: {', '.join(responses)}.")
    queries = {query: answer.query for query, answer in first.items()}
    places = {
        query: (answer.category or _OWN_CATEGORY, answer.topic or answer.category or _OWN_CATEGORY)
        for query, answer in first.items()
    }
    key = _key(title, responses, queries, chosen, str(places))
    info = BenchmarkInfo(
        _OWN_SLUG + key[:_ID_DIGITS],
        marked(checked_name(file, "title", title) or file),
        "Queries of your own, kept in memory for this session only.",
    )
    record = _record(info, places, queries, tuple(responses), chosen)
    return SessionData(key, info.slug, responses, queries, record, (f"The others are compared to {chosen}.",))


def is_of_session(benchmark: str) -> bool:
    """Return whether the slug is that of a benchmark which only a session has."""
    return benchmark.startswith(_OWN_SLUG)


def marked(name: str) -> str:
    """Return the title by which an LLM of a session is shown."""
    return f"{name} {MARK}"


def _llm_of(file: str, answer: UploadedResponse, default: str) -> str:
    if not (llm := answer.llm or default):
        raise UploadError(file, "there is no column 'llm', and no name is given.", answer.row)
    return llm


def _put(file: str, answer: UploadedResponse, given: dict[str, str], queries: Sequence[str]) -> None:
    for query in queries:
        if query in given:
            raise UploadError(file, "there is a response to this query in a row before.", answer.row)
        given[query] = answer.response


def _ids_by_text(record: BenchmarkRecord) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for query in record.queries:
        found.setdefault(query.sha256, []).append(query.external_id)
    return found


def _unmatched_notice(unmatched: Sequence[UploadedResponse]) -> tuple[str, ...]:
    if not unmatched:
        return ()
    rows = ", ".join(str(answer.row) for answer in unmatched[:_NAMED_UNMATCHED])
    more = ", …" if len(unmatched) > _NAMED_UNMATCHED else ""
    what = "response was" if len(unmatched) == 1 else "responses were"
    return (f"{len(unmatched):,} {what} left out, to queries that are not here (row {rows}{more}).",)


def _lacking_notice(lacking: int) -> str:
    have = "query has" if lacking == 1 else "queries have"
    return f"{lacking:,} {have} no response; scores rest on the others."


def _record(
    info: BenchmarkInfo,
    places: Mapping[str, tuple[str, str]],
    queries: Mapping[str, str],
    llms: Sequence[str],
    baseline: str,
) -> BenchmarkRecord:
    tree: dict[str, dict[str, int]] = {}
    for category, topic in places.values():
        topics = tree.setdefault(category, {})
        topics[topic] = topics.get(topic, 0) + 1
    return BenchmarkRecord(
        info=info,
        baseline=baseline,
        categories=tuple(
            CategoryRecord(
                category,
                sum(topics.values()),
                tuple(TopicRecord(topic, n_queries) for topic, n_queries in topics.items()),
            )
            for category, topics in tree.items()
        ),
        queries=tuple(
            QueryRecord(query, *places[query], text_sha256(text), True) for query, text in queries.items()
        ),
        llms=tuple(LLMRecord(llm, llm) for llm in llms),
        bundle_digest=None,
        has_texts=True,
        updated_at=datetime.now(UTC),
    )


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
