"""Ranks under several views as an HTML table; all texts are escaped."""

from __future__ import annotations

from html import escape

import numpy as np

from leaderboard.compare import Column, SideBySide
from leaderboard.pictures.table_html import percent

_STYLE = """
<style>
.usl-side-scroll { overflow: auto; max-height: 42rem; }
.usl-side { border-collapse: separate; border-spacing: 0; font-size: 0.9rem;
  font-variant-numeric: tabular-nums; }
.usl-side th, .usl-side td { border: none; padding: 0.25rem 0.6rem; text-align: center; white-space: nowrap;
  border-bottom: 1px solid rgba(128,128,128,0.16); }
.usl-side thead th { position: sticky; top: 0; z-index: 2; font-weight: 600;
  border-bottom: 1px solid rgba(128,128,128,0.4); background: var(--usl-background); }
.usl-side tbody th { position: sticky; left: 0; z-index: 1; text-align: left; font-weight: 500;
  background: var(--usl-background); white-space: normal; min-width: 8rem; max-width: 18rem; }
.usl-side thead th:first-child { left: 0; z-index: 3; text-align: left; }
.usl-side td { min-width: 3rem;
  background: color-mix(in srgb, var(--usl-accent) var(--usl-tint), transparent); }
@media (max-width: 640px) {
  .usl-side { font-size: 0.82rem; }
  .usl-side th, .usl-side td { padding: 0.25rem 0.2rem; }
  .usl-side tbody th { min-width: 6rem; max-width: 8rem; }
  .usl-side td { min-width: 1.8rem; }
}
</style>
"""
_STRONGEST = 48
"""Percentage of the colour behind rank 1; the last rank has none."""


def ranks_table(compared: SideBySide, accent: str, background: str) -> str:
    """One row an LLM, one column a view; the better the rank, the stronger its colour.

    Args:
        compared: What to show.
        accent: CSS colour of the best rank.
        background: CSS colour of the page, behind the names that stay in place.
    """
    heading = "".join(
        f'<th scope="col" title="{escape(column.words)}">{column.letter}</th>' for column in compared.columns
    )
    rows = "".join(
        f'<tr data-llm="{escape(llm)}"><th scope="row">{escape(compared.titles[llm])}</th>'
        f"{''.join(_cell(column, llm) for column in compared.columns)}</tr>"
        for llm in compared.llms
    )
    return (
        f'{_STYLE}<div class="usl-side-scroll" tabindex="0" '
        f'style="--usl-accent:{escape(accent)};--usl-background:{escape(background)}">'
        f'<table class="usl-side" data-testid="side-by-side"><thead><tr><th scope="col">LLM</th>{heading}'
        f"</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(column: Column, llm: str) -> str:
    rank = column.ranks.get(llm)
    if rank is None:
        return '<td style="--usl-tint:0%">–</td>'
    ranking = column.leaderboard.ranking
    row = ranking.llms.index(llm)
    low, high = (percent(float(ends[row]), 0) for ends in (ranking.ci_low, ranking.ci_high))
    score = percent(float(ranking.win_rate[row]))
    tint = _STRONGEST * (1 - (rank - 1) / max(1, len(column.ranks) - 1))
    title = f"{column.letter}: score {score} ({low}–{high}), rank {rank} of {len(column.ranks)}"
    return f'<td style="--usl-tint:{np.clip(tint, 0, _STRONGEST):.0f}%" title="{title}">{rank}</td>'
