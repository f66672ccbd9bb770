"""``python -m precompute llms``, ``benchmarks``, ``pools`` and ``answers``."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from db.database import exclusive
from db.repositories.benchmarks import find_benchmark, get_benchmark, list_benchmarks
from db.repositories.contents import upsert_llms
from db.repositories.pools import list_pools
from db.source_records import AnswerStatus
from leaderboard.print_format import PrintFormat
from parsing.messages import quantity
from precompute.answers import export_answers
from precompute.commands.options import open_database
from precompute.errors import PrecomputeError, unknown_llm
from precompute.lifecycle import (
    ListedLLM,
    Removal,
    ask_again,
    choose_baseline,
    list_llms,
    llms_table,
    remove_benchmarks,
    remove_llm_of,
    remove_pools,
    repack_all,
    settings_lines,
)
from precompute.progress import progress_bar
from precompute.status import nothing_next, status_table, statuses

lifecycle_app = typer.Typer()
llms_app = typer.Typer(no_args_is_help=True, help="LLMs that are stored: list, refresh, title, remove.")
benchmarks_app = typer.Typer(no_args_is_help=True, help="Benchmarks: list, choose the baseline, remove.")
stored_pools_app = typer.Typer(no_args_is_help=True, help="Query pools: list, remove.")
lifecycle_app.add_typer(llms_app, name="llms")
lifecycle_app.add_typer(benchmarks_app, name="benchmarks")
lifecycle_app.add_typer(stored_pools_app, name="pools")

OneLLM = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="The LLM.")]
OneBenchmark = Annotated[str, typer.Option("--benchmark", metavar="SLUG", help="The benchmark.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask whether to remove it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")]
Remove = Callable[..., list[Removal]]


@lifecycle_app.command()
def status(
    benchmark: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Only of this benchmark; default all.")
    ] = None,
) -> None:
    """Say what is stored of benchmarks, what it cost, what is missing, and the next command."""
    with open_database() as database:
        found = statuses(database, benchmark)
    status_table(found).print()
    commands = [command for each in found for command in each.next_commands()]
    typer.echo("Next:" if commands else nothing_next(found))
    for command in commands:
        typer.echo(f"  {command}")


@lifecycle_app.command()
def repack() -> None:
    """Store what an older version stored as it is stored now, so that rankings read it sooner.

    It may be interrupted and run again, beside a running app as well.
    """
    with open_database() as database, progress_bar("Packing arrays anew") as on_progress:
        done = repack_all(database, on_progress)
    sizes = f"they took {done.before / 1e6:,.1f} MB, and take {done.after / 1e6:,.1f} MB now"
    what = f"{done.n_changed:,} of {done.n_stored:,} sets of arrays were packed otherwise"
    typer.echo(f"{what}: {sizes}." if done.n_changed else f"{what}.")


@llms_app.command("list")
def list_stored_llms(
    benchmark: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Only of this benchmark; default all.")
    ] = None,
    format: Annotated[PrintFormat, typer.Option(help="table or json.")] = PrintFormat.TABLE,
) -> None:
    """List LLMs with their answers and representations, and when and with which settings they were asked."""
    with open_database() as database, database.session() as session:
        listed = list(list_llms(session, benchmark))
    if format is PrintFormat.JSON:
        typer.echo(json.dumps(list(map(_as_json, listed)), ensure_ascii=False, indent=2))
        return
    llms_table(listed).print()
    for line in settings_lines(listed):
        typer.echo(line)


@llms_app.command()
def refresh(
    name: OneLLM,
    benchmark: OneBenchmark,
    query: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only the answer to this query; repeatable.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All collected answers of the LLM.")] = False,
) -> None:
    """Have the next collection ask again for answers that are there; each stays until its new one is."""
    if every == bool(query):
        raise PrecomputeError("Say which answers: either --query ID, repeatable, or --all.")
    with open_database() as database:
        n_marked = ask_again(database, benchmark, name, None if every else query)
    answers = quantity(n_marked, "answer")
    typer.echo(
        f"{answers} of {name}: asked for again by “python -m precompute collect --benchmark {benchmark} "
        f"--llm {name}”, and kept until then."
    )


@llms_app.command()
def title(
    name: OneLLM,
    text: Annotated[str, typer.Argument(metavar="TITLE", show_default=False, help="How it is shown.")],
    benchmark: OneBenchmark,
) -> None:
    """Give an LLM the title by which it is shown."""
    shown = " ".join(text.split())
    if not shown or not shown.isprintable():
        raise PrecomputeError("A title is a line of text, not an empty one.")
    with open_database() as database, exclusive(database.engine), database.session() as session:
        found = find_benchmark(session, benchmark)
        record = get_benchmark(session, found)
        llm = next((each for each in record.llms if each.name == name), None)
        if llm is None:
            raise unknown_llm(name, f"the benchmark {benchmark!r}", [each.name for each in record.llms])
        upsert_llms(session, found, [type(llm)(llm.name, shown, llm.note)])
    typer.echo(f"{benchmark}: {name} is shown as “{shown}”.")


@llms_app.command("remove")
def remove_llm(
    name: OneLLM,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="SLUG", help="Only from this benchmark; repeatable. Default all that have it."),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Remove an LLM with its responses, representations and scores."""
    with open_database() as database:
        _remove(partial(remove_llm_of, database, name, benchmark or ()), yes, dry_run)


