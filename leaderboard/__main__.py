"""``python -m leaderboard``: the numbers of the page on the command line."""
# ruff: noqa: E402

from __future__ import annotations

import gc

gc.disable()  # While modules are imported it finds nothing, and takes a tenth of the time.

import sys
from dataclasses import fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crm.cli_runner import late_commands, run_cli
from crm.criteria import CriteriaSet, Polarity
from crm.errors import CRMError
from crm.processors import compute_in_one_thread
from db import DatabaseError
from leaderboard.errors import LeaderboardError
from leaderboard.export import correlations_json, read_ranking_csv
from leaderboard.file_formats import FileFormat, file_of
from leaderboard.grades_command import check_grades, grades_file
from leaderboard.listed import Listed, monthly_costs
from leaderboard.llm_facts.listing import Listing, use_per_day
from leaderboard.print_format import PrintFormat
from leaderboard.ranked import rank_view
from leaderboard.render.picture import ranking_picture
from leaderboard.result import Leaderboard
from leaderboard.scoring_jobs.progress import progress_line
from leaderboard.sentences import UNDER_FLOOR, interpret, missed_in_words
from leaderboard.service import Service
from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.statistics.correlation import Correlations, correlate, highest_rbo
from leaderboard.statistics.style_control import Control
from leaderboard.user_data.profiles import read_profile
from leaderboard.view import (
    DEFAULT_BENCHMARK,
    DEFAULT_CRM,
    Against,
    View,
    read_for,
    read_interests,
    read_topic_weights,
)
from parsing.messages import quantity

gc.enable()

_OTHERS = late_commands(
    {
        "criteria-from": "leaderboard.elicitation.command",
        "corrected-by": "leaderboard.elicitation.correcting_command",
        "critiques": "leaderboard.many_critiques",
        "rubric-grades": "leaderboard.rubrics.command",
        "query-checklists": "leaderboard.query_checklists.command",
        "foretell-choices": "leaderboard.query_checklists.foretelling_command",
        "checklist-training": "leaderboard.query_checklists.training_file",
        "win-rates": "leaderboard.win_rates",
    }
)
app = typer.Typer(cls=_OTHERS, add_completion=False, no_args_is_help=True, help="Rank LLMs for one person.")


class RankFormat(StrEnum):
    """How a ranking is printed."""

    TABLE = "table"
    CSV = FileFormat.CSV.value
    CSV_FULL = FileFormat.CSV_FULL.value
    JSON = FileFormat.JSON.value
    PARQUET = FileFormat.PARQUET.value
    EVERY_EVAL_EVER = FileFormat.EVERY_EVAL_EVER.value
    PNG = "png"


