"""Plotly figures of topics; fonts and background come from the page's theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from leaderboard.pictures.charts import Palette
from leaderboard.topics.atlas import OUTLIERS, Atlas
from leaderboard.topics.labels import plain, wrapped
from leaderboard.topics.tree import Topic, TopicTree

LIGHT_CATEGORIES = (
    "#1f6f5f",
    "#b3651c",
    "#5a6fb0",
    "#9a4f78",
    "#7a8a2b",
    "#c2573f",
    "#3b8ea5",
    "#8460b5",
    "#a5822a",
    "#4c8f4a",
    "#b0527c",
    "#6b6f78",
)
DARK_CATEGORIES = (
    "#5fc0a8",
    "#e0a35e",
    "#93a6e6",
    "#d78cb2",
    "#bccb6a",
    "#e98a72",
    "#74c3d8",
    "#b79ae6",
    "#d9bd62",
    "#86c983",
    "#ea94b9",
    "#a9aeb6",
)
"""One colour a category, that of the most queries first; beyond the last they begin again."""

_MAP_HEIGHT = 560
_TREEMAP_HEIGHT = 620
_LONGEST_LABEL = 34
_FADED, _CLEAR = 0.12, 0.75
_MANY = 4000
_ROOT = "all"


@dataclass(frozen=True, eq=False)
class MapGroup:
    """The dots that are drawn in one colour.

    Attributes:
        name: What they have in common.
        positions: Places among the queries ``[n]``.
        colour: Place of the category, None for queries without a topic.
        chosen: Whether they stand out.
    """

    name: str
    positions: NDArray[np.intp]
    colour: int | None
    chosen: bool = False


def query_map(atlas: Atlas, groups: Sequence[MapGroup], dark: bool, palette: Palette) -> go.Figure:
    """Every kept query as a dot, coloured by category; those of a chosen topic stand out.

    Raises:
        ValueError: The atlas has no map.
    """
    if atlas.xy is None:
        raise ValueError("This atlas has no map.")
    hovers = atlas.hovers
    size = 4 if len(atlas.tree.query_ids) > _MANY else 6
    chosen = any(group.chosen for group in groups)
    figure = go.Figure()
    for group in groups:
        places = group.positions
        stands_out = group.chosen or not chosen
        figure.add_scattergl(
            name=_short(group.name),
            x=atlas.xy[places, 0],
            y=atlas.xy[places, 1],
            mode="markers",
            marker={
                "color": palette.muted if group.colour is None else _colour(group.colour, dark),
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


def map_groups(tree: TopicTree, chosen: str | None = None) -> list[MapGroup]:
    """The kept queries by category, those without a topic first and a chosen topic's last, on top of all."""
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


def topic_treemap(tree: TopicTree, dark: bool, palette: Palette) -> go.Figure:
    """Categories, topics and their parts as areas; a click goes into one, and back."""
    ids, labels, parents, values, colours, hovers = (
        [_ROOT],
        ["All topics"],
        [""],
        [0],
        ["rgba(0,0,0,0)"],
        [""],
    )
    for place, category in enumerate(tree.categories):
        roots = [topic for topic in tree.roots if topic.category == category]
        size = sum(tree.size(topic.key) for topic in roots)
        if not size:
            continue
        ids.append(f"category:{category}")
        labels.append(_short(category))
        parents.append(_ROOT)
        values.append(size)
        colours.append(_colour(place, dark))
        hovers.append(f"{plain(category)}<br>{size:,} queries in {len(roots)} topics")
        for topic in (each for root in roots for each in _with_parts(tree, root)):
            ids.append(topic.key)
            labels.append(_area_label(tree, topic))
            parents.append(topic.parent or f"category:{category}")
            values.append(tree.size(topic.key))
            colours.append(_colour(place, dark))
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
                "line": {"width": 1, "color": "rgba(255,255,255,0.55)" if not dark else "rgba(0,0,0,0.5)"},
                "pad": {"t": 20, "l": 3, "r": 3, "b": 3},
                "cornerradius": 3,
            },
            texttemplate="%{label}<br>%{value}",
            textfont={"color": "#14171b" if dark else "#ffffff", "size": 12},
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


def _with_parts(tree: TopicTree, topic: Topic) -> list[Topic]:
    """A topic and its parts, those without a query left out."""
    family = [tree[key] for key in tree.family(topic.key)]
    return [each for each in family if tree.size(each.key)]


def _topic_hover(tree: TopicTree, topic: Topic) -> str:
    lines = [f"<b>{plain(topic.name)}</b>", f"{tree.size(topic.key):,} queries"]
    lines += [wrapped(topic.summary)] if topic.summary else []
    lines += [wrapped(", ".join(topic.keywords))] if topic.keywords else []
    return "<br>".join(lines)


def _colour(place: int, dark: bool) -> str:
    colours = DARK_CATEGORIES if dark else LIGHT_CATEGORIES
    return colours[place % len(colours)]


def _area_label(tree: TopicTree, topic: Topic) -> str:
    """In short lines, but for a topic with parts, whose label is a heading over them."""
    return _short(topic.name) if tree.parts_of(topic.key) else wrapped(topic.name, _LONGEST_LABEL * 2, 13)


def _short(text: str) -> str:
    return plain(text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…")
