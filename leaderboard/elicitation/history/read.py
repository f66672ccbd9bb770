"""From an uploaded file to a person's past choices, or one sentence on why not.

Recognised by what is in them are tables (`rows`: CSV, JSON Lines, JSON, Parquet) and the exports of other
programs in `EXPORTS`. Nothing in a file is trusted, and nothing of it is kept but the texts of the choices,
in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from leaderboard.elicitation.history.chatgpt import CHATGPT, conversation_files, is_conversation
from leaderboard.elicitation.history.choices import (
    ChoiceHistory,
    ExportForm,
    LeftOut,
    PastChoice,
    in_time,
    usable_choices,
    why_useless,
)
from leaderboard.elicitation.history.comparia import COMPARIA
from leaderboard.elicitation.history.open_webui import OPEN_WEBUI
from leaderboard.elicitation.history.prism import is_prism, prism_choices
from leaderboard.elicitation.history.promptfoo import PROMPTFOO
from leaderboard.elicitation.history.rows import (
    COLUMNS_READ,
    MAX_ROWS,
    at_most,
    check_choice_columns,
    row_choices,
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
from parsing.limits import ParseError
from parsing.parquet import parquet_in

HISTORY_TYPES = (*ROW_TYPES, "parquet", "zip")
MAX_MEGABYTES = 50
CHOICE_TABLE = "a table of choices"
PRISM_TABLE = "PRISM’s published conversations"
EXPORTS = (CHATGPT, OPEN_WEBUI, COMPARIA, PROMPTFOO)
"""Forms of JSON that are recognised; what has none of them is a table."""

_ROWS_AT_A_TIME = 1_000


@dataclass(frozen=True)
class ReadingLimits:
    """The size of a file, and how many rows it may have."""

    megabytes: int
    rows: int


UPLOADED = ReadingLimits(MAX_MEGABYTES, MAX_ROWS)
PUBLISHED = ReadingLimits(megabytes=8_000, rows=2_000_000)
"""Of what somebody measures on their own machine."""


@dataclass(frozen=True)
class FoundChoices:
    """The choices in a file.

    Attributes:
        form: What kind of file it was taken for, in words.
        choices: Read as they are asked for, once.
        left_out: What was passed over so far, by reason.
        nothing: Why there may be none in it; empty for a table.
    """

    form: str
    choices: Iterator[PastChoice]
    left_out: LeftOut
    nothing: str = ""


def read_history(content: bytes, file: str, person: str = "") -> ChoiceHistory:
    """Read the choices in a file, whose name says by its ending what it is.

    Args:
        person: Whose choices are taken where the file has several people's; empty for everybody's.

    Raises:
        UploadError: It is too large, of another kind, malformed, or holds no choice that can be learnt from.
    """
    found = choices_in(content, file, UPLOADED)
    history = usable_choices(found.form, found.choices, found.left_out, person)
    if found.nothing and not history.choices and history.n_found == found.left_out.total():
        passed_over = f" ({_reasons(history)})" if history.left_out else ""
        advice = "upload a table of choices, or choose between answers here."
        raise UploadError(file, f"{found.nothing}{passed_over}: {advice}")
    if person and person not in dict(history.people):
        raise UploadError(file, f"it has no choices by “{person}”{_who(history)}.")
    if not history.n_found:
        raise UploadError(file, "there are no rows in it.")
    if not history.choices:
        raise UploadError(file, f"nothing can be learnt from its choices: {_reasons(history)}.")
    return history


def people_in(content: bytes, file: str) -> dict[str, list[PastChoice]]:
    """Return each person's choices that can be learnt from, in the order of time, of a file of any size.

    Raises:
        UploadError: As ``choices_in``; it does not say who chose.
    """
    found: dict[str, list[PastChoice]] = defaultdict(list)
    for choice in choices_in(content, file, PUBLISHED).choices:
        if choice.person and not why_useless(choice):
            found[choice.person].append(choice)
    if not found:
        raise UploadError(file, "it has no choices that say who chose (user_id, visitor_id or judge).")
    return {person: in_time(some) for person, some in found.items()}


def choices_in(content: bytes, file: str, limits: ReadingLimits) -> FoundChoices:
    """Return the choices in a file, whether they teach anything or not; raises as ``read_history``.

    What is malformed may be found only while they are read.
    """
    kind = ending(file)
    if kind not in HISTORY_TYPES:
        known = ", ".join(f".{known}" for known in HISTORY_TYPES)
        raise UploadError(file, f"its name must end in {known}.")
    check_size(content, file, limits.megabytes)
    if kind == "zip":
        return _in_export(CHATGPT, (_parse_json(text, file) for text in conversation_files(content, file)))
    if kind == "json":
        value = _parse_json(content, file)
        value = [value] if is_conversation(value) else value
        for form in EXPORTS:
            if form.recognises(value):
                return _in_export(form, [value])
        rows = object_rows(value, file, _any_columns)
    elif kind == "parquet":
        rows = _parquet_rows(content, file)
    else:
        check = check_choice_columns if kind == "csv" else _any_columns
        rows = read_rows(content, file, limits.megabytes, check)
    return _in_rows(at_most(rows, file, limits.rows), file)


def _parse_json(content: bytes, file: str) -> object:
    return parsed(file, decoded(content, file))


def _in_export(form: ExportForm, values: Iterable[object]) -> FoundChoices:
    left_out = LeftOut()
    found = (choice for value in values for choice in form.choices(value, left_out))
    return FoundChoices(form.name, found, left_out, form.nothing)


def _in_rows(rows: Iterator[Row], file: str) -> FoundChoices:
    """Return the choices in rows, whose first one says whether they are PRISM's."""
    left_out = LeftOut()
    first = next(rows, None)
    rows = chain([] if first is None else [first], rows)
    if first is not None and is_prism(first[1]):
        return FoundChoices(PRISM_TABLE, prism_choices(rows, left_out), left_out)
    return FoundChoices(CHOICE_TABLE, row_choices(rows, file, left_out), left_out)


def _parquet_rows(content: bytes, file: str) -> Iterator[Row]:
    number = 0
    try:
        with parquet_in(content) as table:
            check_choice_columns(file, table.names, None)
            columns = [name for name in COLUMNS_READ if name in table.names]
            for batch in table.batches(columns, _ROWS_AT_A_TIME):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
    except ParseError as error:
        raise UploadError(file, f"this is no Parquet file that can be read ({error}).") from None


def _any_columns(file: str, names: Sequence[str], row: int) -> None:
    """Leave it to each row of JSON whether a choice can be read from it: one without others is counted."""


def _reasons(history: ChoiceHistory) -> str:
    return "; ".join(f"{reason} ({count:,})" for reason, count in history.left_out)


def _who(history: ChoiceHistory) -> str:
    """Return whose choices there are, or that the file does not say."""
    if not history.people:
        return "; it does not say who chose"
    named = ", ".join(name for name, _ in history.people[:3])
    return f"; it has some by {named}{' and others' if len(history.people) > 3 else ''}"  # noqa: PLR2004
