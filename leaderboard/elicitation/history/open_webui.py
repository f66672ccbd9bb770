"""Past choices in Open WebUI's export of feedback: thumbs on answers that have siblings.

Each entry rates one message and carries the chat that it stands in. A query's answers are the messages below
it: of several models side by side, or made again. Each entry's snapshot may know other siblings, so what all
entries say of one query is put together first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from db.serialization import storable_text
from leaderboard.elicitation.history.chatgpt import joined_parts
from leaderboard.elicitation.history.choices import DAMAGED, ExportForm, LeftOut, PastChoice, moment_of
from leaderboard.elicitation.history.ratings import (
    DISLIKED,
    LIKED,
    UNRATED,
    RatedAnswer,
    RatedQuery,
    rated_choices,
)

NOT_RATED = "feedback without a thumb"
_USER, _ASSISTANT = "user", "assistant"
_RATINGS = {1: LIKED, -1: DISLIKED, "1": LIKED, "-1": DISLIKED}

Messages = Mapping[str, Mapping[str, Any]]


@dataclass
class _Rated:
    """A query in a person's chat; its answers with who gave them, and their ratings, by the message's id."""

    query: RatedQuery
    answers: dict[str, tuple[str, str]] = field(default_factory=dict)
    ratings: dict[str, int] = field(default_factory=dict)


def is_feedback_export(value: object) -> bool:
    """Return whether a JSON value is a list of feedback entries."""
    return isinstance(value, list) and any(
        isinstance(entry, dict) and isinstance(entry.get("data"), dict) and "snapshot" in entry
        for entry in value
    )


def feedback_choices(value: object, left_out: LeftOut) -> Iterator[PastChoice]:
    """Yield the choices between rated answers and their siblings."""
    queries: dict[tuple[str, str, str], _Rated] = {}
    for entry in value if isinstance(value, list) else []:
        if reason := _add(entry, queries):
            left_out[reason] += 1
    for rated in queries.values():
        answers = [
            RatedAnswer(text, rated.ratings.get(key, UNRATED), llm)
            for key, (text, llm) in rated.answers.items()
        ]
        yield from rated_choices(rated.query, answers, left_out)


def _add(entry: object, queries: dict[tuple[str, str, str], _Rated]) -> str:
    """Add what an entry says to its query; return why it says nothing, or nothing."""
    if not isinstance(entry, dict):
        return DAMAGED
    data, meta = _object(entry.get("data")), _object(entry.get("meta"))
    rating = data.get("rating")
    if not isinstance(rating, int | str) or isinstance(rating, bool) or rating not in _RATINGS:
        return NOT_RATED
    messages = _messages(entry)
    rated = str(meta.get("message_id"))
    parent = messages.get(rated, {}).get("parentId")
    if not isinstance(parent, str) or messages.get(parent, {}).get("role") != _USER:
        return DAMAGED
    person = entry.get("user_id")
    person = storable_text(person) if isinstance(person, str) else ""
    key = (person, str(meta.get("chat_id")), parent)
    asked = RatedQuery(
        _text(messages[parent]), _turns(messages, parent), person, moment_of(entry.get("created_at"))
    )
    query = queries.setdefault(key, _Rated(asked))
    for sibling, message in messages.items():
        if message.get("parentId") == parent and message.get("role") == _ASSISTANT and _text(message):
            llm = message.get("model")
            query.answers[sibling] = (_text(message), storable_text(llm) if isinstance(llm, str) else "")
    if rated not in query.answers:
        return DAMAGED
    query.ratings[rated] = _RATINGS[rating]
    return ""


def _messages(entry: Mapping[str, Any]) -> Messages:
    """Return the messages of an entry's chat by their ids; none where it is malformed."""
    chat = _object(_object(entry.get("snapshot")).get("chat"))
    chat = _object(chat.get("chat")) or chat
    messages = _object(_object(chat.get("history")).get("messages"))
    return {key: message for key, message in messages.items() if isinstance(message, dict)}


def _turns(messages: Messages, end: str) -> int:
    """Return the number of the person's turns up to a message."""
    seen: set[str] = set()
    key: object = end
    turns = 0
    while isinstance(key, str) and key in messages and key not in seen:
        seen.add(key)
        turns += messages[key].get("role") == _USER
        key = messages[key].get("parentId")
    return max(1, turns)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return joined_parts(content if isinstance(content, list) else [content]).strip()


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


OPEN_WEBUI = ExportForm(
    "an export of Open WebUI’s feedback",
    is_feedback_export,
    feedback_choices,
    "no rated answer has a second answer to the same query that is rated otherwise or not at all, which is "
    "what tells a choice",
)
