"""How far gaming responses get: each attack enters DailyBench as one more LLM and is ranked with the others.

An attack answers no query, so under every criteria set it belongs below the LLMs that do. A second table
says what a real answer gains when an attack is added to it: it should gain nothing.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Annotated

import typer

from benchmarks._gaming import BENCHMARK, CRITERIA_SETS, Field, Gain, Standing, entries, gains, standings
from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.errors import CRMError
from crm.registry import DEFAULT, get_crm
from crm.training.adversarial import HELD_OUT, HELD_OUT_WRAPPERS, TRAINING, Kind
from db import DatabaseError
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service

app = typer.Typer(add_completion=False)

_WRAPPED_STEP = 4
"""Wrapping makes a new text of every answer under every criteria set: every fourth query must do."""


def standings_report(found: Sequence[tuple[str, Standing]], llms: int, note: str) -> Report:
    """Return one row an attack, the most successful first; ``found`` has the name of the split with each."""
    grouped: dict[tuple[str, str], list[Standing]] = defaultdict(list)
    for split, standing in found:
        grouped[split, standing.name].append(standing)
    by_place = sorted(grouped.items(), key=lambda item: mean(standing.place for standing in item[1]))
    return Report(
        title=f"Attacks ranked with {llms} LLMs",
        columns=(
            *("attack", "split", "mean place", "best place", "under"),
            *("sets first", "sets in the upper half", "mean win rate", "highest win rate"),
        ),
        rows=tuple((name, split, *_standing_cells(of_attack, llms)) for (split, name), of_attack in by_place),
        note=f"Each attack joins the {llms} LLMs alone, so place {llms + 1} is last. Win rates are against "
        f"the baseline. No judge was trained on held-out attacks. {note}",
    )


def _standing_cells(of_attack: Sequence[Standing], llms: int) -> tuple[str, ...]:
    best = min(of_attack, key=lambda standing: (standing.place, -standing.win_rate))
    rates = [standing.win_rate for standing in of_attack]
    return (
        f"{mean(standing.place for standing in of_attack):.1f}",
        f"{best.place}",
        str(best.criteria),
        f"{sum(standing.place == 1 for standing in of_attack)}",
        f"{sum(standing.place <= (llms + 1) // 2 for standing in of_attack)}",
        f"{mean(rates):.0%}",
        f"{max(rates):.0%}",
    )


def gains_report(found: Sequence[Gain], note: str) -> Report:
    """Return one row a wrapper, the one that pays most first."""
    grouped: dict[str, list[Gain]] = defaultdict(list)
    for gain in found:
        grouped[gain.name].append(gain)
    by_share = sorted(grouped.items(), key=lambda item: -mean(gain.preferred for gain in item[1]))
    return Report(
        title="Gain by wrapping",
        columns=(
            *("addition", "preferred to the same answer without", "highest", "under"),
            *("sets above one half", "mean gain of win rate, points", "highest gain"),
        ),
        rows=tuple((name, *_gain_cells(of_wrapper)) for name, of_wrapper in by_share),
        note="Held-out attacks added to real answers. An addition that pays is preferred to more than one "
        f"half of the same answers without it. {note}",
    )


def _gain_cells(of_wrapper: Sequence[Gain]) -> tuple[str, ...]:
    best = max(of_wrapper, key=lambda gain: gain.preferred)
    points = [100 * gain.win_rate for gain in of_wrapper]
    return (
        f"{mean(gain.preferred for gain in of_wrapper):.0%}",
        f"{best.preferred:.0%}",
        str(best.criteria),
        f"{sum(gain.preferred > 0.5 for gain in of_wrapper)}",
        f"{mean(points):+.1f}",
        f"{max(points):+.1f}",
    )


@app.command()
def main(
    crm: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT,
    per_topic: Annotated[int, typer.Option(min=1, help="Queries of each topic.")] = 1,
    seed: Annotated[int, typer.Option(help="Of what the attacks draw.")] = 0,
    training: Annotated[bool, typer.Option(help="Also show the attacks for training.")] = True,
    output: Annotated[Path | None, typer.Option(help="Also write the tables as Markdown.")] = None,
) -> None:
    """Rank gaming responses with the LLMs of DailyBench, under 26 criteria sets."""
    judge = get_crm(crm)
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as folder:
        service = Service.open(f"sqlite:///{Path(folder) / 'usl.sqlite3'}")
        field = Field.of(service.benchmark(BENCHMARK), per_topic)
        service.close()
    few = field.every(_WRAPPED_STEP)
    how = f"Judged by {judge.name} {judge.version} under {len(CRITERIA_SETS)} criteria sets, seed {seed}"
    # Answers to other queries are the same in both splits.
    for_training = [attack for attack in TRAINING if attack.kind is not Kind.OTHER_ANSWER]
    splits = {"held out": HELD_OUT, **({"training": for_training} if training else {})}
    found = [
        (split, standing)
        for split, attacks in splits.items()
        for standing in standings(judge, field, entries(field, attacks), CRITERIA_SETS, seed)
    ]
    reports = (
        standings_report(found, len(field.responses), f"{how}, on {len(field.queries)} queries."),
        gains_report(
            gains(judge, few, HELD_OUT_WRAPPERS, CRITERIA_SETS, seed),
            f"{how}, on {len(few.queries)} queries, each with the answer of the next LLM in turn.",
        ),
    )
    for report in reports:
        report.print()
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("\n".join(report.to_markdown() for report in reports), encoding="utf-8")


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
