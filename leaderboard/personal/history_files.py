"""From an uploaded file to a person's past choices, or one sentence on why not.

Recognised are tables (CSV, JSON Lines, JSON) and exports of ChatGPT's data. Nothing in a file is trusted, and
nothing of it is kept but the texts of the choices, in memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from leaderboard.errors import UploadError
from leaderboard.personal.history import History, PastChoice, sifted
from leaderboard.personal.history_archive import conversation_files
from leaderboard.personal.history_chatgpt import is_conversation, regenerated
from leaderboard.personal.history_rows import check_columns, choices_of
from leaderboard.yours.upload_rows import (
    ROW_TYPES,
    check_size,
    decoded,
    ending,
    object_rows,
    parsed,
    read_rows,
)

HISTORY_TYPES = (*ROW_TYPES, "zip")
MOST_MEGABYTES = 50
CHATGPT = "an export of ChatGPT’s data"
TABLE = "a table of choices"


def read_history(content: bytes, file: str) -> History:
    """The choices in a file.

    Args:
        content: The file.
        file: Its name, whose ending says what it is.

    Raises:
        UploadError: It is too large, of another kind, malformed, or holds no choice that can be learnt from.
    """
    kind = ending(file)
    if kind not in HISTORY_TYPES:
        known = ", ".join(f".{known}" for known in HISTORY_TYPES)
        raise UploadError(file, f"its name must end in {known}.")
    check_size(content, file, MOST_MEGABYTES)
    if kind == "zip":
        packed = (_json(text, file) for text in conversation_files(content, file))
        history = _of_conversations(packed, file)
    elif kind == "json":
        history = _of_json(_json(content, file), file)
    else:
        history = sifted(TABLE, choices_of(read_rows(content, file, MOST_MEGABYTES, check_columns), file))
    if not history.n_found:
        raise UploadError(file, "there are no rows in it.")
    if not history.choices:
        reasons = "; ".join(f"{reason} ({count:,})" for reason, count in history.left_out)
        raise UploadError(file, f"nothing can be learnt from its choices: {reasons}.")
    return history


def _json(content: bytes, file: str) -> object:
    return parsed(file, decoded(content, file))


def _of_json(value: object, file: str) -> History:
    """A list of conversations or of rows; also one conversation alone."""
    values = [value] if is_conversation(value) else value
    if isinstance(values, list) and any(map(is_conversation, values)):
        return _of_conversations([values], file)
    return sifted(TABLE, choices_of(object_rows(values, file, check_columns), file))


def _of_conversations(exports: Iterable[object], file: str) -> History:
    """All choices in the conversations of one or several files."""
    found: list[PastChoice] = []
    ambiguous = 0
    for export in exports:
        for conversation in export if isinstance(export, list) else []:
            if not is_conversation(conversation):
                continue
            for place in regenerated(conversation):
                if place.chosen:
                    found.extend(place.choices())
                else:
                    ambiguous += len(place.others)
    if not found:
        reason = (
            "no answer in these conversations was made anew and gone on with, which is what tells a choice"
        )
        raise UploadError(file, f"{reason}: upload a table of choices, or choose between answers here.")
    return sifted(CHATGPT, found, ambiguous)
