"""Which queries count, in the sidebar: topics to tick, their weights, and what one uses LLMs for."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from db.records import BenchmarkRecord, CategoryRecord
from leaderboard.errors import LeaderboardError
from leaderboard.sentences import listed
from leaderboard.view import TopicWeight, View, read_interests
from pages._ui.session import change_view, correct_view, plain, show


def topic_sizes(record: BenchmarkRecord) -> dict[str, int]:
    """Return how many queries there are of each category and topic, by its name."""
    sizes = {topic.name: topic.n_queries for category in record.categories for topic in category.topics}
    return sizes | {category.name: category.n_queries for category in record.categories}


def choose_topics(record: BenchmarkRecord, chosen: tuple[str, ...]) -> None:
    """Draw the tree; every tick changes the view."""
    st.markdown("**Topics**", help="None ticked means all of them.")
    buttons = st.columns(2)
    buttons[0].button("Select all", on_click=_select, args=(record, True), width="stretch")
    buttons[1].button("Clear all", on_click=_select, args=(record, False), width="stretch")
    searched = st.text_input(
        "Search topics", placeholder="Search topics", label_visibility="collapsed", key="topic_search"
    ).strip()
    with st.container(gap="xxsmall", key="topic_tree"):
        if searched:
            _found_topics(record, chosen, searched.casefold())
        else:
            for category in record.categories:
                if category.n_queries:
                    _category(category, chosen)


def _category(category: CategoryRecord, chosen: tuple[str, ...]) -> None:
    topics = [topic.name for topic in category.topics if topic.n_queries]
    ticked = [topic for topic in topics if category.name in chosen or topic in chosen]
    whole = len(ticked) == len(topics)
    key = f"category:{category.name}"
    show(key, whole)
    part = f" ({len(ticked)} of {len(topics)} topics)" if ticked and not whole else ""
    row = st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="xsmall")
    row.checkbox(
        f"{plain(category.name)}{part} · {category.n_queries}",
        key=key,
        on_change=_tick,
        args=(category.name, topics, key),
        width="stretch",
        wrap=True,
    )
    topics_of = f"Topics of {plain(category.name)}"
    with row.popover(topics_of, type="tertiary", help=topics_of):
        for topic in category.topics:
            if topic.n_queries:
                _topic(category, topic.name, topic.n_queries, ticked)


def _topic(category: CategoryRecord, topic: str, n_queries: int, ticked: list[str]) -> None:
    key = f"topic:{category.name}:{topic}"
    show(key, topic in ticked)
    st.checkbox(f"{plain(topic)} · {n_queries}", key=key, on_change=_tick_topic, args=(category, topic, key))


def _found_topics(record: BenchmarkRecord, chosen: tuple[str, ...], searched: str) -> None:
    found = False
    for category in record.categories:
        names = [topic.name for topic in category.topics if topic.n_queries]
        ticked = [topic for topic in names if category.name in chosen or topic in chosen]
        for topic in category.topics:
            if topic.n_queries and searched in f"{category.name} {topic.name}".casefold():
                found = True
                _topic(category, topic.name, topic.n_queries, ticked)
    if not found:
        st.caption("No topic has that in its name.")


def _select(record: BenchmarkRecord, every: bool) -> None:
    names = tuple(category.name for category in record.categories if category.n_queries)
    change_view(topics=names if every else ())


def _tick(category: str, topics: list[str], key: str) -> None:
    kept = [name for name in st.session_state.view.topics if name != category and name not in topics]
    change_view(topics=(*kept, category) if st.session_state[key] else tuple(kept))


def _tick_topic(category: CategoryRecord, topic: str, key: str) -> None:
    """Tick one topic; a category whose topics are all ticked is named instead of them."""
    topics = [item.name for item in category.topics if item.n_queries]
    chosen = st.session_state.view.topics
    ticked = {name for name in topics if category.name in chosen or name in chosen}
    ticked = ticked | {topic} if st.session_state[key] else ticked - {topic}
    kept = [name for name in chosen if name != category.name and name not in topics]
    own = [category.name] if len(ticked) == len(topics) else [name for name in topics if name in ticked]
    change_view(topics=(*kept, *own))


_HEAVIEST = 10.0
"""That the page offers; links and the command line take more."""
_FIRST = 2.0
"""Weight of a topic that has just been chosen."""


def choose_weights(record: BenchmarkRecord, view: View) -> None:
    """Draw the controls; every change goes into the view, and a topic that is not there is left out of it."""
    sizes = topic_sizes(record)
    known = [item for item in view.topic_weights if item.name in sizes]
    if unknown := [f"“{item.name}”" for item in view.topic_weights if item.name not in sizes]:
        whose = "its weight is" if len(unknown) == 1 else "their weights are"
        st.error(plain(f"{record.info.title} has no topic {listed(unknown, 'or')}; {whose} left out."))
        correct_view(topic_weights=tuple(known))
    with st.expander("Weights and interests"):
        _interests(view)
        names = [
            name
            for category in record.categories
            for name in (category.name, *(topic.name for topic in category.topics))
        ]
        weighted = {item.name for item in known}
        st.selectbox(
            "Weigh a topic",
            [name for name in dict.fromkeys(names) if sizes[name] and name not in weighted],
            index=None,
            key="weigh_topic",
            placeholder="Choose a topic",
            on_change=_add,
            help="A weight of 2 makes every question of the topic count twice, 0 leaves them out. "
            "A topic’s own weight goes before that of its category.",
        )
        for item in known:
            _row(item)


def _interests(view: View) -> None:
    if "interests" not in st.session_state or st.session_state.get("interests_shown") != view.interests:
        st.session_state.interests = "\n".join(view.interests)
        st.session_state.interests_shown = view.interests
    st.text_area(
        "What I use LLMs for",
        key="interests",
        height=90,
        placeholder="One use a line, such as “emails to customers”",
        on_change=_read_interests,
        help="The closer a question is in meaning to one of the lines, the more it counts.",
    )
    if message := st.session_state.get("interests_error"):
        st.error(plain(message))


def _read_interests() -> None:
    """Take over what was typed; what is too long changes nothing."""
    try:
        interests = read_interests([st.session_state.interests])
    except LeaderboardError as error:
        st.session_state.interests_error = str(error)
        change_view()
        return
    st.session_state.pop("interests_error", None)
    change_view(interests=interests)


def _row(item: TopicWeight) -> None:
    key = f"topic_weight:{item.name}"
    show(key, float(item.weight))
    row = st.container(horizontal=True, vertical_alignment="bottom", wrap=False, gap="xsmall")
    row.number_input(
        plain(item.name),
        min_value=0.0,
        max_value=max(_HEAVIEST, item.weight),
        step=0.5,
        key=key,
        format="%g",
        on_change=_change,
        args=(item.name, key),
    )
    row.button(
        "",
        key=f"unweigh:{item.name}",
        icon=":material/close:",
        type="tertiary",
        help=plain(f"Take the weight of {item.name} away"),
        on_click=_remove,
        args=(item.name,),
    )


def _add() -> None:
    """Give the chosen topic a weight; the list then shows nothing chosen again."""
    name = st.session_state.weigh_topic
    st.session_state.weigh_topic = None
    weights: tuple[TopicWeight, ...] = st.session_state.view.topic_weights
    new = name is not None and name not in {item.name for item in weights}
    change_view(topic_weights=(*weights, TopicWeight(name, _FIRST)) if new else weights)


def _change(name: str, key: str) -> None:
    weights: tuple[TopicWeight, ...] = st.session_state.view.topic_weights
    weight = float(st.session_state[key])
    change_view(
        topic_weights=tuple(replace(item, weight=weight) if item.name == name else item for item in weights)
    )


def _remove(name: str) -> None:
    weights: tuple[TopicWeight, ...] = st.session_state.view.topic_weights
    change_view(topic_weights=tuple(item for item in weights if item.name != name))
