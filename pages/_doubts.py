"""Calm notices of what a judge doubts."""

from __future__ import annotations

import streamlit as st

from crm import registry
from leaderboard.request import doubts_of
from leaderboard.view import View
from leaderboard.wording.doubts import doubt_sentence, doubts_in_brief
from pages._session import MENDABLE, plain

_SHOWN = 3


def show_doubts(view: View) -> None:
    """A notice for every criterion that the view's judge cannot judge, and for a list at odds with itself.

    What is wrong with the judge itself is said where the ranking is.
    """
    try:
        doubts = doubts_of(registry.get_crm(view.crm), view.criteria)
    except MENDABLE:
        return
    for doubt in doubts[:_SHOWN]:
        st.info(plain(doubt_sentence(doubt)), icon=":material/help:")
    if more := doubts[_SHOWN:]:
        st.info(plain(f"{len(more)} more. {doubts_in_brief(more)}"), icon=":material/help:")
