"""The views that a person keeps to compare: in the session, and in the link of the page “Compare”."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crm.errors import CRMError
from leaderboard.compare import MAX_VIEWS, read, written
from leaderboard.errors import LeaderboardError
from leaderboard.view import View
from pages._ui.session import change_view, current_view, plain, write_link

_PARAMETER = "compare"


def saved_views() -> tuple[View, ...]:
    """Return the views kept in this session, in the order in which they were added."""
    views: tuple[View, ...] = st.session_state.get("saved_views", ())
    return views


def keep(*views: View) -> None:
    """Add views that are not kept yet, as long as there is room; for the callbacks of widgets."""
    st.session_state.saved_views = tuple(dict.fromkeys((*saved_views(), *views)))[:MAX_VIEWS]
    change_view()


def drop(view: View) -> None:
    """Keep a view no longer; for the callbacks of widgets."""
    st.session_state.saved_views = tuple(kept for kept in saved_views() if kept != view)
    change_view()


def drop_all() -> None:
    """Keep nothing; for the callbacks of widgets."""
    st.session_state.saved_views = ()
    change_view()


def offer_to_keep(view: View, place: Any) -> None:
    """Draw the leaderboard's button that adds its view, and the way to the comparison."""
    views = saved_views()
    kept = view in views
    place.button(
        "Added to Compare" if kept else "Compare later",
        key="keep",
        on_click=keep,
        args=(view,),
        disabled=kept or len(views) >= MAX_VIEWS,
        icon=":material/check:" if kept else ":material/add:",
        help=f"Keeps this ranking to be compared with others, up to {MAX_VIEWS}.",
    )
    if views:
        place.page_link("pages/compare.py", label=f"Compare ({len(views)})", icon=":material/compare_arrows:")


def take_over_link() -> View:
    """Return the session's view; where the page was opened by a link, also the views that it names."""
    link_before = st.session_state.get("link")
    view = current_view()
    asked = st.query_params.get_all(_PARAMETER)
    if asked and st.session_state.get("link") != link_before:
        st.session_state.saved_views = _read(asked)
    return view


def write_compare_link() -> None:
    """Put the kept views into the address bar."""
    write_link({_PARAMETER: [written(view) for view in saved_views()]})


def _read(asked: list[str]) -> tuple[View, ...]:
    views = []
    for text in asked:
        try:
            views.append(read(text))
        except (CRMError, LeaderboardError) as error:
            st.error(plain(f"One view of the link could not be read. {error}"))
    distinct = tuple(dict.fromkeys(views))
    if len(distinct) > MAX_VIEWS:
        st.info(f"The link names {len(distinct)} views; the first {MAX_VIEWS} are shown.")
    return distinct[:MAX_VIEWS]
