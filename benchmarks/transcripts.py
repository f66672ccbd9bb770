"""What programs and agents ask and are told: ``docs/transcripts.md``, made from the running server.

No measurement. The API is asked over HTTP, the tools by the protocol's own client over standard input and
output, both on a new database of the bundled benchmarks.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import anyio
import httpx2
import typer
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

from api.http import PATH
from benchmarks.first_paint import PROJECT_ROOT, MeasurementError, running_server
from crm.cli_runner import run_cli
from db.database import URL_VARIABLE
from leaderboard.service import Service

app = typer.Typer(add_completion=False)

SLUG = "dailybench"
TOOL = "tools/call"
"""The method of the protocol by which tools are asked."""
_WISHES = {"criterion": "Concise and direct", "avoid": "marketing language"}
_ASKED = {"criteria": ["Concise and direct"], "avoid": ["marketing language"], "benchmark": SLUG}
_PAIR = {
    "id": 1,
    "query": "How do I boil an egg?",
    "response_a": "Eight minutes in boiling water.",
    "response_b": "Eggs are wonderful! First of all, let us talk about what an egg is.",
    "criteria": ["Concise", {"text": "emojis", "polarity": "avoid"}],
}
_MOST_ITEMS = 2
_MOST_CHARACTERS = 200
_HEAD = f"""# What programs and agents are told

Requests to the [HTTP API](api.md) and to [the tools of an agent](agents.md), with the replies of a running
server on the bundled benchmark DailyBench. `python -m benchmarks.transcripts --output docs/transcripts.md`
makes them. Here lists end after {_MOST_ITEMS} items and texts after {_MOST_CHARACTERS} characters, with “…”.
"""


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        line: Method and address, or ``tools/call`` and the tool.
        body: What is sent, or the tool's arguments.
    """

    line: str
    body: Any = None


@dataclass(frozen=True)
class Exchange:
    """A question with its reply.

    Attributes:
        status: Of HTTP, else whether it is an answer or an error.
        reply: Shortened.
    """

    question: Question
    status: str
    reply: Any


def _get(route: str, **parameters: str) -> Question:
    return Question(f"GET {PATH}/{route}" + (f"?{urlencode(parameters)}" if parameters else ""))


QUESTIONS = (
    _get("benchmarks"),
    _get("rank", benchmark=SLUG, **_WISHES),
    _get("rank", benchmark="nope"),
    _get("llms", benchmark=SLUG),
    Question(f"POST {PATH}/score", {"pairs": [_PAIR]}),
    Question(f"{TOOL} rank_llms", {**_ASKED, "n": 3}),
    Question(f"{TOOL} compare_llms", {**_ASKED, "llms": ["jester", "scholia", "lumen"]}),
    Question(f"{TOOL} why", {**_ASKED, "llm": "jester"}),
    Question(f"{TOOL} why", {**_ASKED, "llm": "jestre"}),
    Question(f"{TOOL} list_topics", {"benchmark": SLUG}),
)


def asked_over_http(client: httpx2.Client, questions: Iterable[Question]) -> Iterator[Exchange]:
    """Yield what the API replies.

    Args:
        client: Of the server's address.
    """
    for question in questions:
        method, address = question.line.split()
        answer = client.request(method, address, json=question.body)
        yield Exchange(question, f"status {answer.status_code}", shortened(answer.json()))


async def asked_of_tools(
    server: MCPServer | StdioServerParameters, questions: Iterable[Question]
) -> list[Exchange]:
    """Return what the tools reply.

    Args:
        server: One in this process, or how one is started.
    """
    exchanges = []
    async with Client(server) as client:
        for question in questions:
            answer = await client.call_tool(question.line.removeprefix(f"{TOOL} "), question.body)
            said = answer.structured_content
            if said is None:
                said = [part.text for part in answer.content if part.type == "text"]
            exchanges.append(
                Exchange(question, "an error" if answer.is_error else "an answer", shortened(said))
            )
    return exchanges


def is_for_a_tool(question: Question) -> bool:
    """Return whether an agent asks it, not a program over HTTP."""
    return question.line.startswith(TOOL)


def shortened(value: Any) -> Any:
    """Return a reply with the first items of its lists and the beginnings of its texts."""
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        left_out = len(value) - _MOST_ITEMS
        more = [f"… {left_out} more"] if left_out > 0 else []
        return [*map(shortened, value[:_MOST_ITEMS]), *more]
    if isinstance(value, str) and len(value) > _MOST_CHARACTERS:
        return f"{value[:_MOST_CHARACTERS].rstrip()}…"
    return value


def document(exchanges: Iterable[Exchange]) -> str:
    """Return the exchanges as Markdown."""
    return "\n".join([_HEAD, *map(_section, exchanges)])


def _section(exchange: Exchange) -> str:
    question = exchange.question
    sent = [question.line] if question.body is None else [question.line, _written(question.body)]
    title = f"{question.line.split('?')[0]}, {exchange.status}"
    return "\n".join((f"## {title}\n\n```http", *sent, "```\n\n```json", _written(exchange.reply), "```\n"))


def _written(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def exchanges_in(text: str) -> list[Exchange]:
    """Read the exchanges of a document."""
    found = []
    for section in text.split("\n## ")[1:]:
        title, _, blocks = section.partition("\n\n```http\n")
        sent, _, reply = blocks.partition("\n```\n\n```json\n")
        line, _, body = sent.partition("\n")
        question = Question(line, json.loads(body) if body else None)
        found.append(
            Exchange(question, title.rpartition(", ")[2], json.loads(reply.strip().removesuffix("```")))
        )
    return found


@app.command()
def main(
    output: Annotated[Path | None, typer.Option(help="Markdown file for the document.")] = None,
) -> None:
    """Ask the API and the tools, and print what they reply."""
    of_tools = [question for question in QUESTIONS if is_for_a_tool(question)]
    of_programs = [question for question in QUESTIONS if not is_for_a_tool(question)]
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as folder:
        database = Path(folder) / "usl.sqlite3"
        Service.open(f"sqlite:///{database}").close()
        with running_server(database, Path(folder) / "log") as server:
            server.wait_until_up()
            with httpx2.Client(base_url=server.address, timeout=60) as client:
                exchanges = list(asked_over_http(client, of_programs))
        exchanges += anyio.run(asked_of_tools, _started_on(database), of_tools)
    text = document(exchanges)
    if output is None:
        typer.echo(text)
    else:
        output.write_text(text, encoding="utf-8")


def _started_on(database: Path) -> StdioServerParameters:
    """Return how an agent starts the server of tools on a database."""
    environment = {**os.environ, URL_VARIABLE: f"sqlite:///{database}"}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "usl", "mcp"], cwd=PROJECT_ROOT, env=environment
    )


if __name__ == "__main__":
    run_cli(app, MeasurementError)
