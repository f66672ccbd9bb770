"""``python -m crm``: score pairs, evaluate judges, say what is wrong with one, train them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from crm.cli_runner import run_cli
from crm.data.conversations import Turns
from crm.data.fetching import corpora_command
from crm.data.pairs import LabelledPair, read_pairs
from crm.doctor.command import doctor_command
from crm.errors import CRMError
from crm.evaluation import commands as evaluation_commands
from crm.evaluation import making_sets
from crm.protocol import Verdict
from crm.registry import DEFAULT, get_crm
from crm.training.cli import app as train_app
from parsing.messages import quantity

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Judge pairs of responses by criteria.")
app.add_typer(train_app, name="train")


@app.command()
def score(
    source: Annotated[Path, typer.Argument(metavar="IN.jsonl", help="Pairs to judge.")],
    target: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="Where the verdicts go.")],
    crm: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT,
    turns: evaluation_commands.TurnsOption = Turns.ALL,
) -> None:
    """Judge the pairs of a JSON Lines file, in its order."""
    judge = get_crm(crm)
    judged = read_pairs(source, turns)
    _check_writable(target)
    verdicts = judge.judge([item.question for item in judged])
    _write_verdicts(target, judged, verdicts)
    typer.echo(f"{quantity(len(judged), 'pair')} judged by {crm}.", err=True)


def _check_writable(target: Path) -> None:
    """Complain before the judging, which may take long, rather than after it."""
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise CRMError(f"{target} cannot be written: name a file in a folder that exists.")


def _write_verdicts(target: Path, judged: list[LabelledPair], verdicts: list[Verdict]) -> None:
    """Write all verdicts or none."""
    unfinished = target.with_name(f"{target.name}.part")
    try:
        with unfinished.open("w", encoding="utf-8") as lines:
            for item, verdict in zip(judged, verdicts, strict=True):
                line = {"id": item.id, "prob_a": verdict.prob_a, "per_criterion": list(verdict.per_criterion)}
                lines.write(json.dumps(line) + "\n")
        unfinished.replace(target)
    except OSError as error:
        raise CRMError(f"{target} cannot be written ({error.strerror}).") from error


app.command("corpora")(corpora_command)
app.command("doctor")(doctor_command)
evaluation_commands.register(app)
making_sets.register(app)


def main() -> None:
    """Run the command line."""
    run_cli(app, CRMError)
