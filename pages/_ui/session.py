"""What every page shares: the pages' list, the service, the view of this session and its link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from threading import Thread
from time import monotonic
from typing import Any, NoReturn

import streamlit as st
from plotly.graph_objects import Figure
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import Page

from crm import registry
from crm.criteria import CriteriaSet
from crm.embedded.encoder import sentence_encoder
from crm.embedded.model import embedded_crm
from crm.errors import CRMError
from crm.protocol import CRM
from db import DatabaseError
from leaderboard.errors import LeaderboardError
from leaderboard.render.chart_style import DARK, LIGHT, Palette, load_plotly
from leaderboard.request import CheckedCriteria, check_criteria
from leaderboard.service import Service
from leaderboard.view import View

SHOWN_ERRORS = (LeaderboardError, CRMError, DatabaseError)
"""Errors whose message is shown to the person as it stands."""

_LINK_DELAY = 3.0
"""Seconds in which a browser may still send an address that has been replaced."""

_MARKDOWN = frozenset(r"\`*_{}[]()#+-=.!|:$<>~&")
_BARE_LINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
"""Where the browser would see, once escapes have been read, that a text is an address."""
_NOTHING = ":small[]"
"""Markdown for nothing: it parts a text for the browser, and changes neither its looks nor what is copied."""
_SOURCE = re.compile(r"(https?://[^\s<>]*[^\s<>.,;:!?'\")\]])")


@st.cache_resource(show_spinner="Opening the database …")
def shared_service() -> Service:
    """Return the service of this process."""
    return Service.open()


def service() -> Service:
    """Return the service of this process, with what this session has brought."""
    own: Service | None = st.session_state.get("session_service")
    return own or shared_service()


@st.cache_resource(show_spinner=False)
def warm_up() -> None:
    """Have the bundled judge read a criterion in the background, and a figure made, so that the first ones
    that somebody asks for need not wait until networks and Plotly are loaded."""

    def do_once() -> None:
        embedded_crm().direction(CriteriaSet.of(["Concise"]))
        load_plotly()

    Thread(target=do_once, name="warm-up", daemon=True).start()


@cache
def warm_up_for_files() -> None:
    """Have PyTorch loaded in the background, which reads many texts at once, while a file of them is chosen.

    Only where files are taken: it is the largest part of the process.
    """
    Thread(target=lambda: sentence_encoder().encode(["."], bulk=True), name="for files", daemon=True).start()


def current_view() -> View:
    """Return the view of this session, or the link's where the page was opened by one.

    A link that no judge can take is named on the page, and what it would have changed stays as it was. In a
    run that a widget's change started the link is not read: it may be older than that change.
    """
    link = {name: tuple(st.query_params.get_all(name)) for name in st.query_params}
    if "view" not in st.session_state:
        st.session_state.view = View(service().first_benchmark())
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


def change_criteria(criteria: CriteriaSet) -> None:
    """Replace the view's criteria; the first ones come with a floor, and with the last one it goes."""
    view: View = st.session_state.view
    if not criteria:
        st.session_state.view = view.crowd
    elif not view.criteria and view.floor is None:
        correct_view(floor=service().first_floor(view.benchmark))
    change_view(criteria=criteria)


def judged_criteria(view: View) -> tuple[CRM, CheckedCriteria] | None:
    """Return the view's judge and what it says of the criteria; None where there is no such judge.

    What is wrong with the judge stands where the ranking is.
    """
    try:
        crm = registry.get_crm(view.crm)
        return crm, check_criteria(crm, view)
    except SHOWN_ERRORS:
        return None


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
    """Return whether the browser, asking for this run, had not yet heard of a link written moments ago."""
    now = monotonic()
    replaced = [(at, old) for at, old in st.session_state.get("replaced", []) if now - at < _LINK_DELAY]
    st.session_state.replaced = replaced
    return any(old == link for _, old in replaced)


def as_parameters(view: View, extra: Mapping[str, str | Sequence[str]] | None = None) -> dict[str, list[str]]:
    """Return a view and extra values, several by one name too, as parameters of an address."""
    parameters: dict[str, list[str]] = {}
    for name, value in view.to_query():
        parameters.setdefault(name, []).append(value)
    for name, values in (extra or {}).items():
        if listed := [values] if isinstance(values, str) else list(values):
            parameters[name] = listed
    return parameters


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show an error that is meant for the person instead of what was to come in this block."""
    try:
        yield
    except SHOWN_ERRORS as error:
        st.error(plain(str(error)))


def announce(section: str, text: str) -> None:
    """Keep a line on what was done for the section's next run, and have its forms empty by then."""
    st.session_state[f"{section}_done"] = text
    st.session_state[f"{section}_round"] = form_round(section) + 1


def show_announcement(section: str) -> None:
    """Show once what was done in the last run."""
    if done := st.session_state.pop(f"{section}_done", None):
        st.success(plain(done), icon=":material/check:")


def form_round(section: str) -> int:
    """Return how many changes this session made: part of forms' keys, so that they are empty again."""
    made: int = st.session_state.get(f"{section}_round", 0)
    return made


def show_place(bar: DeltaGenerator) -> Callable[[int], None]:
    """Return what shows in a progress bar at which place one waits until one's texts are read."""

    def show_it(place: int) -> None:
        bar.progress(0.0, f"Waiting at place {place}: the files of others are read first")

    return show_it


def draw_chart(figure: Figure, alt: str) -> None:
    """Draw a figure without the buttons over it.

    Args:
        alt: What it shows, for those who cannot see it: the numbers, or where they are.
    """
    st.plotly_chart(figure, config={"displayModeBar": False}, alt=alt)


def menu(place: DeltaGenerator, label: str, draw: Callable[[], None], *, icon: str, key: str) -> None:
    """Draw a button with a menu, whose content is drawn while it is open only: else every change pays for it.

    An open one stays open when its label changes, which to Streamlit makes it another one.
    """
    before, state = f"{key}:label", st.session_state
    if state.get(key) and state.get(before, label) != label:
        state[key] = True
    state[before] = label
    popover = place.popover(label, icon=icon, key=key, on_change="rerun")
    if popover.open:
        with popover:
            draw()


def offer_file(
    place: Any,
    label: str,
    content: str | Callable[[], str | bytes],
    name: str,
    *,
    kind: str = "text/csv",
    explanation: str | None = None,
) -> None:
    """Draw a button that downloads a file, which may be written only when it is asked for."""
    place.download_button(
        label,
        content,
        file_name=name,
        mime=kind,
        on_click="ignore",
        icon=":material/download:",
        help=explanation,
    )


def palette() -> Palette:
    """Return colours of figures in the theme that the browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def page_colour() -> str:
    """Return the page's background in the theme that the browser shows."""
    theme = "dark" if st.context.theme.type == "dark" else "light"
    return str(st.get_option(f"theme.{theme}.backgroundColor"))


def plain(text: str) -> str:
    """Return text as labels and captions show it literally, without Markdown or directives taking effect.

    Addresses in it do not become links: nobody here vouches for them.
    """
    return _NOTHING.join(
        "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in part)
        for part in _BARE_LINK.split(text)
    )


def with_links(text: str) -> str:
    """Return text as ``plain`` does, but for addresses of pages, which are links: for sources, where they
    are meant."""
    return "".join(f"<{part}>" if _SOURCE.fullmatch(part) else plain(part) for part in _SOURCE.split(text))


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
            st.Page("pages/yours.py", title="My data", icon=":material/person:", url_path="yours"),
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
