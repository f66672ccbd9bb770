"""Reads a file that somebody uploaded: rows of queries and responses, or one sentence on why not.

Nothing in such a file is trusted: ``upload_rows`` reads it, and every field is a text that is only ever shown
as a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from db import storable_text
from leaderboard.errors import UploadError
from leaderboard.yours.upload_rows import ROW_TYPES, read_rows

UPLOAD_TYPES = ROW_TYPES
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
    answers: list[Answer] = []
    for row, record in read_rows(content, file, MOST_MEGABYTES, _check_columns):
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


def _check_columns(file: str, names: Sequence[str], row: int) -> None:
    given = {column for column, known in _COLUMNS.items() if set(known) & set(names)}
    if "response" not in given:
        raise UploadError(file, "there is no column 'response'.", row)
    if not given & {"id", "query"}:
        raise UploadError(file, "there is no column 'query', nor one 'id' in its place.", row)


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
