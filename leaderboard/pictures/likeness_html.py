"""How far every two of several views agree, as an HTML heatmap; all texts are escaped."""

from __future__ import annotations

from html import escape

import numpy as np

from leaderboard.compare import SideBySide
from leaderboard.pictures.charts import Palette
from leaderboard.statistics.correlation import highest_rbo
from leaderboard.statistics.permutation import Measure

_STYLE = """
<style>
.usl-heatmap { border-collapse: separate; border-spacing: 2px; table-layout: fixed; width: 100%;
  max-width: 60rem; font-variant-numeric: tabular-nums; }
.usl-heatmap th { font-weight: 600; font-size: 0.85rem; border: none; padding: 0.2rem; text-align: center; }
.usl-heatmap th:first-child { width: 2rem; }
.usl-heatmap td { border: none; padding: 0.45rem 0.1rem; text-align: center; font-size: 0.92rem;
  line-height: 1.2; background: color-mix(in srgb, var(--usl-tone) var(--usl-tint), rgba(128,128,128,0.08)); }
.usl-heatmap small { display: block; font-size: 0.72rem; opacity: 0.8; white-space: nowrap; }
@media (max-width: 640px) {
  .usl-heatmap td { font-size: 0.72rem; }
  .usl-heatmap small { font-size: 0.58rem; }
  .usl-heatmap small i { display: none; }
  .usl-heatmap th:first-child { width: 1.2rem; }
}
</style>
"""
_STRONGEST = 48
"""Percentage of the colour behind full agreement or opposition."""
_SMALL, _SMALLISH = 0.001, 0.01


def likeness_table(compared: SideBySide, measure: Measure, palette: Palette) -> str:
    """Every view with every other one as a heatmap, p-values below; rows are predictions, columns references.

    The colour of agreement is the accent's, that of opposition the colour of what falls.
    """
    values, p_values = compared.likeness(measure), compared.p_values(measure)
    heading = "".join(
        f'<th scope="col" title="{escape(column.words)}">{column.letter}</th>' for column in compared.columns
    )
    rows = "".join(
        f'<tr><th scope="row" title="{escape(column.words)}">{column.letter}</th>'
        + "".join(
            _cell(compared, measure, palette, (row, other), (values[row, other], p_values[row, other]))
            for other in range(len(compared.columns))
        )
        + "</tr>"
        for row, column in enumerate(compared.columns)
    )
    return (
        f'{_STYLE}<table class="usl-heatmap" data-testid="likeness"><thead><tr><th></th>{heading}'
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def _cell(
    compared: SideBySide,
    measure: Measure,
    palette: Palette,
    place: tuple[int, int],
    found: tuple[float, float],
) -> str:
    """One view with another: the value and its p-value."""
    (row, other), (value, p_value) = place, found
    if np.isnan(value):
        return '<td style="--usl-tint:0%" title="fewer than two LLMs in common">–</td>'
    n = compared.n_common(row, other)
    highest = highest_rbo(n) if measure is Measure.RBO else 1.0
    tint = _STRONGEST * min(1.0, abs(value) / highest)
    tone = palette.accent if value >= 0 else palette.down
    number = f"{value:.2f}".replace("-", "−")
    chance = "" if row == other else f"<small>{_p_value(p_value)}</small>"
    letters = compared.columns[row].letter, compared.columns[other].letter
    title = f"{measure} of {letters[0]} with {letters[1]}: {value:.3f}, p = {p_value:.3g}, {n} LLMs"
    return f'<td style="--usl-tone:{tone};--usl-tint:{tint:.0f}%" title="{title}">{number}{chance}</td>'


def _p_value(value: float) -> str:
    """``p = 0.03``; the letter is left out on a narrow screen."""
    if value < _SMALL:
        return "<i>p </i>&lt; 0.001"
    return f"<i>p = </i>{value:.3f}" if value < _SMALLISH else f"<i>p = </i>{value:.2f}"
