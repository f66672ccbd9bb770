"""What importers return, and the checks of names, texts and conversations that they share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from db.records import BenchmarkInfo, LLMRecord
from db.serialization import storable_text
from db.source_records import Message
from precompute.errors import file_error, unknown_llm


@dataclass(frozen=True, slots=True)
class ImportedQuery:
    """A query; what its file does not say about it is None."""

    text: str
    external_id: str | None = None
    category: str | None = None
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedBenchmark:
    """A benchmark as its files have it.

    Attributes:
        info: What it says about itself, for a benchmark that is not stored yet.
        queries: In display order; no two of the same external id, nor of the same text without one.
        llms: In display order, the baseline among them.
        responses: LLM name to index in `queries` to text; an LLM need not have answered all.
        baseline: The baseline of a benchmark that is not stored yet.
        baseline_origin: Why it is that one, where that needs saying.
        notices: What a person should know about the reading.
    """

    info: BenchmarkInfo
    queries: tuple[ImportedQuery, ...]
    llms: tuple[LLMRecord, ...]
    responses: Mapping[str, Mapping[int, str]]
    baseline: str
    baseline_origin: str = ""
    notices: tuple[str, ...] = ()


_KINDS = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


def checked_folder(path: Path) -> Path:
    """Return the path, which must be a folder.

    Raises:
        PrecomputeError: it is none.
    """
    if not path.is_dir():
        raise file_error(path, "there is no such folder.")
    return path


def text_of(path: Path, row: int, record: Mapping[str, Any], column: str, *, empty: bool = False) -> str:
    """Return the text in a column that must have one.

    Raises:
        PrecomputeError: the column is missing, holds no text, or an empty one.
    """
    if column not in record:
        raise file_error(path, f"the column {column!r} is missing.", row)
    value = record[column]
    if value is None and not empty:
        raise file_error(path, f"{column!r} is empty.", row)
    if not isinstance(value, str):
        raise file_error(path, f"{column!r} is {_kind(value)}, not a text.", row)
    if not empty and not value.strip():
        raise file_error(path, f"{column!r} is empty.", row)
    return value


def name_of(path: Path, row: int, record: Mapping[str, Any], column: str) -> str:
    """Return the name in a column that must have one, without spaces around it.

    Raises:
        PrecomputeError: the column is missing, holds no text, an empty one, or one that cannot be a name.
    """
    name = text_of(path, row, record, column).strip()
    if storable_text(name) != name or not name.isprintable():
        raise file_error(path, f"{column!r} holds a character that no name can have.", row)
    return name


def optional_name_of(path: Path, row: int, record: Mapping[str, Any], column: str) -> str | None:
    """Return the name in a column, None where the column is absent or empty.

    Raises PrecomputeError: the column holds something else than a name.
    """
    value = record.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return name_of(path, row, record, column)


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "empty" if value is None else f"a value of type {type(value).__name__}")


USER, ASSISTANT = "user", "assistant"
ROLES = ("system", USER, ASSISTANT)


def conversation_of(path: Path, row: int, record: Mapping[str, Any], column: str) -> tuple[Message, ...]:
    """Return the conversation in a column, whole; turns may be empty, as those of real LLMs sometimes are.

    Raises:
        PrecomputeError: the column is missing or holds no conversation with a turn of the user.
    """
    if column not in record:
        raise file_error(path, f"the column {column!r} is missing.", row)
    turns = _turns(path, row, column, record[column])
    messages = tuple(_message(path, row, column, place, turn) for place, turn in enumerate(turns, start=1))
    if all(message.role != USER for message in messages):
        raise file_error(path, f"{column!r} has no turn of the user.", row)
    return messages


def readable(conversation: Sequence[Message]) -> str:
    """Return a conversation as one text: a single turn as it is, several each after who said it."""
    if len(conversation) == 1:
        return conversation[0].content
    return "\n\n".join(f"{message.role.capitalize()}: {message.content}" for message in conversation)


def _turns(path: Path, row: int, column: str, value: object) -> list[object]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise file_error(path, f"{column!r} is not valid JSON ({error}).", row) from error
    if not isinstance(value, list):
        raise file_error(path, f"{column!r} is no list of turns.", row)
    return value


def _message(path: Path, row: int, column: str, place: int, turn: object) -> Message:
    where = f"turn {place} of {column!r}"
    if not isinstance(turn, dict):
        raise file_error(path, f"{where} is no object of role and content.", row)
    role, content = turn.get("role"), turn.get("content")
    if role not in ROLES:
        raise file_error(path, f"the role in {where} is {role!r}, not one of {', '.join(ROLES)}.", row)
    if not isinstance(content, str):
        raise file_error(path, f"the content of {where} is not a text.", row)
    return Message(role, content)


def baseline_among(
    folder: Path, known: Sequence[str], *, asked: str | None, stored: str | None, default: str
) -> str | None:
    """Return the baseline to read: the one asked for, else that of the stored benchmark, else the default.

    None if the benchmark that is imported onto has a baseline which is not in the folder.

    Raises:
        PrecomputeError: a person named an LLM that is not there; nobody named one, and the default is not
            there.
    """
    if asked is not None:
        return _checked_llm(folder, known, asked)
    if stored is not None:
        return stored if stored in known else None
    if default not in known:
        raise file_error(folder, f"the baseline {default!r} is not there: name another with --baseline.")
    return default


def asked_llms(
    folder: Path, known: Sequence[str], llms: Sequence[str] | None, baseline: str | None
) -> list[str]:
    """Return the baseline, if any, then the LLMs asked for, all of them if None; each once.

    Raises PrecomputeError: one of them is not known.
    """
    chosen = known if llms is None else [_checked_llm(folder, known, llm) for llm in llms]
    return list(dict.fromkeys([*([baseline] if baseline else []), *chosen]))


def _checked_llm(folder: Path, known: Sequence[str], name: str) -> str:
    if name not in known:
        raise unknown_llm(name, str(folder), known)
    return name
