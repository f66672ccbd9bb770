"""A slow judge at work: the leaderboard so far, drawn again and again, with a bar, a time and a Stop.

The part of the page that changes is a fragment, which the browser has drawn anew every moment while
the judge works; the rest of the page is not touched and stays usable.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import streamlit as st

from leaderboard.judging.progress import Progress, State
from leaderboard.result import Leaderboard
from leaderboard.view import View
from pages._session import MENDABLE, plain, service, stay

_POLL_SECONDS = 1.5
_PATIENCE = 0.7
"""Seconds to wait for a judge that is not so slow after all, before showing it at work."""

Draw = Callable[[Leaderboard], None]


def live(view: View, draw: Draw) -> None:
    """Draw the view's leaderboard, and again while a slow judge has more to come.

    Where it cannot be had, or nothing is judged yet, the last good one of this session is drawn, and a line
    says so.
    """
    try:
        leaderboard = _first(view)
    except MENDABLE as error:
        message = str(error)
        _draw_last(draw, lambda: _complain(message))
        return
    _while_judging(leaderboard, lambda so_far: _draw(so_far, draw))


def live_status(view: View) -> Leaderboard | None:
    """Show how far a slow judge is, and return what there is now; None where it cannot be had."""
    try:
        leaderboard = _first(view)
    except MENDABLE as error:
        _complain(str(error))
        return None
    _while_judging(leaderboard, _status)
    return leaderboard


def _first(view: View) -> Leaderboard:
    """The leaderboard as the whole page is run."""
    new = st.session_state.get("asked_for") != view
    st.session_state.asked_for = view
    with st.spinner("Reading your criteria …", show_time=True):
        return _ask(view, patience=_PATIENCE if new else 0.0)


def _while_judging(leaderboard: Leaderboard, draw: Draw) -> None:
    """Draw, and again with what there is by then as long as the judge works; then run the whole page."""
    first, polled = [leaderboard], is_active(leaderboard)

    def draw_again() -> None:
        try:
            so_far = first.pop() if first else _ask(leaderboard.view)
        except MENDABLE:
            stay()  # the whole page says what is wrong
        if is_active(so_far) != polled:
            stay()
        draw(so_far)

    st.fragment(draw_again, run_every=_POLL_SECONDS if polled else None)()


def _ask(view: View, *, patience: float = 0.0) -> Leaderboard:
    return service().leaderboard(view, watcher=_watcher(), patience=patience)


def _watcher() -> str:
    """The name under which this browser's page watches a judge."""
    name: str = st.session_state.setdefault("watcher", uuid4().hex)
    return name


def is_active(leaderboard: Leaderboard) -> bool:
    """Whether a slow judge has more to come."""
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
    """The last leaderboard of this session on which anything was judged, if there is one."""
    last: Leaderboard | None = st.session_state.get("last_leaderboard")
    with st.container():
        why()
        if last is None:
            return
        wishes = f"for “{last.view.criteria}”" if last.view.criteria else "without criteria"
        title = last.benchmark.info.title
        st.caption(plain(f"Below is your last ranking: {title}, {wishes}, judged by {last.view.crm}."))
    draw(last)


def _status(leaderboard: Leaderboard) -> None:
    """How far the judge is, in one slim bar; nothing when all is done."""
    view, judging = leaderboard.view, leaderboard.judging
    if judging is None or judging.current.state is State.FINISHED:
        return
    progress, stop, resume = judging.current, service().stop, service().resume
    match progress.state:
        case State.FAILED:
            what = "The comparison with the crowd failed. " if judging.of_comparison else ""
            kept = f" The {progress.percentage} that are judged are kept." if progress.pairs_done else ""
            _complain(f"{what}{progress.message}{kept}", lambda: resume(view, _watcher()))
        case State.STOPPED:
            what = " the comparison with the crowd" if judging.of_comparison else ""
            _bar(progress, f"Stopped{what} at {progress.percentage}", "Continue", resume, view)
        case State.WAITING:
            _bar(progress, f"Waiting, other rankings come first: {progress}", "Stop", stop, view)
        case State.RUNNING:
            what = "Comparing with the crowd" if judging.of_comparison else f"Judging with {view.crm}"
            _bar(progress, f"{what}: {progress}", "Stop", stop, view)


def _bar(progress: Progress, text: str, label: str, act: Callable[[View, str], None], view: View) -> None:
    with st.container(key="judging"):
        row = st.container(horizontal=True, vertical_alignment="center", wrap=False)
        row.progress(progress.share, text=plain(text), width="stretch")
        row.button(label, key=f"judging:{label}", on_click=act, args=(view, _watcher()))


def _complain(message: str, try_again: Callable[[], None] | None = None) -> None:
    """An error with a way to go on, by default to run the page again."""
    st.error(plain(message))
    st.button("Try again", key="try_again", on_click=try_again, icon=":material/refresh:")
