"""The profile: criteria, weights and topics saved under a private link, as a file, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urljoin

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crm.criteria import Weight
from leaderboard.user_data.profiles import Profile, ProfileStore, SavedProfile
from leaderboard.user_data.session_data import is_of_session
from leaderboard.view import View
from pages._ui.session import (
    SHOWN_ERRORS,
    announce,
    change_view,
    errors_shown,
    form_round,
    offer_file,
    plain,
    service,
    shared_service,
    show_announcement,
)

_MAX_SAVED = 20
"""Profiles that one session may save."""
_SHOWN_CRITERIA = 12


def edit_profile() -> None:
    """Draw the section on the profile: save, change, download, import, delete."""
    st.header("Your profile", anchor=False)
    show_announcement(_HELD)
    held, view = held_profile(), _view()
    if held is None:
        st.markdown(
            "Keep your criteria, weights and topics under a private link. No account is needed: whoever has "
            "the link can open, change and delete the profile, and nobody else can find it."
        )
    _summary(view)
    if held is None or held.token is None or held.saved is None:
        _unsaved(held, view)
    else:
        _saved(held, held.token, view)


def _view() -> View:
    """Return what would be saved: the session's view, of a benchmark that is there for others too."""
    view: View = st.session_state.view
    return (
        replace(view, benchmark=service().first_benchmark(), topics=())
        if is_of_session(view.benchmark)
        else view
    )


def _summary(view: View) -> None:
    titles = {summary.slug: summary.title for summary in service().benchmarks()}
    with st.container(border=True, gap="xsmall"):
        if not view.criteria:
            st.caption("No criteria yet: type some on the leaderboard.")
        for criterion in list(view.criteria)[:_SHOWN_CRITERIA]:
            weight = "" if criterion.weight is Weight.ESSENTIAL else f" · {criterion.weight.value}"
            st.text(f"{criterion}{weight}")
        if len(view.criteria) > _SHOWN_CRITERIA:
            st.caption(f"and {len(view.criteria) - _SHOWN_CRITERIA} more")
        topics = ", ".join(view.topics) or "all topics"
        st.caption(plain(f"{topics} · {titles.get(view.benchmark, view.benchmark)} · judged by {view.crm}"))


def _unsaved(held: HeldProfile | None, view: View) -> None:
    profile = (held.profile if held else Profile({})).with_view(view)
    row = st.container(horizontal=True)
    row.button("Save under a private link", type="primary", on_click=_save, args=(profile,))
    _download(row, profile)
    with row.popover("Import a file", icon=":material/upload:"):
        uploaded = st.file_uploader(
            "A profile that was downloaded",
            type=["json"],
            max_upload_size=1,
            key=f"profile_file:{form_round(_HELD)}",
        )
        if uploaded is not None:
            _import(uploaded.getvalue(), uploaded.name)
    _complaint()


def _saved(held: HeldProfile, token: str, view: View) -> None:
    st.markdown("**Your private link.** Keep it like a password; a link to a view does not contain it.")
    st.code(private_link(token), language=None, wrap_lines=True)
    changed = held.profile.view != view
    profile = held.profile.with_view(view)
    row = st.container(horizontal=True)
    row.button(
        "Save changes" if changed else "Saved",
        type="primary",
        disabled=not changed,
        on_click=_update,
        args=(held, token, profile),
    )
    if changed:
        row.button("Back to what is saved", on_click=hold, args=(held,), kwargs={"show": True})
    _download(row, profile)
    row.button(
        "Close", help="Forget the link in this browser; the profile stays.", on_click=hold, args=(None,)
    )
    with row.popover("Delete", icon=":material/delete:"):
        st.markdown("The profile is deleted here for good, and its link opens nothing any more.")
        st.button("Delete for good", on_click=_delete, args=(token,))
    _complaint()


def _download(row: DeltaGenerator, profile: Profile) -> None:
    offer_file(row, "Download", profile.to_text(), "usl-profile.json", kind="application/json")


def _save(profile: Profile) -> None:
    n_saved = st.session_state.get("profiles_saved", 0)
    if n_saved >= _MAX_SAVED:
        st.session_state.profile_complaint = "You have saved many profiles just now: change one of them."
        return
    try:
        token, saved = store().save(profile)
    except SHOWN_ERRORS as error:
        st.session_state.profile_complaint = str(error)
        return
    st.session_state.profiles_saved = n_saved + 1
    hold(HeldProfile(saved.profile, token, saved))
    announce(_HELD, "Saved. Keep the link below: it is the only way back to this profile.")


def _update(held: HeldProfile, token: str, profile: Profile) -> None:
    if held.saved is None:
        return
    try:
        saved = store().update(token, profile, held.saved)
    except SHOWN_ERRORS as error:
        st.session_state.profile_complaint = str(error)
        return
    hold(HeldProfile(saved.profile, token, saved))
    announce(_HELD, "The changes are saved.")


def _delete(token: str) -> None:
    try:
        store().delete(token)
    except SHOWN_ERRORS as error:
        st.session_state.profile_complaint = str(error)
    else:
        announce(_HELD, "The profile is deleted. Your criteria stay in this session.")
    hold(None)


def _import(content: bytes, file: str) -> None:
    with errors_shown():
        hold(HeldProfile(Profile.read(content, file)), show=True)
        announce(_HELD, "LLMs are ranked by the file now. It is not saved under a link yet.")
        st.rerun()


def _complaint() -> None:
    if complaint := st.session_state.pop("profile_complaint", None):
        st.error(plain(complaint))


PARAMETER = "profile"
_HELD = "profile"


@dataclass(frozen=True)
class HeldProfile:
    """The profile that a session holds.

    Attributes:
        token: What opens it; None where it is not saved.
        saved: As it is stored; None where it is not.
    """

    profile: Profile
    token: str | None = None
    saved: SavedProfile | None = None


def store() -> ProfileStore:
    """Return the profiles of this installation."""
    return ProfileStore(shared_service().database)


def held_profile() -> HeldProfile | None:
    """Return what this session holds."""
    held: HeldProfile | None = st.session_state.get(_HELD)
    return held


def hold(held: HeldProfile | None, *, show: bool = False) -> None:
    """Hold a profile, or none; with ``show`` the session's view becomes the profile's."""
    st.session_state[_HELD] = held
    if held is not None and show:
        st.session_state.view = held.profile.view
        change_view()


def private_link(token: str) -> str:
    """Return the address that opens a profile in any browser."""
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
    with errors_shown():
        saved = store().open(token)
        hold(HeldProfile(saved.profile, token, saved), show=True)
        st.toast("Your profile is open. Changes are saved on the page “My data”.", icon=":material/person:")
