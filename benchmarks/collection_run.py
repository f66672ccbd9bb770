"""A collection from a server that fails as real ones do: estimate, budget, refresh, removal, nothing twice.

The server counts every answer it gives. It fails by a hash of LLM, query and attempt: errors, limits of the
rate, cut connections and empty replies that pass, refusals that do not.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any
from unittest.mock import patch

import typer

from benchmarks._report import Report, duration
from crm.cli_runner import run_cli
from crm.errors import CRMError
from crm.llm import client
from crm.llm.settings import ConfiguredLLM, EndpointLLMSettings
from crm.report_table import describe_machine
from db import Database, DatabaseError
from db.records import BenchmarkInfo, QuerySource
from db.repositories.benchmarks import find_benchmark, upsert_benchmark
from db.repositories.contents import upsert_queries
from db.repositories.llm_answers import collection_totals
from db.serialization import text_sha256
from db.source_records import AnswerStatus
from precompute.collect.collection import collect_responses, estimate_collection
from precompute.errors import PrecomputeError
from precompute.lifecycle import ask_again, remove_llm_of

SLUG, NEXT_VERSION = "run-v1", "run-v2"
PRICE_PROMPT, PRICE_COMPLETION = 2.0, 8.0
_LONGEST = 400
"""Tokens that the fake LLMs write at most."""


@dataclass(frozen=True)
class Faults:
    """Shares of requests that fail; each but the last passes at another attempt."""

    server_error: float = 0.02
    rate_limit: float = 0.01
    cut: float = 0.01
    empty: float = 0.01
    refused_request: float = 0.002

    def of(self, llm: str, asked: str, attempt: int) -> str:
        """Return which fault a request meets; empty for none."""
        if _share(llm, asked, "for ever") < self.refused_request:
            return "refused_request"
        drawn = _share(llm, asked, attempt)
        for name in ("server_error", "rate_limit", "cut", "empty"):
            drawn -= getattr(self, name)
            if drawn < 0:
                return name
        return ""


def _share(*of: object) -> float:
    digest = sha256(repr(of).encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64


def written_tokens(llm: str, asked: str) -> int:
    """Return how long a fake LLM's answer is; each has a mean of its own."""
    mean = 60 + 200 * _share(llm)
    return min(_LONGEST, int(mean * (0.5 + _share(llm, asked, "length"))))


class FakeProvider:
    """An OpenAI-compatible server that answers and fails as it is told, and counts."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.attempts: Counter[tuple[str, str]] = Counter()
        self.answered: Counter[tuple[str, str]] = Counter()
        self.tokens: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) != b"":
                length = next(
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                )
                answer = self.answer(json.loads(await reader.readexactly(length)))
                if answer is None:
                    break
                status, body, headers = answer
                content = json.dumps(body).encode()
                lines = [
                    f"HTTP/1.1 {status} X",
                    "Content-Type: application/json",
                    f"Content-Length: {len(content)}",
                ]
                writer.write("\r\n".join([*lines, *headers, "", ""]).encode() + content)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, body: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], Sequence[str]] | None:
        """Return status, JSON and further headers; None to cut the connection."""
        llm, asked = body["model"], body["messages"][-1]["content"]
        attempt = self.attempts[llm, asked]
        self.attempts[llm, asked] += 1
        match self.faults.of(llm, asked, attempt):
            case "server_error":
                return 503, {"error": {"message": "busy"}}, ()
            case "rate_limit":
                return 429, {"error": {"message": "slow down"}}, ("Retry-After: 0.05",)
            case "cut":
                return None
            case "refused_request":
                return 400, {"error": {"message": "this cannot be asked"}}, ()
            case fault:
                text = "" if fault else f"{llm} says, the {attempt + 1}th time: {asked}"
        if text:
            self.answered[llm, asked] += 1
        read, written = len(asked) // 4 + 8, written_tokens(llm, asked) if text else 0
        self.tokens.update({"read": read, "written": written})
        usage = {"prompt_tokens": read, "completion_tokens": written}
        message = {"role": "assistant", "content": text}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        return 200, {"model": f"{llm}-2026", "choices": choices, "usage": usage}, ()


def _provide(faults: Faults, ends: Connection) -> None:
    """Serve in a process of its own until it is told to end; told anything else it sends its counts."""

    async def run() -> None:
        provider = FakeProvider(faults)
        server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
        ends.send(server.sockets[0].getsockname()[1])
        while await asyncio.to_thread(ends.recv):
            ends.send((provider.attempts, provider.answered, provider.tokens))

    asyncio.run(run())
    os._exit(0)


@dataclass
class Server:
    """The fake provider's process."""

    port: int
    ends: Connection

    def counts(self) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]], Counter[str]]:
        """Return how often each query was asked of each LLM, and answered, and all tokens."""
        self.ends.send(True)
        attempts, answered, tokens = self.ends.recv()
        return attempts, answered, tokens


