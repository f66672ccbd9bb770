"""The grade of one response under one rubric; each criterion is graded by itself, as in PrefDisco."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import ErrorDetails

from crm.llm.prompt import read_prompt
from crm.llm.structured import line_of_text, parse_json
from crm.llm.tasks import Task
from leaderboard.rubrics.rubric import HIGHEST, LOWEST, Rubric

JUSTIFICATION_WORDS = 60
_MAX_JUSTIFICATION = 800
"""Characters."""
_template = read_prompt(Path(__file__).parent / "prompts" / "grade.txt")


def _justification(value: Any) -> str:
    return line_of_text(value, _MAX_JUSTIFICATION)


class Grade(BaseModel):
    """What a response is given under a rubric.

    Attributes:
        justification: What in the response speaks for the level.
        grade: The level, 1 to 5.
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    justification: Annotated[str, BeforeValidator(_justification)]
    grade: Annotated[int, Field(strict=True, ge=LOWEST, le=HIGHEST)]


def grade_task(rubric: Rubric, response: str) -> Task[Grade]:
    """Return the task of grading a response under a rubric."""
    return Task(lambda problem: grade_prompt(rubric, response, problem), read_grade)


def grade_prompt(rubric: Rubric, response: str, problem: str = "") -> str:
    """Return how a grade is asked for; ``problem`` says what was wrong with an earlier reply."""
    return _template.render(
        query=rubric.query,
        criterion=str(rubric.criterion),
        levels=rubric.levels,
        response=response,
        lowest=LOWEST,
        highest=HIGHEST,
        words=JUSTIFICATION_WORDS,
        problem=problem,
    )


def read_grade(reply: str) -> Grade:
    """Return the grade in a reply; words around the JSON object are ignored.

    Raises:
        UnusableReplyError: It holds no whole grade in range, or no justification of bounded length.
    """
    return parse_json(reply, Grade, _in_words)


def _in_words(error: ErrorDetails) -> str:
    """Say what is wrong in a sentence about “it”, the reply."""
    name = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "missing":
        return f"It has no “{name}”."
    if name == "grade":
        return f"Its “grade” is no whole number from {LOWEST} to {HIGHEST}."
    details = error.get("ctx", {})
    return f"Its “{name}” {details['error']}." if error["type"] == "value_error" else "It is no such object."
