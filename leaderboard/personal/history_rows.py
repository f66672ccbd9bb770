"""Tables of past choices: query, chosen and rejected, or two responses and the winner as LMArena has them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from db import storable_text
from leaderboard.errors import UploadError
from leaderboard.personal.choice import Answer
from leaderboard.personal.history import PastChoice
from leaderboard.personal.history_turns import LastTurn, last_turn
from leaderboard.yours.upload_rows import Row

MOST_ROWS = 10_000
_MOST_SHOWN = 40

_QUERY = ("query", "prompt", "instruction", "question")
_CHOSEN: tuple[str, ...] = ("chosen",)
_REJECTED: tuple[str, ...] = ("rejected",)
_FIRST = ("response_a", "conversation_a")
_SECOND = ("response_b", "conversation_b")
_WINNERS = {
    "model_a": Answer.FIRST,
    "a": Answer.FIRST,
    "model_b": Answer.SECOND,
    "b": Answer.SECOND,
    "tie": Answer.BOTH,
    "both_good": Answer.BOTH,
    "tie (bothbad)": Answer.NEITHER,
    "both_bad": Answer.NEITHER,
    "bothbad": Answer.NEITHER,
}
_HELP = "each row has query, chosen and rejected, or two responses (response_a, response_b) and winner"


def check_columns(file: str, names: Sequence[str], row: int) -> None:
    """Make sure that a choice can be read from these columns.

    Raises:
        UploadError: Neither of the known forms has them.
    """
    given = set(names)
    if {"chosen", "rejected"} <= given:
        return
    if "winner" in given and given & set(_FIRST) and given & set(_SECOND):
        return
    found = ", ".join(map(repr, sorted(map(str, given))[:6])) or "none"
    raise UploadError(file, f"no choice can be read from its columns ({found}): {_HELP}.", row)


def choices_of(rows: Iterable[Row], file: str) -> Iterator[PastChoice]:
    """The choice of each row.

    Raises:
        UploadError: There are too many, or one is malformed; the message names the row.
    """
    for count, (row, record) in enumerate(rows, start=1):
        if count > MOST_ROWS:
            raise UploadError(file, f"it has more than {MOST_ROWS:,} rows; upload the newest only.")
        yield _choice(record, file, row)


def _choice(record: Mapping[str, Any], file: str, row: int) -> PastChoice:
    if "chosen" in record and "rejected" in record:
        columns, answer = (_CHOSEN, _REJECTED), Answer.FIRST
    else:
        columns, answer = (_FIRST, _SECOND), _winner(record.get("winner"), file, row)
    first, second = (_side(record, names, file, row) for names in columns)
    query = _query(record, file, row) or first.query or second.query
    return PastChoice(query, first.response, second.response, answer, max(first.turns, second.turns))


def _side(record: Mapping[str, Any], columns: Sequence[str], file: str, row: int) -> LastTurn:
    column = next(column for column in columns if column in record)
    return last_turn(record[column], column, file, row)


def _query(record: Mapping[str, Any], file: str, row: int) -> str:
    column = next((column for column in _QUERY if record.get(column)), None)
    if column is None:
        return ""
    value = record[column]
    if not isinstance(value, str):
        raise UploadError(file, f"{column!r} is not a text.", row)
    return storable_text(value)


def _winner(value: object, file: str, row: int) -> Answer:
    name = value.strip().lower() if isinstance(value, str) else value
    if not isinstance(name, str) or name not in _WINNERS:
        known = "model_a, model_b, tie or both_bad"
        raise UploadError(file, f"'winner' is {_shortened(value)}, not {known}.", row)
    return _WINNERS[name]


def _shortened(value: object) -> str:
    return textwrap.shorten(repr(value), _MOST_SHOWN, placeholder=" …")
