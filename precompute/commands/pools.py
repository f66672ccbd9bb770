"""``python -m precompute pool``, ``cluster`` and ``sample``."""

from pathlib import Path
from typing import Annotated

import typer

from parsing.messages import quantity
from precompute.commands.options import Log, Title, open_database
from precompute.errors import PrecomputeError
from precompute.pool import gather
from precompute.progress import job_log, stage_line
from precompute.safety import BUNDLED_SAFETY_LIST, SafetyList, read_safety_list
from precompute.sampling import SampleSettings, sample_benchmark, sample_report
from precompute.topics.cluster import cluster_pool, clustering_report
from precompute.topics.settings import LARGEST_SEED, read_clustering_settings

pools_app = typer.Typer()


@pools_app.command()
def pool(
    slug: Annotated[str, typer.Argument(metavar="POOL", show_default=False)],
    file: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE.{csv,json,jsonl,parquet}…", show_default=False)
    ] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option(metavar="SLUG", help="The queries of this benchmark; repeatable.")
    ] = None,
    preferences: Annotated[
        list[str] | None,
        typer.Option(metavar="SLUG", help="The first turns of this preference data; repeatable."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="The column of the files with the queries; default the usual ones.")
    ] = None,
    title: Title = None,
) -> None:
    """Gather queries to look for topics in; every text is kept once, and more may be added later."""
    with open_database() as database:
        summary = gather(
            database,
            slug,
            files=file or (),
            benchmarks=benchmark or (),
            preferences=preferences or (),
            column=column,
            title=title,
        )
    for source, n_read in summary.n_read.items():
        typer.echo(f"{source}: {quantity(n_read, 'query')} read.")
    typer.echo(f"{slug}: {quantity(summary.n_added, 'query')} added, {summary.n_queries:,} in all.")


@pools_app.command()
def cluster(
    slug: Annotated[str, typer.Argument(metavar="POOL", show_default=False)],
    config: Annotated[
        Path | None,
        typer.Option(metavar="clustering.toml", help="Parameters; default the paper's, with MiniLM."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=LARGEST_SEED, help="In place of the file's.")] = None,
    llm: Annotated[
        str | None, typer.Option(metavar="NAME", help="The LLM that names topics, in place of the file's.")
    ] = None,
    llms: Annotated[
        Path | None, typer.Option(metavar="llms.toml", help="Default USL_LLMS or llms.toml.")
    ] = None,
    again: Annotated[
        bool, typer.Option(help="Replace topics that were curated, and forget the curation.")
    ] = False,
    grow: Annotated[
        bool,
        typer.Option(
            "--grow", help="Only place queries that were added, as is done where topics are curated."
        ),
    ] = False,
    log: Log = None,
) -> None:
    """Find the topics of a pool of queries; may be interrupted and run again.

    Curated topics stay when queries are added: these go to the topics they fit, or form new ones beside them.
    """
    if again and grow:
        raise PrecomputeError("Give either --again, which replaces topics, or --grow, which keeps them.")
    settings = read_clustering_settings(config).with_options(seed, llm)
    with job_log(log), open_database() as database, stage_line() as on_progress:
        summary = cluster_pool(
            database, slug, settings, llms=llms, again=again, grow_only=grow, on_progress=on_progress
        )
    for line in clustering_report(summary):
        typer.echo(line)


@pools_app.command()
def sample(
    slug: Annotated[str, typer.Argument(metavar="POOL", show_default=False)],
    benchmark: Annotated[
        str, typer.Option(metavar="FAMILY", help="What its versions share: the first has the slug FAMILY-v1.")
    ],
    per_topic: Annotated[
        int | None, typer.Option(metavar="N", help="Queries of each topic; 6 unless --size is given.")
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Queries in all instead, of each topic about its share."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another one draws other queries.")] = 0,
    topic: Annotated[list[str] | None, typer.Option(help="Only this topic or category; repeatable.")] = None,
    parts: Annotated[bool, typer.Option(help="Draw from the parts of large topics as from topics.")] = True,
    shortest: Annotated[int, typer.Option(metavar="N", help="Least characters of a query.")] = 12,
    longest: Annotated[int, typer.Option(metavar="N", help="Most characters of a query.")] = 4000,
    near: Annotated[
        float, typer.Option(help="Cosine from which a query is a near-duplicate; 1 keeps all.")
    ] = 0.95,
    safety: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Words that keep a query out; default bundled.")
    ] = None,
    no_safety: Annotated[bool, typer.Option("--no-safety", help="Let words keep nothing out.")] = False,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The LLM that the others are compared to, once it has answered."),
    ] = None,
    title: Title = None,
    licence: Annotated[str, typer.Option(help="The licence of the queries.")] = "",
    attribution: Annotated[str, typer.Option(help="Where the queries come from.")] = "",
) -> None:
    """Sample a benchmark from the topics of a pool and freeze it: a new sample is a new version."""
    if per_topic is not None and size is not None:
        raise PrecomputeError("Give either --per-topic or --size, not both.")
    settings = SampleSettings(
        6 if per_topic is None else per_topic,
        seed,
        shortest,
        longest,
        near,
        parts,
        tuple(topic or ()),
        size,
        baseline,
    )
    words = SafetyList({}) if no_safety else read_safety_list(safety or BUNDLED_SAFETY_LIST)
    with open_database() as database:
        summary = sample_benchmark(
            database, slug, benchmark, settings, words, title=title, licence=licence, attribution=attribution
        )
    for line in sample_report(summary):
        typer.echo(line)
    if baseline is not None and not summary.is_new:
        command = f"python -m precompute benchmarks baseline {summary.slug} NAME"
        typer.echo(f"note: its baseline stays what it was; “{command}” chooses another once it has answered.")
