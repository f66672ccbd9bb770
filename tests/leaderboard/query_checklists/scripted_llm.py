"""An LLM of this test's own behind a real server: it reads what its prompts show, and nothing else.

It knows two tastes, for short answers and for long ones, and tells them by the lengths of what was taken.
"""

import json
import re
from pathlib import Path
from typing import Any

from tests.crm.backends.scripted_server import Answer
from tests.leaderboard.critique_samples import says

SHORT, LONG = "Short answers in a few words", "Long, thorough answers"
PLAIN, WHOLE = "Plain words", "Answers the whole question"
GENERAL = (
    "This person goes by {taste}. Again and again they take the answer that is so, whatever it is about, "
    "and leave the other one, however well it reads. Tone matters less to them than this, and nothing "
    "points to a wish for lists, headings, emojis or jokes of any kind."
)
THINGS = ("rain", "bread", "trains", "chess", "sleep", "maps")
QUERIES = [f"What is good about {thing}?" for thing in THINGS]


def at_length(thing: str) -> str:
    """A long answer to one of the queries."""
    return (
        f"There is a lot to say for {thing}. First of all, people look forward to it, and it costs little. "
        f"Beyond that, {thing} teaches patience: whoever pays attention to it learns to wait and to look "
        f"closely, which helps with everything else. Finally, {thing} brings people of all ages together, "
        "because it can be shared, talked about and remembered for years, long after the day itself."
    )


def parts(prompt: str, name: str) -> list[str]:
    """What stands in the parts of a prompt with this name."""
    return [found.strip() for found in re.findall(rf"<{name}>(.*?)</{name}>", prompt, re.DOTALL)]


def taste_of(prompt: str) -> str:
    """The taste that a general preference in a prompt speaks of."""
    return SHORT if SHORT in parts(prompt, "general_preference")[0] else LONG


def reply(prompt: str) -> str:
    """What it replies."""
    if "Find out what this person" in prompt:
        taken, left = ([len(text) for text in parts(prompt, name)] for name in ("taken", "left"))
        shorter = sum(one < other for one, other in zip(taken, left, strict=True))
        taste = SHORT if 2 * shorter > len(taken) else LONG
        return json.dumps({"general_preference": GENERAL.format(taste=taste)})
    if prompt.startswith("Answer the message"):
        return at_length("it") if LONG in prompt or "for anybody" in prompt else "Yes."
    if "This answer was taken by the person" in prompt:
        lines = [{"evidence": "taste", "criterion": text} for text in (PLAIN, WHOLE, taste_of(prompt))]
        return json.dumps({"checklist": lines})
    if prompt.startswith("You check an answer"):
        return json.dumps({"results": scores(prompt)})
    weights = zip((taste_of(prompt), PLAIN, WHOLE), ("Essential", "Optional", "Optional"), strict=True)
    lines = [{"evidence": "taste", "criterion": text, "weight": weight} for text, weight in weights]
    return json.dumps({"checklist": lines})


def scores(prompt: str) -> list[dict[str, object]]:
    """Length decides under the tastes; everything else is met alike."""
    words = len(parts(prompt, "answer")[0].split())
    by_text = {SHORT: 10 if words < 30 else 1, LONG: 1 if words < 30 else 10}
    lines = re.findall(r"^(\d+)\. (.*)$", parts(prompt, "checklist")[0], re.MULTILINE)
    return [{"index": int(index), "reason": "length", "score": by_text.get(text, 6)} for index, text in lines]


def script(asked: Any) -> Answer:
    """The same as an endpoint answers."""
    return says(reply(asked["messages"][-1]["content"]))


def choices_file(folder: Path, people: dict[str, str], queries: list[str] | None = None) -> Path:
    """A file in which each person takes the short or the long answer to every query."""
    file = folder / "choices.jsonl"
    lines = []
    for name, taste in people.items():
        for place, query in enumerate(queries or QUERIES):
            thing = THINGS[place % len(THINGS)]
            short, long = f"It is useful in {place + 1} ways: enjoy {thing}.", at_length(thing)
            taken, left = (short, long) if taste == SHORT else (long, short)
            lines.append(
                {"user_id": name, "query": query, "chosen": taken, "rejected": left, "timestamp": place + 1}
            )
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file
