"""The leaderboard: topics and criteria in, a ranking for one person out."""

from __future__ import annotations

import streamlit as st

from crm import registry
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from leaderboard.request import LEAST_ANSWERED
from leaderboard.sentences import AGAINST_IN_WORDS, listed
from leaderboard.statistics.style_control import Control
from leaderboard.view import DEFAULT_BENCHMARK, Against, View
from pages._ui.answer import mark_criteria_box
from pages._ui.criteria_editor import edit_criteria, show_criterion_warnings
from pages._ui.live_ranking import live
from pages._ui.part import draw_part
from pages._ui.ranking_tabs import show_ranking
from pages._ui.reach import announce_answers, offer_shortcuts
from pages._ui.requirements import choose_requirements
from pages._ui.session import (
    change_view,
    come_through_app,
    correct_view,
    current_view,
    plain,
    service,
    show,
    write_link,
)
from pages._ui.share import show_embedded
from pages._ui.topic_choice import choose_topics, choose_weights, topic_sizes

_CONTROLS = {Control.NONE: "off", Control.LENGTH: "on", Control.STYLE: "on, and for lists, headings and bold"}


def main() -> None:
    """Lay the page out."""
    view = current_view()
    if st.context.is_embedded:
        show_embedded(view)
        return
    with st.sidebar:
        offer_shortcuts()
        _choose_benchmark(view)
        view = st.session_state.view
        _guarded_topics(view)
        _choose_judge(view)
    st.title("Which LLM suits you?")
    st.markdown(
        "Say what you like in an answer, pick the topics you care about, and see the LLMs ranked **for you**."
    )
    draw_part("leaderboard", _ask_and_rank)


def _ask_and_rank() -> None:
    """Draw what the person likes, and the ranking; the sidebar does not depend on either."""
    with service().at_one_moment():
        with st.container(key="ask"):  # keeps what follows in its place, however many rows there are
            mark_criteria_box()
            edit_criteria(st.session_state.view.criteria)
            show_criterion_warnings(st.session_state.view)
            choose_requirements(st.session_state.view)
        write_link()
        live(st.session_state.view, show_ranking)
    announce_answers()


def _choose_benchmark(view: View) -> None:
    summaries = service().benchmarks()
    titles = {summary.slug: summary.title for summary in summaries}
    slugs = sorted(titles, key=lambda slug: (slug != DEFAULT_BENCHMARK, titles[slug]))
    if not slugs:
        st.error("There is no benchmark: import one, as docs/importing.md shows.")
        st.stop()
    if view.benchmark not in slugs:
        st.error(
            plain(f"There is no benchmark “{view.benchmark}” here; {titles[slugs[0]]} is shown instead.")
        )
        correct_view(benchmark=slugs[0], topics=(), topic_weights=(), against=None)
    show("benchmark", st.session_state.view.benchmark)
    st.selectbox(
        "Benchmark",
        slugs,
        format_func=titles.__getitem__,
        key="benchmark",
        on_change=_change_benchmark,
    )


def _change_benchmark() -> None:
    slug: str = st.session_state.benchmark
    floor = service().first_floor(slug) if st.session_state.view.criteria else None
    change_view(benchmark=slug, topics=(), topic_weights=(), floor=floor, against=None)


def _guarded_topics(view: View) -> None:
    record = service().benchmark(view.benchmark).record
    known = topic_sizes(record)
    if unknown := [f"“{topic}”" for topic in view.topics if topic not in known]:
        left_out = "it is" if len(unknown) == 1 else "they are"
        st.error(plain(f"{record.info.title} has no topic {listed(unknown, 'or')}; {left_out} left out."))
        correct_view(topics=tuple(topic for topic in view.topics if topic in known))
    if missing := [f"“{name}”" for name in view.criteria.names if name not in known]:
        st.error(
            plain(f"{record.info.title} has no topic {listed(missing, 'or')}: its criteria are left out.")
        )
        kept = tuple(item for item in view.criteria if set(item.only_for) <= set(known))
        correct_view(criteria=CriteriaSet(kept))
    choose_topics(record, st.session_state.view.topics)
    choose_weights(record, st.session_state.view)


