"""An interview by an LLM with questions of its own, answered by an LLM that plays a passive user.

As in PrefDisco (Li et al. 2025, section 4) the interviewer asks up to five questions about one context, one
at a time, and may stop before; what it has learnt it writes as criteria with weights. The passive user
(appendix D) answers what is asked with the least that answers it, and volunteers nothing. Prompts are in this
project's own words. All interviews take their turns together, and those in which the same has been said
share a question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator, model_validator
from pydantic_core import ErrorDetails

from benchmarks._contexts import Profile
from crm.criteria import CriteriaSet, Criterion, Weight
from crm.errors import CriterionError
from crm.llm.prompt import read_prompt
from crm.llm.structured import parse_json
from crm.llm.tasks import AskedLLM, Task
from leaderboard.elicitation.interview import MAX_QUESTIONS
from leaderboard.rubrics.rubric import line_of_text

MAX_CRITERIA = 8
QUESTION_WORDS = 30
ANSWER_WORDS = 20
_MAX_QUESTION, _MAX_ANSWER = 300, 200
"""Characters."""
_PROMPTS = Path(__file__).parent / "prompts"
_ask_template = read_prompt(_PROMPTS / "ask.txt")
_answer_template = read_prompt(_PROMPTS / "answer.txt")

Key = TypeVar("Key")


@dataclass(frozen=True)
class Turn:
    """A question with its answer."""

    question: str
    answer: str


@dataclass(frozen=True)
class Dialogue:
    """An interview so far.

    Attributes:
        context: What it is about.
        criteria: What the interviewer says the person wants; None before the end.
        problem: Why there will be none, in a sentence.
    """

    context: str
    turns: tuple[Turn, ...] = ()
    criteria: CriteriaSet | None = None
    problem: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return self.criteria is None and not self.problem


@dataclass(frozen=True)
class NextQuestion:
    """What an interviewer asks next."""

    text: str


def _question(value: Any) -> str:
    text = line_of_text(value, _MAX_QUESTION)
    if not text.endswith("?"):
        raise ValueError("does not end with a question mark")
    return text


def _answer(value: Any) -> str:
    text = line_of_text(value, _MAX_ANSWER)
    if "?" in text:
        raise ValueError("asks something back")
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


class _PassiveReply(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    answer: Annotated[str, BeforeValidator(_answer)]


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


def read_answer(reply: str) -> str:
    """Return the passive user's answer in a reply; an UnusableReplyError if there is none."""
    return parse_json(reply, _PassiveReply, _in_words).answer


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


def ask_prompt(dialogue: Dialogue, problem: str = "") -> str:
    """Return what an interviewer is asked: for the next question, or for what the person wants."""
    return _ask_template.render(
        context=dialogue.context,
        turns=dialogue.turns,
        left=MAX_QUESTIONS - len(dialogue.turns),
        question_words=QUESTION_WORDS,
        most=MAX_CRITERIA,
        weights=_weights(),
        problem=problem,
    )


def answer_prompt(dialogue: Dialogue, profile: Profile, question: str, problem: str = "") -> str:
    """Return what the LLM that plays a passive user is asked."""
    wishes = [f"{each.criterion} ({each.criterion.weight.value.lower()})" for each in profile.wishes]
    return _answer_template.render(
        context=dialogue.context,
        wishes=wishes,
        turns=dialogue.turns,
        question=question,
        words=ANSWER_WORDS,
        problem=problem,
    )


@dataclass(frozen=True)
class Interviewees(Generic[Key]):
    """Who is interviewed, each about one context, by any key."""

    profiles: Mapping[Key, Profile]
    contexts: Mapping[Key, str]


def interviews(
    interviewer: AskedLLM,
    passive: AskedLLM,
    people: Interviewees[Key],
    on_progress: Callable[[str, int, int], None] = lambda *_: None,
) -> dict[Key, Dialogue]:
    """Interview everybody to the end, at most five questions each.

    Args:
        on_progress: Told whose turn it is, and how many of those asked in it have replied.

    Raises:
        UnavailableError: An LLM cannot be asked any more; what was answered is kept, where that is wanted.
        CRMError: As ``AskedLLM.answers``.
    """
    dialogues = {key: Dialogue(people.contexts[key]) for key in people.profiles}
    for turn in range(1, MAX_QUESTIONS + 2):
        still = {key: dialogue for key, dialogue in dialogues.items() if dialogue.is_open}
        if not still:
            break
        told = f"Turn {turn}"
        asked = interviewer.answers(
            {dialogue: _ask_task(dialogue) for dialogue in still.values()},
            lambda done, of, told=told: on_progress(f"{told}, questions", done, of),  # type: ignore[misc]
        )
        questions: dict[Key, str] = {}
        for key, dialogue in still.items():
            said = asked.found.get(dialogue)
            if said is None:
                dialogues[key] = replace(dialogue, problem=asked.failed[dialogue])
            elif isinstance(said, NextQuestion):
                questions[key] = said.text
            else:
                dialogues[key] = replace(dialogue, criteria=said)
        answered = passive.answers(
            {key: _answer_task(still[key], people.profiles[key], text) for key, text in questions.items()},
            lambda done, of, told=told: on_progress(f"{told}, answers", done, of),  # type: ignore[misc]
        )
        for key, text in questions.items():
            if key in answered.found:
                turns = (*still[key].turns, Turn(text, answered.found[key]))
                dialogues[key] = replace(still[key], turns=turns)
            else:
                dialogues[key] = replace(still[key], problem=answered.failed[key])
    return dialogues


def _ask_task(dialogue: Dialogue) -> Task[NextQuestion | CriteriaSet]:
    left = MAX_QUESTIONS - len(dialogue.turns)
    return Task(lambda problem: ask_prompt(dialogue, problem), lambda reply: read_interviewer(reply, left))


def _answer_task(dialogue: Dialogue, profile: Profile, question: str) -> Task[str]:
    return Task(lambda problem: answer_prompt(dialogue, profile, question, problem), read_answer)
