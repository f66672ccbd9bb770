"""An agent's tools, asked by the client of the protocol's own SDK, give the numbers of the command line."""

import csv
import io
import json
import os
import sys
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

from api.agents import mcp_server
from db.database import URL_VARIABLE
from leaderboard.__main__ import main
from leaderboard.service import Service
from tests.conftest import Run
from tests.leaderboard.test_command_line import ROOT

WISHES = ("--criterion", "Concise and direct", "--avoid", "marketing language")
ASKED = {"criteria": ["Concise and direct"], "avoid": ["marketing language"]}


@pytest.fixture(scope="module")
def server(service: Service) -> MCPServer:
    return mcp_server(lambda: service)


def asked(server: Any, tool: str, arguments: dict[str, Any]) -> Any:
    """A tool's answer, asked in an event loop of its own: browsers of other tests may have one here."""

    async def ask() -> Any:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    with start_blocking_portal() as portal:
        return portal.call(ask)


def told(server: Any, tool: str, **arguments: Any) -> Any:
    """What a tool says."""
    answer = asked(server, tool, arguments)
    assert not answer.is_error, answer.content
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


def refused(server: Any, tool: str, **arguments: Any) -> str:
    """What a tool says that cannot do what is asked."""
    answer = asked(server, tool, arguments)
    assert answer.is_error
    return str(answer.content[0].text)


def printed(run_main: Run, *options: str) -> list[dict[str, str]]:
    """The rows that the command line prints."""
    code, out, _ = run_main(main, "rank", *options, "--format", "csv")
    assert code == 0
    return list(csv.DictReader(io.StringIO(out)))


def numbers(row: dict[str, Any]) -> list[float]:
    return [float(row[name]) for name in ("rank", "win_rate", "ci_low", "ci_high")]


def test_ranks_as_the_page_does(server: MCPServer, run_main: Run) -> None:
    rows = printed(run_main, "--benchmark", "modern", *WISHES, "--floor", "0.5")
    found = told(server, "rank_llms", **ASKED, n=5)

    assert found["about"]["benchmark"] == "modern"
    assert [row["llm"] for row in found["ranking"]] == [row["llm"] for row in rows[:5]]
    assert [numbers(row) for row in found["ranking"]] == [numbers(row) for row in rows[:5]]
    assert (found["n_llms"], found["answer"]["llm"]) == (len(rows), rows[0]["llm"])


def test_ranks_everyone_on_some_topics_within_a_price(server: MCPServer, run_main: Run) -> None:
    rows = printed(run_main, "--benchmark", "modern", *WISHES, "--topic", "Story editing", "--max-price", "1")
    found = told(server, "rank_llms", **ASKED, topics=["Story editing"], max_price=1, everyone=True, n=100)

    assert [row["llm"] for row in found["ranking"]] == [row["llm"] for row in rows]
    assert all(row["facts"]["price_input"] + row["facts"]["price_output"] <= 2 for row in found["ranking"])


def test_a_category_may_have_a_list_of_its_own(server: MCPServer, run_main: Run) -> None:
    rows = printed(
        *(run_main, "--benchmark", "dailybench", "--criterion", "Funny", "--criterion-for"),
        *("Puzzles & Logic=Short answers", "--avoid-for", "Puzzles & Logic=jokes"),
    )
    own = [{"text": "Short answers"}, {"text": "jokes", "polarity": "avoid"}]
    criteria = ["Funny", *({**wish, "for": ["Puzzles & Logic"]} for wish in own)]
    found = told(server, "rank_llms", criteria=criteria, benchmark="dailybench", everyone=True)

    assert [numbers(row) for row in found["ranking"]] == [numbers(row) for row in rows]
    wrong = [{"text": "Funny", "for": ["Puzzles"]}]
    assert "There is no topic 'Puzzles'" in refused(
        server, "rank_llms", criteria=wrong, benchmark="dailybench"
    )