@benchmarks_app.command("list")
def list_stored_benchmarks() -> None:
    """List benchmarks: slug, title, version, queries and LLMs."""
    with open_database() as database, database.session() as session:
        for summary in list_benchmarks(session):
            llms = quantity(summary.n_llms, "LLM")
            typer.echo(
                f"{summary.slug}: {summary.title}, version {summary.version or '–'}, "
                f"{quantity(summary.n_queries, 'query')}, {llms} "
                f"{'with' if summary.has_texts else 'without'} texts"
            )


@benchmarks_app.command()
def baseline(
    slug: Annotated[str, typer.Argument(metavar="SLUG", show_default=False)],
    name: Annotated[str | None, typer.Argument(metavar="NAME", show_default=False)] = None,
    none: Annotated[bool, typer.Option("--none", help="Rank every LLM against every other.")] = False,
) -> None:
    """Choose the LLM that the others are compared with; stored scores, made with the former one, go."""
    if none == (name is not None):
        raise PrecomputeError("Name the LLM that becomes the baseline, or give --none.")
    with open_database() as database:
        changed = choose_baseline(database, slug, name)
    if not changed:
        typer.echo(f"{slug}: that is so already.")
    else:
        typer.echo(f"{slug}: {'no baseline' if name is None else f'{name} is the baseline'} now.")


@benchmarks_app.command("remove")
def remove_benchmark(
    slug: Annotated[list[str], typer.Argument(metavar="SLUG…", show_default=False)],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Remove benchmarks whole; a bundled one comes back by “import bundle” alone."""
    with open_database() as database:
        _remove(partial(remove_benchmarks, database, slug), yes, dry_run)


@stored_pools_app.command("list")
def list_stored_pools() -> None:
    """List query pools: slug, title, queries."""
    with open_database() as database, database.session() as session:
        pools = list_pools(session)
        if not pools:
            typer.echo("note: no query pool is stored yet; “python -m precompute pool” makes one.", err=True)
        for pool in pools:
            topics = "with topics" if pool.has_topics else "without topics"
            typer.echo(f"{pool.slug}: {pool.title}, {quantity(pool.n_queries, 'query')}, {topics}")


@stored_pools_app.command("remove")
def remove_pool(
    slug: Annotated[list[str], typer.Argument(metavar="POOL…", show_default=False)],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Remove pools with their topics and the changes made to these; benchmarks sampled from them stay."""
    with open_database() as database:
        _remove(partial(remove_pools, database, slug), yes, dry_run)


@lifecycle_app.command()
def answers(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.{parquet,jsonl,csv}", help="Default: CSV on standard output."),
    ] = None,
    llm: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this LLM; repeatable.")] = None,
    status: Annotated[
        list[AnswerStatus] | None,
        typer.Option(help="Only answers that ended so, failed ones with the reason; repeatable."),
    ] = None,
) -> None:
    """Write the stored answers to a file, or list those that failed or were refused."""
    with open_database() as database:
        summary = export_answers(database, benchmark, output, llms=llm or (), statuses=status or ())
    if summary.note:
        typer.echo(f"note: {summary.note}", err=True)
    if output is not None:
        typer.echo(
            f"{benchmark}: {quantity(summary.n_answers, 'answer')} in {output}; LLMs: {summary.n_llms:,}."
        )


def _remove(remove: Remove, yes: bool, dry_run: bool) -> None:
    """Say what would go, ask unless told not to, and remove it."""
    planned = remove(dry=True)
    for removal in planned:
        typer.echo(f"{'would be removed' if dry_run or not yes else 'removing'}: {removal}.")
    if dry_run:
        return
    if not yes:
        try:
            agreed = typer.confirm("Remove this for good?")
        except typer.Abort:
            raise PrecomputeError(
                "Nothing was removed, as nobody agreed: add --yes to remove it without being asked."
            ) from None
        if not agreed:
            typer.echo("Nothing was removed.")
            return
    removed = remove(dry=False)
    typer.echo("Removed." if removed == planned else f"Removed: {'; '.join(map(str, removed))}.")


def _as_json(item: ListedLLM) -> dict[str, object]:
    collection = item.collection
    return {
        "benchmark": item.benchmark,
        "llm": item.llm.name,
        "title": item.llm.title,
        "baseline": item.is_baseline,
        "queries": item.n_queries,
        "answers": item.n_answers,
        "imported": collection.n_imported,
        **{status.value: collection.totals.n_by_status.get(status, 0) for status in AnswerStatus},
        "ask_again": collection.n_ask_again,
        "represented": item.n_embedded,
        "outdated": item.n_outdated,
        "first_collected": None if collection.first is None else collection.first.isoformat(),
        "last_collected": None if collection.last is None else collection.last.isoformat(),
        "replied_as": dict(collection.replied_as),
        "settings": [
            {"digest": digest, "answers": n, "settings": settings}
            for digest, settings, n in collection.settings
        ],
        "prompt_tokens": collection.totals.prompt_tokens,
        "completion_tokens": collection.totals.completion_tokens,
        "reasoning_tokens": collection.reasoning_tokens,
        "cost": collection.totals.cost,
    }
