"""Is what no text shows left out, and what a reader can see kept? By wishes that nothing was trained on.

A line of ``benchmarks/wishes/scope.tsv`` is a kind, of ``crm.embedded.validity.REASONS`` or judgeable, and
a wish. They were written by somebody who saw no wish of the training; half of the judgeable ones are near
misses, which have words of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks._report import Report
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.model import EmbeddedCRM
from crm.embedded.validity import JUDGEABLE, REASONS
from crm.errors import CRMError
from crm.paths import EMBEDDED_FILE

app = typer.Typer(add_completion=False)

WISHES = Path(__file__).with_name("wishes") / "scope.tsv"


@dataclass(frozen=True)
class WishOfKind:
    """A wish, and whether and why it cannot be judged."""

    kind: str
    text: str


def read_wishes_of_kinds(path: Path) -> list[WishOfKind]:
    """Read a file of wishes; a CRMError names the first row that is not as described."""
    wishes = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        kind, tab, text = line.partition("\t")
        if kind not in (*REASONS, JUDGEABLE) or not tab or not text.strip():
            raise CRMError(f"{path.name}, row {number}: write a kind and a wish, with a tab between.")
        wishes.append(WishOfKind(kind, text))
    return wishes


def left_out(crm: EmbeddedCRM, wishes: Sequence[WishOfKind]) -> list[bool]:
    """Return which wishes the judge would leave out."""
    return [bool(crm.warnings(CriteriaSet.of([wish.text]))) for wish in wishes]


@app.command()
def main(
    wishes: Annotated[Path, typer.Option(help="Wishes and their kinds.")] = WISHES,
    weights: Annotated[Path, typer.Option(help="Of the embedded CRM.")] = EMBEDDED_FILE,
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Count what is left out of each kind."""
    read = read_wishes_of_kinds(wishes)
    found = left_out(EmbeddedCRM.load(weights), read)
    groups: dict[str, list[bool]] = {}
    for wish, out in zip(read, found, strict=True):
        groups.setdefault(wish.kind, []).append(out)
    beyond = [out for kind, group in groups.items() if kind != JUDGEABLE for out in group]
    groups["all that cannot be judged"] = beyond
    Report(
        title="Wishes that are left out",
        columns=("kind", "wishes", "left out"),
        rows=tuple(
            (kind, str(len(group)), f"{100 * sum(group) / len(group):.0f} %")
            for kind, group in groups.items()
            if group
        ),
        note="By a writer who saw nothing of the training. Of judgeable wishes none should be left out.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError)
