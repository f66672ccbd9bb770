"""``python -m crm train``: fit the representation, then the embedded CRM."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from crm.embedded import save_weights
from crm.encoder import sentence_encoder
from crm.paths import CORPORA, EMBEDDED_FILE, PREFERENCES, REPRESENTATION_FILE
from crm.representation import Representation
from crm.style import count_style

app = typer.Typer(no_args_is_help=True, help="Train judges.")

_errors = Console(stderr=True)

PreferencesOption = Annotated[Path, typer.Option(help="Criteria annotations (JSON Lines).")]
CorporaOption = Annotated[Path, typer.Option(help="The corpora with the annotated responses.")]


@app.command("representation")
def train_representation(
    out: Annotated[Path, typer.Option(help="Where the fitted arrays go.")] = REPRESENTATION_FILE,
    preferences: PreferencesOption = PREFERENCES,
    corpora: CorporaOption = CORPORA,
) -> None:
    """Fit the representation; all stored representations must be computed anew after it."""
    from crm.training.preferences import read_annotations  # noqa: PLC0415
    from crm.training.representation import fit_representation  # noqa: PLC0415
    from crm.training.tones import read_tone_contrasts  # noqa: PLC0415

    pairs = read_annotations(preferences, corpora, split="train")
    texts = list(
        dict.fromkeys(text for item in pairs for text in (item.pair.response_a, item.pair.response_b))
    )
    with Progress(console=_errors, transient=True) as bar:
        task = bar.add_task("responses", total=len(texts))
        encoded = sentence_encoder().encode(
            texts, bulk=True, progress=lambda done, _: bar.update(task, completed=done)
        )
    fitted = fit_representation(encoded.state, count_style(texts), read_tone_contrasts())
    fitted.save(out)
    typer.echo(f"{len(texts)} responses, {fitted.size} features, digest {fitted.digest[:12]}: {out}")


@app.command("embedded")
def train_embedded(
    out: Annotated[Path, typer.Option(help="Where the weights go.")] = EMBEDDED_FILE,
    representation: Annotated[Path, typer.Option(help="The fitted representation.")] = REPRESENTATION_FILE,
    preferences: PreferencesOption = PREFERENCES,
    corpora: CorporaOption = CORPORA,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    members: Annotated[int, typer.Option(min=1, help="Networks in the ensemble.")] = 5,
    general_instructions: Annotated[
        int, typer.Option(min=1, help="Instructions drawn for the default ranking ∅.")
    ] = 200,
    version: Annotated[str, typer.Option(help="Version written into the weights.")] = "1",
) -> None:
    """Fit the embedded CRM on the train split; the same seed gives the same weights."""
    from crm.training.embedded import Options, fit_members, training_set  # noqa: PLC0415
    from crm.training.general import fit_general, general_pairs  # noqa: PLC0415
    from crm.training.preferences import read_annotations  # noqa: PLC0415
    from crm.training.tones import read_tone_contrasts, tone_pairs  # noqa: PLC0415

    started = time.monotonic()
    features = Representation.load(representation)
    pairs = read_annotations(preferences, corpora, split="train")
    pairs += tone_pairs(read_tone_contrasts(), seed)
    with Progress(console=_errors, transient=True) as bar:
        task = bar.add_task("responses", total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        data = training_set(pairs, features, told)
        general = fit_general(*general_pairs(corpora, features, general_instructions, seed, told))
        task = bar.add_task("networks", total=members)
        trained = fit_members(
            data,
            features,
            Options(members=members, seed=seed),
            report=lambda member, _: bar.update(task, completed=member),
        )
    save_weights(out, trained, general, features, version)
    typer.echo(
        f"{len(pairs)} pairs, {len(data.criterion)} judged criteria, {members} networks, "
        f"{time.monotonic() - started:.0f} s, {out.stat().st_size / 1e6:.1f} MB: {out}"
    )
