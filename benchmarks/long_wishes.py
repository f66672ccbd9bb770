"""Is what people type at length read part by part, and what no text shows left out?

    python -m benchmarks.long_wishes [--wishes FILE.tsv] [--crm NAME] [--output FILE.md]

A line of ``benchmarks/wishes/long.tsv`` is a writer, a wish and what is meant: parts with “; ” between,
each a list of signed concepts by which it is understood, or “unjudgeable”. Three LLM writers that saw
neither the judge nor each other's wishes wrote them as many people would type; another read them. Most wishes
say several things, or one with its reason, limit, condition or contrast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.concepts import concept_classifier
from crm.errors import CRMError
from crm.protocol import ChecksCriteria
from crm.registry import get_crm

app = typer.Typer(add_completion=False)

WISHES = Path(__file__).with_name("wishes") / "long.tsv"
UNJUDGEABLE, UNNAMED = "unjudgeable", "?"
READ, PARTLY, UNREAD, CONTRARY, LEFT_OUT = "all parts", "some", "none", "contrary", "left out"
_READ = 0.25
"""From this strength on a concept is read as asked for."""


@dataclass(frozen=True)
class LongWish:
    """A wish and what is meant.

    Attributes:
        writer: Who wrote it.
        parts: Of each what it may be read as: concepts, and whether more of them is meant. A part that no
            concept names is left out.
        judgeable: Whether a text shows it.
    """

    writer: str
    text: str
    parts: tuple[frozenset[tuple[str, bool]], ...]
    judgeable: bool


def read_long_wishes(path: Path) -> list[LongWish]:
    """Read a file of wishes; a CRMError names the first row that is not as described."""
    wishes = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            writer, text, meant = line.split("\t")
            judgeable = meant != UNJUDGEABLE
            named = [part for part in meant.split("; ") if part != UNNAMED] if judgeable else []
            parts = tuple(frozenset(_signed(each) for each in part.split("|")) for part in named)
        except ValueError as error:
            raise CRMError(
                f"{path.name}, row {number}: write writer, wish and what is meant, with tabs between."
            ) from error
        wishes.append(LongWish(writer, text, parts, judgeable))
    return wishes


def _signed(named: str) -> tuple[str, bool]:
    if named[:1] not in {"+", "-"}:
        raise ValueError(named)
    return named[1:], named[0] == "+"


def outcome(wish: LongWish, wanted: dict[str, float], *, left_out: bool) -> str:
    """Return how a wish was read.

    Args:
        wanted: More of each concept less less of it, from −1 to 1.
        left_out: Whether the judge says that it cannot judge it.
    """
    if left_out:
        return LEFT_OUT
    heard = [any(wanted[name] * (1 if more else -1) > _READ for name, more in part) for part in wish.parts]
    turned = [any(wanted[name] * (-1 if more else 1) > _READ for name, more in part) for part in wish.parts]
    if any(is_turned and not is_heard for is_heard, is_turned in zip(heard, turned, strict=True)):
        return CONTRARY
    return READ if heard and all(heard) else PARTLY if any(heard) else UNREAD


def outcomes(wishes: Sequence[LongWish], crm: str = "embedded") -> list[str]:
    """Return how each wish was read, in the words of a judge's warnings and of its concepts."""
    judge, classifier = get_crm(crm), concept_classifier()
    found = []
    for wish in wishes:
        criteria = CriteriaSet.of([wish.text])
        wanted = classifier.read(criteria.criteria).wanted[0]
        warned = isinstance(judge, ChecksCriteria) and bool(judge.warnings(criteria))
        found.append(
            outcome(wish, dict(zip(classifier.names, wanted.tolist(), strict=True)), left_out=warned)
        )
    return found


@app.command()
def measure(
    wishes: Annotated[Path, typer.Option(help="Wishes and what is meant.")] = WISHES,
    crm: Annotated[str, typer.Option(help="Judge whose warnings are taken.")] = "embedded",
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    given = [wish for wish in read_long_wishes(wishes) if wish.parts or not wish.judgeable]
    found = np.array(outcomes(given, crm))
    rows = []
    for writer in [*dict.fromkeys(wish.writer for wish in given), "all"]:
        of_writer = np.array([writer in (wish.writer, "all") for wish in given])
        judgeable = of_writer & np.array([wish.judgeable for wish in given])
        others = of_writer & ~judgeable
        shares = [
            f"{np.mean(found[judgeable] == each):.0%}" for each in (READ, PARTLY, UNREAD, CONTRARY, LEFT_OUT)
        ]
        flagged = int(np.sum(found[others] == LEFT_OUT))
        rows.append((writer, f"{judgeable.sum()}", *shares, f"{flagged} of {others.sum()}"))
    Report(
        title="Long wishes, part by part",
        columns=("writer", "wishes", READ, PARTLY, UNREAD, CONTRARY, LEFT_OUT, "unjudgeable left out"),
        rows=tuple(rows),
        note=(
            f"Wishes of {wishes.name}; a part is read where one of the concepts that may stand for it is "
            f"wanted with a strength above {_READ}, contrary where only the opposite of one is. Wishes of "
            "which no part has a concept are not counted."
        ),
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError)