@app.command()
def rank(
    context: typer.Context,
    benchmark: Annotated[str, typer.Option(help="Slug of the benchmark.")] = DEFAULT_BENCHMARK,
    topic: Annotated[list[str] | None, typer.Option(help="A topic or category; repeatable.")] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="What you like in an answer; repeatable.")
    ] = None,
    avoid: Annotated[list[str] | None, typer.Option(help="What an answer should avoid; repeatable.")] = None,
    criterion_for: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=TEXT", help="What you like in answers on a topic; repeatable."),
    ] = None,
    avoid_for: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=TEXT", help="What answers on a topic should avoid; repeatable."),
    ] = None,
    crm: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT_CRM,
    soft: Annotated[bool, typer.Option(help="Mean probabilities instead of shares of wins.")] = False,
    control: Annotated[
        Control, typer.Option(help="Remove length, or length, lists, headings and bold (style).")
    ] = Control.NONE,
    profile: Annotated[
        Path | None, typer.Option(help="A downloaded profile; options beside it take the place of its own.")
    ] = None,
    topic_weight: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="Makes a topic count more or less than 1; repeatable."),
    ] = None,
    interest: Annotated[
        list[str] | None,
        typer.Option(help="What you use LLMs for: queries count by closeness to it; repeatable."),
    ] = None,
    keep_unjudged: Annotated[
        bool, typer.Option(help="Rank by criteria, too, that the judge says it cannot judge.")
    ] = False,
    floor: Annotated[
        float | None,
        typer.Option(help="Share of LLMs, by the ranking without criteria, that is listed apart: 0.5."),
    ] = None,
    must_have: Annotated[
        bool, typer.Option(help="LLMs that miss an Essential criterion come after those that do not.")
    ] = False,
    search: Annotated[str, typer.Option(help="Only LLMs with these words in their name.")] = "",
    open_weights: Annotated[
        bool, typer.Option("--open-weights", help="Only LLMs with open weights.")
    ] = False,
    organisation: Annotated[list[str] | None, typer.Option(help="Only LLMs by it; repeatable.")] = None,
    max_price: Annotated[
        float | None,
        typer.Option(help="Only LLMs of at most so many dollars for a million tokens, half of them written."),
    ] = None,
    released_since: Annotated[
        str, typer.Option(metavar="DATE", help="Only LLMs of this day, month or year, or later: 2025-06.")
    ] = "",
    min_context: Annotated[int | None, typer.Option(help="Only LLMs that read so many tokens.")] = None,
    messages_per_day: Annotated[
        float | None, typer.Option(help="How much you would use an LLM: adds what a month of it costs.")
    ] = None,
    tokens_read: Annotated[float | None, typer.Option(help="Of each message, 500 by default.")] = None,
    tokens_written: Annotated[float | None, typer.Option(help="Of each answer, 500 by default.")] = None,
    against: Annotated[
        Against | None,
        typer.Option(
            help="The baseline, or all: every LLM against every other. The benchmark has a default."
        ),
    ] = None,
    keep_partial: Annotated[
        bool, typer.Option(help="Rank LLMs, too, that answered few queries or lack a topic.")
    ] = False,
    default_crm: Annotated[
        str | None,
        typer.Option(help="Who judges the ranking without criteria; by default as crms.toml says, or --crm."),
    ] = None,
    format: Annotated[
        RankFormat,
        typer.Option(help="How it is printed; csv-full says what it is a ranking of, png is a picture."),
    ] = RankFormat.TABLE,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where it is written instead of printed.")
    ] = None,
    grades: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Also write LLMs' grades under each criterion by itself; a slow judge is asked for each.",
        ),
    ] = None,
) -> None:
    """Rank the LLMs of a benchmark under your criteria.

    A slow judge may take long: what it has judged is kept when the command is interrupted.
    """
    view = View(
        benchmark,
        tuple(topic or ()),
        CriteriaSet(
            (
                *CriteriaSet.of(criterion or (), avoid or ()),
                *read_for(criterion_for or ()),
                *read_for(avoid_for or (), Polarity.AVOID),
            )
        ),
        crm,
        soft,
        control,
        read_topic_weights(topic_weight or ()),
        read_interests(interest or ()),
        keep_unjudged,
        floor,
        must_have,
        Listing(
            search,
            open_weights,
            tuple(organisation or ()),
            max_price,
            released_since,
            min_context,
            use=use_per_day(messages_per_day, tokens_read, tokens_written),
        ),
        against,
        keep_partial,
        default_crm,
    )
    if profile is not None:
        view = _view_of_profile(profile, view, context)
    _check_output(format, output)
    check_grades(view, grades, output)
    compute_in_one_thread()
    service = Service.open(ranks_once=True)
    with progress_line(view.crm) as on_progress:
        # Only the table and a floor need ∅, which costs as much as the criteria.
        service.judge(view, on_progress, compare=format is RankFormat.TABLE or view.floor is not None)
    if grades is not None:
        _write(grades_file(service, view), grades)
    ranked = rank_view(service, view)
    listed = ranked.listed
    for note in ranked.notes:
        typer.echo(f"note: {note}", err=True)
    if format not in (RankFormat.TABLE, RankFormat.PNG):
        _write(file_of(listed.leaderboard, FileFormat(format.value), facts=listed.facts), output)
        return
    answer, evidence = ranked.answer, ranked.evidence
    if format is RankFormat.PNG:
        today = datetime.now(UTC).date()
        _write(ranking_picture(listed.leaderboard, answer, evidence.like_first, made=today), output)
        return
    for line in answer.in_brief:
        typer.echo(line)
    typer.echo()
    _print_ranking(listed, len(ranked.leaderboard.llms))
    if (choice := evidence.choice) and choice.sentence:
        typer.echo(f"{choice.sentence} Prices as of {choice.prices_date}.")


@app.command("correlate")
def correlate_command(
    a: Annotated[Path, typer.Argument(metavar="A.csv", help="The predicted ranking.")],
    b: Annotated[Path, typer.Argument(metavar="B.csv", help="The reference ranking.")],
    format: Annotated[PrintFormat, typer.Option(help="table or json.")] = PrintFormat.TABLE,
) -> None:
    """Say how two rankings agree, over the LLMs that both have."""
    correlations = correlate(read_ranking_csv(a), read_ranking_csv(b))
    if format is PrintFormat.JSON:
        typer.echo(correlations_json(correlations))
    else:
        _print_correlations(correlations)


def _view_of_profile(file: Path, asked: View, context: typer.Context) -> View:
    """Return the profile's view, but for what the command line asks for."""
    chosen = {
        field.name: getattr(asked, field.name)
        for field in fields(View)
        if getattr(asked, field.name) != getattr(View(), field.name)
        # One may ask for what is the default.
        or getattr(context.get_parameter_source(field.name), "name", "") == "COMMANDLINE"
    }
    return replace(read_profile(file).view, **chosen)


