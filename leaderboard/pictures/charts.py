"""Plotly figures of rankings; colours are given by the caller, fonts and background by the page's theme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from leaderboard.drilldown import TopicScore
from leaderboard.result import Leaderboard

_ROW_HEIGHT = 22
_LONGEST_LABEL = 34


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, as CSS."""

    accent: str
    up: str
    down: str
    muted: str


LIGHT = Palette(accent="#1f6f5f", up="#2a8a5b", down="#c2573f", muted="#a9a69b")
DARK = Palette(accent="#5fc0a8", up="#5fc08a", down="#e08a73", muted="#6d747c")


def interval_chart(leaderboard: Leaderboard, palette: Palette) -> go.Figure:
    """Win rates as bars, best on top, with their 95 % intervals."""
    ranking = leaderboard.ranking
    ranked = np.isfinite(ranking.win_rate)
    labels = _distinct(
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
    figure.add_vline(x=50, line={"color": palette.muted, "dash": "dot", "width": 1})
    figure.update_xaxes(range=[0, 100], ticksuffix=" %", side="top", fixedrange=True)
    return _finished(figure, len(labels))


def slope_chart(leaderboard: Leaderboard, palette: Palette) -> go.Figure:
    """One line an LLM from its rank under ∅ (left) to its rank under the person's criteria (right).

    While ∅ is not judged all lines are level.
    """
    default, own = (leaderboard.default or leaderboard.ranking).ranks, leaderboard.ranking.ranks
    common = [llm for llm in own if llm in default]
    left, right = (_positions([ranks[llm] for llm in common]) for ranks in (default, own))
    figure = go.Figure()
    for llm, start, stop in zip(common, left, right, strict=True):
        change = default[llm] - own[llm]
        colour = palette.up if change > 0 else palette.down if change < 0 else palette.muted
        title = _short(leaderboard.titles[llm])
        figure.add_scatter(
            x=[0, 1],
            y=[start, stop],
            mode="lines+markers+text",
            text=[f"{title}  {default[llm]}", f"{own[llm]}  {title}"],
            textposition=["middle left", "middle right"],
            line={"color": colour, "width": 1.5},
            marker={"size": 5},
            hovertemplate=f"{title}: {default[llm]} → {own[llm]}<extra></extra>",
            showlegend=False,
            cliponaxis=False,
        )
    figure.update_xaxes(
        range=[-0.9, 1.9],
        tickvals=[0, 1],
        ticktext=["the crowd ∅", "you"],
        side="top",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(range=[len(common) + 0.5, 0.5], showticklabels=False, showgrid=False, zeroline=False)
    return _finished(figure, len(common), reverse=False)


def topic_chart(scores: Sequence[TopicScore], palette: Palette) -> go.Figure:
    """An LLM's win rate by topic, best on top; below one half in another colour."""
    known = [score for score in scores if np.isfinite(score.win_rate)]
    percentages = [100 * score.win_rate for score in known]
    figure = go.Figure(
        go.Bar(
            x=percentages,
            y=_distinct([score.topic for score in known]),
            orientation="h",
            marker={"color": [palette.up if value >= 50 else palette.down for value in percentages]},  # noqa: PLR2004
            customdata=[[score.category, score.n_queries] for score in known],
            hovertemplate="%{y} (%{customdata[0]}): %{x:.0f} % of %{customdata[1]}<extra></extra>",
            opacity=0.75,
        )
    )
    figure.add_vline(x=50, line={"color": palette.muted, "dash": "dot", "width": 1})
    figure.update_xaxes(range=[0, 100], ticksuffix=" %", side="top", fixedrange=True)
    return _finished(figure, len(known))


def _positions(ranks: list[int]) -> list[int]:
    """Places 1 to n in the order of ranks, so that tied LLMs do not lie on each other."""
    order = sorted(range(len(ranks)), key=lambda index: ranks[index])
    places = [0] * len(ranks)
    for place, index in enumerate(order, start=1):
        places[index] = place
    return places


def _short(text: str) -> str:
    """Plotly reads some HTML in labels, so its brackets are taken out of names."""
    plain = text.replace("<", "‹").replace(">", "›")
    return plain if len(plain) <= _LONGEST_LABEL else plain[: _LONGEST_LABEL - 1] + "…"


def _distinct(texts: Sequence[str]) -> list[str]:
    """Short labels, no two of which are equal: Plotly would lay their bars on each other."""
    seen: Counter[str] = Counter()
    labels = []
    for label in map(_short, texts):
        # Each repetition ends in one more of a character without width.
        labels.append(label + "\u200b" * seen[label])
        seen[label] += 1
    return labels


def _finished(figure: go.Figure, rows: int, *, reverse: bool = True) -> go.Figure:
    if reverse:
        figure.update_yaxes(autorange="reversed", fixedrange=True)
    figure.update_layout(
        height=max(160, rows * _ROW_HEIGHT + 60),
        margin={"l": 8, "r": 16, "t": 36, "b": 8},
        bargap=0.35,
        showlegend=False,
    )
    return figure
