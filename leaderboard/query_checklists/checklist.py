"""A checklist for one query: criteria that say what an answer to it must have to suit one person."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import ErrorDetails

from crm.criteria import CriteriaSet, Criterion, Weight, normalise
from crm.llm.prompt import read_prompt
from crm.llm.structured import parse_json, stated_criterion
from crm.llm.tasks import Task
from leaderboard.query_checklists.general import DecidedChoice, shortened

MIN_LINES: Final = 3
MAX_LINES: Final = 8
CRITERION_WORDS = 25
EVIDENCE_WORDS = 20
QUERY_CHARACTERS = 4_000
"""Of a query that a checklist is written for, and of the answers that one is learnt from."""
_MAX_EVIDENCE = 300
_SPEAKS_OF_A_CHOICE = re.compile(
    r"\b(?:chosen|rejected|preferred|taken|other)\s+(?:answer|response|reply)\b|\b(?:answer|response)\s+[AB]\b",
    re.IGNORECASE,
)
_PROMPTS = Path(__file__).parent / "prompts"
_template, _contrast_template = (read_prompt(_PROMPTS / name) for name in ("checklist.txt", "contrast.txt"))


@dataclass(frozen=True)
class QueryCriterion:
    """A line of a checklist.

    Attributes:
        criterion: What an answer should have, and how much it counts.
        evidence: What it rests on, in the LLM's words.
    """

    criterion: Criterion
    evidence: str

    def to_json(self) -> dict[str, str]:
        """Return the line as a writer of checklists replies it."""
        weight = self.criterion.weight.value
        return {"evidence": self.evidence, "criterion": str(self.criterion), "weight": weight}


@dataclass(frozen=True)
class QueryChecklist:
    """What an answer to a query must have to suit one person."""

    query: str
    lines: tuple[QueryCriterion, ...]

    @property
    def criteria(self) -> CriteriaSet:
        """The same as what a judge is asked by."""
        return CriteriaSet(tuple(line.criterion for line in self.lines))

    @property
    def weights(self) -> list[float]:
        """How much each line counts."""
        return [line.criterion.weight.value_in_sum for line in self.lines]

    def to_reply(self) -> str:
        """Return the checklist as a writer of checklists replies it."""
        return json.dumps({"checklist": [line.to_json() for line in self.lines]}, ensure_ascii=False)


@dataclass(frozen=True)
class ChecklistExample:
    """A checklist of the same person, whose weights say what told their choice from other answers.

    Attributes:
        age: How many choices they have made since.
    """

    checklist: QueryChecklist
    age: int


def checklist_prompt(
    general: str, query: str, examples: Sequence[ChecklistExample] = (), problem: str = ""
) -> str:
    """Return how the checklist of a query is asked for."""
    return _template.render(
        general=general,
        query=shortened(query, QUERY_CHARACTERS),
        examples=[
            {"query": shortened(each.checklist.query), "checklist": each.checklist.to_reply()}
            for each in examples
        ],
        problem=problem,
        **_bounds,
    ).strip()


def checklist_task(
    general: str, query: str, examples: Sequence[ChecklistExample] = ()
) -> Task[QueryChecklist]:
    """Return how the checklist of a query is asked for: Ĉ = φ(GP, q), with examples of the same person."""
    return Task(
        lambda problem: checklist_prompt(general, query, examples, problem),
        lambda reply: read_checklist(reply, query),
    )


def contrast_task(general: str, choice: DecidedChoice, problem: str = "") -> Task[QueryChecklist]:
    """Return how criteria are asked for that tell a choice apart: C = LLM(GP, q, y⁺, y⁻), eq. 2.

    All of them are Essential at first. ``problem`` says what was wrong with an earlier checklist.
    """

    def prompt(unusable: str) -> str:
        return _contrast_template.render(
            general=general,
            query=shortened(choice.query, QUERY_CHARACTERS),
            chosen=shortened(choice.chosen, QUERY_CHARACTERS),
            rejected=shortened(choice.rejected, QUERY_CHARACTERS),
            problem=unusable or problem,
            **_bounds,
        )

    return Task(prompt, lambda reply: read_checklist(reply, choice.query))


_bounds = {
    "fewest": MIN_LINES,
    "most": MAX_LINES,
    "words": CRITERION_WORDS,
    "evidence_words": EVIDENCE_WORDS,
}


def _criterion(value: Any) -> Criterion:
    found = stated_criterion(value)
    if _SPEAKS_OF_A_CHOICE.search(found.text):
        raise ValueError("speaks of one of the answers")
    return found


def _evidence(value: Any) -> str:
    if not isinstance(value, str) or not (text := normalise(value)):
        raise ValueError("has no evidence")
    if len(text) > _MAX_EVIDENCE:
        raise ValueError(f"has evidence of {len(text)} characters, where {_MAX_EVIDENCE} are the most")
    return text


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    evidence: Annotated[str, BeforeValidator(_evidence)]
    criterion: Annotated[Criterion, BeforeValidator(_criterion)]
    weight: Annotated[
        Weight, BeforeValidator(lambda value: value.capitalize() if isinstance(value, str) else value)
    ] = Weight.ESSENTIAL


def _distinct(lines: list[_Line]) -> list[_Line]:
    if len({line.criterion.text.casefold() for line in lines}) < len(lines):
        raise ValueError("says the same twice")
    return lines


class _Checklist(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    checklist: Annotated[
        list[_Line], Field(min_length=MIN_LINES, max_length=MAX_LINES), AfterValidator(_distinct)
    ]


def read_checklist(reply: str, query: str) -> QueryChecklist:
    """Return the checklist in a reply, the weightiest lines first; words around its JSON are ignored.

    Raises UnusableReplyError: It holds none that can be used.
    """
    lines = parse_json(reply, _Checklist, _in_words).checklist
    found = [
        QueryCriterion(Criterion(line.criterion.text, line.weight, line.criterion.polarity), line.evidence)
        for line in lines
    ]
    found.sort(key=lambda line: -line.criterion.weight.value_in_sum)
    return QueryChecklist(query, tuple(found))


def _in_words(error: ErrorDetails) -> str:
    """Say what is wrong in a sentence about “it”, the reply."""
    where, said = error["loc"], error.get("ctx", {})
    if len(where) > 1:
        return f"Criterion {int(where[1]) + 1} {_of_line(error)}."
    match error["type"]:
        case "missing":
            return "It has no “checklist”."
        case "too_short" | "too_long":
            return f"It has {said['actual_length']} criteria, not {MIN_LINES} to {MAX_LINES}."
        case "value_error":
            return f"It {said['error']}."
    return "Its “checklist” is no list."


def _of_line(error: ErrorDetails) -> str:
    key = error["loc"][-1]
    if error["type"] == "value_error":
        return str(error.get("ctx", {})["error"])
    if key == "weight":
        return "has a weight that is none of Essential, Important and Optional"
    return f"has no “{key}”" if error["type"] == "missing" else "is not as asked"
