"""Is what no text shows left out, and what a reader can see kept? By wishes that nothing was trained on.

A line of ``benchmarks/wishes/scope.tsv`` is a kind, of ``crm.embedded.validity.REASONS`` or judgeable, and
a wish. Those and the ones in ``scope_later.tsv`` were written by two people who saw no wish of the training;
half of the judgeable ones and more are near misses, which have words of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks._report import Report, with_interval
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.model import EmbeddedCRM
from crm.embedded.validity import JUDGEABLE, REASONS
from crm.errors import CRMError
from crm.evaluation.metrics import accuracy
from crm.paths import EMBEDDED_FILE

app = typer.Typer(add_completion=False)

_ALL = "all that cannot be judged"

WISHES = tuple(Path(__file__).with_name("wishes") / f"{name}.tsv" for name in ("scope", "scope_later"))


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
    wishes: Annotated[list[Path] | None, typer.Option(help="Wishes and their kinds; columns each.")] = None,
    weights: Annotated[Path, typer.Option(help="Of the embedded CRM.")] = EMBEDDED_FILE,
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Count what is left out of each kind."""
    crm = EmbeddedCRM.load(weights)
    groups: dict[str, list[list[bool]]] = {}
    files = wishes or WISHES
    for place, file in enumerate(files):
        read = read_wishes_of_kinds(file)
        for wish, out in zip(read, left_out(crm, read), strict=True):
            for group in (wish.kind,) if wish.kind == JUDGEABLE else (wish.kind, _ALL):
                groups.setdefault(group, [[] for _ in files])[place].append(out)
    kinds = [kind for kind in (*REASONS, _ALL, JUDGEABLE) if kind in groups]
    Report(
        title="Wishes that are left out",
        columns=("kind", *(name for file in files for name in (f"{file.stem}.tsv", "left out"))),
        rows=tuple((kind, *_cells(groups[kind])) for kind in kinds),
        note="Each file by a writer who saw nothing of the training. Of judgeable wishes none should be left "
        "out; most of them are near misses. In brackets Wilson's 95 % interval.",
    ).finish(output)


def _cells(of_files: Sequence[Sequence[bool]]) -> Iterator[str]:
    for outs in of_files:
        share = with_interval(accuracy("", list(map(float, outs)))) if outs else "–"
        yield from (str(len(outs)), share)


if __name__ == "__main__":
    run_cli(app, CRMError)
