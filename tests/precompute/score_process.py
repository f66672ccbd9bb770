"""A benchmark of a few queries, two judges that leave a trace, and a command line that scores with them."""

from __future__ import annotations

import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from crm import registry
from crm.criteria import CriteriaSet
from crm.protocol import JudgedBenchmark, Question, ScoreBlock, Verdict
from crm.scoring import score_texts
from db import Database
from db.records import BenchmarkInfo, LLMRecord, QuerySource, ScoreKey, WinRateRecord
from db.repositories import benchmarks, contents, representations, scores
from db.serialization import text_sha256
from leaderboard.scoring_jobs import progress, task
from precompute import __main__ as command_line
from precompute.commands import options as precompute_database

SLUG = "mine"
LLMS = ("base", "alpha", "beta", "gamma")
REPRESENTATION = "plain"
TRACE_VARIABLE = "USL_TEST_TRACE"
SETS = ("short", "long", "warm", "plain")
N_QUERIES = 40
N_PAIRS = (len(LLMS) - 1) * N_QUERIES * (len(SETS) + 1)
"""Pairs of one judge, under the default ranking too."""


def store(database: Database) -> None:
    """A benchmark with texts, and a representation that holds nothing but what is there."""
    queries = [
        QuerySource(f"q{n}", ("Home", "Work")[n % 2], f"Topic {n % 5}", text_sha256(f"Do {n}?"), f"Do {n}?")
        for n in range(N_QUERIES)
    ]
    with database.session() as session:
        benchmark = benchmarks.upsert_benchmark(session, BenchmarkInfo(SLUG, "Mine"))
        contents.upsert_queries(session, benchmark, queries)
        contents.upsert_llms(session, benchmark, [LLMRecord(llm, llm) for llm in LLMS])
        benchmarks.set_baseline(session, benchmark, LLMS[0])
        for llm in LLMS:
            answers = {query.external_id: f"{llm} on {query.external_id}" for query in queries}
            contents.set_responses(session, benchmark, llm, answers)
            digest = np.array([zlib.crc32(text.encode()) for text in answers.values()], dtype=np.uint64)
            representations.put_representation(session, benchmark, llm, REPRESENTATION, {"digest": digest})


def write_list(folder: Path) -> Path:
    """The criteria lists that are scored."""
    path = folder / "sets.jsonl"
    path.write_text("".join(json.dumps({"label": name, "criteria": [name]}) + "\n" for name in SETS))
    return path


def stored(database: Database) -> dict[str, object]:
    """Everything that scoring stored, by judge and criteria set."""
    with database.session() as session:
        found: dict[str, object] = {}
        benchmark = benchmarks.find_benchmark(session, SLUG)
        for item in scores.list_scores(session, benchmark):
            rows = scores.get_scores(session, benchmark, item.key)
            found[str(item.key)] = (
                item.criteria,
                {llm: (row.prob.tobytes(), row.judged.tobytes()) for llm, row in rows.items()},
                scores.get_win_rates(session, benchmark, item.key),
            )
        return found


def rates_of(database: Database, judge: str, criteria: CriteriaSet) -> tuple[WinRateRecord, ...]:
    with database.session() as session:
        return scores.get_win_rates(
            session, benchmarks.find_benchmark(session, SLUG), ScoreKey(judge, "1", criteria.key)
        )


def _leave_trace(text: str) -> None:
    if path := os.environ.get(TRACE_VARIABLE):
        # One short write at the end of the file: nothing of it is lost when the process is killed.
        with Path(path).open("a") as trace:
            trace.write(text)


class TextJudge:
    """Says of each pair what a checksum says; takes a moment over it, and notes that it was asked."""

    name = "text"
    version = "1"
    representation: str | None = None

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        verdicts = []
        for question in questions:
            asked = f"{question.criteria.key[:8]} {question.pair.response_a}"
            time.sleep(0.002)
            _leave_trace(f"{self.name} {asked}\n")
            verdicts.append(Verdict(zlib.crc32(asked.encode()) % 1001 / 1000, ()))
        return verdicts

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        return score_texts(self, criteria, benchmark, batch=8)


class ArrayJudge(TextJudge):
    """The same for a judge that reads a representation and fills the matrix in one block."""

    name = "array"
    representation: str | None = REPRESENTATION

    def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
        time.sleep(0.1)
        _leave_trace(f"{self.name} {criteria.key[:8]}\n")
        digest = benchmark.representation(REPRESENTATION)["digest"].astype(np.int64)
        prob = (digest[:-1] + 7 * digest[-1] + int(criteria.key[:8], 16)) % 1001 / 1000
        rows, columns = (np.arange(size) for size in prob.shape)
        yield ScoreBlock(rows, columns, prob.astype(np.float32))


def install(patch: Callable[[object, str, object], object], bundled: Path) -> None:
    """Let the judges be had by name, without bundled benchmarks, and stored often."""
    patch(precompute_database, "BUNDLED", bundled)
    patch(progress, "_LOG_SECONDS", 1e9)
    patch(task, "_STORE_SECONDS", 0.05)
    patch(task, "_STORING_SHARE", 1.0)
    made = {judge.name: judge for judge in (TextJudge(), ArrayJudge())}
    patch(registry, "_BUILT_IN", {name: lambda judge=judge: judge for name, judge in made.items()})


if __name__ == "__main__":  # the process that the tests kill
    install(setattr, Path(os.devnull))
    sys.argv[0] = "precompute"
    command_line.main()
