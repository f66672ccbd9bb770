"""Plotly figures of topics and of themes of criteria; fonts and background come from the page's theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from crm.data.taxonomy import CriterionThemes, Theme
from leaderboard.render.chart_style import MAX_LABEL, Palette, label, wrapped_label
from leaderboard.topics.atlas import OUTLIERS, Atlas
from leaderboard.topics.tree import Topic, TopicTree

_MAP_HEIGHT = 560
_TREEMAP_HEIGHT = 620
_FADED, _CLEAR = 0.12, 0.75
_MANY = 4000
_ROOT = "all"


@dataclass(frozen=True, eq=False)
class MapGroup:
    """The dots that are drawn in one colour.

    Attributes:
        positions: Places among the queries ``[n]``.
        colour: Place of the category, None for queries without a topic.
        chosen: Whether they stand out.
    """

    name: str
    positions: NDArray[np.intp]
    colour: int | None
    chosen: bool = False


def query_map(atlas: Atlas, groups: Sequence[MapGroup], palette: Palette) -> go.Figure:
    """Draw every kept query as a dot, coloured by category; those of a chosen topic stand out.

    Raises a ValueError if the atlas has no map.
    """
    if atlas.xy is None:
        raise ValueError("This atlas has no map.")
    hovers = query_hovers(atlas)
    size = 4 if len(atlas.tree.query_ids) > _MANY else 6
    chosen = any(group.chosen for group in groups)
    figure = go.Figure()
    # The browser's 3D takes longer to set up than a few dots to draw.
    add_dots = figure.add_scattergl if len(atlas.tree.query_ids) > _MANY else figure.add_scatter
    for group in groups:
        places = group.positions
        stands_out = group.chosen or not chosen
        add_dots(
            name=label(group.name, MAX_LABEL),
            x=atlas.xy[places, 0],
            y=atlas.xy[places, 1],
            mode="markers",
            marker={
                "color": palette.muted if group.colour is None else palette.of_category(group.colour),
                "size": size + 2 if group.chosen else size,
                "opacity": _CLEAR if stands_out else _FADED,
                "line": {"width": 0},
            },
            # Dots of other topics would hide those of the chosen one from the pointer.
            hoverinfo="text" if stands_out else "skip",
            hovertext=[hovers[place] for place in places.tolist()] if stands_out else None,
            showlegend=not group.chosen,
        )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x")
    figure.update_layout(
        height=_MAP_HEIGHT,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        dragmode="pan",
        hovermode="closest",
        hoverlabel={"align": "left"},
        legend={"orientation": "h", "x": 0, "y": -0.02, "yanchor": "top", "itemsizing": "constant"},
        uirevision=atlas.identity.split(":")[0],
    )
    return figure


@lru_cache(maxsize=4)
def query_hovers(atlas: Atlas) -> list[str]:
    """Return what is shown of every query ``[Q]``: the start of its text in short lines, and its topic."""
    names = {topic.key: f"<br><b>{label(topic.name)}</b>" for topic in atlas.tree.topics}
    return [
        wrapped_label(atlas.texts.get(query, "text not stored")) + names.get(key, f"<br><b>{OUTLIERS}</b>")
        for query, key in zip(atlas.tree.query_ids, atlas.tree.topic_of, strict=True)
    ]


def map_groups(tree: TopicTree, chosen: str | None = None) -> list[MapGroup]:
    """Return the kept queries by category; those without a topic first, a chosen topic's last, on top."""
    indices = tree.indices
    place_of = {name: place for place, name in enumerate(tree.categories)}
    # One more for the −1 of outliers; −2, the dropped, is no category's.
    categories = np.array([*(place_of[topic.category] for topic in tree.topics), -1])
    of_query = np.where(indices >= -1, categories[indices], -2)
    wanted = set(tree.family(chosen)) if chosen is not None and chosen in tree else set()
    family = [place for place, topic in enumerate(tree.topics) if topic.key in wanted]
    stands_out = np.isin(indices, family)
    groups = [MapGroup(OUTLIERS, np.flatnonzero(of_query == -1), None)]
    groups += [
        MapGroup(name, np.flatnonzero((of_query == place) & ~stands_out), place)
        for name, place in place_of.items()
    ]
    if chosen is not None and family:
        colour = place_of[tree[chosen].category]
        groups.append(MapGroup(tree[chosen].name, np.flatnonzero(stands_out), colour, chosen=True))
    return [group for group in groups if len(group.positions)]


