"""What importers return, and the checks of names, texts and conversations that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from db.records import BenchmarkInfo, LLMRecord
from db.serialization import storable_text
from db.source_records import Message
from parsing.documents import read_json
from parsing.limits import ParseError
from precompute.errors import file_error, unknown_llm

Read = TypeVar("Read")


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
        llms: In display order, the baseline among them if there is one.
        responses: LLM name to index in `queries` to text; an LLM need not have answered all.
        baseline: The baseline of a benchmark that is not stored yet; None for one whose LLMs are ranked each
            against every other.
        baseline_origin: Why it is that one, where that needs saying.
        notices: What a person should know about the reading.
    """

    info: BenchmarkInfo
    queries: tuple[ImportedQuery, ...]
    llms: tuple[LLMRecord, ...]
    responses: Mapping[str, Mapping[int, str]]
    baseline: str | None
    baseline_origin: str = ""
    notices: tuple[str, ...] = ()


_KINDS = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


def checked_folder(path: Path) -> Path:
    """Return the path, which must be a folder. Raises PrecomputeError: it is none."""
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
            value = read_json(value, keep_halves=True)
        except ParseError as error:
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
    text = text_of_content(content)
    if text is None:
        raise file_error(path, f"the content of {where} is not a text.", row)
    return Message(role, text)


def text_of_content(content: object) -> str | None:
    """Return the text of a message, which may be a list of parts such as {type: text, text: …}.

    Texts are joined by a blank line; of any other part its type is kept, as in “[image]”, so that a reader
    knows of it. None if this is neither a text nor such a list.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = [_text_of_part(part) for part in content]
    texts = [part for part in parts if part is not None]
    return "\n\n".join(texts) if len(texts) == len(parts) else None


def _text_of_part(part: object) -> str | None:
    if not isinstance(part, dict):
        return None
    kind, text = part.get("type"), part.get("text")
    if kind == "text":
        return text if isinstance(text, str) else None
    return f"[{kind}]" if isinstance(kind, str) and kind else None


def read_of_llms(
    folder: Path,
    known: Sequence[str],
    read: Callable[[str], Read],
    llms: Sequence[str] | None,
    *,
    baseline: str | None,
    stored_baseline: str | None,
    default: str,
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, Read], str]:
    """Return what is read of the LLMs asked for, by default all that are known, and the baseline's name.

    The baseline, first of all, is the one asked for, else that of the stored benchmark, else the default. A
    stored one that is not in the folder is not read.

    Raises:
        PrecomputeError: an LLM that a person named, or the default where it counts, is not there.
    """
    first = next(name for name in (baseline, stored_baseline, default) if name is not None)
    if baseline is not None:
        _check_llm(folder, known, baseline)
    elif stored_baseline is None and default not in known:
        raise file_error(folder, f"the baseline {default!r} is not there: name another with --baseline.")
    for llm in llms or ():
        _check_llm(folder, known, llm)
    names = dict.fromkeys([*([first] if first in known else []), *(known if llms is None else llms)])
    found = {}
    for done, name in enumerate(names, start=1):
        found[name] = read(name)
        if progress is not None:
            progress(done, len(names))
    return found, first


def _check_llm(folder: Path, known: Sequence[str], name: str) -> None:
    if name not in known:
        raise unknown_llm(name, str(folder), known)
