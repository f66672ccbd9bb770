"""What figures share: the colours of a theme, labels, places of tied LLMs, and the layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

MAX_LABEL = 34
_LINE_WIDTH = 44


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, as CSS.

    Attributes:
        text: Of names that belong to what is drawn.
        accent: Of what is drawn once.
        up: Of what is better or rises.
        down: Of what is worse or falls.
        muted: Of what stays, and of lines in the background.
        series: Of things drawn beside each other, the first for the best.
        categories: One a category, that of the most queries first.
        on_categories: Of what is written on a category's area.
        between_categories: Of the lines between areas.
    """

    text: str
    accent: str
    up: str
    down: str
    muted: str
    series: tuple[str, ...]
    categories: tuple[str, ...]
    on_categories: str
    between_categories: str

    def of_series(self, place: int) -> str:
        """Return the colour at this place; beyond the last they begin again."""
        return self.series[place % len(self.series)]

    def of_category(self, place: int) -> str:
        """Return the colour of the category at this place; beyond the last they begin again."""
        return self.categories[place % len(self.categories)]

    def of_change(self, places: int) -> str:
        """Return the colour of an LLM that climbs, falls or stays."""
        return self.up if places > 0 else self.down if places < 0 else self.muted


LIGHT = Palette(
    text="#20242c",
    accent="#1f6f5f",
    up="#2a8a5b",
    down="#c2573f",
    muted="#a9a69b",
    series=("#1f6f5f", "#b3651c", "#5a6fb0", "#9a4f78", "#7c7a70"),
    categories=(
        *("#1f6f5f", "#b3651c", "#5a6fb0", "#9a4f78", "#7a8a2b", "#c2573f"),
        *("#3b8ea5", "#8460b5", "#a5822a", "#4c8f4a", "#b0527c", "#6b6f78"),
    ),
    on_categories="#ffffff",
    between_categories="rgba(255,255,255,0.55)",
)
DARK = Palette(
    text="#e9e6df",
    accent="#5fc0a8",
    up="#5fc08a",
    down="#e08a73",
    muted="#6d747c",
    series=("#5fc0a8", "#e0a35e", "#93a6e6", "#d78cb2", "#a9a69b"),
    categories=(
        *("#5fc0a8", "#e0a35e", "#93a6e6", "#d78cb2", "#bccb6a", "#e98a72"),
        *("#74c3d8", "#b79ae6", "#d9bd62", "#86c983", "#ea94b9", "#a9aeb6"),
    ),
    on_categories="#14171b",
    between_categories="rgba(0,0,0,0.5)",
)


def label(text: str, max_length: int | None = None) -> str:
    """Return a text, cut where it is longer, that Plotly shows as it stands.

    Plotly reads some HTML in texts, and ``%{`` begins a field of its templates.
    """
    cut = text if max_length is None or len(text) <= max_length else text[: max_length - 1] + "…"
    return escape(cut, quote=False).replace("%{", "&#37;{")


def distinct_labels(texts: Iterable[str]) -> list[str]:
    """Return short labels, no two of which are equal: Plotly would lay their bars on each other."""
    seen: Counter[str] = Counter()
    labels = []
    for short in (label(text, MAX_LABEL) for text in texts):
        # Each repetition ends in one more of a character without width.
        labels.append(short + "\u200b" * seen[short])
        seen[short] += 1
    return labels


def wrapped_label(text: str, max_length: int = 160, width: int = _LINE_WIDTH) -> str:
    """Return the start of a text as a label in lines of some ``width`` characters."""
    cut = " ".join(text[: 2 * max_length].split())
    if len(cut) > max_length:
        cut = cut[: max_length - 1].rstrip() + "…"
    lines, line = [], ""
    for word in cut.split(" "):
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = ""
        pieces = [word[start : start + _LINE_WIDTH] for start in range(0, len(word), _LINE_WIDTH)]
        lines += pieces[:-1]
        line = " ".join(filter(None, [line, *pieces[-1:]]))
    return "<br>".join(map(label, [*lines, line]))


def untied(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places ``[n]`` from 1 on in the order of ranks, so that tied LLMs do not lie on each other.

    Where there is no rank (NaN) there is no place.
    """
    places = np.full(ranks.shape, np.nan)
    known = np.flatnonzero(np.isfinite(ranks))
    places[known[np.argsort(ranks[known], kind="stable")]] = np.arange(1, len(known) + 1)
    return places


def lay_out(figure: go.Figure, height: int, *, top: int = 36, right: int = 16) -> go.Figure:
    """Give a figure its height and slim margins, in pixels."""
    figure.update_layout(height=height, margin={"l": 8, "r": right, "t": top, "b": 8})
    return figure


def muted_line(palette: Palette) -> dict[str, object]:
    """Return the dotted line of what would be even."""
    return {"color": palette.muted, "dash": "dot", "width": 1}


def load_plotly() -> None:
    """Make a small figure and write it as JSON, so that Plotly loads what the first one needs."""
    figure = go.Figure(go.Bar(x=[0], y=["a"], orientation="h", error_x={"type": "data", "array": [1]}))
    figure.add_vline(x=0)
    figure.update_xaxes(fixedrange=True)
    figure.update_yaxes(fixedrange=True)
    lay_out(figure, 100).to_json()
