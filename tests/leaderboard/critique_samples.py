"""Replies of a critic, and a table of ``llms.toml`` that leads to a server of the test's own."""

import json
from pathlib import Path
from typing import Any

from tests.crm.backends.scripted_server import Answer

CHAT = "/v1/chat/completions"
KEY = "sk-secret-of-a-test"
EDITED = "Boil the egg for six minutes, then cool it."
ASSESSED: dict[str, Any] = {
    "suggestions": ["Name the minutes.", "Leave the greeting out."],
    "helpfulness": 4,
    "personalization": -2,
    "naturalness": 0,
    "faults": [{"fault": "too_brief", "points": 2}, {"fault": "ignores_wishes", "points": 1}],
    "simple_query": True,
}
ASSESSED_EDIT = ASSESSED | {"helpfulness": 4, "personalization": 3, "naturalness": 2, "faults": []}
EDIT = {"edited": EDITED}
GOOD = ASSESSED | EDIT
"""A reply that can be used whatever was asked for."""


def says(reply: object, **choice: object) -> Answer:
    """An endpoint's answer with this reply; what is no text is written as JSON."""
    content = reply if isinstance(reply, str) else json.dumps(reply)
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "finish_reason": "stop", "message": message} | choice]
    return Answer({"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": choices})


def write_llms(folder: Path, url: str, name: str = "writer", **keys: object) -> Path:
    """A file with one LLM."""
    lines = [f"[{name}]", 'model = "m"', f'url = "{url}/v1"', 'api_key_env = "CRITIC_KEY"']
    lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    path = folder / "llms.toml"
    path.write_text("\n".join(lines) + "\n")
    return path
