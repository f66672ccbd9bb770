"""Are numbers in wishes read as the limits that they are, and others as none?

    python -m benchmarks.limit_readings [--wishes FILE.tsv] [--output FILE.md]

A line of ``benchmarks/wishes/limits.tsv`` is how a wish is worded, the wish, the least and the most that is
wished in it. Nothing was trained on them, and those who wrote them saw nothing of the training; a look at
what was read wrong led to turns of phrase in three more languages and to ordinals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks._report import Report, with_interval
from crm.cli_runner import run_cli
from crm.embedded.limits import Limit, read_limit
from crm.errors import CRMError
from crm.evaluation.metrics import accuracy

app = typer.Typer(add_completion=False)

WISHES = Path(__file__).with_name("wishes") / "limits.tsv"
_NEAR = 0.15
"""An amount is right that is off by no more than this share, or by one."""


def read_limited_wishes(path: Path) -> list[tuple[str, str, Limit | None]]:
    """Read how wishes are worded, the wishes and what limit was meant by each.

    Raises:
        CRMError: A row that is not as described.
    """
    wishes = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            kind, text, *ends = line.split("\t")
            low, high = (None if end == "-" else float(end) for end in ends)
        except ValueError:
            raise CRMError(
                f"{path.name}, row {number}: write kind, wish, least and most amount, with tabs between."
            ) from None
        wishes.append((kind, text, None if low is None and high is None else Limit(low, high)))
    return wishes


def is_on_the_same_side(read: Limit | None, meant: Limit | None) -> bool:
    """Return whether both limit from below, from above, from both sides or not at all."""
    return _ends(read) == _ends(meant)


def is_the_same(read: Limit | None, meant: Limit | None) -> bool:
    """Return whether they are also about the same amounts."""
    if not is_on_the_same_side(read, meant) or read is None or meant is None:
        return read is meant
    pairs = [(one, other) for one, other in zip((read.low, read.high), (meant.low, meant.high), strict=True)]
    return all(
        one is None or other is None or abs(one - other) <= max(1.0, _NEAR * other) for one, other in pairs
    )


def _ends(limit: Limit | None) -> tuple[bool, bool]:
    return (False, False) if limit is None else (limit.low is not None, limit.high is not None)


@app.command()
def measure(
    wishes: Annotated[Path, typer.Option(help="Wishes and what was meant.")] = WISHES,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    listed = read_limited_wishes(wishes)
    kinds = [kind for kind, *_ in listed]
    read = [(read_limit(text), meant) for _, text, meant in listed]
    sides, amounts = (
        np.array([right(*each) for each in read]) for right in (is_on_the_same_side, is_the_same)
    )
    rows = []
    for kind in dict.fromkeys(kinds):
        inside = np.array(kinds) == kind
        found = accuracy("", sides[inside].astype(float).tolist())
        rows.append(
            (
                *(kind, f"{inside.sum()}", with_interval(found)),
                f"{amounts[inside].mean():.1%}",
            )
        )
    Report(
        title="Numbers in wishes, read as limits",
        columns=("the wish has", "wishes", "from above, from below, both or none", "and the amount"),
        rows=tuple(rows),
        note=f"Wishes of {wishes.name}; an amount is right that is off by at most one or {_NEAR:.0%}. "
        "Wilson's 95 % intervals.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError)
