"""How well the default ranking ∅ of current LLMs agrees with people's votes, and without an LLM's own votes.

    python -m benchmarks.held_to_votes [--benchmark SLUG] [--output FILE.md]

∅ is held to LMArena's ratings LLM by LLM, on creative topics to those by votes on creative writing, so it
agrees with them as far as duels that are won or lost can. What it is worth for an LLM that nobody rated is
seen by taking each one's ratings for unknown in turn, then AlpacaEval's win rates as well, then size and
release.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from leaderboard.llm_facts.votes import CREATIVE, kind_of, ratings_of
from leaderboard.request import measuring
from leaderboard.service import Service, held_to_votes
from leaderboard.statistics.bradley_terry import bradley_terry
from leaderboard.statistics.correlation import correlate
from leaderboard.statistics.duels import Margins, coverage
from leaderboard.statistics.win_rate import Mask
from leaderboard.view import DEFAULT_BENCHMARK, Against, View

app = typer.Typer(add_completion=False)
_CREATIVE = "creative"
_WIN_RATE = 3
"""Column of AlpacaEval's win rates in what is known of LLMs."""


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
    shown = service.scored(View(benchmark, against=Against.ALL))
    held, by_kind, known = shown.judged, shown.request.ratings_by_kind, shown.request.known
    assert isinstance(held, Margins)
    everything = np.ones(loaded.n_queries, dtype=np.bool_)
    fiction = np.array([kind_of(query.category) == CREATIVE for query in loaded.record.queries])
    unknown, unknown_creative = (
        _left_out(loaded, by_judge, by_kind, known, used) for used in (everything, fiction)
    )
    nothing = np.full_like(known, np.nan)
    by_answers = _left_out(loaded, by_judge, by_kind, nothing, everything)
    by_facts = _left_out(loaded, by_judge, by_kind, known[:, :_WIN_RATE], everything)
    cases = (
        ("as shown", "all", _strengths(loaded, held, everything), overall),
        ("as shown", _CREATIVE, _strengths(loaded, held, fiction), creative),
        ("each LLM's own ratings taken for unknown", "all", unknown, overall),
        ("each LLM's own ratings taken for unknown", _CREATIVE, unknown_creative, creative),
        ("… and AlpacaEval's win rates", "all", by_facts, overall),
        ("… and all else that is known of LLMs", "all", by_answers, overall),
        ("the judge alone", "all", _strengths(loaded, by_judge, everything), overall),
        ("the judge alone", _CREATIVE, _strengths(loaded, by_judge, fiction), creative),
    )
    Report(
        title=f"The default ranking ∅ of {loaded.record.info.title} and people's votes",
        columns=("default ranking", "topics", "votes on", "LLMs", "Spearman", "Kendall", "NDCG"),
        rows=tuple(_row(loaded, *case) for case in cases),
        note="Against LMArena's ratings by all votes, or by those on creative writing.",
    ).finish(output)


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
    benchmark: LoadedBenchmark,
    margins: Margins,
    by_kind: Sequence[tuple[Mask, NDArray[np.float64]]],
    known: NDArray[np.float64],
    used: Mask,
) -> NDArray[np.float64]:
    """Return the strength of each rated LLM on the queries in use as if nobody had rated it ``[L]``."""
    found = np.full(len(benchmark.respondents), np.nan)
    for llm in range(len(found)):
        others = np.arange(len(found)) != llm
        unknown = [(queries, np.where(others, rating, np.nan)) for queries, rating in by_kind]
        held = held_to_votes(benchmark, margins, unknown, known)
        found[llm] = _strengths(benchmark, held, used, soft=True)[llm]
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
    asked = "creative writing" if topics == _CREATIVE else "all questions"
    return ranking, topics, asked, str(found.n), *figures


if __name__ == "__main__":
    run_cli(app, CRMError)
