"""What somebody likes in general, in words: GP of P-CHECK, from their choices, the later counting more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from crm.criteria import normalise
from crm.llm.prompt import read_prompt
from crm.llm.structured import of_field, parse_json
from crm.llm.tasks import Task
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history.choices import PastChoice, in_time

MAX_SHOWN = 24
"""Choices that an LLM is shown; of more, the latest."""
SHOWN_CHARACTERS = 1_500
"""Of a text that is shown among others."""
FEWEST_WORDS, MOST_WORDS = 40, 250
_MAX_CHARACTERS = 4_000
_CUT = " …"
_template = read_prompt(Path(__file__).parent / "prompts" / "general.txt")


@dataclass(frozen=True)
class DecidedChoice:
    """A choice of one answer over another.

    Attributes:
        age: How many decided choices were made after it.
    """

    query: str
    chosen: str
    rejected: str
    age: int = 0


def decided_choices(choices: Sequence[PastChoice]) -> tuple[DecidedChoice, ...]:
    """Return the choices of one answer, the oldest first.

    They are put in the order of time where all have one; else they stay in the file's.
    """
    found = [choice for choice in choices if choice.outcome.decided]
    if all(choice.moment is not None for choice in found):
        found = in_time(found)
    return tuple(
        DecidedChoice(choice.query, *_chosen_first(choice), age=len(found) - place)
        for place, choice in enumerate(found, start=1)
    )


def _chosen_first(choice: PastChoice) -> tuple[str, str]:
    texts = choice.first, choice.second
    return texts if choice.outcome is ChoiceOutcome.FIRST else texts[::-1]


def shortened(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """Return a text as it is shown among others: one that is too long loses its end, and says so."""
    text = text.strip()
    return text if len(text) <= most else text[: most - len(_CUT)].rstrip() + _CUT


def general_preference_task(choices: Sequence[DecidedChoice]) -> Task[str]:
    """Return how somebody's general preference is asked for, from their latest choices."""
    latest = sorted(choices, key=lambda choice: -choice.age)[-MAX_SHOWN:]
    shown = [
        DecidedChoice(shortened(choice.query), shortened(choice.chosen), shortened(choice.rejected))
        for choice in latest
    ]

    def prompt(problem: str) -> str:
        return _template.render(choices=shown, fewest=FEWEST_WORDS, most=MOST_WORDS, problem=problem)

    return Task(prompt, read_general_preference)


def _general(value: str) -> str:
    text = normalise(value)
    if len(text.split()) < FEWEST_WORDS // 2:
        raise ValueError(f"has {len(text.split())} words, where {FEWEST_WORDS} are wanted")
    if len(text) > _MAX_CHARACTERS:
        raise ValueError(f"has {len(text)} characters, where {_MAX_CHARACTERS} are the most")
    return text


class _General(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    general_preference: Annotated[str, Field(strict=True), AfterValidator(_general)]


def read_general_preference(reply: str) -> str:
    """Return the general preference in a reply, normalised.

    Raises UnusableReplyError: It holds none of a fitting length.
    """
    return parse_json(reply, _General, of_field("general_preference", "is no text")).general_preference
