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

from pydantic import BaseModel, BeforeValidator, ConfigDict

from benchmarks._contexts import Profile
from crm.criteria import CriteriaSet
from crm.llm.prompt import read_prompt
from crm.llm.structured import line_of_text, of_field, parse_json
from crm.llm.tasks import AskedLLM, Task
from leaderboard.elicitation.free_interview import NextQuestion, Turn, ask_prompt, read_interviewer
from leaderboard.elicitation.interview import MAX_QUESTIONS

ANSWER_WORDS = 20
_MAX_ANSWER = 200
"""Characters."""
_answer_template = read_prompt(Path(__file__).parent / "prompts" / "passive.txt")

Key = TypeVar("Key")


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


def _answer(value: Any) -> str:
    text = line_of_text(value, _MAX_ANSWER)
    if "?" in text:
        raise ValueError("asks something back")
    return text


class _PassiveReply(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    answer: Annotated[str, BeforeValidator(_answer)]


def read_answer(reply: str) -> str:
    """Return the passive user's answer in a reply; an UnusableReplyError if there is none."""
    return parse_json(reply, _PassiveReply, of_field("answer")).answer


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
    return Task(
        lambda problem: ask_prompt(dialogue.context, dialogue.turns, problem),
        lambda reply: read_interviewer(reply, left),
    )


def _answer_task(dialogue: Dialogue, profile: Profile, question: str) -> Task[str]:
    return Task(lambda problem: answer_prompt(dialogue, profile, question, problem), read_answer)
