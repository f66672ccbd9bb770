"""``python -m crm doctor``: what a judge is shown, how it answers plain pairs, and what looks wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from crm.doctor.complaints import complaints
from crm.doctor.examination import Examination, Verdicts, examine
from crm.protocol import Workings
from crm.registry import get_crm
from crm.report_table import describe_machine

_MEGABYTE = 1e6
_WRONG = 1


def doctor_command(name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the judge.")]) -> None:
    """Say what looks wrong with a judge; the exit code is 1 where something does."""
    judge = get_crm(name)
    found = examine(judge)
    typer.echo(f"{found.name}, version {found.version}")
    for heading, said in (*_of_model(found, judge.representation), *_of_answers(found)):
        typer.echo(f"{heading:<14}{said}")
    for number, prompt in enumerate(found.workings.prompts if found.workings else (), start=1):
        typer.echo(f"\n--- prompt {number}, to the character ---\n{prompt.text}\n--- end ---")
    wrong = complaints(found)
    typer.echo("\nWhat looks wrong:" if wrong else "\nNothing looks wrong.")
    for said in wrong:
        typer.echo(f"- {' '.join(said.split())}")
    if wrong:
        raise typer.Exit(_WRONG)


def _of_model(found: Examination, representation: str | None) -> Iterator[tuple[str, str]]:
    """Yield what is known of the model, heading by heading."""
    if found.workings is not None:
        yield from _of_workings(found.workings)
    elif representation is not None:
        yield "Prompt", f"none: of texts it makes the features of “{representation}”, which benchmarks store"
        yield "Labels", "none: log-odds that A is preferred"
    elif not found.trouble:
        yield "Prompt", "none: it reads the texts themselves"
    if found.loading is not None:
        yield "First verdict", f"after {found.loading:.1f} s, loading included"


def _of_workings(workings: Workings) -> Iterator[tuple[str, str]]:
    counted = [f"{prompt.tokens}" for prompt in workings.prompts if prompt.tokens is not None]
    window = "no limit known here" if workings.window is None else f"at most {workings.window}"
    yield "Template", workings.template
    yield "Tokens", f"{' and '.join(counted) or 'not counted here'}, {window}"
    yield "Labels", workings.labels
    yield "Pooling", workings.pooling


def _of_answers(found: Examination) -> Iterator[tuple[str, str]]:
    """Yield what was measured, heading by heading."""
    if found.verdicts is not None:
        yield from _of_verdicts(found.verdicts, found.own_gap)
    peak, more = (bytes_ / _MEGABYTE for bytes_ in found.memory)
    weights = found.workings.weights if found.workings else None
    held = f", weights {weights / _MEGABYTE:,.0f} MB" if weights is not None else ""
    gpu = f", GPU {found.gpu / _MEGABYTE:,.0f} MB" if found.gpu else ""
    yield "Memory", f"{peak:,.0f} MB at most in this process, {more:,.0f} MB of it for the judge{held}{gpu}"
    yield "Machine", describe_machine()


def _of_verdicts(verdicts: Verdicts, own_gap: float | None) -> Iterator[tuple[str, str]]:
    position, n = verdicts.position, len(verdicts.prob)
    both_orders = "" if own_gap is None else f"; {own_gap:.3f} in the model's own answers, which are averaged"
    yield "Plain pairs", f"agrees with {verdicts.agreed:g} of {n}"
    yield "Probabilities", f"{min(verdicts.prob):.3f} to {max(verdicts.prob):.3f}"
    turned = f"{position.flipped:.0%} of verdicts turned"
    yield "Order gap", f"{position.mean_gap:.3f} on average of {n} pairs, {turned}{both_orders}"
    yield "Speed", f"{1000 * verdicts.seconds:.1f} ms a pair of texts, {1 / verdicts.seconds:,.0f} a second"
