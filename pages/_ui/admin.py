"""Sign-in for what changes data: shared by every page that offers it."""

from __future__ import annotations

from uuid import uuid4

import streamlit as st

from leaderboard.errors import AdminError
from leaderboard.user_data.admin import TOKEN_VARIABLE, AdminGate
from pages._ui.session import plain

_ADMITTED, _NAME = "admin_admitted", "admin_session"


@st.cache_resource(show_spinner=False)
def gate() -> AdminGate:
    """Return the gate of this process: throttling counts the failures of all sessions together."""
    return AdminGate.from_environment()


def is_admin() -> bool:
    """Return whether this session was admitted, on whatever page, and has not signed out."""
    return bool(st.session_state.get(_ADMITTED, False))


def ask_admin(purpose: str) -> bool:
    """Draw the sign-in for a purpose as in “change topics”, or the way out, or how signing in is enabled.

    Return whether the person may change data now.
    """
    if is_admin():
        row = st.container(horizontal=True, vertical_alignment="center")
        row.caption("Signed in: what you change here is changed for everybody.", width="content")
        row.button("Sign out", key="admin_sign_out", on_click=_sign_out, type="tertiary")
        return True
    unavailable = gate().unavailable
    if unavailable is not None:
        st.info(plain(unavailable), icon=":material/lock:")
        return False
    # Cleared on sending: the token does not stay in the browser's page, nor in the session's state.
    with st.form("admin_sign_in", clear_on_submit=True, border=False):
        row = st.container(horizontal=True, vertical_alignment="bottom")
        attempt = row.text_input(
            f"Admin token, to {purpose}",
            type="password",
            autocomplete="off",
            width=340,
            help=f"The secret that {TOKEN_VARIABLE} holds on the server.",
        )
        sent = row.form_submit_button("Sign in", icon=":material/lock_open:")
    if sent and _admitted(attempt):
        st.rerun()
    return False


def _admitted(attempt: str) -> bool:
    try:
        gate().admit(st.session_state.setdefault(_NAME, uuid4().hex), attempt)
    except AdminError as error:
        st.error(plain(str(error)))
        return False
    st.session_state[_ADMITTED] = True
    return True


def _sign_out() -> None:
    st.session_state.pop(_ADMITTED, None)
