"""Past choices in the copy of one's data that compar:IA gives to whoever has an account.

Of a conversation every turn has two answers and may have a choice. The votes that compar:IA publishes are a
table and are read as its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from db.serialization import storable_text
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history.choices import DAMAGED, ExportForm, LeftOut, PastChoice, moment_of

NOT_CHOSEN = "a turn without a choice"
UNDECIDED = "“I do not know” was chosen"
ONE_ANSWER = "only one of two answers came"
_UNDECIDED = "idk"
_OUTCOMES = {
    "a_better": ChoiceOutcome.FIRST,
    "b_better": ChoiceOutcome.SECOND,
    "both_good": ChoiceOutcome.BOTH,
    "both_bad": ChoiceOutcome.NEITHER,
}


def is_account_export(value: object) -> bool:
    """Return whether a JSON value is the copy of an account's data."""
    return (
        isinstance(value, dict) and "schema_version" in value and isinstance(value.get("conversations"), list)
    )


def account_choices(value: object, left_out: LeftOut) -> Iterator[PastChoice]:
    """Yield the choice of each turn, and count turns without one."""
    for conversation in value["conversations"] if isinstance(value, dict) else []:
        turns = conversation.get("turns") if isinstance(conversation, dict) else None
        if not isinstance(turns, list):
            left_out[DAMAGED] += 1
            continue
        for number, turn in enumerate(turns, start=1):
            found = _choice(turn, number, conversation) if isinstance(turn, dict) else DAMAGED
            if isinstance(found, str):
                left_out[found] += 1
            else:
                yield found


def _choice(turn: Mapping[str, Any], number: int, conversation: Mapping[str, Any]) -> PastChoice | str:
    """Return the choice of a turn, or why there is none."""
    choice, prompt = turn.get("choice"), turn.get("prompt")
    if choice is None:
        return NOT_CHOSEN
    if choice == _UNDECIDED:
        return UNDECIDED
    first, second = turn.get("response_a"), turn.get("response_b")
    if first is None or second is None:
        return ONE_ANSWER
    texts = [answer.get("content") if isinstance(answer, dict) else None for answer in (first, second)]
    readable = all(isinstance(text, str) for text in (prompt, *texts))
    if not readable or not isinstance(choice, str) or choice not in _OUTCOMES:
        return DAMAGED
    query, first, second = (storable_text(str(text)) for text in (prompt, *texts))
    named = (conversation.get(side) for side in ("model_a", "model_b"))
    one, other = (storable_text(name) if isinstance(name, str) else "" for name in named)
    return PastChoice(
        query,
        first,
        second,
        _OUTCOMES[choice],
        number,
        llms=(one, other),
        moment=moment_of(turn.get("created_at")),
    )


COMPARIA = ExportForm(
    "an export of a compar:IA account",
    is_account_export,
    account_choices,
    "there is no turn with two answers and a choice in it",
)