def _choose_judge(view: View) -> None:
    with st.expander("Judge and scoring"):
        show("judge", view.crm if view.crm in registry.crm_names() else registry.DEFAULT)
        st.selectbox(
            "Judge",
            registry.crm_names(),
            key="judge",
            on_change=lambda: change_view(crm=st.session_state.judge),
            help="“embedded” is the trained judge; “longer” and “cosine” are references that it must beat.",
        )
        _choose_default_judge(view)
        against = _choose_against(view)
        show("soft", view.soft)
        st.toggle(
            "Average confidence",
            key="soft",
            on_change=lambda: change_view(soft=st.session_state.soft),
            help="Scores are how sure the judge is on average that the LLM is preferred, not the share of "
            "questions won.",
        )
        show("control", view.control)
        st.selectbox(
            "Adjust for length",
            list(Control),
            key="control",
            format_func=_CONTROLS.__getitem__,
            on_change=lambda: change_view(control=st.session_state.control),
            help="What an LLM would win if its responses were like the baseline’s in length, or in length, "
            "lists, headings and bold. Length may be a bias of the judge, or just what you want: criteria "
            "that ask for short answers lose their main effect. It takes a baseline to be ranked against.",
            disabled=against is Against.ALL and view.control is Control.NONE,
        )
        _choose_partial(view, against)


def _choose_default_judge(view: View) -> None:
    """Draw the choice of who judges the ranking without criteria, which all others are compared with."""
    names = registry.crm_names()
    show("default_judge", view.default_crm if view.default_crm in names else None)
    st.selectbox(
        "Judge of the default ranking",
        [None, *names],
        key="default_judge",
        format_func=lambda name: name or _default_judge_in_words(),
        on_change=lambda: change_view(default_crm=st.session_state.default_judge),
        help="Who says how good answers are without your criteria: what your ranking is compared with, and "
        "what the floor goes by. The embedded judge goes by people’s votes where LLMs have them; a reward "
        "model is made for this.",
    )


def _default_judge_in_words() -> str:
    try:
        configured = registry.default_crm_name()
    except CRMError:
        return "As configured"
    return f"As configured: {configured}" if configured else "The same judge"


def _choose_partial(view: View, against: Against) -> None:
    """Draw the switch that ranks LLMs with answers to few queries as well."""
    show("keep_partial", view.keep_partial)
    st.toggle(
        "Rank LLMs that answered only a part",
        key="keep_partial",
        on_change=lambda: change_view(keep_partial=st.session_state.keep_partial),
        help=f"By default an LLM that answered less than {100 * LEAST_ANSWERED[against]:.0f} % of the "
        "questions, or nothing on a chosen topic, stands below the table: what it did not answer might be "
        "better or worse.",
    )


def _choose_against(view: View) -> Against:
    """Draw the choice of what LLMs are compared with, and return what it is; no choice without a baseline."""
    benchmark = service().benchmark(view.benchmark)
    against = view.against or benchmark.default_against
    show("against", against)
    st.segmented_control(
        "Ranked",
        list(Against) if benchmark.record.baseline is not None else [Against.ALL],
        key="against",
        required=True,
        format_func=AGAINST_IN_WORDS.__getitem__,
        on_change=lambda: _change_against(benchmark.default_against),
        help="Against every other: each LLM’s answers are compared with those of all others to the same "
        "questions, so LLMs may have answered different ones. Against the baseline: with one LLM’s answers, "
        "as in the paper.",
    )
    return against


def _change_against(default: Against) -> None:
    """Take over the choice; what is the benchmark's own need not stand in the link."""
    chosen: Against = st.session_state.against
    change_view(against=None if chosen is default else chosen)


come_through_app()
main()
