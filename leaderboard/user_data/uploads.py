"""Uploaded CSV, JSON Lines and JSON files: untrusted bytes to rows, and rows to responses."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from db.serialization import storable_text
from leaderboard.errors import UploadError
from parsing.documents import read_json
from parsing.limits import ParseError
from parsing.tables import RowError, csv_rows, named_twice

ROW_TYPES = ("csv", "jsonl", "json")

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
CheckColumns = Callable[[str, Sequence[str], int], None]
"""Called with the file, the names of columns and their row; raises where one is lacking."""


def read_rows(content: bytes, file: str, most_megabytes: int, check: CheckColumns) -> Iterator[Row]:
    """Yield rows with their number, counted from 1; in CSV the header is row 1.

    Args:
        file: Its name, whose ending says what it is.
        check: Looks at the columns of a table, or of each object.

    Raises:
        UploadError: It is too large, of another kind, or malformed; the message names the row.
    """
    kind = ending(file)
    if kind not in ROW_TYPES:
        raise UploadError(file, f"its name must end in {', '.join(f'.{known}' for known in ROW_TYPES)}.")
    check_size(content, file, most_megabytes)
    text = decoded(content, file)
    if kind == "csv":
        yield from _csv_rows(file, text, check)
    elif kind == "jsonl":
        yield from _json_lines(file, text, check)
    else:
        yield from object_rows(parsed(file, text), file, check)


def ending(file: str) -> str:
    """Return what the file's name ends in, in small letters and without the dot."""
    return Path(file).suffix.removeprefix(".").lower()


def check_size(content: bytes, file: str, most_megabytes: int) -> None:
    """Raise an UploadError if the file is too large."""
    if len(content) > most_megabytes * 2**20:
        raise UploadError(file, f"it is larger than {most_megabytes} MB; upload it in parts.")


def object_rows(values: object, file: str, check: CheckColumns) -> Iterator[Row]:
    """Yield the objects of a JSON list; an UploadError if it is none."""
    if not isinstance(values, list):
        raise UploadError(file, "it is not a list of objects, one a row.")
    for number, value in enumerate(values, start=1):
        yield number, _record(file, number, value, check)


def decoded(content: bytes, file: str) -> str:
    """Return the text that the bytes stand for; an UploadError if they are no text in UTF-8."""
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


def parsed(file: str, text: str, row: int | None = None) -> object:
    """Return the value of a JSON text; an UploadError if it is none."""
    try:
        return read_json(text, keep_halves=True)
    except ParseError as error:
        raise UploadError(file, f"this is not valid JSON ({error}).", row) from None


def _csv_rows(file: str, text: str, check: CheckColumns) -> Iterator[Row]:
    header: list[str] = []
    try:
        for number, fields in enumerate(csv_rows(io.StringIO(text, newline="")), start=1):
            if not header:
                header = [name.strip().lower() for name in fields]
                if twice := named_twice(header):
                    raise UploadError(file, f"the column {twice!r} occurs twice.", 1)
                check(file, header, 1)
            elif fields and len(fields) != len(header):
                reason = f"there are {len(fields)} fields under {len(header)} columns."
                raise UploadError(file, reason, number)
            elif fields:
                yield number, dict(zip(header, fields, strict=True))
    except RowError as error:
        raise UploadError(file, f"this is not valid CSV ({error}).", error.row) from None


def _json_lines(file: str, text: str, check: CheckColumns) -> Iterator[Row]:
    # Only "\n" ends a line: str.splitlines would also cut at the U+2028 that JSON texts may hold unescaped.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _record(file, number, parsed(file, line, number), check)


def _record(file: str, row: int, value: object, check: CheckColumns) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UploadError(file, "this is no JSON object.", row)
    check(file, list(value), row)
    return value


UPLOAD_TYPES = ROW_TYPES
MAX_MEGABYTES = 10
MAX_RESPONSES = 2000
MAX_CHARACTERS = 20_000
"""Characters of one query or response."""
MAX_NAME_CHARACTERS = 80
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


@dataclass(frozen=True, slots=True)
class UploadedResponse:
    """One row of an upload; what it does not say is empty.

    Attributes:
        row: Where it stands, counted from 1; in CSV the header is row 1.
    """

    row: int
    response: str
    id: str = ""
    query: str = ""
    llm: str = ""
    category: str = ""
    topic: str = ""


def read_responses(content: bytes, file: str) -> tuple[UploadedResponse, ...]:
    """Return the rows of a CSV, JSON Lines or JSON file.

    Every row has a response, and a query, the id of one, or both. Columns that are not asked for are passed
    over.

    Raises:
        UploadError: It is too large, of another kind, or malformed; the message names the row.
    """
    answers: list[UploadedResponse] = []
    for row, record in read_rows(content, file, MAX_MEGABYTES, _check_columns):
        if len(answers) == MAX_RESPONSES:
            raise UploadError(file, f"it has more than {MAX_RESPONSES:,} responses; upload fewer.")
        answers.append(_answer(file, row, record))
    if not answers:
        raise UploadError(file, "there are no rows in it.")
    return tuple(answers)


def checked_name(file: str, what: str, name: str, row: int | None = None) -> str:
    """Return the name without spaces around it; an UploadError if it is too long or holds what none can."""
    stripped = name.strip()
    if len(stripped) > MAX_NAME_CHARACTERS:
        raise UploadError(file, f"{what!r} has more than {MAX_NAME_CHARACTERS} characters.", row)
    if stripped and (storable_text(stripped) != stripped or not stripped.isprintable()):
        raise UploadError(file, f"{what!r} holds a character that no name can have.", row)
    return stripped


def _check_columns(file: str, names: Sequence[str], row: int) -> None:
    given = {column for column, known in _COLUMNS.items() if set(known) & set(names)}
    if "response" not in given:
        raise UploadError(file, "there is no column 'response'.", row)
    if not given & {"id", "query"}:
        raise UploadError(file, "there is no column 'query', nor one 'id' in its place.", row)


def _answer(file: str, row: int, record: Mapping[str, Any]) -> UploadedResponse:
    values = {column: _field(file, row, record, column) for column in _COLUMNS}
    if not values["response"].strip():
        raise UploadError(file, "'response' is empty.", row)
    if not (values["query"].strip() or values["id"]):
        raise UploadError(file, "there is neither a 'query' nor an 'id'.", row)
    return UploadedResponse(row, **values)


def _field(file: str, row: int, record: Mapping[str, Any], column: str) -> str:
    """Return the text in a column, empty where there is none; a number is one in the place of an id."""
    value = next((record[name] for name in _COLUMNS[column] if record.get(name) not in (None, "")), "")
    if column == "id" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise UploadError(file, f"{column!r} is not a text.", row)
    if column not in _TEXTS:
        return checked_name(file, column, value, row)
    if len(value) > MAX_CHARACTERS:
        raise UploadError(file, f"{column!r} has more than {MAX_CHARACTERS:,} characters.", row)
    return storable_text(value)
