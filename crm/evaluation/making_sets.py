"""``python -m crm``: what stands in annotations and training data, and evaluation sets of them."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from crm.data.corpora import LeftOut
from crm.data.noise import Strength
from crm.data.pairs import MODERN_ANNOTATIONS, Directions, read_labelled_pairs
from crm.data.taxonomy import criterion_clusters
from crm.errors import CRMError
from crm.evaluation.commands import DEFAULT_SETS, CorporaOption, say, write_tables
from crm.evaluation.report import statistics_table
from crm.evaluation.sets import TRAIN_FILE, build_sets, write_sets, write_training_lines
from crm.paths import CHECKPOINTS, CORPORA, PREFERENCES
from crm.progress import progress_bar
from crm.registry import DEFAULT, get_crm

_TOPICS_HELD_OUT = 0.1
_CLUSTERS_OUT = CHECKPOINTS / "criterion-clusters-1.parquet"

AnnotationsArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="ANNOTATIONS...", help="Criteria annotations (JSON Lines).")
]
SeedOption = Annotated[int, typer.Option(help="Of every random choice.")]


def criterion_clusters_command(
    annotations: AnnotationsArgument = None,
    out: Annotated[Path, typer.Option(help="Where the clusters go.")] = _CLUSTERS_OUT,
    share: Annotated[float, typer.Option(min=0.0, max=0.5, help="Of all criteria to hold out.")] = 0.1,
    seed: SeedOption = 0,
) -> None:
    """Cluster all annotated criteria with BERTopic and choose the clusters that are held out."""
    from crm.data.clustering import cluster_criteria, read_criteria_lists  # noqa: PLC0415

    lists = list(chain.from_iterable(map(read_criteria_lists, annotations or [PREFERENCES])))
    with progress_bar("criteria") as on_progress:
        clusters = cluster_criteria(lists, seed, share, on_progress)
    out.parent.mkdir(parents=True, exist_ok=True)
    clusters.save(out)
    held_out = sum(cluster.held_out for cluster in clusters.clusters)
    typer.echo(
        f"{len(clusters.numbers)} criteria in {len(clusters.clusters)} clusters; {held_out} clusters with "
        f"{len(clusters.held_out)} criteria are held out: {out}"
    )


def chosen_criteria_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DATA.jsonl]…", help="CRM training data or annotations; default those of current LLMs."
        ),
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Say whether what people choose by is apart from what they reject by, as in the paper's section 3."""
    from crm.data.chosen_criteria import (  # noqa: PLC0415  # with commands that need it only
        read_sided_criteria,
        separation,
        separation_table,
    )

    sided = {file.name: read_sided_criteria(file) for file in files or [MODERN_ANNOTATIONS]}
    with progress_bar("criteria") as on_progress:
        found = {name: separation(criteria, seed, on_progress) for name, criteria in sided.items()}
    separation_table(found).print()


def evaluation_sets_command(
    annotations: Annotated[
        Path, typer.Argument(metavar="DATA", help="Criteria annotations, or CRM training data (JSON Lines).")
    ] = PREFERENCES,
    *,
    corpora: CorporaOption = CORPORA,
    out: Annotated[Path, typer.Option(help="Folder of the sets; they hold the responses.")] = DEFAULT_SETS,
    general: Annotated[
        str | None,
        typer.Option(
            help="Judge that tells “+” from “−” without criteria; by default people's choice, where known."
        ),
    ] = None,
    hold_out_topics: Annotated[
        float | None,
        typer.Option(
            min=0.01, max=0.5, help="Measure new topics on whole topics with this share of the pairs."
        ),
    ] = None,
    seed: SeedOption = 0,
    noise_strength: Annotated[
        Strength,
        typer.Option(help="How much noise takes away: a minority by weight, or as many as in the paper."),
    ] = Strength.STRICT_MAJORITY,
    table: Annotated[
        Path | None, typer.Option(help="Markdown file that the statistics are written to as well.")
    ] = None,
) -> None:
    """Make the sets for topic and criterion generalization, with and without noise."""
    named = None if general is None else get_crm(general)
    pairs = _pairs_of(annotations, corpora)
    if hold_out_topics is not None or not any(one.split == "dev" for one, _ in pairs):
        pairs = _with_topics_held_out(pairs, hold_out_topics or _TOPICS_HELD_OUT, seed, out)
    judge = named if named is not None or any(one.chosen for one, _ in pairs) else get_crm(DEFAULT)
    if judge is None and (unknown := sum(not one.chosen for one, _ in pairs)):
        say(f"{unknown:,} of {len(pairs):,} pairs are left out: nobody chose one of the responses.")
    with progress_bar("pairs without criteria") as on_progress:
        sets = build_sets(pairs, judge, criterion_clusters(), seed, on_progress, strength=noise_strength)
    favoured = "people's choice" if judge is None else f"{judge.name} {judge.version}"
    manifest = write_sets(out, sets, seed, favoured, noise_strength)
    described = statistics_table(manifest)
    described.print()
    if table is not None:
        write_tables(table, "Evaluation sets", [described])


def _pairs_of(path: Path, corpora: Path) -> list[Directions]:
    """Return both directions of the pairs in annotations or training data, and say what is left out."""
    from crm.data.pairs import joined_directions, read_annotations  # noqa: PLC0415
    from crm.training.classifier.examples import is_annotations  # noqa: PLC0415

    if is_annotations(path):
        left_out = LeftOut()
        pairs = read_annotations(path, corpora, left_out=left_out)
        say(left_out.note(len(pairs), corpora))
        return pairs
    examples = read_labelled_pairs(path, corpora, None)
    pairs = joined_directions(examples)
    if not pairs:
        raise CRMError(
            f"{path.name} has no pair with criteria for either response: extract both sides' criteria."
        )
    if one_sided := len({item.pair for item in examples}) - len(pairs):
        say(f"{one_sided:,} pairs are left out: they have criteria for one response only, or none.")
    return pairs


def _with_topics_held_out(pairs: list[Directions], share: float, seed: int, out: Path) -> list[Directions]:
    """Hold out whole topics, and write what a judge may be trained on beside the sets."""
    from crm.data.topics import topics_of_queries, with_topics_held_out  # noqa: PLC0415

    with progress_bar("queries") as on_progress:
        topics = topics_of_queries(pairs, seed, on_progress)
    divided = with_topics_held_out(pairs, topics, share, seed)
    held_out = {one.topic for one, _ in divided if one.split == "dev"}
    train = out / TRAIN_FILE
    write_training_lines(train, (both for both in divided if both[0].split == "train"))
    say(
        f"{len(held_out):,} of {len(set(topics)):,} topics are held out: train on the others, "
        f"“python -m crm train classifier --data {train} --skip-held-out-criteria”."
    )
    return divided


def register(app: typer.Typer) -> None:
    """Add the commands to the command line of ``python -m crm``."""
    app.command("evaluation-sets")(evaluation_sets_command)
    app.command("criterion-clusters")(criterion_clusters_command)
    app.command("chosen-criteria")(chosen_criteria_command)
