"""``python -m precompute collect``, ``embed``, ``score`` and ``bundle``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from crm.criteria import POPULAR, CriteriaSet, criteria_list
from crm.embedded.representation import NAME, representation
from crm.llm.settings import llms_file, read_llms
from crm.registry import get_crm
from db.repositories.benchmarks import list_benchmarks
from db.source_records import BatchRecord
from leaderboard.llm_facts.configured import with_prices
from leaderboard.llm_facts.files import known_catalogue
from leaderboard.scoring_jobs.progress import judging_line
from parsing.messages import quantity
from precompute.bundles import save_bundle, save_win_rates
from precompute.collect import collect_responses
from precompute.collect.batches import BatchOptions, batch_in_words, fetch_command
from precompute.collect.collection import baseline_warning, estimate_collection, summary_table
from precompute.collect.costs import estimates_table
from precompute.collect.stats import RESPONSES, asking_line, check_complete, failures_in_words
from precompute.commands.options import (
    ActorGPUs,
    EngineName,
    Log,
    RayAddress,
    Workers,
    embedded_in_words,
    open_database,
)
from precompute.embed import embed_benchmark
from precompute.engines import EngineKind, EngineOptions, open_engine
from precompute.errors import PrecomputeError
from precompute.progress import job_log
from precompute.score import distributed_judge, score_benchmark

jobs_app = typer.Typer()


@jobs_app.command()
def collect(
    benchmark: Annotated[str, typer.Option(metavar="SLUG", help="The benchmark.")],
    llm: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this LLM of the file; repeatable.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="llms.toml", help="Default USL_LLMS or llms.toml.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only N queries, drawn across topics.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the drawing with --limit.")] = 0,
    topic: Annotated[list[str] | None, typer.Option(help="Only this topic or category; repeatable.")] = None,
    again: Annotated[bool, typer.Option(help="Replace what was collected with other settings.")] = False,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The LLM that the others are compared to, once it has answered."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Ask nothing; say which requests, tokens, money and time it takes."),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(min=0, metavar="MONEY", help="Begin no request with which this run could cost more."),
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Hand in what is missing as batches: cheaper, within 24 hours.")
    ] = False,
    batch_poll: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Between two looks at the batches.")
    ] = 60.0,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for the batches, or fetch them another time.")
    ] = True,
    embed: Annotated[
        bool, typer.Option(help="Compute the representations at the end, or leave them to “embed”.")
    ] = True,
    log: Log = None,
    engine: EngineName = EngineKind.LOCAL,
    ray_address: RayAddress = None,
    workers: Workers = None,
    actor_gpus: ActorGPUs = 0.0,
) -> None:
    """Ask LLMs for the responses that a benchmark lacks; may be interrupted and run again."""
    if not (wait or batch):
        raise PrecomputeError("Only batches need not be waited for: give --no-wait together with --batch.")
    llms = with_prices(read_llms(llms_file(config), llm or ()), known_catalogue())
    if dry_run:
        with open_database() as database:
            estimates = estimate_collection(
                database,
                benchmark,
                llms,
                topics=topic or (),
                limit=limit,
                seed=seed,
                again=again,
                batch=batch,
            )
        estimates_table(benchmark, estimates).print()
        return
    options = EngineOptions(engine, ray_address, workers, actor_gpus)
    with (
        job_log(log),
        open_database() as database,
        open_engine(options) as opened,
        asking_line() as on_progress,
    ):
        summary = collect_responses(
            database,
            benchmark,
            llms,
            topics=topic or (),
            limit=limit,
            seed=seed,
            again=again,
            baseline=baseline,
            budget=budget,
            batch=BatchOptions(batch_poll, wait, _say_waiting) if batch else None,
            embed=embed,
            on_progress=on_progress,
            engine=opened,
        )
        warning = baseline_warning(database, benchmark) if summary.embedded is not None else None
    summary_table(summary).print()
    for said in failures_in_words(summary.stats.values()):
        typer.echo(said)
    for name, n_reused in summary.reused.items():
        was, taken = ("was", "is") if n_reused == 1 else ("were", "are")
        responses = f"{RESPONSES.count(n_reused)} of {name}"
        typer.echo(f"note: {responses} {was} collected before and {taken} taken over.")
    for handed_in in summary.under_way:
        command = fetch_command(benchmark, handed_in.llm)
        typer.echo(f"note: under way: {batch_in_words(handed_in)}; fetch the answers later with: {command}")
    if summary.made_own:
        typer.echo(f"note: {benchmark} is your own now: new versions of its file no longer replace it.")
    if summary.baseline is not None:
        why = ", as there was none" if baseline is None else ""
        typer.echo(f"note: {summary.baseline} is the baseline now{why}.")
    if warning is not None:
        typer.echo(f"note: {warning}", err=True)
    if summary.embedded is None:
        command = f"python -m precompute embed --benchmark {benchmark}"
        where = " in the app's environment" if embed else ""
        typer.echo(f"note: compute the representations{where}: {command}")
    else:
        typer.echo(f"{benchmark}: {embedded_in_words(summary.embedded)}.")
    check_complete(summary.stats)


@jobs_app.command()
def embed(
    benchmark: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Only this benchmark; default all.")
    ] = None,
    name: Annotated[
        str,
        typer.Option("--representation", metavar="NAME", help=f"Which one; so far there is only {NAME}."),
    ] = NAME,
    log: Log = None,
    engine: EngineName = EngineKind.LOCAL,
    ray_address: RayAddress = None,
    workers: Workers = None,
    actor_gpus: ActorGPUs = 0.0,
) -> None:
    """Compute the representations that are missing or outdated; may be interrupted and run again."""
    fitted = representation(name)
    options = EngineOptions(engine, ray_address, workers, actor_gpus)
    with job_log(log), open_database() as database, open_engine(options) as opened:
        with database.session() as session:
            slugs = [benchmark] if benchmark else [summary.slug for summary in list_benchmarks(session)]
        for slug in slugs:
            embedded = embed_benchmark(database, slug, fitted, engine=opened)
            typer.echo(f"{slug}: {embedded_in_words(embedded)}.")


@jobs_app.command()
def score(
    benchmark: Annotated[str, typer.Option(metavar="SLUG", help="The benchmark.")],
    crm: Annotated[list[str], typer.Option(metavar="NAME", help="The judge; repeatable.")],
    criteria: Annotated[
        str | None,
        typer.Option(
            metavar=f"{POPULAR}|FILE.{{toml,jsonl}}",
            help="Many criteria sets and the default ranking: the bundled list, or a file of the same form.",
        ),
    ] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option(help="What you like in an answer; repeatable. None: the default ranking."),
    ] = None,
    avoid: Annotated[list[str] | None, typer.Option(help="What an answer should avoid; repeatable.")] = None,
    topic: Annotated[list[str] | None, typer.Option(help="Only this topic or category; repeatable.")] = None,
    log: Log = None,
    engine: EngineName = EngineKind.LOCAL,
    ray_address: RayAddress = None,
    workers: Workers = None,
    actor_gpus: ActorGPUs = 0.0,
) -> None:
    """Have judges judge a benchmark ahead of time; may be interrupted and run again."""
    sets = _criteria_sets(criteria, criterion or (), avoid or ())
    options = EngineOptions(engine, ray_address, workers, actor_gpus)
    for name in crm:
        get_crm(name)  # before an engine starts for one that does not exist
    with (
        job_log(log),
        open_database() as database,
        open_engine(options) as opened,
        judging_line(str) as on_progress,
    ):
        crms = [distributed_judge(opened, name) for name in dict.fromkeys(crm)]
        summaries = score_benchmark(
            database, benchmark, crms, sets, topics=topic or (), on_progress=on_progress
        )
    for summary in summaries:
        typer.echo(
            f"{benchmark}: {quantity(summary.judged, 'pair')} judged by {summary.judge} in "
            f"{summary.seconds:.0f} s ({summary.pairs_per_second:,.1f} per second), "
            f"{summary.stored:,} were judged before."
        )
    stored = ", ".join(
        f"{summary.sets_stored:,} by {summary.judge} ({summary.sets_complete:,} with win rates)"
        for summary in summaries
    )
    typer.echo(f"{benchmark}: criteria lists stored: {stored}.")


@jobs_app.command()
def bundle(
    slug: Annotated[str, typer.Argument(help="The benchmark.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT.usl.zip", show_default=False)],
    texts: Annotated[
        bool | None,
        typer.Option(
            "--with-texts/--without-texts",
            help="Queries and responses; by default as the benchmark's licence says.",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--with-scores/--without-scores", help="Stored scores and win rates.")
    ] = True,
    crm: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only scores by this judge; repeatable.")
    ] = None,
    about: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Title, licence and the like, and LLM titles.")
    ] = None,
    only_win_rates: Annotated[
        bool,
        typer.Option("--only-win-rates", help="Only the win rates, for beside a bundled benchmark."),
    ] = False,
) -> None:
    """Write a benchmark to one file that any other database can be filled from."""
    crms = (crm or None) if scores else ()
    with open_database() as database:
        if only_win_rates:
            written = save_win_rates(database, slug, target, crms=crm)
            n_rates = sum(len(item.win_rates) for item in written)
            lists = quantity(len(written), "criteria list")
            typer.echo(f"{slug}: {quantity(n_rates, 'win rate')} under {lists} in {target}.")
            return
        summary = save_bundle(database, slug, target, with_texts=texts, crms=crms, about=about)
    if summary.note is not None:
        typer.echo(f"note: {summary.note}", err=True)
    typer.echo(f"{slug}: {summary} in {target}.")


def _say_waiting(batch: BatchRecord) -> None:
    typer.echo(f"Waiting for {batch_in_words(batch)}.")


def _criteria_sets(
    listed: str | None, wanted: Sequence[str], avoided: Sequence[str]
) -> tuple[CriteriaSet, ...]:
    """The sets to score; with a list also the default ranking, which the page compares every other with."""
    if listed is None:
        return (CriteriaSet.of(wanted, avoided),)
    if wanted or avoided:
        raise PrecomputeError("Give either --criteria or --criterion and --avoid, not both.")
    return (CriteriaSet(), *(item.criteria for item in criteria_list(listed)))
