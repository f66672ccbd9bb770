"""HTML tables of the page on judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crm.evaluation.metrics import Accuracy
from crm.evaluation.report import UNKNOWN, JudgeReport, number, percent, signed_points
from crm.evaluation.sets import TABLE, Generalization
from leaderboard.judges import DESCRIPTIONS
from leaderboard.render.chart_style import Palette
from leaderboard.render.html import render, with_minus

SET_NAMES = ("favoured side", "other side", "removed", "added", "replaced")
"""The five sets of a kind in the order of ``TABLE``."""
KIND_NAMES: dict[Generalization, str] = {"topic": "New topics", "criterion": "New criteria"}

_PROPERTY_GROUPS = (
    ("Single criteria, %", ("all", "keyword", "avoid")),
    ("Calibration", ("error",)),
    ("When A and B change places", ("shift, points", "flipped, %", "first wins, %")),
    ("Length", ("bias",)),
    ("1,000 pairs", ("time", "cost")),
)
_STRONGEST_TINT = 46
"""Percentage of the colour behind an accuracy of 0 or 100 %; none at 50 %."""
_EVEN = 0.5
_MINUTE = 60
_HELD_OUT = "on new criteria: trained without them"


@dataclass
class _Cell:
    """A cell as it is shown; the kind is “first”, which stands apart from the group before, or “average”."""

    text: str
    kind: str = ""
    title: str = ""
    colour: str = ""
    tint: str = ""


_Row = tuple[JudgeReport, Sequence[str], Sequence[_Cell]]


def accuracy_table(reports: Sequence[JudgeReport], palette: Palette, background: str) -> str:
    """Return the paper's Table 2: five sets for new topics, five for new criteria, and averages.

    Args:
        background: CSS colour of the page, behind the names that stay in place when the table is moved.
    """
    rows: list[_Row] = [
        (report, _notes(report), [cell for kind in TABLE for cell in _kind_cells(report, kind, palette)])
        for report in reports
    ]
    names = (*SET_NAMES, "average", "gap")
    groups = [(KIND_NAMES[kind], names) for kind in TABLE]
    return _table("judges-accuracy", groups, rows, background, descriptions=DESCRIPTIONS)


def property_table(reports: Sequence[JudgeReport], background: str) -> str:
    """Return single criteria, calibration, biases, speed and cost."""
    rows: list[_Row] = [(report, [], _property_cells(report)) for report in reports]
    return _table("judges-properties", _PROPERTY_GROUPS, rows, background)


def duration(seconds: float) -> str:
    """Return seconds, or minutes or hours where that reads better."""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004
    minutes = seconds / _MINUTE
    return f"{minutes:.0f} min" if minutes < 2 * _MINUTE else f"{minutes / _MINUTE:.1f} h"


_LABELS = {"judges-accuracy": "Share of right verdicts", "judges-properties": "Calibration, biases, speed"}
"""What screen readers call each table."""


def _table(
    name: str,
    groups: Sequence[tuple[str, tuple[str, ...]]],
    rows: Sequence[_Row],
    background: str,
    descriptions: dict[str, str] | None = None,
) -> str:
    described = {report.judge: (descriptions or {}).get(report.judge, "") for report, _, _ in rows}
    return render(
        "judges",
        name=name,
        label=_LABELS[name],
        groups=groups,
        rows=rows,
        background=background,
        descriptions=described,
    )


def _notes(report: JudgeReport) -> list[str]:
    notes = [f"{report.limit} of each set"] if report.limit else []
    return [*notes, _HELD_OUT] if report.held_out_judge else notes


def _kind_cells(report: JudgeReport, kind: Generalization, palette: Palette) -> list[_Cell]:
    cells = [_accuracy_cell(report.accuracies.get(subset), palette) for subset in TABLE[kind]]
    cells[0].kind = "first"
    average, gap = percent(report.average(kind)), signed_points(report.gap(kind))
    return [*cells, _Cell(average, kind="average"), _Cell(gap)]


def _accuracy_cell(found: Accuracy | None, palette: Palette) -> _Cell:
    if found is None:
        return _Cell(UNKNOWN)
    return _Cell(
        percent(found.value),
        title=f"95 % between {percent(found.low)} and {percent(found.high)}; {found.n} questions",
        colour=palette.accent if found.value >= _EVEN else palette.down,
        tint=f"{_STRONGEST_TINT * min(1.0, 2 * abs(found.value - _EVEN)):.0f}",
    )


def _property_cells(report: JudgeReport) -> list[_Cell]:
    position, length, cost = report.position, report.length, report.speed.cost_per_1000
    singles = [report.accuracies.get(kind) for kind in ("criterion", "keyword", "avoid")]
    bias = _Cell(UNKNOWN)
    if length:
        low, high = number(length.low, signed=True), number(length.high, signed=True)
        bias = _Cell(with_minus(f"{length.correlation:+.2f}"), title=f"95 % between {low} and {high}")
    groups = (
        [_Cell(percent(found.value if found else None)) for found in singles],
        [_Cell(number(report.calibration_error))],
        [_Cell(percent(share)) for share in (position.mean_gap, position.flipped, position.first_place)],
        [bias],
        [_Cell(duration(report.speed.seconds_per_1000)), _Cell(UNKNOWN if cost is None else f"{cost:,.2f}")],
    )
    for group in groups:
        group[0].kind = "first"
    return [cell for group in groups for cell in group]
