"""How well the default ranking ∅ of current LLMs agrees with people's votes, and without an LLM's own votes.

    python -m benchmarks.held_to_votes [--benchmark SLUG] [--output FILE.md]

∅ is held to LMArena's ratings LLM by LLM, so on all queries it agrees with them as far as duels that are won
or lost can. What it is worth for an LLM that nobody rated is seen by taking each rating for unknown in turn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._report import Report
from crm import registry
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.llm_facts.catalogue import OVERALL
from leaderboard.llm_facts.files import known_catalogue
from leaderboard.llm_facts.votes import ratings_of
from leaderboard.request import measuring
from leaderboard.service import Service
from leaderboard.statistics.anchoring import anchored
from leaderboard.statistics.bradley_terry import bradley_terry
from leaderboard.statistics.correlation import correlate
from leaderboard.statistics.duels import Margins, coverage
from leaderboard.view import DEFAULT_BENCHMARK

app = typer.Typer(add_completion=False)

CREATIVE = "creative_writing"
_STORIES = "Stor"
"""How the names of categories begin that hold stories, their plans and their editing."""


@app.command()
def measure(
    benchmark: Annotated[str, typer.Option(help="Slug of the benchmark.")] = DEFAULT_BENCHMARK,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    service = Service.open()
    loaded = service.benchmark(benchmark)
    by_judge = service.margins(loaded, measuring(registry.get_crm()), CriteriaSet())
    overall, creative = (
        ratings_of(loaded.respondents, known_catalogue(), benchmark, category)
        for category in (OVERALL, CREATIVE)
    )
    held = _held(loaded, by_judge, overall)
    everything = np.ones(loaded.n_queries, dtype=np.bool_)
    stories = np.array([query.category.startswith(_STORIES) for query in loaded.record.queries])
    cases = (
        ("as shown", "all", _strengths(loaded, held, everything), overall),
        ("as shown", "stories", _strengths(loaded, held, stories), creative),
        ("each LLM's own rating taken for unknown", "all", _left_out(loaded, by_judge, overall), overall),
        ("the judge alone", "all", _strengths(loaded, by_judge, everything), overall),
        ("the judge alone", "stories", _strengths(loaded, by_judge, stories), creative),
    )
    Report(
        title=f"The default ranking ∅ of {loaded.record.info.title} and people's votes",
        columns=("default ranking", "topics", "votes on", "LLMs", "Spearman", "Kendall", "NDCG"),
        rows=tuple(_row(loaded, *case) for case in cases),
        note="Against LMArena's ratings by all votes, or by those on creative writing.",
    ).finish(output)


def _held(benchmark: LoadedBenchmark, margins: Margins, rating: NDArray[np.float64]) -> Margins:
    return anchored(
        margins, benchmark.topic_index, benchmark.category_index, len(benchmark.category_names), rating
    )


def _strengths(
    benchmark: LoadedBenchmark, margins: Margins, used: NDArray[np.bool_], *, soft: bool = False
) -> NDArray[np.float64]:
    """Return strengths of the LLMs ``[L]`` on the queries in use, NaN for who is not compared."""
    categories = benchmark.category_index
    compared = coverage(margins.asked, categories, len(benchmark.category_names), used=used).comparable
    return bradley_terry(
        margins, benchmark.topic_index, categories, used=used, compared=compared, soft=soft
    ).strength


def _left_out(
    benchmark: LoadedBenchmark, margins: Margins, rating: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the strength of each rated LLM as if nobody had rated it ``[L]``."""
    found = np.full(len(rating), np.nan)
    everything = np.ones(benchmark.n_queries, dtype=np.bool_)
    for llm in np.flatnonzero(np.isfinite(rating)):
        unknown = np.where(np.arange(len(rating)) == llm, np.nan, rating)
        found[llm] = _strengths(benchmark, _held(benchmark, margins, unknown), everything, soft=True)[llm]
    return found


def _row(
    benchmark: LoadedBenchmark,
    ranking: str,
    topics: str,
    strength: NDArray[np.float64],
    rating: NDArray[np.float64],
) -> tuple[str, ...]:
    known = np.isfinite(strength) & np.isfinite(rating)
    names = [llm for llm, is_known in zip(benchmark.respondents, known, strict=True) if is_known]
    ours = dict(zip(names, (-strength[known]).tolist(), strict=True))
    votes = dict(zip(names, (-rating[known]).tolist(), strict=True))
    found = correlate(ours, votes)
    figures = (f"{value:.3f}" for value in (found.spearman, found.tau, found.ndcg))
    asked = "all questions" if topics == "all" else "creative writing"
    return ranking, topics, asked, str(found.n), *figures


if __name__ == "__main__":
    run_cli(app, CRMError)
