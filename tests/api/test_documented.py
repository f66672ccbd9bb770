"""The answers in the guides of API and agents are parts of the transcripts, which are real."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.http import PATH, application
from api.settings import Settings
from benchmarks.transcripts import exchanges_in
from leaderboard.service import Service

DOCS = Path(__file__).resolve().parents[2] / "docs"
API, AGENTS = ((DOCS / name).read_text(encoding="utf-8") for name in ("api.md", "agents.md"))
REPLIES = [found.reply for found in exchanges_in((DOCS / "transcripts.md").read_text(encoding="utf-8"))]
_ANSWER = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"curl 'http://localhost:8501(\S+)'\n\n```csv\n(.*?)\n```", re.DOTALL)
ANSWERS = [answer for document in (API, AGENTS) for answer in _ANSWER.findall(document)]


def is_part(small: Any, whole: Any) -> bool:
    """Whether an answer says nothing but what another says, of lists the first items."""
    if isinstance(small, dict):
        return isinstance(whole, dict) and all(
            name in whole and is_part(value, whole[name]) for name, value in small.items()
        )
    if isinstance(small, list):
        return isinstance(whole, list) and len(small) <= len(whole) and all(map(is_part, small, whole))
    return bool(small == whole)


def test_every_guide_shows_answers_and_leads_to_all_of_them() -> None:
    for document in (API, AGENTS):
        assert len(_ANSWER.findall(document)) >= 3
        assert "](transcripts.md" in document


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_a_part_of_a_reply(answer: str) -> None:
    assert any(is_part(json.loads(answer), reply) for reply in REPLIES)


def test_a_table_begins_as_the_server_begins_it(service: Service) -> None:
    [(request, table)] = _TABLE.findall(API)
    client = TestClient(application(lambda: service, Settings()), "http://testserver/")
    lines = client.get(request.removeprefix(f"{PATH}/")).text.splitlines()
    heading, *rows = table.splitlines()

    assert lines[0].startswith(heading.removesuffix("…"))
    assert [row.count(",") for row in rows] == [heading.count(",")] * 2
    assert len(lines) > len(rows)


def test_an_answer_with_another_number_is_none() -> None:
    assert is_part({"a": [1]}, {"a": [1, 2], "b": 3})
    assert not is_part({"a": [1]}, {"a": [2]})
    assert not is_part({"c": 1}, {"a": 1})
    assert not is_part([1, 2], [1])
