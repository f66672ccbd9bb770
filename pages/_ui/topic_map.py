"""Topics on the page: a map of the queries, a tree of areas, a list, and what is inside one topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from leaderboard.render.topic_charts import map_groups, query_map, topic_treemap
from leaderboard.topics.atlas import Atlas
from leaderboard.topics.curation import CuratedTopics
from leaderboard.topics.quality import coherence_of
from leaderboard.topics.tree import Topic, TopicTree
from pages._ui.curation import curation
from pages._ui.session import draw_chart, palette, plain, show

if TYPE_CHECKING:  # the largest import of the page, which the list alone needs
    import pandas as pd

_EXAMPLES = 6
_MAX_EXAMPLE = 220
_LIST_HEIGHT = 560
_MAP, _TREE, _LIST = "Map", "Tree", "List"


def choose_topic(tree: TopicTree, identity: str) -> str | None:
    """Let a topic be chosen, by its name or by the link; None is all of them.

    Args:
        identity: Tells them from others. A box keeps what it shows, not what that stands for, so that for
            topics of other names there must be another one.
    """
    if "topic_key" not in st.session_state:
        st.session_state.topic_key = st.query_params.get("key")
    chosen: str | None = st.session_state.topic_key
    if chosen is not None and chosen not in tree:
        chosen = st.session_state.topic_key = None
    ordered = _in_category_order(tree)
    box = f"topic_box:{identity}"
    show(box, chosen)

    def take_over() -> None:
        st.session_state.topic_key = st.session_state[box]

    st.selectbox(
        "Look inside a topic",
        [topic.key for topic in ordered],
        key=box,
        index=None,
        format_func=lambda key: _path(tree, tree[key]),
        placeholder="Type a word of its name, or click below",
        on_change=take_over,
    )
    return chosen


def draw_atlas(atlas: Atlas, chosen: str | None, topics: CuratedTopics | None) -> None:
    """Draw a map, a tree and a list; only the open one is drawn."""
    names = [_MAP, _TREE, _LIST] if atlas.xy is not None else [_TREE, _LIST]
    draw = {_MAP: _map, _TREE: _tree, _LIST: _list}
    tabs = st.tabs(names, key="topics_tabs", on_change="rerun")
    for tab, name in zip(tabs, names, strict=True):
        if tab.open:
            with tab:
                draw[name](atlas, chosen, topics)


def show_topic(atlas: Atlas, key: str, topics: CuratedTopics | None) -> None:
    """Draw what a topic is about, and queries that stand for it."""
    tree, topic = atlas.tree, atlas.tree[key]
    with st.container(border=True):
        st.subheader(plain(topic.name), anchor=False)
        st.caption(plain(_facts(tree, topic, topics)))
        if topic.summary:
            st.text(topic.summary)
        if topic.keywords:
            st.caption(plain(" · ".join(topic.keywords)))
        examples = (
            curation().examples(topics, key, _EXAMPLES)
            if topics is not None
            else list(tree.queries_of(tree.family(key))[:_EXAMPLES])
        )
        texts = [atlas.texts[query] for query in examples if query in atlas.texts]
        if not texts:
            st.caption("The texts of its queries are not stored here." if examples else "It has no query.")
            return
        st.markdown("**Queries nearest its centre**" if topics is not None else "**Queries**")
        st.markdown("\n".join(f"- {plain(_cut(text))}" for text in texts))


def _map(atlas: Atlas, chosen: str | None, topics: CuratedTopics | None) -> None:
    groups = map_groups(atlas.tree, chosen)

    def choose() -> None:
        selection: Any = st.session_state[key].selection
        for point in selection.points[:1]:
            position = int(groups[point["curve_number"]].positions[point["point_index"]])
            place = atlas.tree.topic_of[position]
            st.session_state.topic_key = place if place in atlas.tree else None

    # Another key for another figure: a selection is that of the figure it was made in.
    key = f"map:{atlas.identity}:{chosen}"
    st.plotly_chart(
        query_map(atlas, groups, palette()),
        key=key,
        on_select=choose,
        selection_mode="points",
        config={
            "displaylogo": False,
            "modeBarButtons": [["zoomIn2d", "zoomOut2d", "resetScale2d"]],
            "displayModeBar": True,
        },
        alt="Map of the queries, coloured by category; the tabs Tree and List name the same topics.",
    )
    st.caption(plain(f"{atlas.projection} Click a dot to look inside its topic."))


def _tree(atlas: Atlas, chosen: str | None, topics: CuratedTopics | None) -> None:
    draw_chart(
        topic_treemap(atlas.tree, palette()), "Categories and their topics; the tab List has the numbers."
    )
    st.caption("Areas are numbers of queries. Click a category or topic to go into it.")


def _list(atlas: Atlas, chosen: str | None, topics: CuratedTopics | None) -> None:
    searched = st.text_input(
        "Search topics",
        key="topics_searched",
        placeholder="Search names, summaries and keywords",
        label_visibility="collapsed",
    )
    shown = _matching(atlas.tree, searched)
    if not shown:
        st.caption("No topic has that in its name, summary or keywords.")
        return

    def choose() -> None:
        selection: Any = st.session_state[key].selection
        for row in selection.rows[:1]:
            st.session_state.topic_key = shown[row].key

    key = f"list:{atlas.identity}:{searched}:{chosen}"
    table = topic_table(atlas.tree, shown, topics)
    st.dataframe(
        table,
        key=key,
        hide_index=True,
        height=min(_LIST_HEIGHT, 38 + 35 * len(table)),
        on_select=choose,
        selection_mode="single-row",
        column_config={
            "Queries": st.column_config.ProgressColumn(
                format="%d", max_value=max(1, int(table["Queries"].max())), width="small"
            ),
            "Coherence": st.column_config.NumberColumn(format="%.2f", width="small"),
            "Topic": st.column_config.TextColumn(width="medium"),
            "Category": st.column_config.TextColumn(width="medium"),
        },
    )
    st.caption("Tick a line to look inside the topic; click a heading to sort.")


def topic_table(tree: TopicTree, shown: list[Topic], topics: CuratedTopics | None) -> pd.DataFrame:
    """Return one row a topic; columns of which nothing is known are left out."""
    columns: dict[str, list[Any]] = {
        "Topic": [f"{'– ' if topic.parent else ''}{topic.name}" for topic in shown],
        "Queries": [tree.size(topic.key) for topic in shown],
        "Coherence": [None if topics is None else coherence_of(topics, topic.key) for topic in shown],
        "Category": [topic.category for topic in shown],
        "Keywords": [", ".join(topic.keywords) for topic in shown],
        "Summary": [topic.summary for topic in shown],
        "Key": [None if topics is None else topic.key for topic in shown],
    }
    import pandas as pd  # noqa: PLC0415

    return pd.DataFrame({name: values for name, values in columns.items() if any(values)})


def _matching(tree: TopicTree, searched: str) -> list[Topic]:
    """Return topics by category in which every searched word stands somewhere."""
    words = searched.casefold().split()
    return [
        topic
        for topic in _in_category_order(tree)
        if all(
            word in f"{topic.category} {topic.name} {topic.summary} {' '.join(topic.keywords)}".casefold()
            for word in words
        )
    ]


def _in_category_order(tree: TopicTree) -> list[Topic]:
    """Return topics and their parts, those of large categories first."""
    return [
        tree[key]
        for category in tree.categories
        for root in tree.roots
        if root.category == category
        for key in tree.family(root.key)
    ]


def _facts(tree: TopicTree, topic: Topic, topics: CuratedTopics | None) -> str:
    facts = [topic.category, f"{tree.size(topic.key):,} queries"]
    if topic.parent is not None:
        facts.insert(1, f"part of {tree.name_of(topic.parent)}")
    if parts := tree.parts_of(topic.key):
        facts.append(f"{len(parts)} parts")
    if topics is not None:
        coherence = coherence_of(topics, topic.key)
        facts += [] if coherence is None else [f"coherence {coherence:.2f}".replace("-", "−")]
        facts.append(f"key {topic.key}")
    return " · ".join(facts)


def _path(tree: TopicTree, topic: Topic) -> str:
    name = f"{tree.name_of(topic.parent)} › {topic.name}" if topic.parent else topic.name
    return f"{name} · {tree.size(topic.key):,} · {topic.category}"


def _cut(text: str) -> str:
    line = " ".join(text[: 2 * _MAX_EXAMPLE].split())
    return line if len(line) <= _MAX_EXAMPLE else line[: _MAX_EXAMPLE - 1].rstrip() + "…"
