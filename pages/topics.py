"""Topics: what people ask about, as a map, a tree and a list; and for an administrator, their curation."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from leaderboard.cache import SharedCache
from leaderboard.render.tables import topic_figures
from leaderboard.topics.atlas import Atlas, atlas_of_benchmark, atlas_of_pool
from leaderboard.topics.curation import CuratedTopics
from leaderboard.topics.quality import figures
from pages._ui.curation import curate, curation
from pages._ui.session import SHOWN_ERRORS, come_through_app, current_view, plain, service, show, write_link
from pages._ui.topic_map import choose_topic, draw_atlas, show_topic

_ATLASES_KEPT = 4
_POOL, _BENCHMARK = "pool", "benchmark"
_HOW_TO = """
Topics are looked for in a pool of queries: of files, of benchmarks, or of people's votes.
`python -m precompute pool mine queries.csv` makes a pool,
and `python -m precompute cluster mine` finds its topics.
"""
"""In lines, as a block of code would have the browser load what colours one."""

# “pool” or “benchmark”, and its slug. (A string here would be drawn on the page.)
Source = tuple[str, str]


def main() -> None:
    """Lay the page out."""
    current_view()
    st.title("What do people ask about?", anchor=False)
    st.markdown(
        "Queries that ask for something similar form a topic, and related topics a category. "
        "Benchmarks are sampled from them, so that each topic counts."
    )
    source_place, topic_place = st.columns(2)
    with source_place:
        source = _choose_source(_sources())
    try:
        if source[0] == _POOL:
            _pool(source, topic_place)
        else:
            _benchmark(source, topic_place)
    except SHOWN_ERRORS as error:
        st.info(plain(str(error)), icon=":material/info:")
        _link(source, None)


@st.cache_resource(show_spinner=False)
def _kept() -> SharedCache[Atlas]:
    """Return what was drawn last, for all sessions: of ten thousand queries it takes a moment to make."""
    return SharedCache(_ATLASES_KEPT)


def _sources() -> dict[Source, str]:
    """Return pools with topics first, then benchmarks, then pools without."""
    pools = {
        has_topics: {
            (_POOL, pool.slug): f"{pool.title} (pool)"
            for pool in curation().pools()
            if pool.has_topics == has_topics
        }
        for has_topics in (True, False)
    }
    benchmarks = sorted(service().benchmarks(), key=lambda summary: (not summary.has_texts, summary.title))
    own = {(_BENCHMARK, summary.slug): f"{summary.title} (benchmark)" for summary in benchmarks}
    return pools[True] | own | pools[False]


def _choose_source(titles: dict[Source, str]) -> Source:
    if st.session_state.get("topics_source") not in titles:
        asked = tuple(str(st.query_params.get("of", "")).split(":", 1))
        st.session_state.topics_source = asked if asked in titles else next(iter(titles))
    show("topics_box", st.session_state.topics_source)
    st.selectbox("Queries of", titles, key="topics_box", format_func=titles.__getitem__, on_change=_take_over)
    chosen: Source = st.session_state.topics_source
    return chosen


def _take_over() -> None:
    st.session_state.topics_source = st.session_state.topics_box
    st.session_state.topic_key = None


def _pool(source: Source, topic_place: DeltaGenerator) -> None:
    topics = curation().read(source[1])
    st.html(topic_figures(figures(topics)))
    if topics.log:
        st.caption("Coherence and stability are those of the topics as they were found, before curation.")
    atlas = _kept().get(topics.identity, lambda: atlas_of_pool(topics))
    chosen = _atlas(source, topic_place, atlas, topics)
    curate(topics, chosen)


def _benchmark(source: Source, topic_place: DeltaGenerator) -> None:
    slug = source[1]
    changed = service().benchmark(slug).record.updated_at
    atlas = _kept().get((slug, changed), lambda: atlas_of_benchmark(service().database, slug))
    _atlas(source, topic_place, atlas, None)
    if not any(pool.has_topics for pool in curation().pools()):
        with st.expander("Topics of your own queries", icon=":material/add:"):
            st.markdown(_HOW_TO)


def _atlas(
    source: Source, topic_place: DeltaGenerator, atlas: Atlas, topics: CuratedTopics | None
) -> str | None:
    with topic_place:
        chosen = choose_topic(atlas.tree, atlas.identity)
    _link(source, chosen)
    draw_atlas(atlas, chosen, topics)
    if chosen is not None:
        show_topic(atlas, chosen, topics)
    return chosen


def _link(source: Source, chosen: str | None) -> None:
    write_link({"of": ":".join(source)} | ({"key": chosen} if chosen is not None else {}))


come_through_app()
main()
