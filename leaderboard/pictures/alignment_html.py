"""Grades of LLMs under each criterion as an HTML heatmap; all texts are escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Criterion
from leaderboard.alignment import BEST_GRADE, Alignment
from leaderboard.pictures.charts import Palette

_STYLE = """
<style>
.usl-grades-scroll { overflow: auto; max-height: 42rem; }
.usl-grades { border-collapse: separate; border-spacing: 0; font-size: 0.9rem; width: 100%;
  font-variant-numeric: tabular-nums; }
.usl-grades th, .usl-grades td { border: none; padding: 0.3rem 0.6rem; text-align: center;
  border-bottom: 1px solid rgba(128,128,128,0.16); }
.usl-grades thead th { position: sticky; top: 0; z-index: 2; font-weight: 500; font-size: 0.82rem;
  line-height: 1.2; vertical-align: bottom; min-width: 5.5rem; max-width: 11rem;
  border-bottom: 1px solid rgba(128,128,128,0.4); background: var(--usl-background); }
.usl-grades thead small { display: block; opacity: 0.7; font-size: 0.72rem; }
.usl-grades tbody th { position: sticky; left: 0; z-index: 1; text-align: left; font-weight: 500;
  background: var(--usl-background); min-width: 8rem; }
.usl-grades thead th:first-child { left: 0; z-index: 3; text-align: left; }
.usl-grades td { background: color-mix(in srgb, var(--usl-tone) var(--usl-tint), transparent); }
.usl-grades td:nth-child(2) { font-weight: 600; }
@media (max-width: 640px) {
  .usl-grades { font-size: 0.82rem; }
  .usl-grades th, .usl-grades td { padding: 0.3rem 0.25rem; }
  .usl-grades thead th { min-width: 4.6rem; }
  .usl-grades tbody th { min-width: 6rem; max-width: 8rem; }
}
</style>
"""
_STRONGEST = 48
"""Percentage of the colour behind the best and the worst grade; the baseline's has none."""
_BASELINE = BEST_GRADE / 2


def grades_table(
    found: Alignment, order: Sequence[str], titles: Mapping[str, str], palette: Palette, background: str
) -> str:
    """One row an LLM, one column a criterion, PrefAlign first; grades go from 0 to 5.

    Args:
        found: What to show.
        order: LLMs in the order of the rows; those that have no grades are left out.
        titles: What LLMs are shown as.
        palette: Colours of what is better and what is worse than the baseline.
        background: CSS colour of the page, behind the names that stay in place.
    """
    heading = "".join(map(_heading, found.criteria))
    place_of = {llm: row for row, llm in enumerate(found.llms) if not np.isnan(found.pref_align[row])}
    rows = "".join(
        f'<tr data-llm="{escape(llm)}"><th scope="row">{escape(titles[llm])}</th>'
        f"{_cells(found.pref_align[place_of[llm]], found.grades[place_of[llm]], palette)}</tr>"
        for llm in order
        if llm in place_of
    )
    return (
        f'{_STYLE}<div class="usl-grades-scroll" tabindex="0" style="--usl-background:{escape(background)}">'
        '<table class="usl-grades" data-testid="grades"><thead><tr><th scope="col">LLM</th>'
        f'<th scope="col">All together</th>{heading}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _heading(criterion: Criterion) -> str:
    return f'<th scope="col">{escape(str(criterion))}<small>{escape(criterion.weight.value)}</small></th>'


def _cells(whole: float, each: NDArray[np.float64], palette: Palette) -> str:
    cells = []
    for grade in (whole, *each.tolist()):
        if np.isnan(grade):
            cells.append('<td style="--usl-tint:0%">–</td>')
            continue
        tint = _STRONGEST * abs(grade - _BASELINE) / _BASELINE
        tone = palette.accent if grade >= _BASELINE else palette.down
        cells.append(f'<td style="--usl-tone:{tone};--usl-tint:{tint:.0f}%">{grade:.1f}</td>')
    return "".join(cells)
