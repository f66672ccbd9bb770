"""``python -m precompute llm-facts``."""

from pathlib import Path
from typing import Annotated

import typer

from db.repositories.benchmarks import find_benchmark, get_benchmark
from leaderboard.llm_facts.files import FACTS_FILE, FIGURES_FILE, checked_date, load_catalogue, read_catalogue
from parsing.messages import quantity
from precompute.commands.options import open_database
from precompute.errors import PrecomputeError

facts_app = typer.Typer()


@facts_app.command("llm-facts")
def llm_facts(
    ratings: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="LMArena's text.json and models.json; without it ratings stay."),
    ] = None,
    ratings_date: Annotated[
        str | None, typer.Option(metavar="DATE", help="As of when these are: 2025-12 or 2025-12-03.")
    ] = None,
    alpaca_eval: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="AlpacaEval's leaderboard_alpaca_eval_2.csv; without it win rates stay."
        ),
    ] = None,
    alpaca_eval_date: Annotated[str | None, typer.Option(metavar="DATE", help="As of when it is.")] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="SLUG", help="Report on this benchmark's LLMs; repeatable. Default all."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE.toml", help="Where the figures go.")] = FIGURES_FILE,
    report_only: Annotated[bool, typer.Option("--report-only", help="Write nothing.")] = False,
) -> None:
    """Refresh prices, context windows, ratings and win rates of LLMs; report what is not known of them."""
    _check_date("--ratings", ratings, ratings_date, "rating")
    _check_date("--alpaca-eval", alpaca_eval, alpaca_eval_date, "win rate")
    try:
        from precompute import llm_facts as facts  # noqa: PLC0415  # the only one that needs the package
    except ModuleNotFoundError as error:
        raise PrecomputeError(f"The package {error.name} is missing: install requirements.txt.") from None

    if not report_only:
        by_hand, before = read_catalogue([FACTS_FILE]), read_catalogue([out] if out.is_file() else [])
        arena = None
        if ratings is not None and ratings_date is not None:
            arena = facts.read_arena_tables(ratings, ratings_date)
        official = None
        if alpaca_eval is not None and alpaca_eval_date is not None:
            official = facts.read_alpaca_eval(alpaca_eval, alpaca_eval_date)
        rows = facts.refreshed(by_hand, arena, before, official=official)
        out.write_text(facts.figures_text(rows), encoding="utf-8")
        typer.echo(f"{out.name}: figures of {quantity(len(rows), 'LLM')}, prices by {facts.prices_source()}.")
        for line in () if arena is None else facts.disagreements(by_hand, arena):
            typer.echo(f"note: {line}", err=True)
    catalogue = load_catalogue() if out == FIGURES_FILE else read_catalogue([out, FACTS_FILE])
    if not benchmark:
        typer.echo("\n".join(facts.missing_lines(catalogue, list(catalogue.llms))))
        return
    with open_database() as database, database.session() as session:
        for slug in benchmark:
            names = [llm.name for llm in get_benchmark(session, find_benchmark(session, slug)).llms]
            lines = facts.missing_lines(catalogue, names, slug)
            typer.echo("\n".join(f"{slug}, {line}" for line in lines))


def _check_date(option: str, source: Path | None, date: str | None, figure: str) -> None:
    """Raise a PrecomputeError unless a source of figures comes with their date, or neither is given."""
    if (source is None) != (date is None):
        raise PrecomputeError(f"Give {option} and {option}-date together: a {figure} needs its date.")
    if date is None:
        return
    try:
        checked_date(date)
    except ValueError as error:
        raise PrecomputeError(f"{option}-date {date!r} {error}.") from None
