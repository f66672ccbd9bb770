"""A benchmark ranked by a judge that reads texts: how long that takes, and the ranking.

    python -m benchmarks.gpu.ranking JUDGE [--benchmark SLUG] [--criterion TEXT] [--topic NAME]
        [--texts DIR --llms N] [--actors N --actor-gpus G] [--output FILE.md]

``alpaca-eval`` is shipped without texts: ``--texts`` names AlpacaEval's folder of results, of which N LLMs
are read, in the benchmark's order. With ``--actors`` the judge runs in actors of Ray, each with a model of
its own. What is judged is stored in the database that ``USL_DATABASE_URL`` names; a run that was stopped goes
on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch  # noqa: F401  # describe_machine names the GPU where PyTorch is loaded
import typer

from benchmarks._report import Report, duration
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.report_table import describe_machine
from db import Database, DatabaseError
from db.repositories.benchmarks import find_benchmark, get_benchmark
from leaderboard.errors import LeaderboardError
from leaderboard.scoring_jobs.progress import judging_line
from leaderboard.service import Service
from leaderboard.statistics.ranking import Ranking
from leaderboard.view import View
from precompute.commands.options import open_database
from precompute.engines import EngineKind, EngineOptions, open_engine
from precompute.errors import PrecomputeError
from precompute.importers.alpaca_eval import OUTPUTS, read_alpaca_eval
from precompute.load import import_benchmark
from precompute.score import ScoreSummary, distributed_judge, score_benchmark

app = typer.Typer(add_completion=False)


def import_texts(database: Database, slug: str, folder: Path, n_llms: int) -> None:
    """Read the texts of the benchmark's first LLMs that the folder has, and of the baseline.

    Args:
        folder: Holds one folder an LLM, as AlpacaEval publishes them.

    Raises:
        PrecomputeError: There are not so many, or the baseline is not among them.
    """
    with database.session() as session:
        record = get_benchmark(session, find_benchmark(session, slug))
    there = [llm.name for llm in record.llms if (folder / llm.name / OUTPUTS).is_file()]
    chosen = [name for name in there if name != record.baseline][:n_llms]
    if record.baseline not in there or len(chosen) < n_llms:
        raise PrecomputeError(
            f"{folder} has texts of {len(chosen)} LLMs of {slug!r}, and {n_llms} and the baseline are "
            "wanted: name AlpacaEval's folder of results, or fewer LLMs."
        )
    import_benchmark(
        database, read_alpaca_eval(folder, slug, [*chosen, record.baseline], stored_baseline=record.baseline)
    )


def ranked(view: View) -> Ranking:
    """Return the ranking of what is judged already."""
    service = Service.open(ranks_once=True)
    try:
        return service.leaderboard(view, subscriber=None).ranking
    finally:
        service.close()


def rows_of(ranking: Ranking) -> tuple[tuple[str, ...], ...]:
    """One row an LLM that is ranked: rank, win rate and its 95 % interval in per cent, and queries."""
    return tuple(
        (
            llm,
            f"{ranking.rank[row]}",
            f"{ranking.win_rate[row]:.1%}",
            f"{ranking.ci_low[row]:.1%} to {ranking.ci_high[row]:.1%}",
            f"{ranking.n_queries[row]:,}",
        )
        for row, llm in enumerate(ranking.llms)
        if ranking.n_queries[row]
    )


def in_words(summary: ScoreSummary, actors: int | None) -> str:
    """“3,654 pairs judged in 12.1 s, loading included: 302 a second …”."""
    where = f"{actors} actors of Ray" if actors else "one process"
    before = f"; {summary.stored:,} were judged before" if summary.stored else ""
    return (
        f"{summary.judged:,} pairs judged in {where} in {duration(summary.seconds)}, loading included: "
        f"{summary.pairs_per_second:,.1f} a second{before}"
    )


@app.command()
def measure(
    judge: Annotated[str, typer.Argument(metavar="JUDGE", help="Name of the judge.")],
    *,
    benchmark: Annotated[str, typer.Option(metavar="SLUG", help="The benchmark.")] = "dailybench",
    criterion: Annotated[
        list[str] | None, typer.Option(help="What is liked in an answer; repeatable.")
    ] = None,
    topic: Annotated[list[str] | None, typer.Option(help="Only this topic or category; repeatable.")] = None,
    texts: Annotated[Path | None, typer.Option(metavar="DIR", help="AlpacaEval's folder of results.")] = None,
    llms: Annotated[int, typer.Option(min=1, help="LLMs whose texts are read from it.")] = 32,
    actors: Annotated[int | None, typer.Option(min=1, help="Actors of Ray; without it one process.")] = None,
    actor_gpus: Annotated[float, typer.Option(min=0, help="GPUs of each actor.")] = 0.0,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Judge what is not judged yet, and show the ranking."""
    criteria, topics = CriteriaSet.of(criterion or ()), tuple(topic or ())
    kind = EngineKind.RAY if actors else EngineKind.LOCAL
    with open_database() as database:
        if texts is not None:
            import_texts(database, benchmark, texts, llms)
        with open_engine(EngineOptions(kind, None, actors, actor_gpus)) as engine, judging_line(str) as line:
            crms = [distributed_judge(engine, judge)]
            [summary] = score_benchmark(
                database, benchmark, crms, [criteria], topics=topics, on_progress=line
            )
    ranking = ranked(View(benchmark, topics, criteria, judge))
    liked = ", ".join(f"“{one.text}”" for one in criteria) or "no criteria"
    Report(
        f"{benchmark} ranked by {judge}",
        ("LLM", "rank", "win rate", "95 % interval", "queries"),
        rows_of(ranking),
        f"Under {liked}. {in_words(summary, actors)}. {describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError, PrecomputeError)
