"""What an LLM is asked for besides winning: controls below the criteria."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from leaderboard.request import MAX_MUSTS, essential
from leaderboard.sentences import NO_MUSTS, floor_in_words
from leaderboard.view import FIRST_FLOOR, View
from pages._ui.session import change_view, judged_criteria, show

_SUITED = "Good and suited"
_ALONE = "Criteria alone"


def choose_requirements(view: View) -> None:
    """Draw the choice between good LLMs that suit the person and all by criteria alone, and that of musts.

    Nothing where no criterion is ranked by.
    """
    judged = judged_criteria(view)
    if judged is None or not judged[1].ranked:
        return
    crm, criteria = judged[0], judged[1].ranked
    row = st.container(horizontal=True, vertical_alignment="center")
    show("floor", _ALONE if view.floor is None else _SUITED)
    row.segmented_control(
        "Which LLMs",
        [_SUITED, _ALONE],
        key="floor",
        required=True,
        label_visibility="collapsed",
        on_change=_change_floor,
    )
    musts = essential(criteria)
    if musts and crm.representation is not None:
        show("must_have", view.must_have)
        row.toggle(
            "Essential criteria are a must",
            key="must_have",
            on_change=lambda: change_view(must_have=st.session_state.must_have),
            help="An LLM misses an Essential criterion if the typical LLM, the median of all here, meets it "
            "better on most questions. Whoever misses fewer comes first, whatever the score.",
        )
    st.caption(" ".join(_explained(view, len(musts), reads_texts=crm.representation is None)))


def _explained(view: View, n_musts: int, *, reads_texts: bool) -> Iterator[str]:
    if view.floor is None:
        yield "All LLMs by your criteria alone, as in the paper."
    else:
        above = f"Only LLMs in {floor_in_words(view.floor)} of what people prefer in general"
        yield f"{above}; the others are listed below the table."
    if n_musts and reads_texts:
        yield NO_MUSTS
    elif view.must_have and n_musts > MAX_MUSTS:
        yield f"Only your first {MAX_MUSTS} Essential criteria are a must."


def _change_floor() -> None:
    """Take over the choice; a floor that a link named stays as it is."""
    view: View = st.session_state.view
    chosen = st.session_state.floor == _SUITED
    change_view(floor=(FIRST_FLOOR if view.floor is None else view.floor) if chosen else None)
