"""The chart of themes of criteria; colours come from the caller, fonts from the page's theme."""

from __future__ import annotations

from itertools import accumulate

import plotly.graph_objects as go

from crm.criterion_themes import CriterionThemes, Part, Theme
from leaderboard.pictures.charts import Palette
from leaderboard.pictures.labels import plain_label

_ROW_HEIGHT = 42
_BAR = 0.36
"""Height of a bar in rows; its name stands above it, so that both have the whole width of a phone."""
_STRONG, _WEAK = 0.75, 0.58
"""Opacity of neighbouring parts of a bar, in turn."""
_LINE = 60
"""Characters above a bar, as many as the width of a phone has room for."""


def theme_chart(themes: CriterionThemes, palette: Palette) -> go.Figure:
    """Shares of all criteria, one bar a theme, the largest on top; its parts are the clusters in it."""
    figure = go.Figure()
    for row, theme in enumerate(themes.themes):
        figure.add_trace(_bar(themes, theme, row, palette))
        figure.add_annotation(
            x=0,
            y=row - _BAR / 2,
            text=_line(themes, theme),
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            xshift=-3,
            font={"size": 13},
        )
    figure.update_xaxes(visible=False, fixedrange=True, range=[0, 102 * _largest(themes)])
    figure.update_yaxes(visible=False, fixedrange=True, range=[len(themes.themes) - 0.5, -0.75])
    figure.update_layout(
        height=_ROW_HEIGHT * len(themes.themes) + 20,
        margin={"l": 0, "r": 0, "t": 4, "b": 4},
        barmode="overlay",
        showlegend=False,
        hovermode="closest",
    )
    return figure


def _line(themes: CriterionThemes, theme: Theme) -> str:
    """Name and share, and as many of the most frequent adjectives as there is room for."""
    share = f"{100 * themes.share(theme):.1f} %"
    room = _LINE - len(theme.name) - len(share)
    shown: list[str] = []
    for word, _ in theme.adjectives:
        room -= len(word) + 2
        if room < 0:
            break
        shown.append(word)
    words = f"  <i>{plain_label(', '.join(shown))}</i>" if shown else ""
    return f"<b>{plain_label(theme.name)}</b>  {share}{words}"


def _bar(themes: CriterionThemes, theme: Theme, row: int, palette: Palette) -> go.Bar:
    shares = [100 * part.n / themes.n for part in theme.parts]
    return go.Bar(
        x=shares,
        base=[0.0, *accumulate(shares[:-1])],
        y=[row] * len(shares),
        width=_BAR,
        orientation="h",
        marker={
            "color": palette.accent,
            "opacity": [(_STRONG, _WEAK)[place % 2] for place in range(len(shares))],
            "line": {"width": 0},
        },
        customdata=[[plain_label(theme.name), _words(part), part.n] for part in theme.parts],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<br>%{customdata[2]:,} criteria, %{x:.1f} %"
        "<extra></extra>",
    )


def _largest(themes: CriterionThemes) -> float:
    return max((themes.share(theme) for theme in themes.themes), default=1.0)


def _words(part: Part) -> str:
    return plain_label(", ".join(part.keywords))