def _check_output(format: RankFormat, output: Path | None) -> None:
    """Raise LeaderboardError, before anything is computed: the table is for reading, others are not."""
    if format is RankFormat.TABLE and output is not None:
        raise LeaderboardError("A table is only printed: choose another --format for a file.")
    if format in (RankFormat.PARQUET, RankFormat.PNG) and output is None and sys.stdout.isatty():
        what = "Parquet" if format is RankFormat.PARQUET else "A picture"
        raise LeaderboardError(f"{what} cannot be read on a screen: name a file with --output.")


def _write(content: bytes, output: Path | None) -> None:
    if output is None:
        typer.echo(content, nl=False)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        raise LeaderboardError(f"Cannot write {output} ({error.strerror}): check the path.") from error


def _print_ranking(listed: Listed, n_llms: int) -> None:
    leaderboard, ranking = listed.leaderboard, listed.leaderboard.ranking
    costs = monthly_costs(listed)
    table = Table(box=None, pad_edge=False)
    for heading in ("rank", "±", "LLM", "win rate", "95 % interval"):
        table.add_column(heading, justify="left" if heading == "LLM" else "right")
    if leaderboard.musts:
        table.add_column("")
    if coverage := leaderboard.coverage:
        table.add_column("answered", justify="right")
    if costs:
        table.add_column("a month", justify="right")
    for row, llm in enumerate(ranking.llms):
        if llm in leaderboard.not_compared:
            continue
        if ranking.rank[row] == UNRANKED:
            table.add_row("–", "", Text(leaderboard.titles[llm]), "–", "–")
            continue
        change = leaderboard.changes[row]
        musts = [Text(missed_in_words(leaderboard.misses.get(llm, ())))] if leaderboard.musts else []
        table.add_row(
            str(ranking.rank[row]),
            f"{change:+.0f}" if abs(change) > 0 else "",
            Text(leaderboard.titles[llm]),
            f"{ranking.win_rate[row]:.1%}",
            f"{ranking.ci_low[row]:.1%} to {ranking.ci_high[row]:.1%}",
            *musts,
            *([f"{coverage[llm]:.0%}"] if coverage else []),
            *([costs[llm]] if costs else []),
        )
    console = Console(width=None, soft_wrap=True)
    console.print(table)
    _print_under_floor(leaderboard, console)
    for llm, reason in leaderboard.not_compared.items():
        console.print(f"Not compared: {leaderboard.titles[llm]} {reason}.", highlight=False, markup=False)
    if leaderboard.too_few:
        console.print("--keep-partial ranks LLMs that answered only a part, too.", highlight=False)
    info = leaderboard.benchmark.info
    console.print(
        f"\n{info.title}, version {info.version or '–'}: {quantity(leaderboard.n_queries, 'query')}, "
        f"{quantity(n_llms, 'LLM')} against "
        f"{leaderboard.opponent if leaderboard.against is Against.ALL else leaderboard.benchmark.baseline}, "
        f"judged by {leaderboard.judge}{_compared_with(leaderboard)}.",
        highlight=False,
        markup=False,
    )
    if leaderboard.criteria and leaderboard.summary:
        console.print(leaderboard.summary, highlight=False)


def _compared_with(leaderboard: Leaderboard) -> str:
    if leaderboard.default_crm == leaderboard.judge:
        return ""
    return f", compared with the ranking without criteria by {leaderboard.default_crm}"


def _print_under_floor(leaderboard: Leaderboard, console: Console) -> None:
    ranking = leaderboard.ranking.without_floor
    if ranking is None:
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("would be", "LLM", "win rate", ""):
        table.add_column(heading, justify="left" if heading in ("LLM", "") else "right")
    for llm in leaderboard.ranking.under_floor:
        row = ranking.llms.index(llm)
        table.add_row(
            str(ranking.rank[row]),
            Text(leaderboard.titles[llm]),
            f"{ranking.win_rate[row]:.1%}",
            Text(missed_in_words(leaderboard.misses.get(llm, ()))),
        )
    console.print(f"\n{UNDER_FLOOR}:", highlight=False)
    console.print(table)


def _print_correlations(correlations: Correlations) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row("Kendall τ-b", f"{correlations.tau:.4f}  (p = {correlations.p_value:.4g})")
    table.add_row("NDCG", f"{correlations.ndcg:.4f}")
    highest = highest_rbo(correlations.n)
    table.add_row("RBO (p = 0.8)", f"{correlations.rbo:.4f}  (of at most {highest:.4f})")
    table.add_row("weighted τ", f"{correlations.weighted_tau:.4f}")
    table.add_row("Spearman ρ", f"{correlations.spearman:.4f}")
    table.add_row("LLMs in both", str(correlations.n))
    console = Console()
    console.print(table)
    console.print(interpret(correlations).replace("the average ranking", "the reference"), highlight=False)


def main() -> None:
    """Run the command line."""
    run_cli(app, LeaderboardError, CRMError, DatabaseError)


if __name__ == "__main__":
    # What is imported lives to the end: looking through it for garbage takes a tenth of a ranking's time.
    gc.freeze()
    main()
