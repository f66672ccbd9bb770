"""Does a checklist learnt from past choices foretell other choices, and does it name a style that it should?

Three kinds of people (``_histories``). Each checklist is learnt from some choices and foretells others, on
other queries. Beside it: the longer response, the LLM that was taken more often (Bradley-Terry on the same
choices; nothing but votes), and the CRM without criteria.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._histories import (
    STYLES,
    Taken,
    always,
    annotated_wishes,
    gpt4_turbo,
    longer_taken,
    past_of_taken,
    says_style,
    stronger_taken,
)
from benchmarks._report import Report
from benchmarks._votes import strengths
from crm.command_line import run
from crm.criteria import CriteriaSet
from crm.embedded import EmbeddedCRM, embedded_crm
from crm.errors import CRMError
from crm.machine import machine
from crm.representation import NAME, representation
from db import DatabaseError
from leaderboard.contest import StoredContest
from leaderboard.errors import LeaderboardError
from leaderboard.personal.checklist import ChecklistLine, checklist
from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.history_checklist import n_foretold
from leaderboard.personal.history_lines import weighted_lines
from leaderboard.personal.history_posterior import posterior
from leaderboard.personal.library import criterion_library
from leaderboard.personal.material import Material
from leaderboard.personal.source import material_of
from leaderboard.service import Service

app = typer.Typer(add_completion=False)

SHARED = Path(__file__).resolve().parents[2] / "shared"
ROOM = 100
"""Choices from which on those are foretold that nothing is learnt from."""
_FORETOLD = 200
_FEWEST = 12
_RESAMPLED = 2000


@dataclass(frozen=True, eq=False)
class Field:
    """A benchmark with all that its choices are foretold by."""

    contest: StoredContest
    material: Material
    words: NDArray[np.integer]
    general: NDArray[np.floating]

    @classmethod
    def of(cls, service: Service, slug: str, crm: EmbeddedCRM) -> Field:
        """The benchmark; ``general`` is the CRM's margin without criteria ``[R, Q]``."""
        contest = service.contest(slug)
        stored = contest.representation(NAME)
        features = representation(NAME)
        general = stored["features"].astype(np.float32) @ (crm.direction(CriteriaSet()) * features.step)
        words = stored["style"][..., features.sheet.words]
        return cls(contest, material_of(contest, crm), words, general)


@dataclass(frozen=True)
class Person:
    """Choices to learn from, and choices to foretell."""

    learnt_from: Sequence[Taken]
    foretold: Sequence[Taken]
    assistant: str = ""


WAYS = ("checklist", "posterior's checklist", "longer", "more often taken", "no criteria")


def foretold_by(person: Person, field: Field) -> tuple[list[float], tuple[ChecklistLine, ...]]:
    """Choices foretold in each of the ``WAYS``, and the checklist."""
    before = past_of_taken(person.learnt_from, field.material)
    after = past_of_taken(person.foretold, field.material)
    known = posterior(before.material, before.choices)
    lines = weighted_lines(known, before)
    votes = [Choice(Pair(t.query, t.chosen, t.rejected), Answer.FIRST) for t in person.learnt_from]
    strength = strengths(votes, len(field.contest.llms) + 1)
    general = [field.general[t.chosen, t.query] > field.general[t.rejected, t.query] for t in person.foretold]
    right = [
        n_foretold(lines, after),
        n_foretold(checklist(known, field.material, criterion_library(), ()), after),
        longer_taken(person.foretold, field.words).sum(),
        stronger_taken(person.foretold, strength).sum(),
        sum(general),
    ]
    return [float(count) for count in right], lines


def interval(right: NDArray[np.floating], size: NDArray[np.integer]) -> tuple[float, float, float]:
    """Share foretold with its 95 % interval, by bootstrap over people: percentages."""
    rows = np.random.default_rng(0).integers(len(size), size=(_RESAMPLED, len(size)))
    shares = 100 * right[rows].sum(axis=1) / size[rows].sum(axis=1)
    low, high = np.quantile(shares, [0.025, 0.975])
    return 100 * float(right.sum() / size.sum()), float(low), float(high)


def people(service: Service, crm: EmbeddedCRM, histories: int) -> Iterator[tuple[str, Field, list[Person]]]:
    """Each kind of people with the benchmark that they chose on."""
    daily = Field.of(service, "dailybench", crm)
    for size in (12, 40):
        yield (
            f"always one assistant of seven, {size} choices",
            daily,
            [
                Person(taken[:size], taken[ROOM : ROOM + _FORETOLD], llm)
                for llm in STYLES
                for taken in (always(daily.contest, llm, np.random.default_rng(k)) for k in range(histories))
            ],
        )
    alpaca = Field.of(service, "alpaca-eval", crm)
    preferences = SHARED / "corpora" / "alpaca_eval" / "preferences_gpt4_turbo.parquet"
    for words, what in ((None, ""), (alpaca.words, ", similar length")):
        taken_by = [
            gpt4_turbo(alpaca.contest, preferences, np.random.default_rng(k), words) for k in range(histories)
        ]
        for size in (12, 40, ROOM):
            yield (
                f"GPT-4 Turbo{what}, {size} choices",
                alpaca,
                [Person(taken[:size], taken[ROOM : ROOM + _FORETOLD]) for taken in taken_by],
            )
    wishes = annotated_wishes(alpaca.contest, SHARED / "preferences" / "criteria_annotations.jsonl")
    yield (
        f"annotated wish, {_FEWEST} choices or more",
        alpaca,
        [Person(*parts) for parts in wishes.values() if len(parts[0]) >= _FEWEST and parts[1]],
    )


@app.command()
def main(
    histories: Annotated[
        int, typer.Option(min=2, help="Histories of each assistant, and of GPT-4 Turbo.")
    ] = 20,
    output: Annotated[Path | None, typer.Option(help="Write the table here as Markdown.")] = None,
) -> None:
    """Learn checklists from part of each history, and foretell the rest."""
    service, crm = Service.open(), embedded_crm()
    rows, named = [], {llm: [0, 0] for llm in STYLES}
    for kind, field, some in people(service, crm, histories):
        found = [foretold_by(person, field) for person in some]
        right = np.array([each for each, _ in found])
        size = np.array([len(person.foretold) for person in some])
        shares = [interval(way, size) for way in right.T]
        cells = [f"{share:.1f} ({low:.1f} to {high:.1f})" for share, low, high in shares]
        rows.append((kind, f"{len(some)}", f"{size.sum():,}", *cells))
        for person, (_, lines) in zip(some, found, strict=True):
            if person.assistant:
                named[person.assistant][0] += any(says_style(line, person.assistant) for line in lines[:3])
                named[person.assistant][1] += 1
    styles = ", ".join(f"{llm} {count} of {total}" for llm, (count, total) in named.items())
    Report(
        title="Checklists from past choices",
        columns=("choices of", "people", "foretold", *WAYS),
        rows=tuple(rows),
        note="Percentages of choices foretold, with 95 % intervals by bootstrap over people; guessing "
        "foretells 50. “More often taken” knows which LLM answered. One of the first three lines names the "
        f"assistant's style: {styles}. {machine()}.",
    ).finish(output)
    service.close()


if __name__ == "__main__":
    run(app, CRMError, DatabaseError, LeaderboardError)
