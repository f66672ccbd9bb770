"""How a question of the interview is worded: as it is bundled, or by an LLM for a person's topics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from jinja2 import Environment, StrictUndefined
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from crm.criteria import normalise
from leaderboard.errors import LeaderboardError
from leaderboard.personal.questions import NO_PREFERENCE, Question

QUESTION_WORDS = 20
OPTION_WORDS = 10
_LONGEST_QUESTION = 200
_LONGEST_OPTION = 90
_JSON = re.compile(r"\{.*\}", re.DOTALL)
_template = Environment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
).from_string((Path(__file__).parent / "prompts" / "wording.txt").read_text(encoding="utf-8"))


class UnusableWordingError(LeaderboardError):
    """A reply that words no question."""


@dataclass(frozen=True)
class QuestionWording:
    """What a person reads.

    Attributes:
        text: The question.
        options: Its options in the question's order, “No preference” last.
    """

    text: str
    options: tuple[str, ...]

    @classmethod
    def fixed(cls, question: Question) -> QuestionWording:
        """As it is bundled."""
        return cls(question.text, question.options)


def wording_prompt(question: Question, topics: Sequence[str]) -> str:
    """What an LLM is asked."""
    return _template.render(
        topics=", ".join(topics),
        question=question.text,
        options=question.options[:-1],
        question_words=QUESTION_WORDS,
        option_words=OPTION_WORDS,
    )


def read_wording(reply: str, question: Question) -> QuestionWording:
    """The wording in a reply; words around the JSON object are ignored.

    What an option stands for is known by its place alone, so there are exactly as many as in the question.

    Raises:
        UnusableWordingError: It holds none that can be shown.
    """
    found = _JSON.search(reply)
    if found is None:
        raise UnusableWordingError("The reply is no JSON object.")
    try:
        worded = _Worded.model_validate_json(found[0])
    except ValidationError:
        raise UnusableWordingError("The reply has no question and options that can be shown.") from None
    expected = len(question.options) - 1
    if len(worded.options) != expected:
        raise UnusableWordingError(f"The reply has {len(worded.options)} options, not {expected}.")
    if len({option.casefold() for option in (*worded.options, NO_PREFERENCE)}) <= expected:
        raise UnusableWordingError("The reply has the same option twice.")
    return QuestionWording(worded.question, (*worded.options, NO_PREFERENCE))


def _text(most: int) -> BeforeValidator:
    """A line of text that is not empty and has at most so many characters."""

    def checked(value: Any) -> str:
        if not isinstance(value, str) or not (text := normalise(value)) or len(text) > most:
            raise ValueError("no text of a fitting length")
        if not any(letter.isalpha() for letter in text):
            raise ValueError("no words")
        return text

    return BeforeValidator(checked)


class _Worded(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    question: Annotated[str, _text(_LONGEST_QUESTION)]
    options: list[Annotated[str, _text(_LONGEST_OPTION)]]
