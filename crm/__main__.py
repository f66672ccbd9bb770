"""``python -m crm``: score pairs, evaluate judges, train the embedded CRM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from crm.command_line import run
from crm.dataset import JudgedPair, read_labelled_pairs, read_pairs
from crm.errors import CRMError, DatasetError
from crm.evaluation import Evaluation, evaluate
from crm.paths import CORPORA
from crm.protocol import Verdict
from crm.registry import DEFAULT, get_crm
from crm.training.command_line import app as train_app

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Judge pairs of responses by criteria.")
app.add_typer(train_app, name="train")

_REFERENCES = ("longer", "cosine")


@app.command()
def score(
    source: Annotated[Path, typer.Argument(metavar="IN.jsonl", help="Pairs to judge.")],
    target: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="Where the verdicts go.")],
    crm: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT,
) -> None:
    """Judge the pairs of a JSON Lines file, in its order."""
    judge = get_crm(crm)
    judged = read_pairs(source)
    _check_writable(target)
    verdicts = judge.judge([item.question for item in judged])
    _write_verdicts(target, judged, verdicts)
    typer.echo(f"{len(judged)} pairs judged by {crm}.", err=True)


def _check_writable(target: Path) -> None:
    """Complain before the judging, which may take long, rather than after it."""
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise DatasetError(f"{target} cannot be written: name a file in a folder that exists.")


def _write_verdicts(target: Path, judged: list[JudgedPair], verdicts: list[Verdict]) -> None:
    """Write all verdicts or none."""
    unfinished = target.with_name(f"{target.name}.part")
    try:
        with unfinished.open("w", encoding="utf-8") as lines:
            for item, verdict in zip(judged, verdicts, strict=True):
                line = {"id": item.id, "prob_a": verdict.prob_a, "per_criterion": list(verdict.per_criterion)}
                lines.write(json.dumps(line) + "\n")
        unfinished.replace(target)
    except OSError as error:
        raise DatasetError(f"{target} cannot be written ({error.strerror}).") from error


@app.command("evaluate")
def evaluate_command(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET.jsonl", help="Annotations or training data.")],
    crm: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT,
    split: Annotated[str | None, typer.Option(help="Of annotations: train, dev or all.")] = "dev",
    corpora: Annotated[Path, typer.Option(help="The corpora with the annotated responses.")] = CORPORA,
    references: Annotated[
        bool, typer.Option(help="Beside the judge, the longer answer and the cosine.")
    ] = True,
) -> None:
    """Say how often a judge prefers the side that the criteria prefer."""
    judged = read_labelled_pairs(dataset, corpora, None if split == "all" else split)
    names = dict.fromkeys([crm, *(_REFERENCES if references else ())])
    _print_evaluations([evaluate(get_crm(name), judged) for name in names])


def _print_evaluations(evaluations: list[Evaluation]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("judge", "subset", "n", "accuracy", "95 % interval", "calibration error"):
        table.add_column(heading, justify="left" if heading in ("judge", "subset") else "right")
    for evaluation in evaluations:
        for accuracy in evaluation.accuracies:
            table.add_row(
                evaluation.crm,
                accuracy.subset,
                str(accuracy.n),
                f"{accuracy.value:.3f}",
                f"{accuracy.low:.3f} to {accuracy.high:.3f}",
                f"{evaluation.calibration_error:.3f}" if accuracy.subset == "criteria list" else "",
            )
    Console(soft_wrap=True).print(table)


def main() -> None:
    """Run the command line."""
    run(app, CRMError)


if __name__ == "__main__":
    main()