def test_compares_llms_by_name_or_title(server: MCPServer, run_main: Run) -> None:
    rows = {row["llm"]: row for row in printed(run_main, "--benchmark", "dailybench", "--criterion", "Funny")}
    found = told(
        server,
        "compare_llms",
        llms=["jester", "SCHOLIA (in-depth, analytical)", "lumen"],
        criteria=["Funny"],
        benchmark="dailybench",
    )

    assert [llm["llm"] for llm in found["llms"]] == [
        llm for llm in rows if llm in ("jester", "scholia", "lumen")
    ]
    assert all(numbers(llm) == numbers(rows[llm["llm"]]) for llm in found["llms"])
    assert found["llms"][0]["grades"]["Funny"] > found["llms"][-1]["grades"]["Funny"]
    assert len(found["differences"]) == 3
    for pair in found["differences"]:
        difference = float(rows[pair["better"]]["win_rate"]) - float(rows[pair["worse"]]["win_rate"])
        assert pair["difference"] == pytest.approx(difference, abs=1e-4)
        assert pair["low"] <= pair["difference"] <= pair["high"]


def test_says_why(server: MCPServer, run_main: Run) -> None:
    rows = {
        row["llm"]: row
        for row in printed(run_main, "--benchmark", "dailybench", "--criterion", "uses emojis")
    }
    found = told(server, "why", llm="jester", criteria=["uses emojis"], benchmark="dailybench")

    assert numbers(found["llm"]) == numbers(rows["jester"])
    assert found["n_llms"] == 7
    [read] = found["criteria"]
    assert (read["criterion"], read["badge"]) == ("uses emojis", "counted")
    assert found["best_topics"][0]["win_rate"] >= found["worst_topics"][0]["win_rate"]
    assert found["clearest_win"]["prob"] > found["clearest_loss"]["prob"]
    assert found["clearest_win"]["query_text"]
    assert any("emoji" in reason for reason in found["clearest_win"]["reasons"]["uses emojis"])


def test_without_criteria_it_is_what_most_people_like(server: MCPServer, run_main: Run) -> None:
    rows = printed(run_main, "--benchmark", "dailybench")
    found = told(server, "rank_llms", benchmark="dailybench")
    because = told(server, "why", llm=rows[0]["llm"], benchmark="dailybench")

    assert [row["llm"] for row in found["ranking"]] == [row["llm"] for row in rows]
    assert (because["grades"], because["criteria"]) == ({}, [])


def test_topics_are_those_that_rankings_take(server: MCPServer) -> None:
    found = told(server, "list_topics")

    assert found["benchmark"] in [benchmark["slug"] for benchmark in found["benchmarks"]]
    assert all(category["topics"] for category in found["categories"])


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("rank_llms", {"topics": ["Cookin"], "benchmark": "dailybench"}, "did you mean 'Cooking & recipes'"),
        ("rank_llms", {"benchmark": "nope"}, "There is no benchmark 'nope'"),
        ("rank_llms", {"criteria": [" "]}, "A criterion is empty"),
        ("rank_llms", {"released_since": "soon"}, "The date 'soon'"),
        ("rank_llms", {"n": 0}, "greater than or equal to 1"),
        ("why", {"llm": "jestre", "benchmark": "dailybench"}, "did you mean 'jester'?"),
        (
            "compare_llms",
            {"llms": ["jester", "qqq"], "benchmark": "dailybench"},
            "No LLM 'qqq' is ranked here",
        ),
    ],
)
def test_what_cannot_be_is_said(server: MCPServer, tool: str, arguments: dict[str, Any], said: str) -> None:
    assert said in refused(server, tool, **arguments)


def test_serves_the_agent_that_started_it(bundled_url: str, run_main: Run) -> None:
    rows = printed(run_main, "--benchmark", "dailybench", "--criterion", "Warm")
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "usl", "mcp"],
        cwd=ROOT,
        env={URL_VARIABLE: bundled_url, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
    )
    found = told(command, "rank_llms", criteria=["Warm"], benchmark="dailybench")

    assert [numbers(row) for row in found["ranking"]] == [numbers(row) for row in rows]


@pytest.fixture(scope="session")
def bundled_url(bundled_file: Any) -> str:
    return f"sqlite:///{bundled_file}"
