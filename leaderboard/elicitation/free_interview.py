"""An interview with questions that an LLM makes up as it goes, answered in the person's own words.

As in PrefDisco (Li et al. 2025, section 4): up to five questions about what the person asks LLMs, one at a
time; the interviewer may stop before, and what it has learnt it writes as criteria with weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator, model_validator
from pydantic_core import ErrorDetails

from crm.criteria import CriteriaSet, Criterion, Weight
from crm.errors import CriterionError
from crm.llm.endpoint import InteractiveLLM, llm_named_by
from crm.llm.prompt import read_prompt
from crm.llm.structured import line_of_text, parse_json
from leaderboard.asked_now import asked_now, place_at
from leaderboard.elicitation.interview import MAX_QUESTIONS

VARIABLE = "USL_FREE_INTERVIEWER"
"""Environment variable that names the LLM. Nothing is ever sent unless it is set."""
PATIENCE = 30.0
"""Seconds for which somebody waits for a question, where the LLM's table does not say less."""
EVERYTHING = "anything they may ask"
"""What an interview without a topic is about."""
MAX_ANSWER = 1_000
"""Characters of an answer."""
MAX_CRITERIA = 8
QUESTION_WORDS = 30
_MAX_QUESTION = 300
_template = read_prompt(Path(__file__).parent / "prompts" / "ask.txt")


@dataclass(frozen=True)
class Turn:
    """A question with its answer."""

    question: str
    answer: str


@dataclass(frozen=True)
class NextQuestion:
    """What an interviewer asks next."""

    text: str


def _question(value: Any) -> str:
    text = line_of_text(value, _MAX_QUESTION)
    if not text.endswith("?"):
        raise ValueError("does not end with a question mark")
    return text


class _WrittenCriterion(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    text: str
    weight: Weight

    @property
    def criterion(self) -> Criterion:
        return Criterion.parse(self.text, self.weight)

    @model_validator(mode="after")
    def _is_one(self) -> _WrittenCriterion:
        try:
            _ = self.criterion
        except CriterionError as error:
            raise ValueError(str(error)) from None
        return self


class _InterviewerReply(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    question: Annotated[str, BeforeValidator(_question)] | None = None
    criteria: list[_WrittenCriterion] | None = None

    @field_validator("criteria")
    @classmethod
    def _some(cls, criteria: list[_WrittenCriterion] | None) -> list[_WrittenCriterion] | None:
        if criteria is None:
            return None
        if not 1 <= len(criteria) <= MAX_CRITERIA:
            raise ValueError(f"are {len(criteria)}, where there have to be 1 to {MAX_CRITERIA}")
        if len({each.criterion.wording for each in criteria}) < len(criteria):
            raise ValueError("say the same twice")
        return criteria

    @model_validator(mode="after")
    def _one_of_both(self, info: ValidationInfo) -> _InterviewerReply:
        if self.question is not None and self.criteria is not None:
            raise ValueError("It both asks and says what they want.")
        if self.question is not None and not info.context:
            raise ValueError("It asks, but all questions have been asked.")
        if self.question is None and self.criteria is None:
            raise ValueError("It has neither “question” nor “criteria”.")
        return self


def read_interviewer(reply: str, left: int) -> NextQuestion | CriteriaSet:
    """Return the next question in a reply, or what the person wants; words around the JSON are ignored.

    Args:
        left: How many questions may still be asked.

    Raises:
        UnusableReplyError: It holds neither, or both, or a question where none may be asked.
    """
    read = parse_json(reply, _InterviewerReply, _in_words, left)
    if read.question is not None:
        return NextQuestion(read.question)
    return CriteriaSet(tuple(each.criterion for each in read.criteria or ()))


def _in_words(error: ErrorDetails) -> str:
    """Say what is wrong in a sentence about “it”, the reply."""
    place = [str(part) for part in error["loc"]]
    if error["type"] == "missing":
        return f"It has no “{place[-1]}”."
    if error["type"] == "value_error":
        said = str(error.get("ctx", {})["error"])
        if not place:
            return said
        return f"Its “{place[0]}” {said}." if len(place) == 1 else f"Criterion {int(place[1]) + 1}: {said}"
    if place and place[-1] == "weight":
        return f"A weight is none of {_weights()}."
    return f"Its “{place[0]}” is not of the kind asked for." if place else "It is no such object."


def _weights() -> str:
    return ", ".join(weight.value for weight in Weight)


def ask_prompt(context: str, turns: Sequence[Turn], problem: str = "", left: int | None = None) -> str:
    """Return what an interviewer is asked: for the next question, or for what the person wants.

    Args:
        context: What the person asks LLMs.
        left: How many questions may still be asked; by default those that have not been.
    """
    return _template.render(
        context=context,
        turns=turns,
        left=MAX_QUESTIONS - len(turns) if left is None else left,
        question_words=QUESTION_WORDS,
        most=MAX_CRITERIA,
        weights=_weights(),
        problem=problem,
    )


class FreeInterviewer:
    """An LLM that interviews people; may be shared between threads."""

    def __init__(self, llm: InteractiveLLM) -> None:
        self.name = llm.name
        self._llm = llm

    def goes_on(
        self, topics: Sequence[str], turns: Sequence[Turn], *, enough: bool = False
    ) -> NextQuestion | CriteriaSet:
        """Return the next question, or at the end what the person wants.

        Args:
            topics: What they ask LLMs about; none for everything.
            enough: Whether nothing more is to be asked.

        Raises:
            LeaderboardError: No reply can be used, or the LLM is asked too much at once.
            UnavailableError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        context, left = ", ".join(topics) or EVERYTHING, 0 if enough else MAX_QUESTIONS - len(turns)
        with place_at(self._llm):
            return asked_now(
                *(self._llm, "question"),
                lambda problem: ask_prompt(context, turns, problem, left),
                lambda reply: read_interviewer(reply, left),
            )


def free_interviewer_name() -> str | None:
    """Return the LLM that ``USL_FREE_INTERVIEWER`` names; None where nobody interviews in their own words."""
    return llm_named_by(VARIABLE)


def configured_free_interviewer(name: str) -> FreeInterviewer:
    """Return the interviewer of this name in ``llms.toml``; a ConfigError if it is behind no endpoint."""
    return FreeInterviewer(InteractiveLLM.configured(name, VARIABLE, patience=PATIENCE))
