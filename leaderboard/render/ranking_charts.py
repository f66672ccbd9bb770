"""Plotly figures of rankings; colours are given by the caller, fonts and background by the page's theme."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from leaderboard.compare import SideBySide
from leaderboard.explain import TopicScore
from leaderboard.render.chart_style import (
    MAX_LABEL,
    Palette,
    distinct_labels,
    label,
    lay_out,
    muted_line,
    untied,
)
from leaderboard.result import Leaderboard

_ROW_HEIGHT = 22
_VIEW_ROW_HEIGHT = 21
_COLOURED = 5
"""Lines that have a colour among several views: of those LLMs whose rank changes most."""
_MAX_NAME = 26
_MAX_END, _END_WIDTH = 20, 150
"""Characters of a name beside the lines, and pixels kept for it, so that a phone cuts none."""


def interval_chart(leaderboard: Leaderboard, palette: Palette) -> go.Figure:
    """Draw win rates as bars, best on top, with their 95 % intervals."""
    ranking = leaderboard.ranking
    ranked = np.isfinite(ranking.win_rate)
    labels = distinct_labels(
        [leaderboard.titles[llm] for llm, present in zip(ranking.llms, ranked, strict=True) if present]
    )
    percentages, low, high = (
        100 * values[ranked] for values in (ranking.win_rate, ranking.ci_low, ranking.ci_high)
    )
    figure = go.Figure(
        go.Bar(
            x=percentages,
            y=labels,
            orientation="h",
            marker={"color": palette.accent, "opacity": 0.45},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": high - percentages,
                "arrayminus": percentages - low,
                "color": palette.accent,
                "thickness": 1.5,
                "width": 3,
            },
            customdata=np.stack([low, high], axis=1),
            hovertemplate="%{y}: %{x:.1f} % (%{customdata[0]:.1f} to %{customdata[1]:.1f})<extra></extra>",
        )
    )
    figure.add_vline(x=50, line=muted_line(palette))
    figure.update_xaxes(range=[0, 100], ticksuffix=" %", side="top", fixedrange=True)
    return _bars(figure, len(labels))


def slope_chart(leaderboard: Leaderboard, palette: Palette) -> go.Figure:
    """Draw one line an LLM from its rank without criteria (left) to that under the person's criteria.

    While the ranking without criteria is not judged all lines are level.
    """
    default, own = (leaderboard.default or leaderboard.ranking).ranks, leaderboard.ranking.ranks
    common = [llm for llm in own if llm in default]
    left, right = (
        untied(np.array([float(ranks[llm]) for llm in common])).tolist() for ranks in (default, own)
    )
    figure = go.Figure()
    for llm, start, stop in zip(common, left, right, strict=True):
        colour = palette.of_change(default[llm] - own[llm])
        title, short = (label(leaderboard.titles[llm], most) for most in (MAX_LABEL, _MAX_END))
        figure.add_scatter(
            x=[0, 1],
            y=[start, stop],
            mode="lines+markers+text",
            text=[f"{short}  {default[llm]}", f"{own[llm]}  {short}"],
            textposition=["middle left", "middle right"],
            textfont={"size": 12, "color": palette.text},
            line={"color": colour, "width": 1.5},
            marker={"size": 5},
            hovertemplate=f"{title}: {default[llm]} → {own[llm]}<extra></extra>",
            showlegend=False,
            cliponaxis=False,
        )
    figure.update_xaxes(
        range=[0, 1],
        tickvals=[0, 1],
        ticktext=["on average", "for you"],
        side="top",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(range=[len(common) + 0.5, 0.5], showticklabels=False, showgrid=False, zeroline=False)
    figure.update_layout(showlegend=False)
    lay_out(figure, max(160, len(common) * _ROW_HEIGHT + 60), right=_END_WIDTH)
    return figure.update_layout(margin_l=_END_WIDTH)


def topic_chart(scores: Sequence[TopicScore], palette: Palette) -> go.Figure:
    """Draw an LLM's win rate by topic, best on top; below one half in another colour."""
    known = [score for score in scores if np.isfinite(score.win_rate)]
    percentages = [100 * score.win_rate for score in known]
    figure = go.Figure(
        go.Bar(
            x=percentages,
            y=distinct_labels([score.topic for score in known]),
            orientation="h",
            marker={"color": [palette.up if value >= 50 else palette.down for value in percentages]},  # noqa: PLR2004
            customdata=[[score.category, score.n_queries] for score in known],
            hovertemplate="%{y} (%{customdata[0]}): %{x:.0f} % of %{customdata[1]}<extra></extra>",
            opacity=0.75,
        )
    )
    figure.add_vline(x=50, line=muted_line(palette))
    figure.update_xaxes(range=[0, 100], ticksuffix=" %", side="top", fixedrange=True)
    return _bars(figure, len(known))


def bump_chart(compared: SideBySide, palette: Palette) -> go.Figure:
    """Draw one line an LLM from view to view, best on top, its name at the right end.

    The LLMs that move most have a colour of their own. An LLM that a view does not rank leaves a gap there.
    """
    letters = [column.letter for column in compared.columns]
    places = np.stack([untied(ranks) for ranks in compared.ranks.T], axis=1)
    moved = np.array([np.ptp(row[np.isfinite(row)]) for row in compared.ranks])
    movers = [row for row in np.argsort(-moved, kind="stable")[:_COLOURED].tolist() if moved[row] > 0]
    figure = go.Figure()
    # Coloured lines come last, over the others.
    for row in [*(row for row in range(len(places)) if row not in movers), *reversed(movers)]:
        colour = palette.of_series(movers.index(row)) if row in movers else _faint(palette.muted)
        title = label(compared.titles[compared.llms[row]], _MAX_NAME)
        last = int(np.flatnonzero(np.isfinite(places[row]))[-1])
        names = [title if column == last else "" for column in range(len(letters))]
        figure.add_scatter(
            x=letters,
            y=places[row],
            mode="lines+markers+text",
            text=names,
            textposition="middle right",
            textfont={"size": 11, "color": colour if row in movers else None},
            line={"color": colour, "width": 2.5 if row in movers else 1},
            marker={"size": 6 if row in movers else 4},
            customdata=compared.ranks[row],
            hovertemplate=f"{title}, %{{x}}: rank %{{customdata}}<extra></extra>",
            showlegend=False,
            cliponaxis=False,
        )
    figure.update_xaxes(
        side="top",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        # Room at the right for names, a third of the width whatever the number of views.
        range=[-0.15, len(letters) - 1 + 0.6 * max(1, len(letters) - 1)],
    )
    rows = len(compared.llms)
    figure.update_yaxes(
        range=[rows + 0.6, 0.4],
        tickvals=[1, *range(5, rows + 1, 5)],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    return lay_out(figure, max(200, rows * _VIEW_ROW_HEIGHT + 60), right=8)


def _faint(colour: str) -> str:
    """Return a colour ``#rrggbb`` half seen through, for lines but not for the names at their ends."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.55)"


def _bars(figure: go.Figure, rows: int) -> go.Figure:
    figure.update_yaxes(autorange="reversed", fixedrange=True)
    figure.update_layout(bargap=0.35, showlegend=False)
    return lay_out(figure, max(160, rows * _ROW_HEIGHT + 60))