def topic_treemap(tree: TopicTree, palette: Palette) -> go.Figure:
    """Draw categories, topics and their parts as areas; a click goes into one, and back."""
    ids, labels, parents, values = [_ROOT], ["All topics"], [""], [0]
    colours, hovers = ["rgba(0,0,0,0)"], [""]
    for place, category in enumerate(tree.categories):
        roots = [topic for topic in tree.roots if topic.category == category]
        size = sum(tree.size(topic.key) for topic in roots)
        if not size:
            continue
        ids.append(f"category:{category}")
        labels.append(label(category, MAX_LABEL))
        parents.append(_ROOT)
        values.append(size)
        colours.append(palette.of_category(place))
        hovers.append(f"{label(category)}<br>{size:,} queries in {len(roots)} topics")
        for topic in (tree[key] for root in roots for key in tree.family(root.key) if tree.size(key)):
            ids.append(topic.key)
            labels.append(_area_label(tree, topic))
            parents.append(topic.parent or f"category:{category}")
            values.append(tree.size(topic.key))
            colours.append(palette.of_category(place))
            hovers.append(_topic_hover(tree, topic))
    values[0] = sum(value for value, parent in zip(values, parents, strict=True) if parent == _ROOT)
    figure = go.Figure(
        go.Treemap(
            ids=ids,
            labels=labels,
            parents=parents,
            values=values,
            branchvalues="total",
            marker={
                "colors": colours,
                "line": {"width": 1, "color": palette.between_categories},
                "pad": {"t": 20, "l": 3, "r": 3, "b": 3},
                "cornerradius": 3,
            },
            texttemplate="%{label}<br>%{value}",
            textfont={"color": palette.on_categories, "size": 12},
            hovertext=hovers,
            hoverinfo="text",
            tiling={"packing": "squarify", "pad": 2},
            pathbar={"visible": True, "thickness": 22},
            root={"color": "rgba(0,0,0,0)"},
            sort=True,
        )
    )
    figure.update_layout(
        height=_TREEMAP_HEIGHT,
        margin={"l": 0, "r": 0, "t": 4, "b": 4},
        uniformtext={"minsize": 9, "mode": "hide"},
        hoverlabel={"align": "left"},
    )
    return figure


def _topic_hover(tree: TopicTree, topic: Topic) -> str:
    lines = [f"<b>{label(topic.name)}</b>", f"{tree.size(topic.key):,} queries"]
    lines += [wrapped_label(topic.summary)] if topic.summary else []
    lines += [wrapped_label(", ".join(topic.keywords))] if topic.keywords else []
    return "<br>".join(lines)


def _area_label(tree: TopicTree, topic: Topic) -> str:
    """Return a name in short lines, or in one as a heading over a topic's parts."""
    if tree.parts_of(topic.key):
        return label(topic.name, MAX_LABEL)
    return wrapped_label(topic.name, MAX_LABEL * 2, 13)


_ROW_HEIGHT = 42
_BAR = 0.36
"""Height of a bar in rows; its name stands above it, so that both have the whole width of a phone."""
_STRONG, _WEAK = 0.75, 0.58
"""Opacity of neighbouring parts of a bar, in turn."""
_LINE = 60
"""Characters above a bar, as many as the width of a phone has room for."""


def theme_chart(themes: CriterionThemes, palette: Palette) -> go.Figure:
    """Draw shares of all criteria, one bar a theme, the largest on top; its parts are the clusters in it."""
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
    largest = max(map(themes.share, themes.themes), default=1.0)
    figure.update_xaxes(visible=False, fixedrange=True, range=[0, 102 * largest])
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
    words = f"  <i>{label(', '.join(shown))}</i>" if shown else ""
    return f"<b>{label(theme.name)}</b>  {share}{words}"


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
        customdata=[[label(theme.name), label(", ".join(part.keywords)), part.n] for part in theme.parts],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<br>%{customdata[2]:,} criteria, %{x:.1f} %"
        "<extra></extra>",
    )
