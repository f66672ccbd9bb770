"""The app's pages, and the way into them through ``app.py``."""

from __future__ import annotations

import streamlit as st
from streamlit.navigation.page import Page


def navigation() -> Page:
    """Declare the pages; the one that the browser asked for is returned."""
    return st.navigation(
        [
            st.Page("pages/leaderboard.py", title="Leaderboard", icon=":material/leaderboard:", default=True),
            st.Page("pages/find.py", title="Find my criteria", icon=":material/explore:", url_path="find"),
            st.Page(
                "pages/compare.py", title="Compare", icon=":material/compare_arrows:", url_path="compare"
            ),
            st.Page("pages/llm.py", title="Inside an LLM", icon=":material/search:", url_path="llm"),
            st.Page("pages/judges.py", title="Judges", icon=":material/balance:", url_path="judges"),
            st.Page("pages/topics.py", title="Topics", icon=":material/bubble_chart:", url_path="topics"),
            st.Page("pages/yours.py", title="Yours", icon=":material/person:", url_path="yours"),
            st.Page("pages/about.py", title="Data and method", icon=":material/menu_book:", url_path="about"),
        ],
        position="top",
    )


def come_through_app() -> None:
    """Start over through ``app.py`` where Streamlit has run a page without it.

    Until pages have been declared once, a new server takes the folder ``pages/`` for a list of pages, and
    the first browser to open one by its address would see it without navigation and theme.
    """
    if "through_app" not in st.session_state:
        navigation()
        st.rerun()
