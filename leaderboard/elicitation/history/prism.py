"""Past choices in PRISM's published files: a person chose one of several LLMs' answers to a prompt.

PRISM (Kirk et al. 2024) publishes the same choices twice: ``utterances.jsonl`` has a row an answer, and
``conversations.jsonl`` a row a conversation with all its answers, and says when it took place. The chosen
answer was preferred to each of the others to its prompt; scores between those say nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from db.serialization import storable_text
from leaderboard.elicitation.history.choices import DAMAGED, LeftOut, PastChoice, moment_of
from leaderboard.elicitation.history.ratings import (
    LIKED,
    UNRATED,
    RatedAnswer,
    RatedQuery,
    rated_choices,
)
from leaderboard.user_data.uploads import Row

_UTTERANCE = ("user_id", "interaction_id", "turn", "user_prompt", "model_response", "model_name", "if_chosen")
_CONVERSATION = ("user_id", "conversation_id", "generated_datetime", "conversation_history")
COLUMNS_READ = (*_UTTERANCE, *_CONVERSATION[1:])
"""All columns that are looked at."""
_NOT_SAID = {"generated_datetime", "model_name"}
"""Of these, what a row may lack."""
_USER, _MODEL = "user", "model"

_Answered = tuple[RatedQuery, list[RatedAnswer]]


def is_prism(names: Iterable[str]) -> bool:
    """Return whether these are the columns of one of PRISM's files with choices."""
    given = set(names)
    return any(set(columns) - _NOT_SAID <= given for columns in (_UTTERANCE, _CONVERSATION))


def prism_choices(rows: Iterable[Row], left_out: LeftOut) -> Iterator[PastChoice]:
    """Yield the choices in rows of either file, and count rows that cannot be read."""
    answered: dict[object, _Answered] = {}
    for row, record in rows:
        if "conversation_history" in record:
            found = _conversation(record)
            answered |= {(row, turn): each for turn, each in found.items()}
            damaged = not found
        else:
            damaged = not _add_utterance(record, answered)
        left_out[DAMAGED] += damaged
    for query, answers in answered.values():
        yield from rated_choices(query, answers, left_out)


def _conversation(record: Mapping[str, Any]) -> dict[int, _Answered]:
    """Return the answers of each turn of a conversation, by the turn; none where it is damaged."""
    history = record["conversation_history"]
    turns: dict[int, _Answered] = {}
    for message in history if isinstance(history, list) else []:
        if not isinstance(message, dict):
            return {}
        turn, content = message.get("turn"), message.get("content")
        if not isinstance(turn, int) or not isinstance(content, str):
            return {}
        if message.get("role") == _USER:
            moment = moment_of(record.get("generated_datetime"))
            turns[turn] = (RatedQuery(storable_text(content), turn + 1, _text(record, "user_id"), moment), [])
        elif message.get("role") == _MODEL and turn in turns:
            turns[turn][1].append(_answer(message, content))
    return turns


def _add_utterance(record: Mapping[str, Any], answered: dict[object, _Answered]) -> bool:
    """Add an answer to those of its prompt; return whether it could be read."""
    prompt, response = record.get("user_prompt"), record.get("model_response")
    place, turn = record.get("interaction_id"), record.get("turn")
    if not isinstance(prompt, str) or not isinstance(response, str) or not isinstance(place, str):
        return False
    number = int(turn) if isinstance(turn, int) or (isinstance(turn, str) and turn.isdecimal()) else 0
    query = RatedQuery(storable_text(prompt), number + 1, _text(record, "user_id"))
    answered.setdefault(place, (query, []))[1].append(_answer(record, response))
    return True


def _answer(source: Mapping[str, Any], text: str) -> RatedAnswer:
    chosen = source.get("if_chosen") in (True, "True", "true")
    return RatedAnswer(storable_text(text), LIKED if chosen else UNRATED, _text(source, "model_name"))


def _text(source: Mapping[str, Any], key: str) -> str:
    value = source.get(key)
    return storable_text(value) if isinstance(value, str) else ""
