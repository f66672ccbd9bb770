"""Conversations in rows of past choices: the last query of the person, and the last response."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from db import storable_text
from leaderboard.errors import UploadError

_USERS = ("user", "human")
_LLMS = ("assistant", "model", "gpt")


class LastTurn(NamedTuple):
    """The end of a conversation; ``turns`` are those of the person."""

    query: str
    response: str
    turns: int


def last_turn(value: object, column: str, file: str, row: int) -> LastTurn:
    """The end of a conversation: a response, or a list of {role, content}, perhaps as JSON text.

    Raises:
        UploadError: It is neither; the message names the row.
    """
    turns = _turns(value)
    if turns is None and isinstance(value, str):
        return LastTurn("", storable_text(value), 1)
    if turns is None:
        raise UploadError(file, f"{column!r} is neither a text nor a list of {{role, content}}.", row)
    said = [(role, content) for role, content in map(_said, turns) if role]
    queries = [content for role, content in said if role in _USERS]
    if not said or said[-1][0] not in _LLMS:
        raise UploadError(file, f"{column!r} does not end with a response of an assistant.", row)
    return LastTurn(queries[-1] if queries else "", said[-1][1], max(1, len(queries)))


def joined_parts(parts: Iterable[object]) -> str:
    """The texts among the parts of a message, one below the other; pictures and files are passed over."""
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return storable_text("\n".join(text for text in texts if isinstance(text, str)))


def _turns(value: object) -> list[object] | None:
    """The turns of a conversation; None where the value is none."""
    if isinstance(value, str) and value.lstrip().startswith("[{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, list) and value and all(isinstance(turn, dict) and "role" in turn for turn in value):
        return value
    return None


def _said(turn: object) -> tuple[str, str]:
    """Role and text of a turn; empty where there is none."""
    if not isinstance(turn, dict) or not isinstance(turn["role"], str):
        return "", ""
    content = turn.get("content")
    return turn["role"], joined_parts(content if isinstance(content, list) else [content])
