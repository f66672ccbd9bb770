"""``python -m crm train``: fit the representation, the embedded CRM, or a classifier on any backbone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from crm.data.pairs import OWN_ANNOTATIONS, Directions, read_annotations
from crm.embedded.encoder import sentence_encoder
from crm.embedded.model import query_responses, save_weights
from crm.embedded.representation import Representation
from crm.embedded.style import style_sheet
from crm.paths import CORPORA, EMBEDDED_FILE, PREFERENCES, REPRESENTATION_FILE
from crm.training.classifier.command import train_classifier

app = typer.Typer(no_args_is_help=True, help="Train judges.")
app.command("classifier")(train_classifier)

_errors = Console(stderr=True)
_SHARPNESS = 1.3
"""Factor on the networks' margins, which dropout leaves too timid: chosen by the calibration of criteria
lists on unseen instructions."""
_COUNTERWEIGHT = 0.11
"""Share of the default direction taken off: chosen so that on unseen instructions criteria for what is
generally preferred, and for the other side, are judged equally well."""
_ORDINARY = 256
"""Pairs whose differences are kept to tell criteria at odds."""

PreferencesOption = Annotated[Path, typer.Option(help="Criteria annotations (JSON Lines).")]
FurtherOption = Annotated[Path, typer.Option(help="Further annotations, by default the project's own.")]
CorporaOption = Annotated[Path, typer.Option(help="The corpora with the annotated responses.")]


@app.command("representation")
def train_representation(
    out: Annotated[Path, typer.Option(help="Where the fitted arrays go.")] = REPRESENTATION_FILE,
    preferences: PreferencesOption = PREFERENCES,
    further: FurtherOption = OWN_ANNOTATIONS,
    corpora: CorporaOption = CORPORA,
) -> None:
    """Fit the representation; all stored representations must be computed again after it."""
    from crm.embedded.representation import relevance_features  # noqa: PLC0415
    from crm.training.embedded import fit_representation  # noqa: PLC0415
    from crm.training.tones import read_tone_contrasts  # noqa: PLC0415

    pairs = [item.pair for item, _ in _train_split((preferences, further), corpora)]
    answers = list(dict.fromkeys(answer for pair in pairs for answer in query_responses(pair)))
    texts = [text for text, _ in answers]
    with _progress("responses") as on_progress:
        encoded = sentence_encoder().encode(texts, bulk=True, progress=on_progress)
    related = relevance_features(texts, [query for _, query in answers], encoded.embedding)
    fitted = fit_representation(encoded.state, style_sheet().count(texts), related, read_tone_contrasts())
    fitted.save(out)
    typer.echo(f"{len(texts)} responses, {fitted.size} features, digest {fitted.digest[:12]}: {out}")


@app.command("embedded")
def train_embedded(
    out: Annotated[Path, typer.Option(help="Where the weights go.")] = EMBEDDED_FILE,
    representation: Annotated[Path, typer.Option(help="The fitted representation.")] = REPRESENTATION_FILE,
    preferences: PreferencesOption = PREFERENCES,
    further: FurtherOption = OWN_ANNOTATIONS,
    corpora: CorporaOption = CORPORA,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    members: Annotated[int, typer.Option(min=1, help="Networks in the ensemble.")] = 5,
    share: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="Share of the annotated pairs to train on.")
    ] = 1.0,
    attacks: Annotated[int, typer.Option(min=100, help="Gaming responses to guard against.")] = 4500,
    general_instructions: Annotated[
        int, typer.Option(min=1, help="Instructions drawn for the default ranking ∅.")
    ] = 200,
    without_held_out_criteria: Annotated[
        bool, typer.Option(help="Leave out the criteria by which generalisation is measured.")
    ] = False,
    version: Annotated[str, typer.Option(help="Version written into the weights.")] = "2",
) -> None:
    """Fit the embedded CRM on the train split; the same seed gives the same weights."""
    from crm.embedded.validity import ValidityCheck  # noqa: PLC0415
    from crm.training.adversarial import gaming_answers, ordinary_answers  # noqa: PLC0415
    from crm.training.embedded import (  # noqa: PLC0415
        NetworkOptions,
        encoded_features,
        feature_differences,
        fit_members,
        training_set,
    )
    from crm.training.general import (  # noqa: PLC0415
        fit_general,
        general_data,
        official_win_rates,
        read_general_pairs,
    )
    from crm.training.safeguards import (  # noqa: PLC0415
        fit_guard,
        fit_scope_classifier,
        seen_columns,
    )
    from crm.training.tones import (  # noqa: PLC0415
        STYLE_PAIRS,
        read_tone_contrasts,
        style_pairs,
        tone_pairs,
        unusual_answers,
    )

    started = time.monotonic()
    features = Representation.load(representation)
    annotated = _train_split((preferences, further), corpora)
    if share < 1.0:
        drawn = np.random.default_rng(seed).permutation(len(annotated))[: round(share * len(annotated))]
        annotated = [annotated[index] for index in sorted(drawn.tolist())]
    tones = read_tone_contrasts()
    toned = [*tone_pairs(tones, seed), *style_pairs(unusual_answers(), tones, STYLE_PAIRS, seed)]
    if without_held_out_criteria:
        annotated, toned = _generalising(annotated), _generalising(toned)
    pairs = [*annotated, *toned]
    judged = read_general_pairs(corpora, general_instructions, seed)
    with _progress("responses") as on_progress:
        data = training_set(pairs, features, on_progress)
    ordinary = data.difference[: len(annotated)]
    with _progress("attacks") as on_progress:
        gaming = encoded_features(gaming_answers(annotated, attacks, seed), features, on_progress)
        ordinary_ones = encoded_features(ordinary_answers(annotated, attacks, seed), features, on_progress)
        guard = fit_guard(gaming, ordinary_ones, seen_columns(features))
    with _progress("responses for ∅") as on_progress:
        difference = feature_differences([item.pair for item in judged], features, on_progress)
    general = fit_general(general_data(judged, difference, official_win_rates(corpora)))
    with _progress("networks") as on_progress:
        trained = fit_members(
            data,
            features,
            NetworkOptions(members=members, seed=seed),
            report=lambda member, _: on_progress(member, members),
        )
    fair = [criterion.text for directions in annotated for item in directions for criterion in item.criteria]
    validity = ValidityCheck(fit_scope_classifier(list(dict.fromkeys(fair)), seed), ordinary[:_ORDINARY])
    save_weights(
        *(out, [member.scaled(_SHARPNESS) for member in trained], general, features, version),
        counterweight=_COUNTERWEIGHT,
        guard=guard,
        validity=validity,
    )
    typer.echo(
        f"{len(pairs)} pairs, {len(data.criterion)} judged criteria, {members} networks, "
        f"{time.monotonic() - started:.0f} s, {out.stat().st_size / 1e6:.1f} MB: {out}"
    )


def _train_split(files: tuple[Path, ...], corpora: Path) -> list[Directions]:
    return [item for file in files for item in read_annotations(file, corpora, split="train")]


def _generalising(pairs: list[Directions]) -> list[Directions]:
    """Return the pairs without the criteria by which generalisation to new criteria is measured."""
    from crm.data.taxonomy import held_out_criteria  # noqa: PLC0415

    texts = {
        criterion.text
        for directions in pairs
        for item in directions
        for criterion in (*item.criteria, *item.extra)
    }
    withheld = held_out_criteria(sorted(texts))
    left = ((one.without_criteria(withheld), other.without_criteria(withheld)) for one, other in pairs)
    return [both for both in left if any((*item.criteria, *item.extra) for item in both)]


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    with Progress(console=_errors, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
