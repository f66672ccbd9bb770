"""From an uploaded file to a person's past choices, or one sentence on why not.

Recognised are tables (CSV, JSON Lines, JSON) with query, chosen and rejected, or with two responses and the
winner as LMArena has them, and exports of ChatGPT's data. Nothing in a file is trusted, and nothing of it is
kept but the texts of the choices, in memory.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from db.serialization import storable_text
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history.chatgpt import (
    conversation_files,
    is_conversation,
    joined_parts,
    regenerated_answers,
)
from leaderboard.errors import UploadError
from leaderboard.user_data.uploads import (
    ROW_TYPES,
    Row,
    check_size,
    decoded,
    ending,
    object_rows,
    parsed,
    read_rows,
)
from parsing.documents import read_json
from parsing.limits import ParseError

HISTORY_TYPES = (*ROW_TYPES, "zip")
MAX_MEGABYTES = 50
MAX_ROWS = 10_000
CHATGPT_EXPORT = "an export of ChatGPT’s data"
CHOICE_TABLE = "a table of choices"
MAX_CHOICES = 200
"""Choices that are learnt from; of more, so many are taken, evenly spread over the history."""
MAX_CHARACTERS = 20_000
"""Characters of one response."""

SAME = "both answers are the same"
EMPTY = "an answer is empty"
LONG = f"an answer has more than {MAX_CHARACTERS:,} characters"
NOT_CONTINUED = "an answer was made again, but none of them was gone on with"
TOO_MANY = f"only {MAX_CHOICES} are used, evenly spread over the file"

_MAX_SHOWN = 40

_QUERY_COLUMNS = ("query", "prompt", "instruction", "question")
_FIRST_COLUMNS = ("response_a", "conversation_a")
_SECOND_COLUMNS = ("response_b", "conversation_b")
_WINNERS = {
    "model_a": ChoiceOutcome.FIRST,
    "a": ChoiceOutcome.FIRST,
    "model_b": ChoiceOutcome.SECOND,
    "b": ChoiceOutcome.SECOND,
    "tie": ChoiceOutcome.BOTH,
    "both_good": ChoiceOutcome.BOTH,
    "tie (bothbad)": ChoiceOutcome.NEITHER,
    "both_bad": ChoiceOutcome.NEITHER,
    "bothbad": ChoiceOutcome.NEITHER,
}
_HELP = "each row has query, chosen and rejected, or two responses (response_a, response_b) and winner"
_USER_ROLES = ("user", "human")
_LLM_ROLES = ("assistant", "model", "gpt")


@dataclass(frozen=True, slots=True)
class PastChoice:
    """One choice between two responses to a query.

    Attributes:
        query: What was asked; may be blank.
        turns: Turns of the person in the conversation that it comes from; only the last is the query.
    """

    query: str
    first: str
    second: str
    outcome: ChoiceOutcome
    turns: int = 1


@dataclass(frozen=True)
class ChoiceHistory:
    """What a file of past choices holds.

    Attributes:
        form: What kind of file it was taken for, in words.
        choices: Those that can be learnt from, in the file's order.
        left_out: Why others cannot, and how many of them.
    """

    form: str
    choices: tuple[PastChoice, ...]
    left_out: tuple[tuple[str, int], ...] = ()

    @property
    def n_found(self) -> int:
        """Number of choices in the file."""
        return len(self.choices) + sum(count for _, count in self.left_out)

    @property
    def n_multi_turn(self) -> int:
        """Number of choices at the end of a conversation of several turns."""
        return sum(choice.turns > 1 for choice in self.choices)


def usable_choices(form: str, found: Iterable[PastChoice], ambiguous: int = 0) -> ChoiceHistory:
    """Return the choices that teach something as a history; of ``ambiguous`` more the outcome is unknown."""
    reasons = Counter({NOT_CONTINUED: ambiguous})
    kept: list[PastChoice] = []
    for choice in found:
        if reason := _why_useless(choice):
            reasons[reason] += 1
        else:
            kept.append(choice)
    used = _evenly_spread(kept)
    reasons[TOO_MANY] = len(kept) - len(used)
    return ChoiceHistory(form, used, tuple((reason, count) for reason, count in reasons.items() if count))


def _why_useless(choice: PastChoice) -> str:
    """Return why nothing can be learnt from a choice; empty where it can."""
    texts = (choice.first.strip(), choice.second.strip())
    if not all(texts):
        return EMPTY
    if texts[0] == texts[1]:
        return SAME
    return LONG if max(map(len, texts)) > MAX_CHARACTERS else ""


def _evenly_spread(choices: Sequence[PastChoice]) -> tuple[PastChoice, ...]:
    """Return at most ``MAX_CHOICES`` of the choices, first and last among them."""
    if len(choices) <= MAX_CHOICES:
        return tuple(choices)
    places = np.linspace(0, len(choices) - 1, MAX_CHOICES).round().astype(int)
    return tuple(choices[place] for place in places)


def read_history(content: bytes, file: str) -> ChoiceHistory:
    """Read the choices in a file, whose name says by its ending what it is.

    Raises:
        UploadError: It is too large, of another kind, malformed, or holds no choice that can be learnt from.
    """
    kind = ending(file)
    if kind not in HISTORY_TYPES:
        known = ", ".join(f".{known}" for known in HISTORY_TYPES)
        raise UploadError(file, f"its name must end in {known}.")
    check_size(content, file, MAX_MEGABYTES)
    if kind == "zip":
        packed = (_parse_json(text, file) for text in conversation_files(content, file))
        history = _from_conversations(packed, file)
    elif kind == "json":
        history = _from_parse_json(_parse_json(content, file), file)
    else:
        history = usable_choices(
            CHOICE_TABLE, row_choices(read_rows(content, file, MAX_MEGABYTES, check_choice_columns), file)
        )
    if not history.n_found:
        raise UploadError(file, "there are no rows in it.")
    if not history.choices:
        reasons = "; ".join(f"{reason} ({count:,})" for reason, count in history.left_out)
        raise UploadError(file, f"nothing can be learnt from its choices: {reasons}.")
    return history


def _parse_json(content: bytes, file: str) -> object:
    return parsed(file, decoded(content, file))


def _from_parse_json(value: object, file: str) -> ChoiceHistory:
    """Read a list of conversations or of rows; also one conversation alone."""
    values = [value] if is_conversation(value) else value
    if isinstance(values, list) and any(map(is_conversation, values)):
        return _from_conversations([values], file)
    return usable_choices(CHOICE_TABLE, row_choices(object_rows(values, file, check_choice_columns), file))


def _from_conversations(exports: Iterable[object], file: str) -> ChoiceHistory:
    found: list[PastChoice] = []
    ambiguous = 0
    for export in exports:
        for conversation in export if isinstance(export, list) else []:
            if not is_conversation(conversation):
                continue
            for place in regenerated_answers(conversation):
                if place.chosen:
                    found.extend(
                        PastChoice(place.query, place.chosen, other, ChoiceOutcome.FIRST, place.turn)
                        for other in place.others
                    )
                else:
                    ambiguous += len(place.others)
    if not found:
        reason = (
            "no answer in these conversations was made again and gone on with, which is what tells a choice"
        )
        raise UploadError(file, f"{reason}: upload a table of choices, or choose between answers here.")
    return usable_choices(CHATGPT_EXPORT, found, ambiguous)


def check_choice_columns(file: str, names: Sequence[str], row: int) -> None:
    """Raise an UploadError unless a choice can be read from these columns."""
    given = set(names)
    if {"chosen", "rejected"} <= given:
        return
    if "winner" in given and given & set(_FIRST_COLUMNS) and given & set(_SECOND_COLUMNS):
        return
    found = ", ".join(map(repr, sorted(map(str, given))[:6])) or "none"
    raise UploadError(file, f"no choice can be read from its columns ({found}): {_HELP}.", row)


def row_choices(rows: Iterable[Row], file: str) -> Iterator[PastChoice]:
    """Yield the choice of each row; an UploadError names the row that is malformed or one too many."""
    for count, (row, record) in enumerate(rows, start=1):
        if count > MAX_ROWS:
            raise UploadError(file, f"it has more than {MAX_ROWS:,} rows; upload the newest only.")
        yield _choice(record, file, row)


def _choice(record: Mapping[str, Any], file: str, row: int) -> PastChoice:
    columns, outcome = ["chosen", "rejected"], ChoiceOutcome.FIRST
    if "chosen" not in record or "rejected" not in record:
        outcome = _winner(record.get("winner"), file, row)
        columns = [next(filter(record.__contains__, names)) for names in (_FIRST_COLUMNS, _SECOND_COLUMNS)]
    first, second = (last_turn(record[column], column, file, row) for column in columns)
    query = _query(record, file, row) or first.query or second.query
    return PastChoice(query, first.response, second.response, outcome, max(first.turns, second.turns))


def _query(record: Mapping[str, Any], file: str, row: int) -> str:
    column = next((column for column in _QUERY_COLUMNS if record.get(column)), None)
    if column is None:
        return ""
    value = record[column]
    if not isinstance(value, str):
        raise UploadError(file, f"{column!r} is not a text.", row)
    return storable_text(value)


def _winner(value: object, file: str, row: int) -> ChoiceOutcome:
    name = value.strip().lower() if isinstance(value, str) else value
    if not isinstance(name, str) or name not in _WINNERS:
        shown = textwrap.shorten(repr(value), _MAX_SHOWN, placeholder=" …")
        raise UploadError(file, f"'winner' is {shown}, not model_a, model_b, tie or both_bad.", row)
    return _WINNERS[name]


class _LastTurn(NamedTuple):
    """The end of a conversation; ``turns`` are those of the person."""

    query: str
    response: str
    turns: int


def last_turn(value: object, column: str, file: str, row: int) -> _LastTurn:
    """Return the end of a conversation: a response, or a list of {role, content}, perhaps as JSON text.

    Raises:
        UploadError: It is neither; the message names the row.
    """
    turns = _turns(value)
    if turns is None and isinstance(value, str):
        return _LastTurn("", storable_text(value), 1)
    if turns is None:
        raise UploadError(file, f"{column!r} is neither a text nor a list of {{role, content}}.", row)
    texts = [(role, content) for role, content in map(_role_and_text, turns) if role]
    queries = [content for role, content in texts if role in _USER_ROLES]
    if not texts or texts[-1][0] not in _LLM_ROLES:
        raise UploadError(file, f"{column!r} does not end with a response of an assistant.", row)
    return _LastTurn(queries[-1] if queries else "", texts[-1][1], max(1, len(queries)))


def _turns(value: object) -> list[object] | None:
    """Return the turns of a conversation; None where the value is none."""
    if isinstance(value, str) and value.lstrip().startswith("[{"):
        try:
            value = read_json(value, keep_halves=True)
        except ParseError:
            return None
    if isinstance(value, list) and value and all(isinstance(turn, dict) and "role" in turn for turn in value):
        return value
    return None


def _role_and_text(turn: object) -> tuple[str, str]:
    """Return role and text of a turn; empty where there is none."""
    if not isinstance(turn, dict) or not isinstance(turn["role"], str):
        return "", ""
    content = turn.get("content")
    return turn["role"], joined_parts(content if isinstance(content, list) else [content])
