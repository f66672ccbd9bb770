"""Is what people type read as it was meant? Concept and direction of wishes that nothing was trained on.

    python -m benchmarks.wish_readings [--readings FILE.tsv] [--classifier FILE.npz] [--output FILE.md]

A line of ``benchmarks/wishes/readings.tsv`` is a concept (or none), a sign, a wish and how it is worded. They
were written by somebody who saw no wish of the training, only the names of the concepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks._report import Report, with_interval
from crm.cli_runner import run_cli
from crm.criteria import Criterion
from crm.embedded.concepts import ConceptClassifier
from crm.errors import CRMError
from crm.evaluation.metrics import accuracy
from crm.paths import CONCEPTS_FILE

app = typer.Typer(add_completion=False)

READINGS = Path(__file__).with_name("wishes") / "readings.tsv"
NONE = "none"
_READ = 0.5
"""From this probability of all concepts together on, a wish is read as one of them."""


@dataclass(frozen=True)
class MeantWish:
    """A wish and what was meant by it.

    Attributes:
        concept: None where it names no concept.
        kind: How it is worded.
    """

    concept: str | None
    more: bool
    text: str
    kind: str


def read_meant_wishes(path: Path) -> list[MeantWish]:
    """Read a file of wishes; a CRMError names the first row that is not as described."""
    wishes = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        fields = line.split("\t")
        if len(fields) != 4 or fields[1] not in {"+", "-"}:
            raise CRMError(
                f"{path.name}, row {number}: write concept, sign, wish and kind, with tabs between."
            )
        concept, sign, text, kind = fields
        wishes.append(MeantWish(None if concept == NONE else concept, sign == "+", text, kind))
    return wishes


def outcomes(
    classifier: ConceptClassifier, wishes: Sequence[MeantWish]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which wishes were read exactly as meant, and which the other way round, each ``[N]``."""
    prob = classifier.read_many([Criterion(wish.text) for wish in wishes]).prob
    read = np.where(prob.sum(axis=1) > _READ, prob.argmax(axis=1), -1)
    names = list(classifier.names)
    meant = np.array(
        [-1 if wish.concept is None else 2 * names.index(wish.concept) + (not wish.more) for wish in wishes]
    )
    exact = read == meant
    return exact, ~exact & (read >= 0) & (meant >= 0) & (read // 2 == meant // 2)


@app.command()
def measure(
    readings: Annotated[Path, typer.Option(help="Wishes and what was meant.")] = READINGS,
    classifier: Annotated[Path, typer.Option(help="The classifier of concepts.")] = CONCEPTS_FILE,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    wishes = read_meant_wishes(readings)
    exact, reversed_ = outcomes(ConceptClassifier.load(classifier), wishes)
    kinds = list(dict.fromkeys(wish.kind for wish in wishes))
    rows = []
    for kind in kinds:
        inside = np.array([wish.kind == kind for wish in wishes])
        found = accuracy("", exact[inside].astype(float).tolist())
        rows.append(
            (
                *(kind, f"{inside.sum()}", with_interval(found)),
                f"{reversed_[inside].mean():.1%}",
            )
        )
    Report(
        title="Wishes read as they were meant",
        columns=("wording", "wishes", "concept and direction", "right concept, wrong direction"),
        rows=tuple(rows),
        note=(
            f"Wishes of {readings.name}, by a writer who saw none of the training; a neighbouring concept is "
            "wrong, such as “concise” for fewer words. Wilson's 95 % intervals."
        ),
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError)
