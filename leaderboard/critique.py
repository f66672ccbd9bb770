"""Critiques of responses by an LLM with an edit of its own, as in Critique-Post-Edit (2025)."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import ErrorDetails

from crm import registry
from crm.criteria import CriteriaSet, normalise
from crm.errors import CRMError
from crm.llm.chat_model import ReplyStatus
from crm.llm.endpoint import InteractiveLLM, llm_named_by
from crm.llm.prompt import read_prompt
from crm.llm.structured import TRIES, UnusableReplyError, ask_until_usable, parse_json
from crm.protocol import Pair, Question, Verdict
from leaderboard.errors import LeaderboardError
from leaderboard.explain import PairReport
from leaderboard.limits import ask_llm_once_more
from leaderboard.view import View

LOWEST: Final = -5
HIGHEST: Final = 5
MIN_SUGGESTIONS: Final = 2
MAX_SUGGESTIONS: Final = 3
"""Suggestions."""
SUGGESTION_WORDS: Final = 40
SCORES: Final = ("helpfulness", "personalization", "naturalness")
_MAX_SUGGESTION = 400
_MAX_EDIT = 40_000
"""Characters; no stored response comes near it."""
_NO_TEXT = frozenset(("Cc", "Cs", "Co", "Cn"))


def _suggestion(value: Any) -> str:
    if not isinstance(value, str) or not (text := normalise(value)):
        raise ValueError("is no text")
    if len(text) > _MAX_SUGGESTION:
        raise ValueError(f"has {len(text)} characters, where {_MAX_SUGGESTION} are the most")
    return text


def _distinct(suggestions: list[str]) -> list[str]:
    if len({text.casefold() for text in suggestions}) < len(suggestions):
        raise ValueError("say the same twice")
    return suggestions


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


Score = Annotated[int, Field(strict=True, ge=LOWEST, le=HIGHEST)]


class Critique(BaseModel):
    """What an LLM says of a response, and how it would improve it.

    Attributes:
        helpfulness: Whether it answers the query, −5 to 5.
        personalization: Whether it does what the criteria ask for, −5 to 5.
        naturalness: Whether it reads well, −5 to 5.
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    suggestions: Annotated[
        list[Annotated[str, BeforeValidator(_suggestion)]],
        Field(min_length=MIN_SUGGESTIONS, max_length=MAX_SUGGESTIONS),
        AfterValidator(_distinct),
    ]
    helpfulness: Score
    personalization: Score
    naturalness: Score
    edited: Annotated[str, Field(strict=True), AfterValidator(_edited)]


def read_critique(reply: str, response: str) -> Critique:
    """Return the critique of ``response`` in a reply; words around the JSON object are ignored.

    Raises:
        UnusableReplyError: It holds none that can be shown.
    """
    critique = parse_json(reply, Critique, _in_words)
    if critique.edited.split() == response.split():
        raise UnusableReplyError("Its edited response is the original, unchanged.")
    return critique


def _in_words(error: ErrorDetails) -> str:
    """Say what is wrong in a sentence about “it”, the reply."""
    where = [str(part) for part in error["loc"]]
    name = where[0] if where else ""
    details = error.get("ctx", {})
    if error["type"] == "missing":
        return f"It has no “{name}”."
    if name in SCORES:
        return f"Its score for {name} is no whole number from {LOWEST} to {HIGHEST}."
    if error["type"] in ("too_short", "too_long"):
        return f"It has {details['actual_length']} suggestions, not {MIN_SUGGESTIONS} to {MAX_SUGGESTIONS}."
    if error["type"] == "value_error":
        what = f"Suggestion {int(where[1]) + 1}" if len(where) > 1 else f"Its “{name}”"
        return f"{what} {details['error']}."
    return f"Its “{name}” is not of the kind asked for."


_template = read_prompt(Path(__file__).parent / "prompts" / "critique.txt")


@dataclass(frozen=True)
class Critiqued:
    """A response to be critiqued for a person, whose criteria say what they like in an answer."""

    query: str
    response: str
    criteria: CriteriaSet

    def prompt(self, problem: str = "") -> str:
        """Return the question as it is put; ``problem`` says what was wrong with an earlier reply."""
        return _template.render(
            query=self.query,
            response=self.response,
            wishes=[f"{criterion} ({criterion.weight.value.lower()})" for criterion in self.criteria],
            lowest=LOWEST,
            highest=HIGHEST,
            fewest=MIN_SUGGESTIONS,
            most=MAX_SUGGESTIONS,
            words=SUGGESTION_WORDS,
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
        """Return a critique of a response; a reply that is none is asked for again, with the reason.

        Raises:
            LeaderboardError: No reply can be used, or too many critiques are being written.
            UnavailableError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        with self._llm.place() as free:
            if not free:
                raise LeaderboardError("Too many critiques are being written: try again in a moment.")
            try:
                return ask_until_usable(
                    lambda problem: self._ask(critiqued.prompt(problem)),
                    lambda reply: read_critique(reply, critiqued.response),
                )
            except UnusableReplyError as error:
                raise LeaderboardError(
                    f"{self.name} was asked {TRIES} times and wrote no critique that can be used. {error} "
                    "Try again, or use an LLM that follows instructions better."
                ) from error

    def _ask(self, prompt: str) -> str:
        ask_llm_once_more()
        reply = self._llm.ask(prompt)
        if reply.status == ReplyStatus.TRUNCATED:
            raise LeaderboardError(f"The reply of {self.name} was cut: raise 'max_tokens' in its table.")
        if reply.status == ReplyStatus.REFUSED:
            raise LeaderboardError(f"{self.name} refuses to write about this response: choose another one.")
        return reply.text or ""


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
    if not view.criteria:
        raise LeaderboardError("A critique needs criteria: say what you like in an answer first.")
    if report.query_text is None or report.response is None:
        raise LeaderboardError("The texts are not stored here, so there is nothing to critique.")
    critique = critic.critique(Critiqued(report.query_text, report.response, view.criteria))
    pair = Pair(report.query_text, critique.edited, report.response)
    try:
        [verdict] = registry.get_crm(view.crm).judge([Question(view.criteria, pair)])
    except CRMError as error:
        return Review(critic.name, view.criteria, critique, None, str(error))
    return Review(critic.name, view.criteria, critique, verdict)
