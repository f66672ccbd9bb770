"""An LLM that writes rubrics and grades: what it replies is computed from what it is asked."""

import json
import re
from typing import Any

from tests.crm.backends.scripted_server import Answer
from tests.leaderboard.critique_samples import says

LEVELS = tuple(f"Keeps to {level} of 5 parts of the wish." for level in range(1, 6))
BOUNDS = (40, 80, 120, 180)
"""Words up to which a response is at level 5, 4, 3, 2."""


def rubric_reply(levels: tuple[str, ...] = LEVELS) -> dict[str, Any]:
    listed = [{"level": number, "description": text} for number, text in enumerate(levels, start=1)]
    return {"levels": listed}


def part(prompt: str, name: str) -> str:
    """What stands between two tags of a prompt."""
    found = re.search(rf"<{name}>\n(.*)\n</{name}>", prompt, re.DOTALL)
    return found[1] if found else ""


def grade_of(response: str, matter: str) -> int:
    """Short responses meet every wish; what is to be avoided is met by long ones."""
    level = 5 - sum(len(response.split()) > bound for bound in BOUNDS)
    return 6 - level if matter.startswith("Avoid: ") else level


def prompt_of(asked: Any) -> str:
    return str(asked["messages"][-1]["content"])


def is_grade(prompt: str) -> bool:
    return "<answer>" in prompt


def grader(asked: Any) -> Answer:
    prompt = prompt_of(asked)
    if not is_grade(prompt):
        wish = part(prompt, "wish") or part(prompt, "dislike")
        return says(rubric_reply(tuple(f"{text} ({wish})" for text in LEVELS)))
    grade = grade_of(part(prompt, "answer"), part(prompt, "matter"))
    return says(json.dumps({"justification": f"It is at level {grade}.", "grade": grade}))
