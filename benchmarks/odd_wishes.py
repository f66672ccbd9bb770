"""Does the judge prefer what somebody means who words it oddly? Complaints, likenesses, images, limits.

    python -m benchmarks.odd_wishes [--wishes FILE.tsv] [--limits FILE.tsv] [--crm NAME] [--output FILE.md]

A line of ``benchmarks/wishes/odd.tsv``, or of ``odd_later.tsv`` by another writer, is how a wish is worded,
the wish, how much of it no concept says, and what its writer means by it: concepts, each from −3 to 3. A line
of ``limits_and_more.tsv`` is a wish with an amount and something else, what is counted, the least and the
most, and the concepts of the other half; ``-`` where that is only a reason, ``?`` where no text shows it.
Nothing was trained on them; their writers knew the names of the concepts and nothing of the project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks._report import Report, with_interval
from benchmarks.limit_readings import is_the_same
from crm import registry
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet, Criterion
from crm.embedded.beside_limits import limits_and_rest
from crm.embedded.concepts import concept_names
from crm.embedded.counts import count_names
from crm.embedded.limits import Limit
from crm.embedded.model import EmbeddedCRM
from crm.errors import CRMError
from crm.evaluation.metrics import accuracy
from crm.protocol import Floats
from crm.training.mixtures import preferred_as_asked

app = typer.Typer(add_completion=False)

WISHES = Path(__file__).with_name("wishes") / "odd.tsv"
LIMITS = WISHES.with_name("limits_and_more.tsv")
REASON, UNSEEN = "-", "?"
_LINE = re.compile(r"([^\t]+)\t([^\t]+)\t[0-3]\t([a-z_]+:-?[123](?: [a-z_]+:-?[123])*)")
_PLAINLY = 0.3
"""From this correlation on, a wish is read about as it was meant."""


@dataclass(frozen=True)
class OddWish:
    """A wish and what its writer means by it.

    Attributes:
        kind: How it is worded.
        weights: By concept, from −3 to 3; none where it wishes nothing that a text shows.
    """

    kind: str
    text: str
    weights: Mapping[str, float]


@dataclass(frozen=True)
class LimitAndMore:
    """A wish with an amount of what is counted, and what else is wished."""

    count: str
    limit: Limit
    more: OddWish


def read_odd_wishes(path: Path) -> list[OddWish]:
    """Read a file of wishes; a CRMError names the first row that is not as described."""
    wishes = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not (found := _LINE.fullmatch(line)):
            raise CRMError(
                f"{path.name}, row {number}: write kind, wish, what is unsaid (0 to 3) and concept:weight …, "
                "with tabs between."
            )
        wishes.append(OddWish(found[1], found[2], _weights(found[3])))
    return wishes


def read_limits_and_more(path: Path) -> list[LimitAndMore]:
    """Read a file of wishes with limits; a CRMError names the first row that is not as described."""
    wishes = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            text, count, least, most, more = line.split("\t")
            low, high = (None if end == "-" else float(end) for end in (least, most))
            weights = {} if more in {REASON, UNSEEN} else _weights(more)
        except ValueError:
            raise CRMError(
                f"{path.name}, row {number}: write wish, count, least, most and concept:weight …, with tabs "
                "between."
            ) from None
        kind = more if more in {REASON, UNSEEN} else "wish"
        wishes.append(LimitAndMore(count, Limit(low, high), OddWish(kind, text, weights)))
    return wishes


def _weights(said: str) -> dict[str, float]:
    return {concept: float(weight) for concept, weight in (each.split(":") for each in said.split())}


def likenesses(prefers: Floats, margins: Floats, wishes: Sequence[OddWish]) -> Floats:
    """Return the correlation of what a judge prefers of P pairs with what each of N wishes means ``[N]``.

    Args:
        prefers: Margins under each wish ``[P, N]``.
        margins: What more of each concept prefers ``[P, K]``.
    """
    column = {name: place for place, name in enumerate(concept_names())}
    meant = np.zeros((len(wishes), margins.shape[1]), dtype=np.float32)
    for row, wish in enumerate(wishes):
        for concept, weight in wish.weights.items():
            meant[row, column[concept]] = weight
    return preferred_as_asked(prefers, margins, meant)


@app.command()
def measure(
    wishes: Annotated[Path, typer.Option(help="Wishes and what was meant.")] = WISHES,
    limits: Annotated[Path, typer.Option(help="Wishes with a limit and something else.")] = LIMITS,
    crm: Annotated[str, typer.Option(help="An embedded judge.")] = registry.DEFAULT,
    output: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Print the table."""
    judge = registry.get_crm(crm)
    if not isinstance(judge, EmbeddedCRM):
        raise CRMError(f"“{crm}” reads no concepts: name an embedded judge.")
    listed, limited = read_odd_wishes(wishes), read_limits_and_more(limits)
    rows = _rows(judge, listed)
    both = [each.more for each in limited if each.more.weights]
    rest = [
        OddWish("a limit and something else: the latter", _rest(each.text), each.weights) for each in both
    ]
    rows += _rows(judge, rest)
    amounts = [_read_limit(judge, each) for each in limited]
    Report(
        title="Odd wishes, preferred as they were meant",
        columns=(
            "wording",
            "wishes",
            "correlation, mean",
            "about as meant",
            "the wrong way round",
            "left out",
            "the wrong way round of the others",
        ),
        rows=(
            *rows,
            ("a limit and something else: the limit", f"{len(amounts)}", "", _share(amounts), "", "", ""),
        ),
        note=(
            f"Wishes of {wishes.name} and {limits.name}. What the judge prefers of ordinary pairs of "
            "responses is correlated with what the concepts that the writer named prefer of them; about as "
            f"meant from {_PLAINLY:g} on, the wrong way round below 0. Left out is what the judge says it "
            "cannot judge. A limit is right that is of the same count "
            f"and off by at most one or 15 %. Judge: {judge.name} {judge.version}. Wilson's 95 % intervals."
        ),
    ).finish(output)


