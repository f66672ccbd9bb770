"""A critic's reply, checked: what is shown has scores in range, real suggestions and a real edit."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from crm.criteria import normalise
from leaderboard.errors import LeaderboardError

LOWEST: Final = -5
HIGHEST: Final = 5
FEWEST: Final = 2
MOST: Final = 3
"""Suggestions."""
SUGGESTION_WORDS: Final = 40
SCORES: Final = ("helpfulness", "personalization", "naturalness")
_LONGEST_SUGGESTION = 400
_LONGEST_EDIT = 40_000
"""Characters; no stored response comes near it."""
_JSON = re.compile(r"\{.*\}", re.DOTALL)
_NO_TEXT = frozenset(("Cc", "Cs", "Co", "Cn"))


class UnusableCritiqueError(LeaderboardError):
    """A reply that is no critique; the message says why in one sentence about “it”, also to the LLM."""


def _suggestion(value: Any) -> str:
    if not isinstance(value, str) or not (text := normalise(value)):
        raise ValueError("is no text")
    if len(text) > _LONGEST_SUGGESTION:
        raise ValueError(f"has {len(text)} characters, where {_LONGEST_SUGGESTION} are the most")
    return text


def _distinct(suggestions: list[str]) -> list[str]:
    if len({text.casefold() for text in suggestions}) < len(suggestions):
        raise ValueError("say the same twice")
    return suggestions


def _edited(value: str) -> str:
    """The text without what no text holds, such as halves of surrogate pairs."""
    text = "".join(
        letter for letter in value if letter in "\n\t" or unicodedata.category(letter) not in _NO_TEXT
    ).strip()
    if not text:
        raise ValueError("is blank")
    if len(text) > _LONGEST_EDIT:
        raise ValueError(f"has {len(text)} characters, where {_LONGEST_EDIT} are the most")
    return text


Score = Annotated[int, Field(strict=True, ge=LOWEST, le=HIGHEST)]


class Critique(BaseModel):
    """What an LLM says of a response, and how it would improve it.

    Attributes:
        suggestions: Two or three concrete changes.
        helpfulness: Whether it answers the query, −5 to 5.
        personalization: Whether it does what the criteria ask for, −5 to 5.
        naturalness: Whether it reads well, −5 to 5.
        edited: The response with the changes.
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    suggestions: Annotated[
        list[Annotated[str, BeforeValidator(_suggestion)]],
        Field(min_length=FEWEST, max_length=MOST),
        AfterValidator(_distinct),
    ]
    helpfulness: Score
    personalization: Score
    naturalness: Score
    edited: Annotated[str, Field(strict=True), AfterValidator(_edited)]


def read_critique(reply: str, response: str) -> Critique:
    """The critique in a reply; words around the JSON object, such as a code fence, are ignored.

    Args:
        reply: What the LLM wrote.
        response: What it was asked to edit.

    Raises:
        UnusableCritiqueError: It holds none that can be shown.
    """
    found = _JSON.search(reply)
    if found is None:
        raise UnusableCritiqueError("It is no JSON object.")
    try:
        critique = Critique.model_validate_json(found[0])
    except ValidationError as error:
        raise UnusableCritiqueError(_in_words(error)) from None
    if critique.edited.split() == response.split():
        raise UnusableCritiqueError("Its edited response is the original, unchanged.")
    return critique


def _in_words(error: ValidationError) -> str:
    """The first thing that is wrong, as a sentence about “it”, the reply."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = [str(part) for part in first["loc"]]
    name = where[0] if where else ""
    said = first.get("ctx", {})
    if first["type"] == "json_invalid":
        return "It is no valid JSON."
    if first["type"] == "missing":
        return f"It has no “{name}”."
    if name in SCORES:
        return f"Its score for {name} is no whole number from {LOWEST} to {HIGHEST}."
    if first["type"] in ("too_short", "too_long"):
        return f"It has {said['actual_length']} suggestions, not {FEWEST} to {MOST}."
    if first["type"] == "value_error":
        what = f"Suggestion {int(where[1]) + 1}" if len(where) > 1 else f"Its “{name}”"
        return f"{what} {said['error']}."
    return f"Its “{name}” is not of the kind asked for."
