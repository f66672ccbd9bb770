"""Tables that people make themselves: one response a row, or queries alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from db.records import BenchmarkInfo, LLMRecord
from precompute.errors import file_error
from precompute.importers import base
from precompute.importers.base import USER, ImportedBenchmark, ImportedQuery, conversation_of, readable
from precompute.importers.rows import read_json, read_rows

_QUERY, _CONVERSATION = "query", "conversation"
_REQUIRED = (_QUERY, "topic", "llm", "response")
_OPTIONAL = (_CONVERSATION, "category", "id")


def read_table(path: Path, slug: str) -> ImportedBenchmark:
    """Read a table with the columns query, topic, llm and response, perhaps also category and id.

    A query of several turns stands in a column conversation instead: a list of {role, content}, or the same
    as JSON, whose last turn is the user's and is what was responded to. It is stored as one readable text.

    Rows of the same id, or of the same query where there is no id, are about one query. A topic may be left
    empty, to be found; the other columns may not. The baseline is the first LLM of the file.

    Raises:
        PrecomputeError: the file cannot be read, or a row is malformed or contradicts one before it.
    """
    builder = _Builder(path)
    for row, record in read_rows(path, _response_columns):
        builder.add(row, record)
    if not builder.responses:
        raise file_error(path, "there are no rows in it.")
    return ImportedBenchmark(
        info=BenchmarkInfo(
            slug, slug, text_import_command=f"python -m precompute import table FILE --benchmark {slug}"
        ),
        queries=tuple(builder.queries),
        llms=tuple(LLMRecord(name, name) for name in builder.responses),
        responses=builder.responses,
        baseline=next(iter(builder.responses)),
        baseline_origin="the first LLM of the file",
    )


def _response_columns(names: Sequence[str]) -> Sequence[str]:
    """Return the columns to read, of which a conversation may stand in place of the query."""
    given = {*names, _QUERY} if _CONVERSATION in names else set(names)
    missing = next((name for name in _REQUIRED if name not in given), None)
    if missing is not None:
        raise ValueError(f"the column {missing!r} is missing.")
    return [name for name in (*_REQUIRED, *_OPTIONAL) if name in names]


class _Builder:
    """Takes in row after row; ``responses`` maps an LLM's name to texts by index of the query."""

    def __init__(self, path: Path) -> None:
        self.queries: list[ImportedQuery] = []
        self.responses: dict[str, dict[int, str]] = {}
        self._path = path
        self._index: dict[tuple[str | None, str], int] = {}

    def add(self, row: int, record: Mapping[str, Any]) -> None:
        """Take in one row. Raises PrecomputeError: it is malformed or contradicts a row before it."""
        query = self._query(row, record)
        llm = base.name_of(self._path, row, record, "llm")
        response = base.text_of(self._path, row, record, "response")
        index = self._place(row, query)
        given = self.responses.setdefault(llm, {})
        if index in given:
            raise file_error(self._path, f"{llm!r} has a response to this query in a row before.", row)
        given[index] = response

    def _query(self, row: int, record: Mapping[str, Any]) -> ImportedQuery:
        number = record.get("id")
        if isinstance(number, int) and not isinstance(number, bool):
            record = {**record, "id": str(number)}
        return ImportedQuery(
            self._text(row, record),
            base.optional_name_of(self._path, row, record, "id"),
            base.optional_name_of(self._path, row, record, "category"),
            base.optional_name_of(self._path, row, record, "topic"),
        )

    def _text(self, row: int, record: Mapping[str, Any]) -> str:
        """Return the query, or the conversation that ends with it, of which a row has one."""
        if record.get(_CONVERSATION) in (None, "", []):
            return base.text_of(self._path, row, record, _QUERY)
        if record.get(_QUERY) not in (None, ""):
            raise file_error(self._path, f"there are both a {_QUERY!r} and a {_CONVERSATION!r}.", row)
        conversation = conversation_of(self._path, row, record, _CONVERSATION)
        if conversation[-1].role != USER or not conversation[-1].content.strip():
            reason = f"{_CONVERSATION!r} does not end with what the user asks."
            raise file_error(self._path, reason, row)
        return readable(conversation)

    def _place(self, row: int, query: ImportedQuery) -> int:
        """Return the index of the query, a new one if no row before was about it."""
        key = (query.external_id, "" if query.external_id else query.text)
        index = self._index.setdefault(key, len(self.queries))
        if index == len(self.queries):
            self.queries.append(query)
        self.queries[index] = self._merged(row, self.queries[index], query)
        return index

    def _merged(self, row: int, before: ImportedQuery, query: ImportedQuery) -> ImportedQuery:
        """Return what two rows say about one query; what either leaves empty is taken from the other."""
        for column, first, second in (
            ("query", before.text, query.text),
            ("category", before.category, query.category),
            ("topic", before.topic, query.topic),
        ):
            if first and second and first != second:
                reason = f"{column!r} is another than in a row before about the same query."
                raise file_error(self._path, reason, row)
        return replace(query, category=before.category or query.category, topic=before.topic or query.topic)


_JSON = ".json"
_QUERY_COLUMNS = ("query", "prompt", "instruction", "question", "text", _CONVERSATION)
_ID_COLUMNS = ("id", "uid", "idx", "question_id")


def read_queries(path: Path, column: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield the id, or else the number, and the text of each query in a file; empty ones are passed over.

    CSV, JSON Lines and Parquet are read, and JSON that is a list of objects, as AlpacaEval's.

    Args:
        column: the column with the queries; default the first of query, prompt, instruction, question, text
            and conversation that there is.

    Raises:
        PrecomputeError: the file cannot be read, lacks the column, or has something else than texts there.
    """
    choose = partial(_query_columns, column)
    rows = _json_rows(path) if path.suffix.lower() == _JSON else read_rows(path, choose, also=(_JSON,))
    for number, record in rows:
        try:
            chosen = choose(list(record))[0]
        except ValueError as error:
            raise file_error(path, str(error), number) from None
        text = _query_text(path, number, record, chosen)
        if text.strip():
            yield _query_id(record) or str(number), text


def _query_columns(column: str | None, names: Sequence[str]) -> Sequence[str]:
    """Return the column with the query first, then those that may hold an id."""
    wanted = _QUERY_COLUMNS if column is None else (column,)
    chosen = next((name for name in wanted if name in names), None)
    if chosen is None:
        missing = "a column of queries" if column is None else f"the column {column!r}"
        raise ValueError(f"{missing} is missing: name one with --column.")
    return [chosen, *(name for name in _ID_COLUMNS if name in names and name != chosen)]


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    value = read_json(path)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise file_error(path, "this is no list of objects.")
    yield from enumerate(value, start=1)


def _query_text(path: Path, row: int, record: Mapping[str, Any], column: str) -> str:
    if column == _CONVERSATION or isinstance(record[column], list):
        return readable(conversation_of(path, row, record, column))
    if record[column] is None:
        return ""
    return base.text_of(path, row, record, column, empty=True)


def _query_id(record: Mapping[str, Any]) -> str | None:
    found = next((record[name] for name in _ID_COLUMNS if record.get(name) not in (None, "")), None)
    return str(found) if isinstance(found, str | int) else None
