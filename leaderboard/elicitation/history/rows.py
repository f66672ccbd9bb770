"""From the rows of a table to past choices: chosen and rejected, votes of LMArena, and votes of compar:IA.

Which columns a row has says what it is. A damaged row among others is counted; where no row can be read, the
first one's fault is the message.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from db.serialization import storable_text
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history import prism
from leaderboard.elicitation.history.chatgpt import joined_parts
from leaderboard.elicitation.history.choices import DAMAGED, LeftOut, PastChoice, moment_of
from leaderboard.errors import UploadError
from leaderboard.user_data.uploads import Row
from parsing.documents import read_json
from parsing.limits import ParseError

MAX_ROWS = 10_000
NO_VOTE = "no vote was cast"

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
_COMPARIA_COLUMNS = {
    "model_a_name",
    "model_b_name",
    "chosen_model_name",
    "both_equal",
    "conversation_a",
    "conversation_b",
}
_PERSON_COLUMNS = ("user_id", "visitor_id", "judge")
"""Who chose: in one's own tables, in compar:IA's, and in those of LMArena that say it."""
_LLM_COLUMNS = (("model_a_name", "model_b_name"), ("model_a", "model_b"))
_TIME_COLUMNS = ("timestamp", "tstamp")
COLUMNS_READ = (
    *("chosen", "rejected", "winner"),
    *_QUERY_COLUMNS,
    *_FIRST_COLUMNS,
    *_SECOND_COLUMNS,
    *sorted(_COMPARIA_COLUMNS - {"conversation_a", "conversation_b"}),
    *_LLM_COLUMNS[1],
    *_TIME_COLUMNS,
    *_PERSON_COLUMNS,
    *prism.COLUMNS_READ[1:],
)
"""All columns that are looked at."""
_YES = ("true", "1", "yes")
_HELP = "each row has query, chosen and rejected, or two responses (response_a, response_b) and winner"
_PRINTED = ("[{'role'", "[{'content'")
_USER_ROLES = ("user", "human")
_LLM_ROLES = ("assistant", "model", "gpt")


def check_choice_columns(file: str, names: Sequence[str], row: int | None) -> None:
    """Raise an UploadError unless a choice can be read from these columns."""
    given = set(names)
    if {"chosen", "rejected"} <= given or given >= _COMPARIA_COLUMNS or prism.is_prism(given):
        return
    if "winner" in given and given & set(_FIRST_COLUMNS) and given & set(_SECOND_COLUMNS):
        return
    found = ", ".join(map(repr, sorted(map(str, given))[:6])) or "none"
    raise UploadError(file, f"no choice can be read from its columns ({found}): {_HELP}.", row)


def at_most(rows: Iterable[Row], file: str, most: int) -> Iterator[Row]:
    """Yield so many rows at most; an UploadError where there is one more."""
    for count, row in enumerate(rows, start=1):
        if count > most:
            raise UploadError(file, f"it has more than {most:,} rows; upload the newest only.")
        yield row


def row_choices(rows: Iterable[Row], file: str, left_out: LeftOut) -> Iterator[PastChoice]:
    """Yield the choice of each row, and count rows without one.

    Raises:
        UploadError: None can be read; the message names the row.
    """
    faults: list[UploadError] = []
    read = 0
    for row, record in rows:
        try:
            if (choice := _choice(record, file, row)) is not None:
                yield choice
            else:
                left_out[NO_VOTE] += 1
            read += 1
        except UploadError as fault:
            faults.append(fault)
    if faults and not read:
        raise faults[0]
    if faults:
        left_out[f"{DAMAGED}; the first is row {faults[0].row}: {faults[0].reason.rstrip('.')}"] = len(faults)


def _choice(record: Mapping[str, Any], file: str, row: int) -> PastChoice | None:
    """Return the choice in a row; None where no vote was cast."""
    check_choice_columns(file, list(record), row)
    columns = ["chosen", "rejected"]
    outcome: ChoiceOutcome | None = ChoiceOutcome.FIRST
    if "chosen" not in record or "rejected" not in record:
        voted = record.keys() >= _COMPARIA_COLUMNS
        outcome = _comparia_vote(record, file, row) if voted else _winner(record.get("winner"), file, row)
        columns = [next(filter(record.__contains__, names)) for names in (_FIRST_COLUMNS, _SECOND_COLUMNS)]
    if outcome is None:
        return None
    first, second = (last_turn(record[column], column, file, row) for column in columns)
    return PastChoice(
        _query(record, file, row) or first.query or second.query,
        first.response,
        second.response,
        outcome,
        turns=max(first.turns, second.turns),
        person=_person(record),
        # Of chosen and rejected, such columns would not say who gave which.
        llms=("", "") if "chosen" in columns else _llms(record),
        moment=next((moment_of(record[column]) for column in _TIME_COLUMNS if column in record), None),
    )


def _comparia_vote(record: Mapping[str, Any], file: str, row: int) -> ChoiceOutcome | None:
    """Return what compar:IA says was chosen; None where no vote was cast."""
    names = record["model_a_name"], record["model_b_name"]
    chosen, equal = record["chosen_model_name"], record["both_equal"]
    if equal is True or (isinstance(equal, str) and equal.strip().lower() in _YES):
        return ChoiceOutcome.BOTH
    if chosen in {None, ""}:
        return None
    if names[0] == names[1]:
        raise UploadError(file, "both models have the same name, so that it cannot be told which won.", row)
    if chosen not in names:
        raise UploadError(file, "'chosen_model_name' is neither of the two models.", row)
    return ChoiceOutcome.FIRST if chosen == names[0] else ChoiceOutcome.SECOND


def _person(record: Mapping[str, Any]) -> str:
    """Return who chose, as far as the row says it."""
    values = (record.get(column) for column in _PERSON_COLUMNS)
    return next(
        (storable_text(str(value)) for value in values if isinstance(value, str | int) and value != ""), ""
    )


def _llms(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return who answered first and second; empty where a row does not name both."""
    for columns in _LLM_COLUMNS:
        one, other = (record.get(column) for column in columns)
        if isinstance(one, str) and isinstance(other, str):
            return storable_text(one), storable_text(other)
    return "", ""


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
    if turns is None and isinstance(value, str) and value.lstrip().startswith(_PRINTED):
        reason = "a list as Python prints it, not as JSON: save the table as Parquet or JSON Lines"
        raise UploadError(file, f"{column!r} is {reason}.", row)
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


def query_of(prompt: str) -> str:
    """Return the query in a prompt: of the JSON text of a conversation, the last turn of its person."""
    turns = _turns(prompt)
    if turns is None:
        return storable_text(prompt)
    queries = [content for role, content in map(_role_and_text, turns) if role in _USER_ROLES]
    return queries[-1] if queries else ""
