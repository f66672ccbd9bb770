"""The ranking as an HTML table with a drawn interval in every row; all names are escaped."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

import numpy as np

from leaderboard.result import Leaderboard
from leaderboard.statistics.interval import UNRANKED

STYLE = """
<style>
.usl-scroll { overflow-x: auto; }
.usl-ranking { border-collapse: collapse; width: 100%; font-size: 0.92rem;
  font-variant-numeric: tabular-nums; }
.usl-ranking caption { text-align: left; font-size: 0.82rem; padding: 0.25rem 0.5rem; opacity: 0.85; }
.usl-ranking th { font-weight: 500; font-size: 0.78rem; opacity: 0.7; text-align: right;
  vertical-align: bottom;
  padding: 0.25rem 0.5rem; line-height: 1.15; border: none; border-bottom: 1px solid rgba(128,128,128,0.4); }
.usl-ranking td { padding: 0.3rem 0.5rem; text-align: right; border: none;
  border-bottom: 1px solid rgba(128,128,128,0.16); white-space: nowrap; }
.usl-ranking tbody tr:hover { background: rgba(128,128,128,0.09); }
.usl-ranking .usl-name { text-align: left; }
.usl-ranking .usl-name a { text-decoration: none; font-weight: 500; color: var(--usl-accent); }
.usl-ranking .usl-name a:hover { text-decoration: underline; }
.usl-ranking .usl-rank { font-weight: 600; width: 2.2rem; }
.usl-ranking .usl-plot { width: 32%; min-width: 9rem; }
.usl-ranking .usl-category { min-width: 4.2rem; max-width: 6.5rem; white-space: normal; }
.usl-track { position: relative; height: 1rem; }
.usl-track i { position: absolute; display: block; }
.usl-half { left: 50%; top: -0.3rem; bottom: -0.3rem; border-left: 1px dashed rgba(128,128,128,0.5); }
.usl-bar { left: 0; top: 0.28rem; height: 0.44rem; border-radius: 0.22rem;
  background: color-mix(in srgb, var(--usl-accent) 32%, transparent); }
.usl-whisker { top: 0.44rem; height: 0.12rem; background: var(--usl-accent); }
.usl-dot { top: 0.25rem; width: 0.5rem; height: 0.5rem; margin-left: -0.25rem; border-radius: 50%;
  background: var(--usl-accent); }
.usl-up { color: #2a8a5b; } .usl-down { color: #c2573f; } .usl-same { opacity: 0.4; }
@media (max-width: 640px) {
  .usl-ranking { font-size: 0.86rem; }
  .usl-ranking td, .usl-ranking th { padding-left: 0.25rem; padding-right: 0.25rem; }
  .usl-ranking .usl-interval { display: none; }
  .usl-ranking .usl-name { white-space: normal; min-width: 7.5rem; }
  .usl-ranking .usl-plot { min-width: 4.5rem; width: 24%; }
}
</style>
"""


def ranking_table(
    leaderboard: Leaderboard, columns: tuple[str, ...], link_of: Callable[[str], str], accent: str
) -> str:
    """One row an LLM, best first.

    Args:
        leaderboard: What to show.
        columns: Categories that get a column.
        link_of: From an LLM's name to the address of its page; an empty one makes no link.
        accent: CSS colour of the intervals.
    """
    compared = bool(leaderboard.view.criteria) and leaderboard.default is not None
    controlled = leaderboard.ranking.removed is not None
    heading = "".join(
        [
            '<th scope="col">Rank</th>',
            '<th scope="col" class="usl-name">LLM</th>',
            '<th scope="col" title="Places climbed or lost against the default ranking">± crowd</th>'
            if compared
            else "",
            '<th scope="col">Score</th>',
            '<th scope="col" title="Points that the control moves the score by">± control</th>'
            if controlled
            else "",
            '<th scope="col" class="usl-plot" style="text-align:center">0 · beats the baseline · 100 %</th>',
            '<th scope="col" class="usl-interval">95 %</th>',
            *(f'<th scope="col" class="usl-category">{escape(name)}</th>' for name in columns),
        ]
    )
    indices = [leaderboard.ranking.category_names.index(name) for name in columns]
    rows = "".join(
        _row(leaderboard, row, indices, link_of, compared=compared)
        for row in range(len(leaderboard.ranking.llms))
    )
    return (
        f'{STYLE}<div class="usl-scroll" style="--usl-accent:{escape(accent)}">'
        f'<table class="usl-ranking" data-testid="ranking" data-criteria="{leaderboard.view.criteria.key}">'
        f"{_caption(leaderboard)}<thead><tr>{heading}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _caption(leaderboard: Leaderboard) -> str:
    caveats = leaderboard.caveats
    return f"<caption>{'<br>'.join(map(escape, caveats))}</caption>" if caveats else ""


def _row(
    leaderboard: Leaderboard, row: int, columns: list[int], link_of: Callable[[str], str], *, compared: bool
) -> str:
    ranking = leaderboard.ranking
    llm = ranking.llms[row]
    rank = int(ranking.rank[row])
    win_rate, low, high = (
        float(values[row]) for values in (ranking.win_rate, ranking.ci_low, ranking.ci_high)
    )
    removed = ranking.removed
    likely = f"Rank {rank}; 95 % between {ranking.rank_low[row]} and {ranking.rank_high[row]}"
    cells = [
        f'<td class="usl-rank" title="{likely}">{"–" if rank == UNRANKED else rank}</td>',
        f'<td class="usl-name">{_name(leaderboard.titles[llm], link_of(llm))}</td>',
        f"<td>{_change(float(leaderboard.changes[row]))}</td>" if compared else "",
        f"<td>{percent(win_rate)}</td>",
        f"<td>{_move(win_rate - float(removed.plain_win_rate[row]))}</td>" if removed is not None else "",
        f'<td class="usl-plot">{_interval(win_rate, low, high)}</td>',
        f'<td class="usl-interval">{percent(low, 0)}–{percent(high, 0)}</td>',
        *(f"<td>{percent(float(ranking.category_win_rate[row, column]), 0)}</td>" for column in columns),
    ]
    return f'<tr data-llm="{escape(llm)}">{"".join(cells)}</tr>'


def _name(title: str, link: str) -> str:
    return f'<a href="{escape(link)}" target="_self">{escape(title)}</a>' if link else escape(title)


def percent(fraction: float, decimals: int = 1) -> str:
    """A fraction as a percentage without its sign; unknown is a dash."""
    return "–" if math.isnan(fraction) else f"{100 * fraction:.{decimals}f}"


def _interval(win_rate: float, low: float, high: float) -> str:
    if np.isnan(win_rate):
        return ""
    return (
        '<div class="usl-track"><i class="usl-half"></i>'
        f'<i class="usl-bar" style="width:{100 * win_rate:.1f}%"></i>'
        f'<i class="usl-whisker" style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></i>'
        f'<i class="usl-dot" style="left:{100 * win_rate:.1f}%"></i></div>'
    )


def _change(places: float) -> str:
    if np.isnan(places) or places == 0:
        return '<span class="usl-same">–</span>'
    arrow, kind = ("▲", "up") if places > 0 else ("▼", "down")
    return f'<span class="usl-{kind}">{arrow} {abs(places):.0f}</span>'


def _move(fraction: float) -> str:
    """Points that a control moved a win rate by; less than a tenth is a dash."""
    points = round(100 * fraction, 1)
    if math.isnan(points) or points == 0:
        return '<span class="usl-same">–</span>'
    return f"{points:+.1f}".replace("-", "−")
