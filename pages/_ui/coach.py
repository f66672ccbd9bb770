"""The coach beside the criteria: what a broad wish may mean, and two answers that differ in a wish."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crm.criteria import CriteriaSet, Criterion, Polarity
from leaderboard.coach import example_pair, may_mean, split_broad
from leaderboard.render.responses import pair_html, query_html
from pages._ui.session import SHOWN_ERRORS, change_view, plain, service


def sharpen_broad_wishes(criteria: CriteriaSet, change: Callable[[CriteriaSet], None]) -> None:
    """Draw, for each wish that is too broad to be judged, what it may mean; ``change`` replaces the list."""
    for index, criterion in enumerate(criteria):
        if not (meanings := may_mean(criterion)):
            continue
        with st.container(border=True, gap="xsmall", key=f"broad:{index}"):
            by_text = {item.criterion.text: item for item in meanings}
            chosen = st.pills(
                plain(f"“{criterion.everywhere}” can mean much. What would you see in such an answer?"),
                list(by_text),
                selection_mode="multi",
                key=f"broad_meanings:{criterion.text}:{criterion.polarity}",
            )
            st.button(
                "Use these instead",
                key=f"sharpen:{index}",
                icon=":material/call_split:",
                disabled=not chosen,
                on_click=lambda broad, meant: change(split_broad(criteria, broad, meant)),
                args=(criterion, [by_text[text] for text in chosen]),
            )


def offer_example(place: DeltaGenerator, index: int, criterion: Criterion) -> None:
    """Draw the button that shows two answers that differ in a criterion."""
    if place.button(
        "",
        key=f"example:{index}",
        icon=":material/compare:",
        type="tertiary",
        help="Two answers that differ in this",
        on_click=change_view,
    ):
        _show_example(criterion)


@st.dialog("Two answers that differ in this", width="large")
def _show_example(criterion: Criterion) -> None:
    st.markdown(f"**{plain(str(criterion.everywhere))}**")
    try:
        with st.spinner("Looking for two short answers …"):
            pair = example_pair(service(), st.session_state.view.benchmark, criterion)
    except SHOWN_ERRORS as error:
        st.error(plain(str(error)))
        return
    if pair is None:
        st.info("No two short answers with stored texts differ in this.")
        return
    avoided = criterion.polarity is Polarity.AVOID
    more, less = ("Less of it", "More of it") if avoided else ("More of it", "Less of it")
    st.html(query_html(pair.query))
    st.html(pair_html([(more, pair.more), (less, pair.less)]))
    st.caption("As the judge “embedded” reads them. If you see it the other way round, word your wish anew.")
