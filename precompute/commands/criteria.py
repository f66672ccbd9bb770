"""``python -m precompute extract-criteria`` and ``cluster-criteria``."""

from pathlib import Path
from typing import Annotated

import typer

from crm.data.taxonomy import CriterionThemes
from crm.llm.settings import ConfiguredLLM, llms_file, read_llms
from precompute.collect.stats import asking_line, check_complete, failures_in_words
from precompute.commands.options import Log, open_database
from precompute.criteria import extract_criteria, write_training_data
from precompute.criteria.extraction import WORDS, extraction_table
from precompute.criteria.question import Call
from precompute.criteria.training_data import NothingExtractedError
from precompute.progress import job_log, progress_bar

criteria_app = typer.Typer()


@criteria_app.command("extract-criteria")
def extract_criteria_command(
    preferences: Annotated[str, typer.Option(metavar="SLUG", help="The preference data.")],
    llm: Annotated[str, typer.Option(metavar="NAME", help="The LLM of the file that is asked.")],
    config: Annotated[
        Path | None,
        typer.Option(metavar="llms.toml", help="The file of LLMs; default USL_LLMS or llms.toml."),
    ] = None,
    call: Annotated[
        Call, typer.Option(help="Ask for both sides of a pair at once, as in the paper, or a side a call.")
    ] = Call.PAIR,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N pairs.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Replace what was extracted otherwise than now.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Also write all that is stored as training data for CRMs."),
    ] = None,
    log: Log = None,
) -> None:
    """Ask an LLM for the criteria behind preferences; may be interrupted and run again."""
    [chosen] = read_llms(llms_file(config), [llm])
    with job_log(log), open_database() as database:
        with asking_line(WORDS[call]) as on_progress:
            summary = extract_criteria(
                database, preferences, chosen, call=call, limit=limit, again=again, on_progress=on_progress
            )
        extraction_table(summary).print()
        for said in failures_in_words([summary.stats], summary.words):
            typer.echo(said)
        if out is not None:
            try:
                with database.session() as session:
                    n_rows = write_training_data(session, preferences, out)
            except NothingExtractedError:
                check_complete({llm: summary.stats}, summary.words)  # says why
                raise
            typer.echo(f"{preferences}: {n_rows:,} rows of training data in {out}.")
    check_complete({llm: summary.stats}, summary.words)


@criteria_app.command("cluster-criteria")
def cluster_criteria_command(
    annotations: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[ANNOTATIONS.jsonl]…", help="Criteria annotations; default the shipped ones."
        ),
    ] = None,
    preferences: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Criteria extracted from this preference data instead.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Also write the themes here, names in it kept.")
    ] = None,
    themes: Annotated[int, typer.Option(min=2, max=50, metavar="N", help="Number of themes.")] = 12,
    seed: Annotated[int, typer.Option(help="Of the clustering.")] = 0,
    llm: Annotated[
        str | None, typer.Option(metavar="NAME", help="An LLM that names the themes; default by keywords.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="llms.toml", help="The file of LLMs; default USL_LLMS or llms.toml."),
    ] = None,
    kinds: Annotated[
        bool,
        typer.Option("--kinds", help="Only say how many are about content, style, structure, tone, logic."),
    ] = False,
    with_kinds: Annotated[
        bool, typer.Option("--with-kinds", help="Say so below the themes, of the same criteria.")
    ] = False,
) -> None:
    """Cluster criteria and join the clusters to themes, with their shares and most frequent adjectives."""
    from precompute.criteria import themes as finding  # noqa: PLC0415  # loads clustering libraries

    if annotations and preferences is not None:
        raise typer.BadParameter("Give files of annotations or --preferences, not both.")
    if kinds:
        _say_kinds(annotations, preferences, seed)
        return
    chosen = None if llm is None else read_llms(llms_file(config), [llm])[0]

    def finished(found: CriterionThemes) -> CriterionThemes:
        if out is not None:
            found = finding.with_names_in(found, out)
        return found if chosen is None else _named(found, chosen)

    with progress_bar("Embedding criteria") as progress:
        if preferences is not None:
            with open_database() as database:
                found = finding.store_themes_of_preferences(
                    database, preferences, seed, themes, change=finished, progress=progress
                )
        elif annotations:
            found = finished(finding.themes_of_annotations(annotations, seed, themes, progress))
        else:
            found = finished(finding.themes_of_shipped(themes))
    finding.themes_table(found).print()
    if out is not None:
        found.save(out)
        typer.echo(f"{len(found.themes)} themes in {out}.")
    if with_kinds:
        _say_kinds(annotations, preferences, seed)


def _say_kinds(annotations: list[Path] | None, preferences: str | None, seed: int) -> None:
    from crm.data.kinds import kind_shares, kinds_table  # noqa: PLC0415  # with clustering libraries
    from precompute.criteria.themes import (  # noqa: PLC0415
        lists_of_annotations,
        lists_of_preferences,
    )

    if preferences is not None:
        with open_database() as database, database.session() as session:
            lists, source = lists_of_preferences(session, preferences), preferences
    elif annotations:
        lists, source = lists_of_annotations(annotations), ", ".join(file.name for file in annotations)
    else:
        lists, source = lists_of_annotations(), "the annotations of this project"
    with progress_bar("Embedding criteria") as progress:
        shares = kind_shares(lists, seed, progress)
    kinds_table(shares, source).print()


def _named(found: CriterionThemes, llm: ConfiguredLLM) -> CriterionThemes:
    from precompute.criteria.themes import name_themes  # noqa: PLC0415  # loads clustering libraries

    named = name_themes(found, llm)
    if named.n_unnamed:
        keep = (
            "1 theme keeps its name" if named.n_unnamed == 1 else f"{named.n_unnamed} themes keep their names"
        )
        typer.echo(f"note: {keep}: {named.reason}", err=True)
    return named.themes
