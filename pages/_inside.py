"""The way from the table to an LLM's page.

A link in the table loads the page anew, which begins a new session. Where a session holds something that
would be lost, the way leads through Streamlit instead.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from leaderboard.result import Leaderboard
from pages._session import as_parameters

HELD_IN_SESSION = ("material", "profile")
"""Keys of the session's state under which something stands that no link carries."""


def link_to_llm(leaderboard: Leaderboard) -> Callable[[str], str]:
    """From an LLM's name to the address of its page; none where the session would be lost on the way."""
    if _holds_something():
        return lambda _: ""
    return lambda llm: leaderboard.view.to_link("llm", llm=llm)


def look_inside(leaderboard: Leaderboard) -> None:
    """A list of the LLMs that leads to their pages; nothing where the table's links do."""
    if not _holds_something():
        return
    chosen = st.selectbox(
        "Look inside an LLM",
        leaderboard.ranking.llms,
        index=None,
        key="look_inside",
        format_func=lambda llm: leaderboard.titles[llm],
        placeholder="Look inside an LLM",
        label_visibility="collapsed",
        width=340,
    )
    if chosen is not None:
        st.switch_page("pages/llm.py", query_params=as_parameters(leaderboard.view, {"llm": chosen}))


def _holds_something() -> bool:
    return any(st.session_state.get(key) for key in HELD_IN_SESSION)
