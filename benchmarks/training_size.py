"""Accuracy of the embedded CRM on unseen instructions against the number of annotated pairs it learnt from.

python -m benchmarks.training_size [--members N] [--encoded FILE.npz] [--output FILE.md]
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.data.pairs import MODERN_ANNOTATIONS, OWN_ANNOTATIONS, read_annotations
from crm.embedded.concepts import concept_classifier
from crm.embedded.model import Member
from crm.embedded.representation import representation
from crm.errors import CRMError
from crm.paths import CORPORA, PREFERENCES
from crm.protocol import Floats
from crm.training.concepts import read_concept_wishes
from crm.training.embedded import NetworkOptions, TrainingSet, fit_members, training_set, wording_set
from crm.training.encoded import ResponseEncoder
from crm.training.tones import STYLE_PAIRS, read_tone_contrasts, style_pairs, tone_pairs, unusual_answers

app = typer.Typer(add_completion=False)
_SHARES = (0.125, 0.25, 0.5, 0.75, 1.0)


@app.command()
def measure(  # noqa: PLR0917
    preferences: Annotated[Path, typer.Option(help="Criteria annotations.")] = PREFERENCES,
    corpora: Annotated[Path, typer.Option(help="The annotated responses.")] = CORPORA,
    members: Annotated[int, typer.Option(min=1, help="Networks in each ensemble.")] = 2,
    seed: Annotated[int, typer.Option(help="Of the draw and of the training.")] = 0,
    encoded: Annotated[Path | None, typer.Option(help="Encoded responses, as kept by a training.")] = None,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    encode, concepts = ResponseEncoder(representation(), encoded), concept_classifier()
    wordings = wording_set(read_concept_wishes(), concepts)
    contrasts = read_tone_contrasts()
    tones = [*tone_pairs(contrasts, seed), *style_pairs(unusual_answers(), contrasts, STYLE_PAIRS, seed)]
    given = read_annotations(preferences, corpora, split="train")
    further = read_annotations(OWN_ANNOTATIONS, corpora, split="train")
    current = read_annotations(MODERN_ANNOTATIONS, corpora, split="train")
    unseen = training_set(read_annotations(preferences, corpora, split="dev"), encode, concepts)
    everything = [*given, *further, *current]
    order = np.random.default_rng(seed).permutation(len(everything))
    subsets = [
        (f"{round(share * len(everything)):,}", order[: round(share * len(everything))].tolist())
        for share in _SHARES
    ]
    subsets.insert(-1, (f"{len(given):,} (rounds 1 and 2 alone)", list(range(len(given)))))
    results = []
    for name, rows in subsets:
        data = training_set([*(everything[row] for row in rows), *tones], encode, concepts)
        options = NetworkOptions(members=members, seed=seed)
        trained = fit_members(data, wordings, encode.features, options)
        results.append((name, *(f"{value:.3f}" for value in _accuracy(*trained, unseen))))
    Report(
        title="Accuracy of the embedded CRM by training size",
        columns=("annotated pairs", "per criteria list", "per criterion"),
        rows=tuple(results),
        note=f"{len(unseen.list_sign)} lists of the split dev; {members} networks each.",
    ).finish(output)


def _accuracy(members: list[Member], styles: Floats, data: TrainingSet) -> tuple[float, float]:
    """Return share of criteria lists and of criteria whose margin has the right sign."""
    margins = data.margins(members, styles)
    listed = data.list_index >= 0
    sums = np.bincount(data.list_index[listed], margins[listed], minlength=len(data.list_sign))
    return float((sums * data.list_sign > 0).mean()), float((margins * data.sign > 0)[listed].mean())


if __name__ == "__main__":
    run_cli(app, CRMError)
