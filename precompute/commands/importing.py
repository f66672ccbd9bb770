"""``python -m precompute import``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from parsing.messages import quantity
from precompute.bundles import contents_in_words, load_bundle
from precompute.commands.options import Folder, Slug, Title, embedded_in_words, open_database
from precompute.importers import (
    FOLDER_IMPORTERS,
    FolderImporter,
    ImportedBenchmark,
    PreferenceFilter,
    read_dailybench,
    read_modern,
    read_promptfoo,
    read_table,
)
from precompute.load import check_slug, import_benchmark, stored_benchmark
from precompute.preferences import import_preferences, parquet_files, steps_table, winners_line
from precompute.progress import progress_bar

import_app = typer.Typer(help="Import a benchmark, or more of one, or preferences; safe to repeat.")

Baseline = Annotated[str | None, typer.Option(metavar="NAME", help="The LLM the others are compared to.")]
LLMs = Annotated[str | None, typer.Option("--llms", metavar="A,B,…", help="Only these; default all.")]
KnownLLMs = Annotated[bool, typer.Option(help="Only those that the stored benchmark has.")]

EVERY_LANGUAGE = "any"


def _folder_command(read: FolderImporter) -> Callable[..., None]:

    def command(
        folder: Folder,
        benchmark: Slug,
        llms: LLMs = None,
        known_llms: KnownLLMs = False,
        baseline: Baseline = None,
        title: Title = None,
    ) -> None:
        check_slug(benchmark)
        chosen = None if llms is None else [name.strip() for name in llms.split(",") if name.strip()]
        with open_database() as database, database.session() as session:
            stored = stored_benchmark(session, benchmark)
        if known_llms and stored is not None:
            chosen = [llm.name for llm in stored.llms if chosen is None or llm.name in chosen]
        with progress_bar("Reading responses") as progress:
            imported = read(
                folder,
                benchmark,
                chosen,
                baseline=baseline,
                stored_baseline=stored.baseline if stored is not None else None,
                progress=progress,
            )
        _import(imported, title, baseline)

    return command


for _name, (_help, _read) in FOLDER_IMPORTERS.items():
    import_app.command(_name, help=_help)(_folder_command(_read))


@import_app.command("arena-preferences")
def import_arena_preferences(
    source: Annotated[str, typer.Argument(metavar="FILE.parquet|DIR|HUB_NAME", show_default=False)],
    dataset: Annotated[str, typer.Option(metavar="SLUG", help="The name it is stored under.")],
    language: Annotated[
        str, typer.Option(help=f"Only rows of this language; {EVERY_LANGUAGE!r}: of every one.")
    ] = "English",
    keep_both_bad: Annotated[
        bool, typer.Option("--keep-both-bad", help="Also “tie (bothbad)”, or “both_bad”.")
    ] = False,
    all_criteria: Annotated[
        bool, typer.Option("--all-criteria", help="Whatever the query asks for, also technical accuracy.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete what is stored of another file or filter.")
    ] = False,
    title: Title = None,
) -> None:
    """Import LMArena's human preference data, filtered as in the paper; may be interrupted and run again."""
    check_slug(dataset)
    chosen = PreferenceFilter(
        None if language.strip().casefold() == EVERY_LANGUAGE else language.strip(),
        keep_both_bad,
        all_criteria,
    )
    files = parquet_files(source)
    with open_database() as database:
        summary = import_preferences(database, files, dataset, chosen, title=title, replace=replace)
    present = summary.stored.n_stored - summary.n_imported
    typer.echo(steps_table(summary.stored.info.steps))
    typer.echo(f"{dataset}: {summary.n_imported:,} preferences imported, {present:,} already there.")
    typer.echo(f"{dataset}: {winners_line(summary.counts)}.")


@import_app.command("table")
def import_table(
    file: Annotated[Path, typer.Argument(metavar="FILE.{csv,jsonl,parquet}", show_default=False)],
    benchmark: Slug,
    baseline: Baseline = None,
    title: Title = None,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Store nothing until all is ready, so that none of it is left.")
    ] = False,
) -> None:
    """Import a table with the columns query or conversation, topic, llm, response, perhaps category, id."""
    check_slug(benchmark)
    _import(read_table(file, benchmark), title, baseline, at_once=at_once)


@import_app.command("promptfoo")
def import_promptfoo(
    file: Annotated[Path, typer.Argument(metavar="FILE.{json,jsonl}", show_default=False)],
    benchmark: Slug,
    baseline: Baseline = None,
    title: Title = None,
) -> None:
    """Import results of promptfoo, as “promptfoo eval -o results.json” writes them."""
    check_slug(benchmark)
    _import(read_promptfoo(file, benchmark), title, baseline)


@import_app.command("dailybench")
def import_dailybench(folder: Folder, benchmark: Slug = "dailybench", title: Title = None) -> None:
    """Import DailyBench from a folder that holds queries.jsonl and responses_<assistant>.jsonl."""
    check_slug(benchmark)
    _import(read_dailybench(folder, benchmark), title, None)


@import_app.command("modern")
def import_modern(
    folder: Folder, benchmark: Slug = "modern", baseline: Baseline = None, title: Title = None
) -> None:
    """Import responses of current LLMs from a folder that holds <source>/responses.jsonl.gz."""
    check_slug(benchmark)
    _import(read_modern(folder, benchmark), title, baseline)


@import_app.command("bundle")
def import_bundle(
    file: Annotated[Path, typer.Argument(metavar="FILE.usl.zip", show_default=False)],
    benchmark: Annotated[
        str | None, typer.Option(metavar="SLUG", help="The slug it is stored under; default the file's own.")
    ] = None,
) -> None:
    """Import a benchmark that “bundle” wrote; where the same one is stored, its scores are added."""
    with open_database() as database:
        summary = load_bundle(database, file, benchmark)
    slug = summary.bundle.info.slug
    there = "" if summary.created else "the same benchmark is there already; scores are added from a file of "
    typer.echo(f"{slug}: {there}{contents_in_words(summary.bundle)}; {embedded_in_words(summary.embedded)}.")


def _import(
    imported: ImportedBenchmark, title: str | None, baseline: str | None, *, at_once: bool = False
) -> None:
    with open_database() as database:
        summary = import_benchmark(database, imported, title=title, baseline=baseline, at_once=at_once)
    for notice in summary.notices:
        typer.echo(f"note: {notice}", err=True)
    against = "no baseline" if summary.baseline is None else f"baseline {summary.baseline}"
    typer.echo(
        f"{summary.slug}: {quantity(summary.n_queries, 'query')}, {quantity(summary.n_llms, 'LLM')}, "
        f"{against}; responses: {summary.n_imported} imported, {summary.n_present} already there; "
        f"{embedded_in_words(summary.embedded)}."
    )
