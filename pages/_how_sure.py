"""How sure the ranking is: groups, two LLMs by themselves, and what the top hangs on."""

from __future__ import annotations

import streamlit as st

from leaderboard.how_sure import MOST_CRITERIA, HowSure, how_sure
from leaderboard.pictures.certainty_html import groups_table
from leaderboard.result import Leaderboard
from leaderboard.statistics.certainty import Certainty
from leaderboard.wording.certainty_words import (
    against_the_crowds_favourite,
    comparison_sentences,
    headline,
    sensitivity_sentences,
)
from pages._session import MENDABLE, plain, service

_LEAST = 2


def show_how_sure(leaderboard: Leaderboard) -> None:
    """Draw the section for the leaderboard that is shown."""
    found = _found(leaderboard)
    if found is None:
        return
    titles = leaderboard.titles
    st.markdown(f"**{plain(headline(found.certainty, titles))}**")
    if leaderboard.view.criteria and leaderboard.default is not None:
        st.markdown(plain(against_the_crowds_favourite(found.certainty, leaderboard.default, titles)))
    if len(found.certainty.llms) >= _LEAST:
        _two_llms(found.certainty, leaderboard)
    _sensitivity(found, leaderboard)
    st.subheader("Groups that cannot be told apart", anchor=False)
    st.html(groups_table(leaderboard, found.certainty))
    st.caption(
        "No two LLMs of a group can be told apart, at 5 % for all pairs together. The last of a group and "
        "the first of the next may be alike. “Comes first”: share of 1,000 draws of other queries of "
        "these topics."
    )


def _found(leaderboard: Leaderboard) -> HowSure | None:
    """What is certain, computed again only when the view or what is judged of it has changed."""
    key = leaderboard.view, leaderboard.n_judged, leaderboard.benchmark.updated_at, leaderboard.crm_version
    kept = st.session_state.get("how_sure")
    if kept is None or kept[0] != key:
        try:
            with st.spinner("Drawing other queries …"):
                kept = key, how_sure(service(), leaderboard.view)
        except MENDABLE as error:
            st.error(plain(str(error)))
            return None
        st.session_state.how_sure = kept
    found: HowSure | None = kept[1]
    return found


def _two_llms(certainty: Certainty, leaderboard: Leaderboard) -> None:
    st.subheader("Two LLMs", anchor=False)
    chosen = []
    for place, (column, label) in enumerate(zip(st.columns(2), ("First LLM", "Second LLM"), strict=True)):
        key = f"told_apart:{place}"
        if st.session_state.get(key) not in certainty.llms:
            st.session_state[key] = certainty.llms[place]
        chosen.append(
            column.selectbox(label, certainty.llms, key=key, format_func=leaderboard.titles.__getitem__)
        )
    st.markdown(plain(comparison_sentences(certainty, chosen[0], chosen[1], leaderboard.titles)))


def _sensitivity(found: HowSure, leaderboard: Leaderboard) -> None:
    lines = sensitivity_sentences(
        found.without_one,
        leaderboard.titles,
        criteria_tried=found.criteria_tried and bool(leaderboard.view.criteria),
    )
    if not lines:
        return
    st.subheader("What the top hangs on", anchor=False)
    st.markdown("\n".join(f"- {plain(line)}" for line in lines))
    if found.criteria_tried and len(leaderboard.view.criteria) > MOST_CRITERIA:
        st.caption(f"Only your first {MOST_CRITERIA} criteria are left out in turn.")
    if not found.criteria_tried and leaderboard.view.criteria:
        st.caption("This judge reads texts, so no criterion is left out in turn: that would take too long.")
