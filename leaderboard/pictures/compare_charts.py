"""The ranks under several views as a Plotly figure."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from leaderboard.compare import SideBySide
from leaderboard.pictures.charts import Palette
from leaderboard.pictures.labels import plain_label

_ROW_HEIGHT = 21
_COLOURED = 5
"""Lines that have a colour: of those LLMs whose rank changes most."""
_LONGEST_LABEL = 26


def bump_chart(compared: SideBySide, palette: Palette, colours: tuple[str, ...]) -> go.Figure:
    """One line an LLM from view to view, best on top, its name at the right end.

    The LLMs that move most have a colour of their own. An LLM that a view does not rank leaves a gap there.
    """
    letters = [column.letter for column in compared.columns]
    places = _places(compared.ranks)
    moved = np.array([np.ptp(row[np.isfinite(row)]) for row in compared.ranks])
    movers = [row for row in np.argsort(-moved, kind="stable")[:_COLOURED].tolist() if moved[row] > 0]
    figure = go.Figure()
    # Coloured lines come last, over the others.
    for row in [*(row for row in range(len(places)) if row not in movers), *reversed(movers)]:
        colour = colours[movers.index(row) % len(colours)] if row in movers else _faint(palette.muted)
        title = _short(compared.titles[compared.llms[row]])
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
    figure.update_layout(height=max(200, rows * _ROW_HEIGHT + 60), margin={"l": 8, "r": 8, "t": 36, "b": 8})
    return figure


def _faint(colour: str) -> str:
    """A colour ``#rrggbb`` half seen through, for lines but not for the names at their ends."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.55)"


def _places(ranks: np.ndarray) -> np.ndarray:
    """Places [L, V] 1 to n within each view, so that tied LLMs do not lie on each other."""
    places = np.full(ranks.shape, np.nan)
    for column, values in enumerate(ranks.T):
        known = np.flatnonzero(np.isfinite(values))
        order = known[np.argsort(values[known], kind="stable")]
        places[order, column] = np.arange(1, len(order) + 1)
    return places


def _short(text: str) -> str:
    plain = plain_label(text)
    return plain if len(plain) <= _LONGEST_LABEL else plain[: _LONGEST_LABEL - 1] + "…"
