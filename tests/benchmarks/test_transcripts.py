"""The transcripts in the docs are what the API and an agent's tools still ask for and reply."""

from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from api.agents import mcp_server
from api.http import PATH, application
from api.settings import Settings
from benchmarks.transcripts import (
    QUESTIONS,
    Exchange,
    Question,
    asked_of_tools,
    asked_over_http,
    document,
    exchanges_in,
    is_for_a_tool,
    shortened,
)
from leaderboard.service import Service

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "transcripts.md").read_text(encoding="utf-8")
COMMITTED = exchanges_in(DOCUMENT)


def shape(value: Any) -> Any:
    """What kind of value stands under which name."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def asked_again(service: Service, question: Question) -> Exchange:
    if is_for_a_tool(question):
        with start_blocking_portal() as portal:
            [exchange] = portal.call(asked_of_tools, mcp_server(lambda: service), [question])
    else:
        app = Starlette(routes=[Mount(PATH, app=application(lambda: service, Settings()))])
        [exchange] = asked_over_http(TestClient(app), [question])
    return exchange


def test_the_document_holds_every_question_and_nothing_else() -> None:
    assert [exchange.question for exchange in COMMITTED] == list(QUESTIONS)
    asked = " ".join(question.line for question in QUESTIONS)
    routes = ("benchmarks", "rank", "llms", "score", "rank_llms", "compare_llms", "why", "list_topics")
    assert [name for name in routes if name not in asked] == []
    assert document(COMMITTED) == DOCUMENT


@pytest.mark.parametrize("committed", COMMITTED, ids=lambda exchange: exchange.question.line)
def test_a_committed_request_gets_a_reply_of_the_same_shape(service: Service, committed: Exchange) -> None:
    again = asked_again(service, committed.question)

    assert again.status == committed.status
    assert shape(again.reply) == shape(committed.reply)


def test_long_lists_and_texts_are_shortened_and_the_rest_is_counted() -> None:
    assert shortened({"a": [1, [1, 2, 3], 3, 4], "b": "x" * 900}) == {
        "a": [1, [1, 2, "… 1 more"], "… 2 more"],
        "b": "x" * 200 + "…",
    }
    assert shortened([1, 2]) == [1, 2]


def test_a_document_is_read_as_it_was_written() -> None:
    exchanges = [
        Exchange(Question("GET /a?b=c"), "status 200", {"a": ["```", 1]}),
        Exchange(Question("tools/call why", {"llm": "a, b"}), "an error", ["No, there is none."]),
    ]
    assert exchanges_in(document(exchanges)) == exchanges
