"""The profile: criteria, weights and topics saved under a private link, as a file, or not at all."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crm.criteria import Weight
from leaderboard.view import View
from leaderboard.yours.profile import Profile
from leaderboard.yours.session_material import is_of_session
from pages._private_link import HeldProfile, held_profile, hold, private_link, store
from pages._session import MENDABLE, plain, service

_MOST_SAVED = 20
"""Profiles that one session may save."""
_SHOWN_CRITERIA = 12


def edit_profile() -> None:
    """The section on the profile: save, change, download, import, delete."""
    st.header("Your profile", anchor=False)
    if done := st.session_state.pop("profile_done", None):
        st.success(plain(done), icon=":material/check:")
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
    """What would be saved: the session's view, of a benchmark that is there for others too."""
    view: View = st.session_state.view
    return replace(view, benchmark=View().benchmark, topics=()) if is_of_session(view.benchmark) else view


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
            key=f"profile_file:{st.session_state.get('profile_round', 0)}",
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
        row.button("Back to what is saved", on_click=_go_back, args=(held,))
    _download(row, profile)
    row.button("Close", help="Forget the link in this browser; the profile stays.", on_click=_close)
    with row.popover("Delete", icon=":material/delete:"):
        st.markdown("The profile is deleted here for good, and its link opens nothing any more.")
        st.button("Delete for good", on_click=_delete, args=(token,))
    _complaint()


def _download(row: DeltaGenerator, profile: Profile) -> None:
    row.download_button(
        "Download",
        profile.to_text(),
        file_name="usl-profile.json",
        mime="application/json",
        on_click="ignore",
        icon=":material/download:",
    )


def _save(profile: Profile) -> None:
    n_saved = st.session_state.get("profiles_saved", 0)
    if n_saved >= _MOST_SAVED:
        st.session_state.profile_complaint = "You have saved many profiles just now: change one of them."
        return
    try:
        token, saved = store().save(profile)
    except MENDABLE as error:
        st.session_state.profile_complaint = str(error)
        return
    st.session_state.profiles_saved = n_saved + 1
    hold(HeldProfile(saved.profile, token, saved))
    st.session_state.profile_done = "Saved. Keep the link below: it is the only way back to this profile."


def _update(held: HeldProfile, token: str, profile: Profile) -> None:
    if held.saved is None:
        return
    try:
        saved = store().update(token, profile, held.saved)
    except MENDABLE as error:
        st.session_state.profile_complaint = str(error)
        return
    hold(HeldProfile(saved.profile, token, saved))
    st.session_state.profile_done = "The changes are saved."


def _go_back(held: HeldProfile) -> None:
    hold(held, show=True)


def _close() -> None:
    hold(None)


def _delete(token: str) -> None:
    try:
        store().delete(token)
    except MENDABLE as error:
        st.session_state.profile_complaint = str(error)
    else:
        st.session_state.profile_done = "The profile is deleted. Your criteria stay in this session."
    hold(None)


def _import(content: bytes, file: str) -> None:
    try:
        profile = Profile.read(content, file)
    except MENDABLE as error:
        st.error(plain(str(error)))
        return
    hold(HeldProfile(profile), show=True)
    st.session_state.profile_round = st.session_state.get("profile_round", 0) + 1
    st.session_state.profile_done = "LLMs are ranked by the file now. It is not saved under a link yet."
    st.rerun()


def _complaint() -> None:
    if complaint := st.session_state.pop("profile_complaint", None):
        st.error(plain(complaint))
