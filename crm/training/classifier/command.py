"""``python -m crm train classifier``: train a judge that reads texts, over any backbone."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from crm.data.pairs import Direction
from crm.errors import UnavailableError
from crm.paths import CORPORA, PREFERENCES
from crm.protocol import CRM
from crm.training.classifier.options import Options, taking_fields

_PACKAGES = ("accelerate", "peft", "matplotlib")


@taking_fields(Options, "options")
def train_classifier(
    out: Annotated[Path, typer.Option(help="Folder for the trained judge; must be new.")],
    backbone: Annotated[
        str, typer.Option(help="minilm, smollm2, a folder, a GGUF file, or a model of the Hugging Face hub.")
    ] = "minilm",
    annotations: Annotated[
        Path, typer.Option("--annotations", "--data", help="Criteria annotations, or CRM training data.")
    ] = PREFERENCES,
    corpora: Annotated[Path, typer.Option(help="The corpora with the annotated responses.")] = CORPORA,
    dev: Annotated[
        bool, typer.Option(help="Of annotations: report on the split dev, which is never trained on.")
    ] = True,
    *,
    options: Options,
    prompt: Annotated[Path | None, typer.Option(help="Template of the prompt.")] = None,
    name: Annotated[str | None, typer.Option(help="The judge's name; by default the folder's.")] = None,
    version: Annotated[str, typer.Option(help="The judge's version.")] = "1",
    general: Annotated[
        str, typer.Option(help="Judge that says which side average preference favours, for one direction.")
    ] = "embedded",
    resume: Annotated[bool, typer.Option(help="Go on with the run that was stopped in the folder.")] = False,
) -> None:
    """Train a judge that reads criteria, query and responses."""
    _check_packages()
    # The sentence encoder turns the hub off for what is imported after it; a backbone may come from there.
    import huggingface_hub.constants  # noqa: F401, PLC0415

    # Before transformers is imported, which takes seconds: what is wrong with the files shows at once.
    from crm.llm.prompt import PromptTemplate  # noqa: PLC0415
    from crm.training.classifier.examples import (  # noqa: PLC0415
        is_annotations,
        prepare,
        read_examples,
    )

    template = PromptTemplate.load(prompt) if prompt else None
    examples = read_examples(annotations, corpora)
    reported = read_examples(annotations, corpora, "dev") if dev and is_annotations(annotations) else []
    data = prepare(examples, reported, options, _general(general, options.direction))

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from crm.training.classifier.run import train  # noqa: PLC0415
    from crm.training.classifier.trainer import ProgressLines  # noqa: PLC0415

    report = train(
        backbone,
        data,
        out,
        options,
        name=name,
        version=version,
        template=template,
        resume=resume,
        callbacks=[ProgressLines(lambda line: typer.echo(line, err=True))],
    )
    typer.echo(f"{report.pairs} pairs, {report.steps} steps, {report.minutes} min: {out}")
    for part, measured in (("held out", report.held_out), ("dev", report.dev)):
        typer.echo(f"{part}: " + (", ".join(f"{key} {value:g}" for key, value in measured.items()) or "none"))


def _check_packages() -> None:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise UnavailableError(
            f"Training needs {', '.join(missing)}: pip install -r requirements-train.txt installs it."
        )


def _general(name: str, direction: Direction) -> CRM | None:
    """Return the judge of average preference, where one is needed."""
    if direction is Direction.BOTH:
        return None
    from crm.registry import get_crm  # noqa: PLC0415

    return get_crm(name)
