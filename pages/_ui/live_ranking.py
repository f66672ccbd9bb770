"""A slow judge at work: the leaderboard so far, drawn again and again, with a bar, a time and a Stop.

The part of the page that changes is a fragment, which the browser has drawn again every moment while
the judge works; the rest of the page is not touched and stays usable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import uuid4

import streamlit as st

from leaderboard.result import Leaderboard
from leaderboard.scoring_jobs.progress import Progress, State
from leaderboard.view import View
from pages._ui.session import SHOWN_ERRORS, plain, service, stay

_POLL_SECONDS = 1.5
PATIENCE = 0.7
"""Seconds to wait for a judge that is not so slow after all, before showing it at work."""

Draw = Callable[[Leaderboard], None]
T = TypeVar("T")


def live(view: View, draw: Draw) -> None:
    """Draw the view's leaderboard, and again while a slow judge has more to come.

    Where it cannot be had, or nothing is judged yet, the last good one of this session is drawn, and a line
    says so.
    """
    try:
        leaderboard = _first(view)
    except SHOWN_ERRORS as error:
        message = str(error)
        _draw_last(draw, lambda: complain(message))
        return
    while_judging(leaderboard, lambda: _ask(view), is_active, lambda so_far: _draw(so_far, draw))


def live_status(view: View) -> Leaderboard | None:
    """Show how far a slow judge is, and return what there is now; None where it cannot be had."""
    try:
        leaderboard = _first(view)
    except SHOWN_ERRORS as error:
        complain(str(error))
        return None
    while_judging(leaderboard, lambda: _ask(view), is_active, _status)
    return leaderboard


def _first(view: View) -> Leaderboard:
    new = st.session_state.get("asked_for") != view
    st.session_state.asked_for = view
    with st.spinner("Reading your criteria …", show_time=True):
        return _ask(view, patience=PATIENCE if new else 0.0)


def while_judging(
    first: T, ask: Callable[[], T], active: Callable[[T], bool], draw: Callable[[T], None]
) -> None:
    """Draw what there is, and again as long as a judge works; then run the whole page.

    Args:
        first: What there is now.
        ask: What there is by then; its errors are shown by the whole page.
        active: Whether there is more to come.
        draw: Draws what there is.
    """
    waiting, polled = [first], active(first)

    def draw_again() -> None:
        try:
            so_far = waiting.pop() if waiting else ask()
        except SHOWN_ERRORS:
            stay()
        if active(so_far) != polled:
            stay()
        draw(so_far)

    def draw_finished() -> None:
        draw_again()

    # By another name it is another fragment, and the browser's clock for the one before it is stopped.
    if polled:
        st.fragment(draw_again, run_every=_POLL_SECONDS)()
    else:
        st.fragment(draw_finished)()


def _ask(view: View, *, patience: float = 0.0) -> Leaderboard:
    return service().leaderboard(view, subscriber=subscriber(), patience=patience)


def subscriber() -> str:
    """Return the name under which this browser's page subscribes to a judge's work."""
    name: str = st.session_state.setdefault("subscriber", uuid4().hex)
    return name


def is_active(leaderboard: Leaderboard) -> bool:
    """Return whether a slow judge has more to come."""
    return leaderboard.judging is not None and leaderboard.judging.current.active


def _draw(leaderboard: Leaderboard, draw: Draw) -> None:
    if leaderboard.n_judged:
        st.session_state.last_leaderboard = leaderboard
        with st.container():  # keeps what follows in its place
            _status(leaderboard)
        draw(leaderboard)
    else:
        _draw_last(draw, lambda: _status(leaderboard))


def _draw_last(draw: Draw, why: Callable[[], None]) -> None:
    """Draw the last leaderboard of this session on which anything was judged, if there is one."""
    last: Leaderboard | None = st.session_state.get("last_leaderboard")
    with st.container():
        why()
        if last is None:
            return
        wishes = f"for “{last.criteria}”" if last.criteria else "without criteria"
        title = last.benchmark.info.title
        st.caption(plain(f"Below is your last ranking: {title}, {wishes}, judged by {last.view.crm}."))
    draw(last)


def _status(leaderboard: Leaderboard) -> None:
    """Draw how far the judge is, in one slim bar; nothing when all is done."""
    view, judging = leaderboard.view, leaderboard.judging
    if judging is None or judging.current.state is State.FINISHED:
        return
    progress = judging.current
    match progress.state:
        case State.FAILED:
            what = "The comparison with the average ranking failed. " if judging.of_comparison else ""
            kept = f" The {progress.percentage} that are judged are kept." if progress.pairs_done else ""
            complain(f"{what}{progress.message}{kept}", lambda: service().resume(view, subscriber()))
            return
        case State.STOPPED:
            what = " the comparison with the average ranking" if judging.of_comparison else ""
            text = f"Stopped{what} at {progress.percentage}"
            text = f"{text}. {progress.message}" if progress.message else text
        case State.WAITING:
            place = f" at place {progress.place}" if progress.place else ""
            text = f"Waiting{place}, other rankings come first: {progress}"
        case State.RUNNING:
            what = (
                "Comparing with the average ranking" if judging.of_comparison else f"Judging with {view.crm}"
            )
            text = f"{what}: {progress}"
    with st.container(key="judging"):
        show_progress(progress, text, of_view(view, subscriber()), key="judging:{}")


@dataclass(frozen=True)
class Buttons:
    """What the buttons beside a bar do."""

    stop: Callable[[], None]
    resume: Callable[[], None]


def of_view(view: View, name: str) -> Buttons:
    """Return buttons for a subscriber's work on a view."""
    return Buttons(lambda: service().stop(view, name), lambda: service().resume(view, name))


def show_progress(progress: Progress, text: str, buttons: Buttons, *, key: str, of: str = "") -> None:
    """Draw how far a judge is, in one slim bar with a button that stops it or lets it go on.

    Args:
        key: Of the button, with a place for what it does.
        of: The judge, where there are several bars.
    """
    act, label = (buttons.stop, "Stop") if progress.active else (buttons.resume, "Continue")
    row = st.container(horizontal=True, vertical_alignment="center", wrap=False)
    row.progress(progress.share, text=plain(text), width="stretch")
    row.button(f"{label} {of}".strip(), key=key.format(label), on_click=act)


def complain(message: str, try_again: Callable[[], None] | None = None, *, key: str = "try_again") -> None:
    """Draw an error with a way to go on, by default to run the page again.

    Args:
        message: One sentence.
        try_again: What a click on the button does before.
        key: Of the button.
    """
    st.error(plain(message))
    st.button("Try again", key=key, on_click=try_again, icon=":material/refresh:")
