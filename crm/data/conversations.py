"""Conversations of several turns as pairs: what was asked at first, and all that followed on either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from crm.protocol import Pair, Turn

USER, ASSISTANT, SYSTEM = "user", "assistant", "system"


class Turns(StrEnum):
    """By what a conversation of several turns is judged."""

    ALL = "all"
    """By all of it, the person's further messages included: what people judged who voted at its end."""
    LAST = "last"
    """By the last answer, to all that the person wrote."""


def read_conversation(value: Any, field: str) -> tuple[Turn, ...]:
    """Return the turns of a JSON value: a list of {role, content}, or a text, which is one answer.

    Raises:
        TypeError: It is neither, or no turn is the assistant's.
        KeyError: A turn has no content.
    """
    if isinstance(value, str):
        return (Turn(ASSISTANT, value),)
    if not isinstance(value, list) or not all(map(_is_turn, value)):
        raise TypeError(f"the field {field!r} is not a text, nor a list of messages {{role, content}}")
    turns = tuple(Turn(one.get("role", ASSISTANT), one["content"]) for one in value)
    if all(one.role != ASSISTANT for one in turns):
        raise TypeError(f"the field {field!r} has no answer in it")
    return turns


def conversation_pair(
    query: str, first: Sequence[Turn], second: Sequence[Turn], by: Turns = Turns.ALL
) -> Pair:
    """Return two conversations that began with the same query as a pair.

    The query is the field of that name, which may say more than the first message, such as a system prompt.
    """
    after = [_after_query(turns) for turns in (first, second)]
    answers = [[one.content for one in turns if one.role == ASSISTANT] for turns in after]
    whole_a, whole_b = ("\n\n".join(texts) for texts in answers)
    asked = dict.fromkeys(one.content for turns in after for one in turns if one.role == USER)
    if not asked:
        return Pair(query, whole_a, whole_b)
    # Files of earlier versions have all that the person wrote as the query.
    begun = query.removesuffix("".join(f"\n\n{text}" for text in asked))
    if by is Turns.LAST:
        return Pair("\n\n".join((begun, *asked)), answers[0][-1], answers[1][-1])
    return Pair(begun, whole_a, whole_b, *after)


def _is_turn(value: Any) -> bool:
    if not isinstance(value, Mapping) or value.get("role", ASSISTANT) not in (USER, ASSISTANT, SYSTEM):
        return False
    return isinstance(value["content"], str)


def _after_query(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns less those before the first answer, which the query stands for."""
    first = next(place for place, one in enumerate(turns) if one.role == ASSISTANT)
    return tuple(one for one in turns[first:] if one.role != SYSTEM)
