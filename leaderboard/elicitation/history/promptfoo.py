"""Past choices in promptfoo's export of an evaluation: outputs that a person passed and failed.

Only a person's rating counts, the thumb in promptfoo's viewer; it stands among the parts of a grade as an
assertion of the type “human”. Outputs of one test case are compared where they answer the same prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from db.serialization import storable_text
from leaderboard.elicitation.history.choices import DAMAGED, ExportForm, LeftOut, PastChoice
from leaderboard.elicitation.history.ratings import DISLIKED, LIKED, RatedAnswer, RatedQuery, rated_choices
from leaderboard.elicitation.history.rows import query_of

NOT_BY_A_PERSON = "an output that no person rated"
_HUMAN = "human"


def is_evaluation(value: object) -> bool:
    """Return whether a JSON value is an exported evaluation."""
    return bool(_results(value))


def evaluation_choices(value: object, left_out: LeftOut) -> Iterator[PastChoice]:
    """Yield the choices between outputs to one prompt of which a person passed one and failed the other."""
    cases: dict[tuple[str, str], list[RatedAnswer]] = {}
    for result in _results(value):
        prompt = _prompt(result)
        output = _output(result)
        rating = _rating(result)
        if rating is None:
            left_out[NOT_BY_A_PERSON] += 1
        elif prompt is None or output is None:
            left_out[DAMAGED] += 1
        else:
            case = cases.setdefault((str(result.get("testIdx")), prompt), [])
            case.append(RatedAnswer(output, rating))
    for (_, prompt), answers in cases.items():
        yield from rated_choices(RatedQuery(query_of(prompt)), answers, left_out)


def _results(value: object) -> list[Mapping[str, Any]]:
    """Return the results of an evaluation; none where it is no evaluation."""
    summary = value.get("results") if isinstance(value, dict) else None
    results = summary.get("results") if isinstance(summary, dict) else None
    if not isinstance(results, list):
        return []
    return [result for result in results if isinstance(result, dict) and "prompt" in result]


def _prompt(result: Mapping[str, Any]) -> str | None:
    prompt = result["prompt"]
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    return raw if isinstance(raw, str) else None


def _output(result: Mapping[str, Any]) -> str | None:
    """Return what was answered as a text; an object as JSON, as promptfoo shows it."""
    response = result.get("response")
    output = response.get("output") if isinstance(response, dict) else None
    if isinstance(output, dict | list):
        output = json.dumps(output, ensure_ascii=False)
    return storable_text(output) if isinstance(output, str) else None


def _rating(result: Mapping[str, Any]) -> int | None:
    """Return the last rating by a person; None where there is none."""
    grade = result.get("gradingResult")
    parts = grade.get("componentResults") if isinstance(grade, dict) else None
    for part in reversed(parts if isinstance(parts, list) else []):
        assertion = part.get("assertion") if isinstance(part, dict) else None
        if isinstance(assertion, dict) and assertion.get("type") == _HUMAN:
            return (
                {True: LIKED, False: DISLIKED}.get(part["pass"])
                if isinstance(part.get("pass"), bool)
                else None
            )
    return None


PROMPTFOO = ExportForm(
    "an export of promptfoo’s ratings",
    is_evaluation,
    evaluation_choices,
    "no person passed one output and failed another to the same prompt, which is what tells a choice",
)
