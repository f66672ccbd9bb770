"""What an LLM is asked for besides winning: a control below the criteria."""

from __future__ import annotations

import streamlit as st

from leaderboard.sentences import floor_in_words
from leaderboard.view import View
from pages._ui.session import PAGE_FLOOR, change_view, show

_SUITED = "Good and suited"
_ALONE = "Criteria alone"


def choose_requirements(view: View) -> None:
    """Draw the choice between good LLMs that suit the person, and the ranking by the criteria alone."""
    if not view.criteria:
        return
    show("floor", _ALONE if view.floor is None else _SUITED)
    st.segmented_control(
        "Which LLMs",
        [_SUITED, _ALONE],
        key="floor",
        required=True,
        label_visibility="collapsed",
        on_change=_change_floor,
    )
    if view.floor is None:
        st.caption("All LLMs by your criteria alone, as in the paper.")
    else:
        above = f"Only LLMs in {floor_in_words(view.floor)} of what people prefer in general"
        st.caption(f"{above}; the others stand below the table.")


def _change_floor() -> None:
    """Take over the choice; a floor that a link named stays as it is."""
    view: View = st.session_state.view
    chosen = st.session_state.floor == _SUITED
    change_view(floor=(PAGE_FLOOR if view.floor is None else view.floor) if chosen else None)
