"""``python -m crm train classifier``: train a judge that reads texts, over any backbone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from crm.data.conversations import Turns
from crm.data.corpora import LeftOut
from crm.data.pairs import Direction, LabelledPair
from crm.errors import UnavailableError
from crm.paths import CORPORA, PREFERENCES
from crm.protocol import CRM
from crm.training.classifier.options import Options, taking_fields
from crm.training.classifier.processes import is_first

_PACKAGES = ("accelerate", "peft", "matplotlib")


@taking_fields(Options, "options")
def train_classifier(
    context: typer.Context,
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
    turns: Annotated[
        Turns, typer.Option(help="Of conversations of several turns: judge all, or the last answer.")
    ] = Turns.ALL,
    prompt: Annotated[Path | None, typer.Option(help="Template of the prompt.")] = None,
    name: Annotated[str | None, typer.Option(help="The judge's name; by default the folder's.")] = None,
    version: Annotated[str, typer.Option(help="The judge's version.")] = "1",
    general: Annotated[
        str | None,
        typer.Option(help="Judge that tells plus from minus for pairs that nobody chose on; else left out."),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on with the run that was stopped in the folder.")] = False,
) -> None:
    """Train a judge that reads criteria, query and responses."""
    _check_packages()
    tell = typer.echo if is_first() else _tell_nobody
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
    left_out = LeftOut()
    examples = read_examples(annotations, corpora, left_out=left_out, turns=turns)
    say_left_out(left_out, len({item.pair for item in examples}), corpora, tell)
    if bare := sum(not item.criteria for item in examples):
        tell(f"note: {bare:,} preferences have no criteria: average taste is learnt by them.", err=True)
    reported = (
        read_examples(annotations, corpora, "dev", LeftOut()) if dev and is_annotations(annotations) else []
    )

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from crm.training.classifier import lessons  # noqa: PLC0415
    from crm.training.classifier.output import check_folder, is_finished, is_started  # noqa: PLC0415
    from crm.training.classifier.run import train  # noqa: PLC0415
    from crm.training.classifier.trainer import ProgressLines  # noqa: PLC0415

    callbacks = [ProgressLines(lambda line: tell(line, err=True))]
    chosen = _chosen_options(context)
    first = out.with_name(f"{out.name}-first-lesson") if lessons.has_lessons(backbone, chosen) else None
    if first is not None:
        statements, options = lessons.lessons(options, chosen)
        template = PromptTemplate.bundled(lessons.RESPONSES_PROMPT)
    data = prepare(
        examples,
        reported,
        options,
        _general(general, options.direction, examples),
        lambda sides: tell(f"note: {sides}.", err=True),
    )
    if first is not None:
        backbone, begun = str(first), resume and is_started(out)
        if not begun and not is_finished(first):
            check_folder(out, backbone, options, resume=False)
            tell("First lesson, on statements:", err=True)
            lessons.teach_statements(
                first, statements, resume=resume and is_started(first), callbacks=callbacks
            )
        resume = begun
        tell("Second lesson, on responses:", err=True)
    report = train(
        backbone,
        data,
        out,
        options,
        name=name,
        version=version,
        template=template,
        resume=resume,
        callbacks=callbacks,
        on_noise=lambda reach: tell(f"note: {reach}", err=True),
    )
    if first is not None:
        shutil.rmtree(first, ignore_errors=True)
    tell(f"{report.pairs} pairs, {report.steps} steps, {report.minutes} min: {out}")
    for part, measured in (("held out", report.held_out), ("dev", report.dev)):
        tell(f"{part}: " + (", ".join(f"{key} {value:g}" for key, value in measured.items()) or "none"))


def _tell_nobody(*_: Any, **__: Any) -> None:
    """Say nothing: the first of several processes says it."""


def _chosen_options(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that the person has given."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source and source.name != "DEFAULT")


def say_left_out(left_out: LeftOut, read: int, corpora: Path, tell: Callable[..., None] = typer.echo) -> None:
    """Say which annotated pairs are not trained on. Raises CRMError: None are left."""
    if note := left_out.note(read, corpora):
        tell(f"note: {note}", err=True)


def _check_packages() -> None:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise UnavailableError(
            f"Training needs {', '.join(missing)}: pip install -r requirements-train.txt installs it."
        )


def _general(name: str | None, direction: Direction, examples: Sequence[LabelledPair]) -> CRM | None:
    """Return the judge for pairs that nobody chose on: the one named, or the default if that is all pairs."""
    if direction is Direction.BOTH:
        return None
    from crm.registry import DEFAULT, get_crm  # noqa: PLC0415
    from crm.training.classifier.examples import chosen_labels  # noqa: PLC0415

    if name is None and chosen_labels(examples):
        return None
    return get_crm(name or DEFAULT)
