"""Critiques of responses by an LLM with an edit of its own, as in Critique-Post-Edit (2025).

A response is scored and suggestions are made; the suggestions are carried out; and the edit is scored as if
it were any other response. Each is a call of its own, so that whoever scores an edit does not know that it
is one. Last, the judge compares the two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from crm import registry
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.llm.endpoint import InteractiveLLM, llm_named_by
from crm.llm.prompt import read_prompt
from crm.llm.structured import UnusableReplyError, Usable, of_field, parse_json
from crm.protocol import Pair, Question, Verdict
from leaderboard.asked_now import asked_now
from leaderboard.critique_scores import (
    FAULTS,
    HIGHEST,
    LOWEST,
    MAX_SUGGESTIONS,
    MIN_SUGGESTIONS,
    Scores,
    read_assessment,
    scores_of,
)
from leaderboard.errors import LeaderboardError
from leaderboard.explain import PairReport
from leaderboard.view import View

SUGGESTION_WORDS: Final = 40
_MAX_EDIT = 40_000
"""Characters; no stored response comes near it."""
_NO_TEXT = frozenset(("Cc", "Cs", "Co", "Cn"))


def _edited(value: str) -> str:
    """Return the text without what no text holds, such as halves of surrogate pairs."""
    text = "".join(
        letter for letter in value if letter in "\n\t" or unicodedata.category(letter) not in _NO_TEXT
    ).strip()
    if not text:
        raise ValueError("is blank")
    if len(text) > _MAX_EDIT:
        raise ValueError(f"has {len(text)} characters, where {_MAX_EDIT} are the most")
    return text


class _Edit(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    edited: Annotated[str, Field(strict=True), AfterValidator(_edited)]


def read_edit(reply: str, response: str) -> str:
    """Return the edited ``response`` in a reply; words around the JSON object are ignored.

    Raises:
        UnusableReplyError: It holds none that can be shown, or nothing was edited.
    """
    edited = parse_json(reply, _Edit, of_field("edited")).edited
    if edited.split() == response.split():
        raise UnusableReplyError("Its edited response is the original, unchanged.")
    return edited


@dataclass(frozen=True)
class Critique:
    """What an LLM says of a response, and how it would improve it.

    Attributes:
        scores: Of the response.
        edited: The response with the suggestions carried out.
        edited_scores: Of that, by a call that does not know of the first.
    """

    suggestions: tuple[str, ...]
    scores: Scores
    edited: str
    edited_scores: Scores

    @property
    def gain(self) -> float:
        """By how much the edit raised the final score."""
        return self.edited_scores.final - self.scores.final


_assessment_template = read_prompt(Path(__file__).parent / "prompts" / "critique.txt")
_edit_template = read_prompt(Path(__file__).parent / "prompts" / "edit.txt")


@dataclass(frozen=True)
class Critiqued:
    """A response to be critiqued for a person, whose criteria say what they like in an answer."""

    query: str
    response: str
    criteria: CriteriaSet

    @property
    def wishes(self) -> list[str]:
        """The criteria as they are put to an LLM."""
        return [f"{criterion} ({criterion.weight.value.lower()})" for criterion in self.criteria]

    def assessment_prompt(self, problem: str = "") -> str:
        """Return how scores are asked for; ``problem`` says what was wrong with an earlier reply."""
        return _assessment_template.render(
            query=self.query,
            response=self.response,
            wishes=self.wishes,
            faults=FAULTS,
            lowest=LOWEST,
            highest=HIGHEST,
            fewest=MIN_SUGGESTIONS,
            most=MAX_SUGGESTIONS,
            words=SUGGESTION_WORDS,
            problem=problem,
        )

    def edit_prompt(self, suggestions: Sequence[str], problem: str = "") -> str:
        """Return how an edit is asked for."""
        return _edit_template.render(
            query=self.query,
            response=self.response,
            wishes=self.wishes,
            suggestions=suggestions,
            problem=problem,
        )


CRITIC_VARIABLE = "USL_CRITIC"
"""Environment variable that names the LLM. Nothing is ever sent unless it is set."""


class Critic:
    """An LLM that writes critiques; may be shared between threads."""

    def __init__(self, llm: InteractiveLLM) -> None:
        self.name = llm.name
        self._llm = llm

    def critique(self, critiqued: Critiqued) -> Critique:
        """Return a critique of a response: it is scored, edited, and the edit scored, by a call each.

        A reply that is of no use is asked for again, with the reason.

        Raises:
            LeaderboardError: No reply can be used, or too many critiques are being written.
            UnavailableError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        with self._llm.place() as free:
            if not free:
                raise LeaderboardError("Too many critiques are being written: try again in a moment.")
            assessment = self._until_usable(critiqued.assessment_prompt, read_assessment)
            edited = self._until_usable(
                lambda problem: critiqued.edit_prompt(assessment.suggestions, problem),
                lambda reply: read_edit(reply, critiqued.response),
            )
            again = replace(critiqued, response=edited)
            of_edit = self._until_usable(again.assessment_prompt, read_assessment)
        return Critique(
            tuple(assessment.suggestions),
            scores_of(assessment, critiqued.response),
            edited,
            scores_of(of_edit, edited),
        )

    def _until_usable(self, prompt: Callable[[str], str], read: Callable[[str], Usable]) -> Usable:
        return asked_now(self._llm, "critique", prompt, read)


def critic_name() -> str | None:
    """Return the LLM that ``USL_CRITIC`` names; None where critiques are not set up."""
    return llm_named_by(CRITIC_VARIABLE)


def configured_critic(name: str) -> Critic:
    """Return the critic of this name in ``llms.toml``; a ConfigError if that is no LLM behind an endpoint."""
    return Critic(InteractiveLLM.configured(name, CRITIC_VARIABLE))


@dataclass(frozen=True)
class Review:
    """A critique with the judge's verdict.

    Attributes:
        verdict: The judge's on the edit (A) against the original (B); None where it could not be had.
        problem: Why it could not, in one sentence.
    """

    critic: str
    criteria: CriteriaSet
    critique: Critique
    verdict: Verdict | None
    problem: str = ""


def review(critic: Critic, view: View, report: PairReport) -> Review:
    """Critique the LLM's response of a report, and judge the edit by the view's judge.

    Raises:
        LeaderboardError: There are no criteria or no texts, or no reply can be used.
        UnavailableError, ConfigError: As ``Critic.critique``.
    """
    return review_of(critic, view.criteria, view.crm, report.query_text, report.response)


def review_of(
    critic: Critic, criteria: CriteriaSet, crm: str, query: str | None, response: str | None
) -> Review:
    """Critique a response by criteria, and have a judge compare the edit with it.

    Raises:
        LeaderboardError, UnavailableError, ConfigError: As ``review``.
    """
    if not criteria:
        raise LeaderboardError("A critique needs criteria: say what you like in an answer first.")
    if query is None or response is None:
        raise LeaderboardError("The texts are not stored here, so there is nothing to critique.")
    critique = critic.critique(Critiqued(query, response, criteria))
    pair = Pair(query, critique.edited, response)
    try:
        [verdict] = registry.get_crm(crm).judge([Question(criteria, pair)])
    except CRMError as error:
        return Review(critic.name, criteria, critique, None, str(error))
    return Review(critic.name, criteria, critique, verdict)
