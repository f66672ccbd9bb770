"""A rubric: what an answer to one query is like that meets one criterion of a person at levels 1 to 5.

As in PrefDisco (Li et al. 2025, section 3) a rubric says what this person wants, its direction included, so
that whoever grades by it needs to know nothing else of them. How much the criterion weighs is not in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import ErrorDetails

from crm.criteria import Criterion, Polarity
from crm.llm.prompt import read_prompt
from crm.llm.structured import line_of_text, parse_json
from crm.llm.tasks import Task

LOWEST: Final = 1
HIGHEST: Final = 5
LEVELS = range(LOWEST, HIGHEST + 1)
LEVEL_WORDS = 40
_MAX_LEVEL = 400
"""Characters."""
_PARTICULAR = re.compile(
    r"\b(?:(?:this|that|these|those|the (?:above|following|given|other|previous|present)) "
    r"(?:answers?|responses?|repl(?:y|ies))\b|(?:answer|response|reply) (?-i:[A-E])\b|response [1-9]\b)",
    re.IGNORECASE,
)
"""Words for one answer, where a level has to fit any."""
_template = read_prompt(Path(__file__).parent / "prompts" / "rubric.txt")


def _description(value: Any) -> str:
    text = line_of_text(value, _MAX_LEVEL)
    if found := _PARTICULAR.search(text):
        raise ValueError(f"speaks of “{found[0]}”, but has to fit any answer")
    return text


class _Level(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    level: Annotated[int, Field(strict=True)]
    description: Annotated[str, BeforeValidator(_description)]


def _in_order(levels: list[_Level]) -> list[_Level]:
    if [each.level for each in levels] != list(LEVELS):
        raise ValueError(f"are not {', '.join(map(str, LEVELS))} in this order")
    if len({each.description.casefold() for each in levels}) < len(levels):
        raise ValueError("say the same twice")
    return levels


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    levels: Annotated[list[_Level], AfterValidator(_in_order)]


@dataclass(frozen=True)
class Rubric:
    """How answers to a query are graded under a criterion.

    Attributes:
        levels: What an answer is like at levels 1 to 5, in rising order.
    """

    query: str
    criterion: Criterion
    levels: tuple[str, ...]


def rubric_task(query: str, criterion: Criterion) -> Task[Rubric]:
    """Return the task of writing the rubric for a criterion and a query."""
    return Task(
        lambda problem: rubric_prompt(query, criterion, problem),
        lambda reply: read_rubric(reply, query, criterion),
    )


def rubric_prompt(query: str, criterion: Criterion, problem: str = "") -> str:
    """Return how a rubric is asked for; ``problem`` says what was wrong with an earlier reply."""
    return _template.render(
        query=query,
        text=criterion.text,
        avoid=criterion.polarity is Polarity.AVOID,
        lowest=LOWEST,
        highest=HIGHEST,
        words=LEVEL_WORDS,
        problem=problem,
    )


def read_rubric(reply: str, query: str, criterion: Criterion) -> Rubric:
    """Return the rubric in a reply; words around the JSON object are ignored.

    Raises:
        UnusableReplyError: There are not five different levels in order, or one cannot be graded by.
    """
    levels = parse_json(reply, _Reply, _in_words).levels
    return Rubric(query, criterion, tuple(each.description for each in levels))


def _in_words(error: ErrorDetails) -> str:
    """Say what is wrong in a sentence about “it”, the reply."""
    place, details = error["loc"], error.get("ctx", {})
    where = f"Level {int(place[1]) + 1}" if len(place) > 1 else "Its “levels”"
    if error["type"] == "missing":
        return f"{where} has no “{place[-1]}”." if len(place) > 1 else f"It has no “{place[-1]}”."
    if error["type"] == "value_error":
        verb = details["error"]
        return f"{where} {verb}."
    return f"{where} {'are' if len(place) == 1 else 'is'} not of the kind asked for."