@contextmanager
def fake_provider(faults: Faults) -> Iterator[Server]:
    """Start the fake provider, and end it."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_provide, args=(faults, there), daemon=True)
    process.start()
    try:
        yield Server(here.recv(), here)
    finally:
        here.send(False)
        process.join(10)


@dataclass(frozen=True)
class Step:
    """What one step of the run did.

    Attributes:
        estimated: Money by the dry run before it; None where none was made.
        requests: That came to the server.
        answers: That the server gave.
        spent: Money for the tokens that the server counted.
        noted: Money that is noted for the stored answers, in all.
        missing: Answers that are not there afterwards.
    """

    name: str
    estimated: float | None
    requests: int
    answers: int
    spent: float
    noted: float
    missing: int
    seconds: float


class Run:
    """The steps of an operator, each with what the server counted."""

    def __init__(self, database: Database, server: Server, llms: int, queries: int) -> None:
        self.database, self.server = database, server
        self.llms = tuple(
            ConfiguredLLM(
                f"llm-{number:03d}",
                EndpointLLMSettings(
                    model=f"llm-{number:03d}",
                    url=f"http://127.0.0.1:{server.port}/v1",
                    max_tokens=_LONGEST,
                    concurrency=16,
                    price_prompt=PRICE_PROMPT,
                    price_completion=PRICE_COMPLETION,
                ),
            )
            for number in range(llms)
        )
        self.texts = [
            f"Question {number}: what would you do about matter {number}, and why?"
            for number in range(queries)
        ]
        self.steps: list[Step] = []
        self._before = (0, 0, 0.0)
        for slug in (SLUG, NEXT_VERSION):
            with database.session() as session:
                upsert_benchmark(session, BenchmarkInfo(slug, slug))
                sources = [
                    QuerySource(f"q{number}", "Life", f"Topic {number % 20}", text_sha256(text), text)
                    for number, text in enumerate(self.texts)
                ]
                upsert_queries(session, find_benchmark(session, slug), sources)

    def estimate(self, llms: Sequence[ConfiguredLLM], slug: str = SLUG, **options: Any) -> float:
        """Return the money that a dry run foresees."""
        found = estimate_collection(self.database, slug, llms, **options)
        return sum(each.cost or 0.0 for each in found)

    def collect(self, llms: Sequence[ConfiguredLLM], slug: str = SLUG, **options: Any) -> None:
        """Collect as the command does, but without representations."""
        collect_responses(self.database, slug, llms, embed=False, **options)

    def step(
        self,
        name: str,
        do: Callable[[], object],
        *,
        of: Collection[ConfiguredLLM],
        slug: str = SLUG,
        wanted: int | None = None,
        estimated: float | None = None,
    ) -> Step:
        """Do something, and note what the server counted meanwhile."""
        started = perf_counter()
        do()
        seconds = perf_counter() - started
        attempts, answered, tokens = self.server.counts()
        money = (tokens["read"] * PRICE_PROMPT + tokens["written"] * PRICE_COMPLETION) / 1e6
        now = (attempts.total(), answered.total(), money)
        with self.database.session() as session:
            totals = collection_totals(session, find_benchmark(session, slug))
        there = sum(
            count
            for llm in of
            if llm.name in totals
            for status, count in totals[llm.name].n_by_status.items()
            if status is not AnswerStatus.FAILED
        )
        n_wanted = len(of) * (len(self.texts) if wanted is None else wanted)
        requests, answers, spent = (after - before for after, before in zip(now, self._before, strict=True))
        noted = sum(total.cost for total in totals.values())
        made = Step(name, estimated, int(requests), int(answers), spent, noted, n_wanted - there, seconds)
        self._before = now
        self.steps.append(made)
        return made


def whole_run(run: Run) -> None:
    """Go through an operator's steps, from a trial to a removal."""
    *first, last = run.llms
    trial = min(20, len(run.texts) // 5)
    run.step(
        f"trial of {trial} queries", lambda: run.collect(first, limit=trial),
        of=first, wanted=trial, estimated=run.estimate(first, limit=trial),
    )  # fmt: skip
    foreseen = run.estimate(first)
    budget = round(0.4 * foreseen, 4)
    run.step(f"budget of {budget:g}", lambda: run.collect(first, budget=budget), of=first, estimated=foreseen)
    run.step("the rest", lambda: run.collect(first), of=first, estimated=run.estimate(first))
    run.step("the same again", lambda: run.collect(first), of=first)
    run.step("one more LLM", lambda: run.collect(run.llms), of=run.llms, estimated=run.estimate([last]))
    chosen = [f"q{number}" for number in range(0, len(run.texts), 10)]
    ask_again(run.database, SLUG, first[0].name, chosen)
    run.step(
        f"{len(chosen)} of one LLM refreshed", lambda: run.collect(run.llms),
        of=run.llms, estimated=run.estimate(first[:1]),
    )  # fmt: skip
    run.step(
        "a new version, same queries", lambda: run.collect(run.llms, NEXT_VERSION),
        of=run.llms, slug=NEXT_VERSION, estimated=run.estimate(run.llms, NEXT_VERSION),
    )  # fmt: skip
    removed = first[1]
    run.step(
        "one LLM removed", lambda: remove_llm_of(run.database, removed.name, [SLUG], dry=False),
        of=[llm for llm in run.llms if llm != removed],
    )  # fmt: skip


def answered_twice(run: Run, refreshed: int) -> int:
    """Return how many answers the server gave beyond one a query and LLM, and those that were refreshed."""
    _, answered, _ = run.server.counts()
    return answered.total() - len(answered) - refreshed


_COLUMNS = ("step", "estimated", "spent", "noted in all", "requests", "answers", "missing", "time")


def run_table(run: Run) -> Report:
    """Return one row a step."""
    attempts, answered, _ = run.server.counts()
    refreshed = len(run.texts[::10])
    for_ever = sum(1 for asked in attempts if asked not in answered)
    rows = tuple(
        (
            step.name,
            "–" if step.estimated is None else f"{step.estimated:,.2f}",
            f"{step.spent:,.2f}",
            f"{step.noted:,.2f}",
            f"{step.requests:,}",
            f"{step.answers:,}",
            f"{step.missing:,}",
            duration(step.seconds),
        )
        for step in run.steps
    )
    return Report(
        f"{len(run.llms)} LLMs × {len(run.texts):,} queries from a server with faults",
        _COLUMNS,
        rows,
        f"Requests, answers and what was spent are the server's own counts. Answers given twice but for the "
        f"{refreshed} that were asked for again: {answered_twice(run, refreshed)}. Requests that the server "
        f"always refuses: {for_ever:,}, which are missing to the end and sent once a run. Before the trial "
        f"lengths are assumed. {describe_machine()}.",
    )


app = typer.Typer(add_completion=False)


@app.command()
def measure(
    llms: Annotated[int, typer.Option(min=3, help="Fake LLMs.")] = 100,
    queries: Annotated[int, typer.Option(min=20, help="Queries.")] = 1_000,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Run all steps and print what each took."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Database.open(f"sqlite:///{folder}/usl.sqlite3")) as database,
        fake_provider(Faults()) as server,
        patch.object(client, "_backoff", lambda _: 0.05),
    ):
        run = Run(database, server, llms, queries)
        whole_run(run)
        run_table(run).finish(output)


def main() -> None:
    """Run the command line."""
    run_cli(app, CRMError, DatabaseError, PrecomputeError)


if __name__ == "__main__":
    main()
