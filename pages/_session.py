"""What every page shares: the service, the view of this session and the link that carries it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Thread
from time import monotonic
from typing import Any, NoReturn

import streamlit as st

from crm.encoder import sentence_encoder
from crm.errors import CRMError
from db import DatabaseError
from leaderboard.errors import LeaderboardError
from leaderboard.pictures.charts import DARK, LIGHT, Palette
from leaderboard.service import Service
from leaderboard.view import View

MENDABLE = (LeaderboardError, CRMError, DatabaseError)
"""Errors whose message is shown to the person as it stands."""

_LINK_DELAY = 3.0
"""Seconds in which a browser may still send an address that has been replaced."""

_MARKDOWN = frozenset(r"\`*_{}[]()#+-.!|:$<>~")


@st.cache_resource(show_spinner="Opening the database …")
def shared_service() -> Service:
    """The service of this process."""
    return Service.open()


def service() -> Service:
    """The service of this process, with what this session has brought."""
    own: Service | None = st.session_state.get("session_service")
    return own or shared_service()


@st.cache_resource(show_spinner=False)
def warm_up() -> None:
    """Load the sentence encoder in the background, so that the first page need not wait for it."""
    Thread(target=sentence_encoder, name="warm-up", daemon=True).start()


def current_view() -> View:
    """The view of this session, or the link's where the page was opened by one.

    A link that no judge can take is named on the page, and what it would have changed stays as it was. In a
    run that a widget's change started the link is not read: it may be older than that change.
    """
    link = {name: tuple(st.query_params.get_all(name)) for name in st.query_params}
    if "view" not in st.session_state:
        st.session_state.view = View()
    changed_here = st.session_state.pop("changed_here", False)
    if link and not changed_here and link != st.session_state.get("link") and not _just_replaced(link):
        st.session_state.link = link
        try:
            st.session_state.view = View.from_query(link)
        except (CRMError, LeaderboardError) as error:
            st.error(plain(f"The link could not be read. {error}"))
    view: View = st.session_state.view
    return view


def change_view(**changes: Any) -> None:
    """Replace parts of the view; for the callbacks of widgets, also of those that found nothing to change."""
    st.session_state.changed_here = True
    correct_view(**changes)


def stay() -> NoReturn:
    """Run the whole page again for the view it shows; for parts of it that have been run alone."""
    st.session_state.changed_here = True
    st.rerun()


def correct_view(**changes: Any) -> None:
    """Replace parts of the view that cannot be shown."""
    st.session_state.view = replace(st.session_state.view, **changes)


def show(key: str, value: Any) -> None:
    """Let the widget of this key show the view's value.

    A value that it shows already is not set again: setting pushes it to the browser, over a click that
    may be on its way from there.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def write_link(extra: Mapping[str, str | Sequence[str]] | None = None) -> None:
    """Put the view, and what else the page shows, into the address bar."""
    parameters = as_parameters(st.session_state.view, extra)
    link = {name: tuple(values) for name, values in parameters.items()}
    if link != {name: tuple(st.query_params.get_all(name)) for name in st.query_params}:
        st.query_params.from_dict(parameters)
    if (before := st.session_state.get("link")) not in (None, link):
        st.session_state.setdefault("replaced", []).append((monotonic(), before))
    st.session_state.link = link


def _just_replaced(link: dict[str, tuple[str, ...]]) -> bool:
    """Whether the browser, asking for this run, had not yet heard of a link written moments ago."""
    now = monotonic()
    replaced = [(at, old) for at, old in st.session_state.get("replaced", []) if now - at < _LINK_DELAY]
    st.session_state.replaced = replaced
    return any(old == link for _, old in replaced)


def as_parameters(view: View, extra: Mapping[str, str | Sequence[str]] | None = None) -> dict[str, list[str]]:
    """A view and extra values, of which there may be several by one name, as parameters of an address."""
    parameters: dict[str, list[str]] = {}
    for name, value in view.to_query():
        parameters.setdefault(name, []).append(value)
    for name, values in (extra or {}).items():
        if listed := [values] if isinstance(values, str) else list(values):
            parameters[name] = listed
    return parameters


def palette() -> Palette:
    """Colours of figures in the theme that the browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def page_colour() -> str:
    """The page's background in the theme that the browser shows."""
    theme = "dark" if st.context.theme.type == "dark" else "light"
    return str(st.get_option(f"theme.{theme}.backgroundColor"))


def plain(text: str) -> str:
    """Text as labels and captions show it literally, without Markdown or directives taking effect."""
    return "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in text)