def _rows(judge: EmbeddedCRM, wishes: Sequence[OddWish]) -> list[tuple[str, ...]]:
    margins = judge.concept_margins()
    prefers = np.concatenate(
        [judge.ordinary_margins(CriteriaSet((Criterion(wish.text),))) for wish in wishes], axis=1
    )
    found = likenesses(prefers, margins, wishes)
    left_out = np.array([bool(judge.warnings(CriteriaSet((Criterion(wish.text),)))) for wish in wishes])
    rows: list[tuple[str, ...]] = []
    for kind in dict.fromkeys(wish.kind for wish in wishes):
        is_of_kind = np.array([wish.kind == kind for wish in wishes])
        of_kind, others = found[is_of_kind], found[is_of_kind & ~left_out]
        shares = [_share(each.tolist()) for each in (of_kind >= _PLAINLY, of_kind < 0)]
        shares += [_share(each.tolist()) for each in (left_out[is_of_kind], others < 0)]
        rows.append((kind, f"{len(of_kind)}", f"{of_kind.mean():.2f}", *shares))
    return rows


def _rest(text: str) -> str:
    """Return what a wish asks for besides its limit, which ordinary pairs would differ in as well; the whole
    where that was not found."""
    parts = limits_and_rest(text)
    return text if parts is None or not parts.rest else parts.rest


def _read_limit(judge: EmbeddedCRM, wish: LimitAndMore) -> bool:
    """Return whether the limit was read, of the right count."""
    read = judge.limits(CriteriaSet((Criterion(wish.more.text),)))
    return is_the_same(read.get(count_names().index(wish.count)), wish.limit)


def _share(right: Sequence[bool]) -> str:
    return with_interval(accuracy("", [float(each) for each in right]))


if __name__ == "__main__":
    run_cli(app, CRMError)
