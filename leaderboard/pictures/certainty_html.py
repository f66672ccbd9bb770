"""LLMs in groups that cannot be told apart, as an HTML table; all names are escaped."""

from __future__ import annotations

from html import escape

from leaderboard.pictures.table_html import STYLE
from leaderboard.result import Leaderboard
from leaderboard.statistics.certainty import Certainty

_GROUP_STYLE = """
<style>
.usl-groups td, .usl-groups th { text-align: left; }
.usl-groups .usl-number { text-align: right; }
.usl-groups tbody + tbody tr:first-child td { border-top: 2px solid rgba(128,128,128,0.45); }
.usl-groups .usl-name { white-space: normal; }
</style>
"""
_SHOWN_SHARE = 0.005


def groups_table(leaderboard: Leaderboard, certainty: Certainty) -> str:
    """One row an LLM, best first, a line between groups."""
    heading = (
        '<th scope="col">Group</th><th scope="col" class="usl-number">Rank</th>'
        '<th scope="col" class="usl-name">LLM</th><th scope="col" class="usl-number">95 % of ranks</th>'
        '<th scope="col" class="usl-number">Comes first</th>'
    )
    bodies = "".join(
        f"<tbody>{_group(leaderboard, certainty, group)}</tbody>"
        for group in range(int(certainty.group[-1]) + 1)
    )
    return (
        f'{STYLE}{_GROUP_STYLE}<div class="usl-scroll"><table class="usl-ranking usl-groups" '
        f'data-testid="groups"><thead><tr>{heading}</tr></thead>{bodies}</table></div>'
    )


def _group(leaderboard: Leaderboard, certainty: Certainty, group: int) -> str:
    ranking = leaderboard.ranking
    rows = []
    for place, llm in enumerate(certainty.members(group)):
        row = ranking.llms.index(llm)
        low, high = ranking.rank_low[row], ranking.rank_high[row]
        first = float(certainty.first[certainty.llms.index(llm)])
        cells = [
            f"<td>{group + 1 if place == 0 else ''}</td>",
            f'<td class="usl-number usl-rank">{ranking.rank[row]}</td>',
            f'<td class="usl-name">{escape(leaderboard.titles[llm])}</td>',
            f'<td class="usl-number">{low if low == high else f"{low}–{high}"}</td>',
            f'<td class="usl-number">{f"{100 * first:.0f} %" if first >= _SHOWN_SHARE else "–"}</td>',
        ]
        rows.append(f'<tr data-llm="{escape(llm)}" data-group="{group + 1}">{"".join(cells)}</tr>')
    return "".join(rows)
