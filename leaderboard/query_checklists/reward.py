"""What a response is worth under a checklist: the weighted sum of the scores that an LLM gives it, eq. 7."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import ErrorDetails

from crm.llm.prompt import read_prompt
from crm.llm.structured import UnusableReplyError, parse_json
from crm.llm.tasks import Task
from leaderboard.query_checklists.checklist import QUERY_CHARACTERS, QueryChecklist
from leaderboard.query_checklists.general import shortened

LOWEST: Final = 1
HIGHEST: Final = 10
REASON_WORDS = 20
RESPONSE_CHARACTERS = 12_000
"""Of a response that is scored."""
_template = read_prompt(Path(__file__).parent / "prompts" / "score.txt")

Floats64 = NDArray[np.float64]
Scores = tuple[int, ...]
"""From 1 to 10, one a line of a checklist."""


def scoring_task(general: str, checklist: QueryChecklist, response: str) -> Task[Scores]:
    """Return how a response is scored under each line of a checklist: θ(GP, q, y, Ĉ)."""

    def prompt(problem: str) -> str:
        return _template.render(
            general=general,
            query=shortened(checklist.query, QUERY_CHARACTERS),
            response=shortened(response, RESPONSE_CHARACTERS),
            lines=[str(line.criterion) for line in checklist.lines],
            lowest=LOWEST,
            highest=HIGHEST,
            words=REASON_WORDS,
            problem=problem,
        )

    return Task(prompt, lambda reply: read_scores(reply, len(checklist.lines)))


def reward(checklist: QueryChecklist, scores: Sequence[float] | Floats64) -> float:
    """Return wᵀθ, divided by Σw: a mean score from 1 to 10; within a checklist, the order is that of eq. 7.

    Args:
        checklist: Of J lines.
        scores: One a line ``[J]``.
    """
    weights = np.array(checklist.weights)
    return float(weights @ np.asarray(scores, dtype=np.float64) / weights.sum())


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    index: Annotated[int, Field(strict=True)]
    score: Annotated[int, Field(strict=True, ge=LOWEST, le=HIGHEST)]


class _Results(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    results: list[_Result]


def read_scores(reply: str, count: int) -> Scores:
    """Return the scores in a reply, one a line in their order.

    Raises UnusableReplyError: There is not exactly one whole score in range for every line.
    """
    results = parse_json(reply, _Results, _in_words).results
    by_index = {result.index: result.score for result in results}
    if len(results) != count or set(by_index) != set(range(1, count + 1)):
        raise UnusableReplyError(f"It has not one score for each of the {count} criteria, by their index.")
    return tuple(by_index[index] for index in range(1, count + 1))


def _in_words(error: ErrorDetails) -> str:
    if len(error["loc"]) > 1:
        return f"Result {int(error['loc'][1]) + 1} has no whole score from {LOWEST} to {HIGHEST}."
    return "It has no list “results”."
