"""A benchmark of a few queries, an endpoint that answers them, and a command line that collects them."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from crm.llm import client
from db import Database
from db.records import BenchmarkInfo, LLMRecord, QuerySource
from db.repositories import benchmarks, contents
from db.serialization import text_sha256
from db.source_records import CollectedRecord
from leaderboard.scoring_jobs import progress
from precompute import __main__ as command_line
from precompute import embed
from precompute.collect import collection, writer
from precompute.commands import jobs
from precompute.commands import options as precompute_database
from tests.crm.backends.scripted_server import Answer
from tests.db import samples as db_samples
from tests.precompute import samples as precompute_samples

SLUG = "mine"
CHAT = "/v1/chat/completions"
KEY_VARIABLE = "MY_ENDPOINT_KEY"
Behave = Callable[[str, str, int], Answer]
"""From query, model and how often it was asked before to what the endpoint answers."""


def query(number: int) -> str:
    return f"Question {number}: how do I do thing {number}?"


def store(
    database: Database,
    n_queries: int = 12,
    *,
    baseline: bool = True,
    slug: str = SLUG,
    category: str = "Home",
    number_of: Callable[[int], int] = int,
) -> None:
    """A benchmark in which only the baseline has answered; its nth query asks question ``number_of(n)``."""
    with database.session() as session:
        benchmarks.upsert_benchmark(session, BenchmarkInfo(slug, "Mine"))
        asked = [query(number_of(number)) for number in range(n_queries)]
        sources = [
            QuerySource(f"q{number}", category, ("Even", "Odd")[number % 2], text_sha256(text), text)
            for number, text in enumerate(asked)
        ]
        benchmark = benchmarks.find_benchmark(session, slug)
        contents.upsert_queries(session, benchmark, sources)
        if baseline:
            contents.upsert_llms(session, benchmark, [LLMRecord("base", "Base")])
            answers = {source.external_id: f"base on {source.external_id}" for source in sources}
            contents.set_responses(session, benchmark, "base", answers)
            benchmarks.set_baseline(session, benchmark, "base")


def completion(content: Any, *, finish: str = "stop", usage: bool = True, **message: Any) -> dict[str, Any]:
    """A chat completion that read 100 tokens and wrote 10."""
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content} | message,
            }
        ],
    } | ({"usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}} if usage else {})


def answer(asked: str, model: str) -> Answer:
    return Answer(completion(f"{model} on: {asked}"))


class Endpoint:
    """A script for a server: behaves by query, model and how often it was asked."""

    def __init__(self, behave: Behave) -> None:
        self.behave = behave
        self.asked: list[tuple[str, str]] = []

    def __call__(self, body: Any) -> Answer:
        asked = body["messages"][-1]["content"], body["model"]
        before = self.asked.count(asked)
        self.asked.append(asked)
        return self.behave(*asked, before)


def number_of(asked: str) -> int:
    [number] = re.findall(r"^Question (\d+)", asked)
    return int(number)


def well_behaved(asked: str, model: str, _before: int) -> Answer:
    return answer(asked, model)


def collected(database: Database, llm: str = "alpha", slug: str = SLUG) -> dict[str, CollectedRecord]:
    """What is stored, but for how long it took."""
    with database.session() as session:
        records = db_samples.collected(session, benchmarks.find_benchmark(session, slug), llm)
    return {external_id: replace(record, seconds=0.0) for external_id, record in records.items()}


def write_llms(folder: Path, url: str, *names: str, **keys: str | float | bool) -> Path:
    """A file of LLMs at one endpoint; the values are written as TOML."""
    lines = []
    for name in names or ("alpha",):
        lines += [f"[{name}]", f'url = "{url}/v1"', f'model = "{name}-model"']
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    path = folder / "llms.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


class _Encoder:
    def __init__(self) -> None:
        self.embed = precompute_samples.WordEmbedding()


def without_models(patch: Callable[[object, str, object], object], bundled: Path) -> None:
    """Make the command line quick: no bundled benchmarks, encoder or waiting; asking and storing are real."""
    fitted = precompute_samples.RecordingRepresentation(**precompute_samples.fitted())
    encoder = _Encoder()
    patch(precompute_database, "BUNDLED", bundled)
    patch(embed, "sentence_encoder", lambda: encoder)
    patch(client, "_backoff", lambda _: 0.01)
    patch(progress, "_LOG_SECONDS", 1e9)
    # The judge cannot read what stands in for representations here.
    patch(jobs, "baseline_warning", lambda *_: None)
    for module in (collection, writer):
        patch(module, "representation", lambda *_: fitted)


if __name__ == "__main__":  # the process that the tests kill
    without_models(setattr, Path(os.devnull))
    sys.argv[0] = "precompute"
    # A shell that starts tests in the background lets them ignore the interruption.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line.main()
