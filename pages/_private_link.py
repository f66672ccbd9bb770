"""Private links: what opens a profile, and the profile that this session holds."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urljoin

import streamlit as st

from leaderboard.yours.profile import Profile
from leaderboard.yours.profile_store import ProfileStore, SavedProfile
from pages._session import MENDABLE, change_view, plain, shared_service

PARAMETER = "profile"
_HELD = "profile"


@dataclass(frozen=True)
class HeldProfile:
    """The profile that a session holds.

    Attributes:
        profile: As it was opened, imported or saved last.
        token: What opens it; None where it is not saved.
        saved: As it is stored; None where it is not.
    """

    profile: Profile
    token: str | None = None
    saved: SavedProfile | None = None


def store() -> ProfileStore:
    """The profiles of this installation."""
    return ProfileStore(shared_service().database)


def held_profile() -> HeldProfile | None:
    """What this session holds."""
    held: HeldProfile | None = st.session_state.get(_HELD)
    return held


def hold(held: HeldProfile | None, *, show: bool = False) -> None:
    """Hold a profile, or none.

    Args:
        held: The profile.
        show: Whether the session's view becomes that of the profile.
    """
    st.session_state[_HELD] = held
    if held is not None and show:
        st.session_state.view = held.profile.view
        change_view()


def private_link(token: str) -> str:
    """The address that opens a profile in any browser."""
    return f"{urljoin(st.context.url or '', '.')}?{PARAMETER}={token}"


def open_private_link() -> None:
    """Open the profile whose private link the browser came by, and take the token out of the address bar.

    What is in the address bar is copied to share a view; nobody should hand out their profile with it.
    """
    token = st.query_params.get(PARAMETER)
    if token is None:
        return
    del st.query_params[PARAMETER]
    held = held_profile()
    if held is not None and held.token == token:
        return  # the browser had not yet heard that the address has changed
    try:
        saved = store().open(token)
    except MENDABLE as error:
        st.error(plain(str(error)))
        return
    hold(HeldProfile(saved.profile, token, saved), show=True)
    st.toast("Your profile is open. Changes are saved on the page “Yours”.", icon=":material/person:")
