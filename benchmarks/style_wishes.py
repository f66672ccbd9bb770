"""Does a judge rank an assistant first under the wish that it was made for? Seven wishes on DailyBench.

    python -m benchmarks.style_wishes [--crm NAME] [--queries N] [--output FILE.md]

Each of DailyBench's assistants answers in a style of its own, so under a wish for that style it must be
first. The judge is asked about texts, each response against the baseline's, by the mean probability of which
the assistants are ranked; so judges are measured alike that read texts and that do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.progress import progress_bar
from crm.protocol import CRM, Pair, Question
from crm.registry import get_crm
from db import DatabaseError
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service

app = typer.Typer(add_completion=False)

BENCHMARK = "dailybench"
WISHES: Mapping[str, str] = {
    "brevia": "concise and direct",
    "scholia": "in-depth analysis with background",
    "stepwise": "numbered steps",
    "lumen": "warm and encouraging",
    "fabula": "vivid imagery",
    "verity": "weighs both sides, names caveats",
    "jester": "playful humor",
}
"""By assistant, the wish that it was made for."""


def one_a_topic(benchmark: LoadedBenchmark, most: int | None, seed: int = 0) -> list[int]:
    """Return the indices of queries, one drawn from each topic, or so many of them as are wanted."""
    draw = np.random.default_rng(seed)
    topics = benchmark.topic_index
    drawn = [int(draw.choice(np.flatnonzero(topics == topic))) for topic in np.unique(topics)]
    return sorted(draw.permutation(drawn)[:most].tolist())


def win_rates(crm: CRM, benchmark: LoadedBenchmark, queries: Sequence[int], wish: str) -> dict[str, float]:
    """Return the mean probability that an LLM's response is preferred to the baseline's, best first."""
    criteria, asked = CriteriaSet.of([wish]), benchmark.query_texts
    questions = [
        Question(criteria, Pair(asked[query] or "", *_texts(benchmark, llm, query)))
        for llm in benchmark.llms
        for query in queries
    ]
    prob = np.array([verdict.prob_a for verdict in crm.judge(questions)]).reshape(len(benchmark.llms), -1)
    rate = dict(zip(benchmark.llms, prob.mean(axis=1).tolist(), strict=True))
    return dict(sorted(rate.items(), key=lambda item: -item[1]))


def _texts(benchmark: LoadedBenchmark, llm: str, query: int) -> tuple[str, str]:
    own, other = (benchmark.text_at(each, query) for each in (llm, benchmark.baseline))
    return own or "", other or ""


@app.command()
def measure(
    crm: Annotated[str, typer.Option(help="Judge, by its name.")] = "embedded",
    queries: Annotated[
        int | None, typer.Option(min=1, help="Queries at most; one a topic by default.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    benchmark, judge, rows = Service.open().benchmark(BENCHMARK), get_crm(crm), []
    drawn = one_a_topic(benchmark, queries)
    with progress_bar("wishes") as on_progress:
        for done, (llm, wish) in enumerate(WISHES.items(), start=1):
            rates = win_rates(judge, benchmark, drawn, wish)
            order = ", ".join(f"{name} {100 * rate:.0f} %" for name, rate in rates.items())
            rows.append((wish, llm, str([*rates].index(llm) + 1), order))
            on_progress(done, len(WISHES))
    first = sum(row[2] == "1" for row in rows)
    Report(
        title=f"Assistants under the wish that each was made for, by {crm}",
        columns=("wish", "made for it", "its place", "mean probability against the baseline"),
        rows=tuple(rows),
        note=f"DailyBench, {len(drawn)} queries. {first} of {len(rows)} are first.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
