"""The tables of the page on judges, as HTML; all names are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from crm.evaluation_metrics import Accuracy
from crm.evaluation_report import JudgeReport
from crm.evaluation_sets import TABLE, Generalization
from crm.evaluation_tables import UNKNOWN, number, percent, signed_points
from leaderboard.judges import DESCRIPTIONS
from leaderboard.pictures.charts import Palette

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

_STYLE = """
<style>
.usl-judges-scroll { overflow-x: auto; }
.usl-judges { border-collapse: separate; border-spacing: 0; width: 100%; font-size: 0.92rem;
  font-variant-numeric: tabular-nums; }
.usl-judges th { font-weight: 500; font-size: 0.78rem; text-align: right; vertical-align: bottom;
  padding: 0.25rem 0.5rem; line-height: 1.2; color: color-mix(in srgb, currentColor 72%, transparent); }
.usl-judges thead tr:last-child th { border-bottom: 1px solid rgba(128,128,128,0.4); }
.usl-judges .usl-group { text-align: left; font-weight: 600; font-size: 0.82rem; padding-top: 0;
  white-space: nowrap; }
.usl-judges td { padding: 0.42rem 0.5rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid rgba(128,128,128,0.16); }
.usl-judges .usl-judge { text-align: left; position: sticky; left: 0; z-index: 1;
  background: var(--usl-page); padding-left: 0; min-width: 8.5rem; }
.usl-judges .usl-judge b { font-weight: 600; }
.usl-judges .usl-judge small { display: block; font-size: 0.76rem; opacity: 0.72; line-height: 1.25;
  white-space: normal; max-width: 13rem; }
.usl-judges .usl-average { font-weight: 600; }
.usl-judges .usl-first { border-left: 0.8rem solid transparent; background-clip: padding-box; }
.usl-judges-hint { display: none; font-size: 0.76rem; opacity: 0.72; margin: 0.3rem 0 0; }
@media (max-width: 640px) {
  .usl-judges { font-size: 0.86rem; }
  .usl-judges .usl-judge { min-width: 5.4rem; max-width: 6.4rem; }
  .usl-judges .usl-judge .usl-about { display: none; }
  .usl-judges-hint { display: block; }
  .usl-judges td, .usl-judges th { padding-left: 0.35rem; padding-right: 0.35rem; }
}
</style>
"""


def accuracy_table(reports: Sequence[JudgeReport], palette: Palette, background: str) -> str:
    """The layout of the paper's Table 2: five sets for new topics, five for new criteria, and averages.

    Args:
        reports: One row each.
        palette: Colours behind what is better and what is worse than chance.
        background: CSS colour of the page, behind the names that stay in place when the table is moved.
    """
    rows = "".join(
        "".join(
            ["<tr>", _judge(report, described=True)]
            + [_kind_cells(report, kind, palette) for kind in TABLE]
            + ["</tr>"]
        )
        for report in reports
    )
    names = (*SET_NAMES, "average", "gap")
    return _table("judges-accuracy", [(KIND_NAMES[kind], names) for kind in TABLE], rows, background)


def property_table(reports: Sequence[JudgeReport], background: str) -> str:
    """Single criteria, calibration, biases, speed and cost."""
    rows = "".join(
        f"<tr>{_judge(report, described=False)}{_property_cells(report)}</tr>" for report in reports
    )
    return _table("judges-properties", _PROPERTY_GROUPS, rows, background)


def duration(seconds: float) -> str:
    """Seconds, or minutes or hours where that reads better."""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004
    minutes = seconds / _MINUTE
    return f"{minutes:.0f} min" if minutes < 2 * _MINUTE else f"{minutes / _MINUTE:.1f} h"


def _table(name: str, groups: Sequence[tuple[str, tuple[str, ...]]], rows: str, background: str) -> str:
    """A table under two rows of headings: groups of columns, and the columns."""
    group_cells = "".join(
        f'<th scope="colgroup" colspan="{len(columns)}" class="usl-group usl-first">{group}</th>'
        for group, columns in groups
    )
    column_cells = "".join(
        f'<th scope="col"{_first(place)}>{column}</th>'
        for _, columns in groups
        for place, column in enumerate(columns)
    )
    return (
        f'{_STYLE}<div class="usl-judges-scroll" style="--usl-page:{escape(background)}">'
        f'<table class="usl-judges" data-testid="{name}"><thead>'
        f'<tr><th class="usl-judge"></th>{group_cells}</tr>'
        f'<tr><th scope="col" class="usl-judge">Judge</th>{column_cells}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
        '<p class="usl-judges-hint">Swipe for more columns →</p>'
    )


def _judge(report: JudgeReport, *, described: bool) -> str:
    """The cell with the judge's name, and what is to be known of it."""
    name = f'<b title="version {escape(report.version)}">{escape(report.judge)}</b>'
    if not described:
        return f'<td class="usl-judge">{name}</td>'
    notes = [f"{report.limit} of each set"] if report.limit else []
    notes += [f"new criteria by {report.stand_in}"] if report.stand_in else []
    about = DESCRIPTIONS.get(report.judge, "")
    return (
        f'<td class="usl-judge">{name}'
        + (f'<small class="usl-about">{escape(about)}</small>' if about else "")
        + "".join(f"<small>{escape(note)}</small>" for note in notes)
        + "</td>"
    )


def _kind_cells(report: JudgeReport, kind: Generalization, palette: Palette) -> str:
    cells = [
        _accuracy_cell(report.accuracies.get(subset), palette, first=place == 0)
        for place, subset in enumerate(TABLE[kind])
    ]
    average = percent(report.average(kind))
    return (
        "".join(cells) + f'<td class="usl-average">{average}</td><td>{signed_points(report.gap(kind))}</td>'
    )


def _accuracy_cell(found: Accuracy | None, palette: Palette, *, first: bool) -> str:
    if found is None:
        return f"<td{_first(0 if first else 1)}>{UNKNOWN}</td>"
    colour = palette.accent if found.value >= _EVEN else palette.down
    tint = _STRONGEST_TINT * min(1.0, 2 * abs(found.value - _EVEN))
    title = f"95 % between {percent(found.low)} and {percent(found.high)}; {found.n} questions"
    return (
        f'<td{_first(0 if first else 1)} title="{title}" style="background-color:'
        f'color-mix(in srgb, {colour} {tint:.0f}%, transparent)">{percent(found.value)}</td>'
    )


def _property_cells(report: JudgeReport) -> str:
    position, cost = report.position, report.speed.cost_per_1000
    singles = [report.accuracies.get(kind) for kind in ("criterion", "keyword", "avoid")]
    length = (
        f'<span title="95 % between {number(report.length.low, signed=True)} and '
        f'{number(report.length.high, signed=True)}">{report.length.correlation:+.2f}</span>'.replace(
            "-", "−"
        )
        if report.length
        else UNKNOWN
    )
    texts = (
        *((percent(found.value if found else None), place == 0) for place, found in enumerate(singles)),
        (number(report.calibration_error), True),
        (percent(position.mean_gap), True),
        (percent(position.flipped), False),
        (percent(position.first_place), False),
        (length, True),
        (duration(report.speed.seconds_per_1000), True),
        (UNKNOWN if cost is None else f"{cost:,.2f}", False),
    )
    return "".join(f"<td{_first(0 if starts else 1)}>{text}</td>" for text, starts in texts)


def _first(place: int) -> str:
    """The first column of a group stands apart from the group before."""
    return ' class="usl-first"' if place == 0 else ""
