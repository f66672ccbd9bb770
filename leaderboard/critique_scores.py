"""What a critic gives a response, what is taken off, and what it comes to, after Critique-Post-Edit (2025).

The critic scores a response from −5 to 5 on three sides, before deductions, and names which of the usual
faults it has; what a fault takes off is looked up and subtracted here, and so is what its length takes off,
which is counted. No score falls below −5. Of the three,

    S_final = 0.35 helpfulness + 0.40 personalization + 0.25 naturalness.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import ErrorDetails

from crm.criteria import normalise
from crm.llm.endpoint import CHARACTERS_A_TOKEN
from crm.llm.structured import parse_json

LOWEST: Final = -5
HIGHEST: Final = 5
MIN_SUGGESTIONS: Final = 2
MAX_SUGGESTIONS: Final = 3
"""Suggestions."""
HELPFULNESS, PERSONALIZATION, NATURALNESS = SCORES = ("helpfulness", "personalization", "naturalness")
SCORE_WEIGHTS: Final[Mapping[str, float]] = {HELPFULNESS: 0.35, PERSONALIZATION: 0.40, NATURALNESS: 0.25}
"""Of the final score (Critique-Post-Edit, appendix A)."""
ENOUGH_TOKENS = 400
"""That an answer to a simple query needs at most, some 300 words."""
TOKENS_A_POINT = 100
"""Beyond, which take one point off helpfulness and naturalness each."""
TOO_LONG = "longer than a simple query needs"
_MAX_SUGGESTION = 400


@dataclass(frozen=True)
class Fault:
    """A usual fault.

    Attributes:
        score: The score that it lowers.
        least: Points that it takes off at least; the critic says how many up to ``most``.
        meaning: When a response has it, as the critic and the page say it.
    """

    score: str
    least: int
    most: int
    meaning: str

    @property
    def points(self) -> str:
        """Return what it takes off: “2 to 3”."""
        return f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"


FAULTS: Final[Mapping[str, Fault]] = {
    "beside_the_point": Fault(HELPFULNESS, 3, 3, "it strays from a clear query to show style or personality"),
    "too_brief": Fault(HELPFULNESS, 2, 3, "it is so brief that information is lacking"),
    "error": Fault(HELPFULNESS, 3, 4, "it states or recommends what is wrong or does not exist"),
    "likely_error": Fault(HELPFULNESS, 1, 2, "something in it is probably wrong"),
    "ignores_wishes": Fault(PERSONALIZATION, 1, 1, "a wish that matters here is left out"),
    "forced": Fault(PERSONALIZATION, 2, 2, "wishes are listed rigidly or worked in by force"),
    "invents_about_person": Fault(PERSONALIZATION, 3, 3, "it claims things of the person that nobody said"),
    "overloaded": Fault(PERSONALIZATION, 3, 3, "it heaps up all that is known of the person"),
    "ornament": Fault(PERSONALIZATION, 3, 3, "metaphors and scenes stand in for content nobody wished for"),
    "addresses_by_name": Fault(NATURALNESS, 1, 1, "it addresses the person by full name or an identifier"),
    "praises_itself": Fault(NATURALNESS, 2, 2, "it comments on how well it suits the person"),
}
"""The usual faults by the name that the critic gives them (Critique-Post-Edit, appendix H)."""


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


Score = Annotated[int, Field(strict=True, ge=LOWEST, le=HIGHEST)]


class FoundFault(BaseModel):
    """A fault that a critic found, with the points that it takes off."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    fault: Annotated[str, Field(strict=True)]
    points: Annotated[int, Field(strict=True)]

    @model_validator(mode="after")
    def _known(self) -> FoundFault:
        known = FAULTS.get(self.fault)
        if known is None:
            raise ValueError("is none of those listed")
        if not known.least <= self.points <= known.most:
            raise ValueError(f"takes off {known.points} points, not {self.points}")
        return self


def _once(faults: list[FoundFault]) -> list[FoundFault]:
    if len({found.fault for found in faults}) < len(faults):
        raise ValueError("name the same twice")
    return faults


class Assessment(BaseModel):
    """What a critic says of a response.

    Attributes:
        helpfulness: Whether it answers the query, −5 to 5, before deductions, as the other two.
        personalization: Whether it does what the criteria ask for.
        naturalness: Whether it reads well.
        simple_query: Whether the query needs no long answer.
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
    faults: Annotated[list[FoundFault], AfterValidator(_once)]
    simple_query: Annotated[bool, Field(strict=True)]


def read_assessment(reply: str) -> Assessment:
    """Return the assessment in a reply; words around the JSON object are ignored.

    Raises:
        UnusableReplyError: It holds none that can be used.
    """
    return parse_json(reply, Assessment, _in_words)


def _in_words(error: ErrorDetails) -> str:
    """Say what is wrong in a sentence about “it”, the reply."""
    where = [str(part) for part in error["loc"]]
    name = where[0] if where else ""
    details = error.get("ctx", {})
    if error["type"] == "missing":
        return f"It has no “{where[-1]}”."
    if name in SCORES:
        return f"Its score for {name} is no whole number from {LOWEST} to {HIGHEST}."
    if error["type"] in ("too_short", "too_long"):
        return f"It has {details['actual_length']} suggestions, not {MIN_SUGGESTIONS} to {MAX_SUGGESTIONS}."
    if error["type"] == "value_error":
        item = {"suggestions": "Suggestion", "faults": "Fault"}.get(name, "Item")
        what = f"{item} {int(where[1]) + 1}" if len(where) > 1 else f"Its “{name}”"
        return f"{what} {details['error']}."
    return f"Its “{name}” is not of the kind asked for."


@dataclass(frozen=True)
class Deduction:
    """Points that are taken off one score, and why."""

    score: str
    points: int
    why: str


@dataclass(frozen=True)
class Scores:
    """The three scores of a response after deductions, −5 to 5 each."""

    helpfulness: int
    personalization: int
    naturalness: int
    deductions: tuple[Deduction, ...] = ()

    @property
    def final(self) -> float:
        """S_final, −5 to 5."""
        return sum(weight * float(getattr(self, name)) for name, weight in SCORE_WEIGHTS.items())


def scores_of(assessment: Assessment, response: str) -> Scores:
    """Return what an assessment of a response comes to, with all that is taken off."""
    off = [
        Deduction(FAULTS[found.fault].score, found.points, FAULTS[found.fault].meaning)
        for found in assessment.faults
    ]
    if points := too_long_by(response, simple=assessment.simple_query):
        off += [Deduction(score, points, TOO_LONG) for score in (HELPFULNESS, NATURALNESS)]
    left = {
        name: max(LOWEST, getattr(assessment, name) - sum(each.points for each in off if each.score == name))
        for name in SCORES
    }
    return Scores(**left, deductions=tuple(off))


def too_long_by(response: str, *, simple: bool) -> int:
    """Return the points that length takes off: one for every 100 tokens beyond enough for a simple query.

    Tokens are estimated from characters, four of which make one in English.
    """
    tokens = math.ceil(len(response) / CHARACTERS_A_TOKEN)
    return max(0, (tokens - ENOUGH_TOKENS) // TOKENS_A_POINT) if simple else 0
