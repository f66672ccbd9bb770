"""Reads a file that somebody uploaded: rows of queries and responses, or one sentence on why not.

Nothing in such a file is trusted. It is looked at as bytes first, then read with Python's own CSV and JSON
readers, and every field is a text that is only ever shown as a text.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from db import storable_text
from leaderboard.errors import UploadError

UPLOAD_TYPES = ("csv", "jsonl", "json")
MOST_MEGABYTES = 10
MOST_RESPONSES = 2000
MOST_CHARACTERS = 20_000
"""Characters of one query or response."""
MOST_NAME_CHARACTERS = 80
"""Characters of the name of an LLM, an id, a category or a topic."""

_COLUMNS = {
    "id": ("id", "uid", "external_id"),
    "query": ("query", "instruction", "prompt"),
    "response": ("response", "output"),
    "llm": ("llm", "generator", "model"),
    "category": ("category",),
    "topic": ("topic",),
}
"""What a column may be called, AlpacaEval's and Arena-Hard's names among them; the first one given counts."""
_TEXTS = ("query", "response")
_KINDS = {
    b"PK\x03\x04": "a ZIP archive or an office document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "a compressed file",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Row = tuple[int, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Answer:
    """One row of an upload; what it does not say is empty.

    Attributes:
        row: Where it stands, counted from 1; in CSV the header is row 1.
        response: The response.
        id: Id of the query.
        query: Text of the query.
        llm: Who gave the response.
        category: Of the query.
        topic: Of the query.
    """

    row: int
    response: str
    id: str = ""
    query: str = ""
    llm: str = ""
    category: str = ""
    topic: str = ""


def read_answers(content: bytes, file: str) -> tuple[Answer, ...]:
    """The rows of a CSV, JSON Lines or JSON file.

    Every row has a response, and a query, the id of one, or both. Columns that are not asked for are passed
    over.

    Args:
        content: The file.
        file: Its name, whose ending says what it is.

    Raises:
        UploadError: It is too large, of another kind, or malformed; the message names the row.
    """
    readers: Mapping[str, Callable[[str, str], Iterator[Row]]] = {
        "csv": _csv_rows,
        "jsonl": _json_lines,
        "json": _json_rows,
    }
    ending = Path(file).suffix.removeprefix(".").lower()
    if ending not in readers:
        raise UploadError(file, f"its name must end in {', '.join(f'.{kind}' for kind in readers)}.")
    if len(content) > MOST_MEGABYTES * 2**20:
        raise UploadError(file, f"it is larger than {MOST_MEGABYTES} MB; upload it in parts.")
    text = _text(file, content)
    answers: list[Answer] = []
    for row, record in readers[ending](file, text):
        if len(answers) == MOST_RESPONSES:
            raise UploadError(file, f"it has more than {MOST_RESPONSES:,} responses; upload fewer.")
        answers.append(_answer(file, row, record))
    if not answers:
        raise UploadError(file, "there are no rows in it.")
    return tuple(answers)


def checked_name(file: str, what: str, name: str, row: int | None = None) -> str:
    """The name without spaces around it.

    Raises:
        UploadError: It is too long, or holds what no name can.
    """
    stripped = name.strip()
    if len(stripped) > MOST_NAME_CHARACTERS:
        raise UploadError(file, f"{what!r} has more than {MOST_NAME_CHARACTERS} characters.", row)
    if stripped and (storable_text(stripped) != stripped or not stripped.isprintable()):
        raise UploadError(file, f"{what!r} holds a character that no name can have.", row)
    return stripped


def _text(file: str, content: bytes) -> str:
    """The text that the bytes stand for."""
    for start, kind in _KINDS.items():
        if content.startswith(start):
            raise UploadError(file, f"it is {kind}; save it as CSV or JSON in UTF-8.")
    if b"\0" in content:
        raise UploadError(file, "it is not a text; save it as CSV or JSON in UTF-8.")
    content = content.removeprefix(_BYTE_ORDER_MARK)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UploadError(file, "the text is not in UTF-8; save it so.", line) from None


def _csv_rows(file: str, text: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    number = 0
    while True:
        number += 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise UploadError(file, f"this is not valid CSV ({error}).", number) from None
        if not header:
            header = [name.strip().lower() for name in fields]
            _check_header(file, header)
        elif fields and len(fields) != len(header):
            raise UploadError(file, f"there are {len(fields)} fields under {len(header)} columns.", number)
        elif fields:
            yield number, dict(zip(header, fields, strict=True))


def _check_header(file: str, header: list[str]) -> None:
    if twice := next((name for name in header if name and header.count(name) > 1), None):
        raise UploadError(file, f"the column {twice!r} occurs twice.", 1)
    _check_columns(file, header, 1)


def _check_columns(file: str, names: list[str], row: int) -> None:
    given = {column for column, known in _COLUMNS.items() if set(known) & set(names)}
    if "response" not in given:
        raise UploadError(file, "there is no column 'response'.", row)
    if not given & {"id", "query"}:
        raise UploadError(file, "there is no column 'query', nor one 'id' in its place.", row)


def _json_lines(file: str, text: str) -> Iterator[Row]:
    # Only "\n" ends a line: str.splitlines would also cut at the U+2028 that JSON texts may hold unescaped.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _record(file, number, _parsed(file, line, number))


def _json_rows(file: str, text: str) -> Iterator[Row]:
    values = _parsed(file, text)
    if not isinstance(values, list):
        raise UploadError(file, "it is not a list of objects, one a response.")
    for number, value in enumerate(values, start=1):
        yield number, _record(file, number, value)


def _parsed(file: str, text: str, row: int | None = None) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UploadError(file, f"this is not valid JSON ({reason}).", row) from None


def _record(file: str, row: int, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UploadError(file, "this is no JSON object.", row)
    _check_columns(file, list(value), row)
    return value


def _answer(file: str, row: int, record: Mapping[str, Any]) -> Answer:
    values = {column: _field(file, row, record, column) for column in _COLUMNS}
    if not values["response"].strip():
        raise UploadError(file, "'response' is empty.", row)
    if not (values["query"].strip() or values["id"]):
        raise UploadError(file, "there is neither a 'query' nor an 'id'.", row)
    return Answer(row, **values)


def _field(file: str, row: int, record: Mapping[str, Any], column: str) -> str:
    """The text in a column, empty where there is none; a number is one in the place of an id."""
    value = next((record[name] for name in _COLUMNS[column] if record.get(name) not in (None, "")), "")
    if column == "id" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise UploadError(file, f"{column!r} is not a text.", row)
    if column not in _TEXTS:
        return checked_name(file, column, value, row)
    if len(value) > MOST_CHARACTERS:
        raise UploadError(file, f"{column!r} has more than {MOST_CHARACTERS:,} characters.", row)
    return storable_text(value)
