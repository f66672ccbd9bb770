"""The tab “By criterion”: a table of grades, and a button that has a judge of texts give them.

Such a judge is asked for each criterion by itself only if the person wants it: that takes as long as so many
rankings. It then works in the background, like on a ranking, while the page shows this ranking.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import streamlit as st

from leaderboard.alignment import MAX_CRITERIA, Alignment, alignment, grading
from leaderboard.live_grades import LiveGrades
from leaderboard.render.tables import grades_table
from leaderboard.result import Leaderboard
from leaderboard.scoring_jobs.progress import Progress, State
from leaderboard.view import View
from pages._ui.live_ranking import (
    PATIENCE,
    Buttons,
    complain,
    is_active,
    show_progress,
    subscriber,
    while_judging,
)
from pages._ui.session import SHOWN_ERRORS, errors_shown, offer_file, page_colour, palette, plain, service


@dataclass(frozen=True)
class _SoFar:
    """What there is of a slow judge's grades, and how far it is."""

    found: Alignment | None
    progress: Progress


def show_grades(leaderboard: Leaderboard) -> None:
    """Draw the grades of a ranking's LLMs, and again while a judge that was set to work on them has more."""
    view = leaderboard.view
    with errors_shown():
        live = grading(service(), view)
        if live is None:
            _table(leaderboard, alignment(service(), view), writing=False)
            return
        try:
            so_far = _ask(view, live, patience=PATIENCE if st.session_state.pop(_PRESSED, False) else 0.0)
        except SHOWN_ERRORS as error:
            complain(str(error), key="grades_try_again")
            _table(leaderboard, alignment(service(), view), writing=False)
            return
        if is_active(leaderboard):  # then all tabs are drawn again and again
            _draw(leaderboard, live, so_far)
            return
        while_judging(
            so_far,
            lambda: _ask(view, live),
            lambda now: _is_asked(view) and now.progress.active,
            lambda now: _draw(leaderboard, live, now),
        )


def go_on_grading(leaderboard: Leaderboard) -> None:
    """Keep a judge at work on grades that were asked for, while another tab is open."""
    view = leaderboard.view
    if not _is_asked(view):
        return
    with suppress(*SHOWN_ERRORS):  # the tab says what is wrong
        if (live := grading(service(), view)) is None:
            return
        progress = live.go_on(_name())
        if not is_active(leaderboard):
            while_judging(progress, lambda: live.go_on(_name()), lambda now: now.active, lambda _: None)


_ASKED, _PRESSED = "grades_asked", "grades_pressed"


def _name() -> str:
    """Return who subscribes to grades: the page itself subscribes to one ranking at a time."""
    return f"{subscriber()}:grades"


def _what(view: View) -> View:
    """Return what of a view the work of grading depends on."""
    return View(
        view.benchmark,
        view.topics,
        view.criteria,
        view.crm,
        topic_weights=view.topic_weights,
        keep_unjudged=view.keep_unjudged,
    )


def _is_asked(view: View) -> bool:
    """Return whether the person has asked for this view's grades last."""
    return bool(st.session_state.get(_ASKED) == _what(view))


def _begin(view: View, live: LiveGrades) -> None:
    st.session_state[_ASKED], st.session_state[_PRESSED] = _what(view), True
    _resume(live)  # it may have been stopped, or have failed, for this person before


def _resume(live: LiveGrades) -> None:
    try:
        live.resume(_name())
    except SHOWN_ERRORS as error:
        st.toast(plain(str(error)))


def _ask(view: View, live: LiveGrades, patience: float = 0.0) -> _SoFar:
    progress = live.go_on(_name(), patience) if _is_asked(view) else live.progress()
    return _SoFar(alignment(service(), view), progress)


def _draw(leaderboard: Leaderboard, live: LiveGrades, so_far: _SoFar) -> None:
    asked = _is_asked(leaderboard.view)
    with st.container():  # keeps what follows in its place
        if asked:
            _status(leaderboard.view, live, so_far.progress)
        elif so_far.progress.state is not State.FINISHED:
            _offer(leaderboard, live, so_far)
    _table(leaderboard, so_far.found, writing=asked and so_far.progress.active)


def _offer(leaderboard: Leaderboard, live: LiveGrades, so_far: _SoFar) -> None:
    """Draw what grading takes, and the button that begins it."""
    view, progress = leaderboard.view, so_far.progress
    n_criteria = len(so_far.found.criteria) if so_far.found else len(leaderboard.criteria)
    left = progress.pairs_all - progress.pairs_done
    stored = f" {progress.pairs_done:,} others are judged already." if progress.pairs_done else ""
    st.markdown(
        plain(
            f"The judge {view.crm} reads texts, so this is done only if you want it: grading each of "
            f"{n_criteria} criteria by itself takes {left:,} comparisons.{stored}"
        )
    )
    st.button(
        "Grade each criterion",
        key="grade_criteria",
        icon=":material/play_arrow:",
        on_click=_begin,
        args=(view, live),
    )


def _status(view: View, live: LiveGrades, progress: Progress) -> None:
    """Draw how far the judge is, in one slim bar; nothing when all is done."""
    match progress.state:
        case State.FINISHED:
            return
        case State.FAILED:
            kept = f" The {progress.percentage} that are judged are kept." if progress.pairs_done else ""
            complain(f"{progress.message}{kept}", lambda: _resume(live), key="grades_try_again")
            return
        case State.STOPPED:
            text = f"Stopped at {progress.percentage}"
            text = f"{text}. {progress.message}" if progress.message else text
        case State.WAITING:
            place = f" at place {progress.place}" if progress.place else ""
            text = f"Waiting{place}, other work comes first: {progress}"
        case State.RUNNING:
            text = f"Grading with {view.crm}: {progress}"
    buttons = Buttons(lambda: live.stop(_name()), lambda: _resume(live))
    show_progress(progress, text, buttons, key="grading:{}", of="grading")


def _table(leaderboard: Leaderboard, found: Alignment | None, *, writing: bool) -> None:
    """Draw the grades, as far as there are any.

    Args:
        writing: Whether there is soon more, so that the file is written when it is asked for.
    """
    if found is None:
        st.caption("None of your criteria is for a topic that you chose.")
        return
    if not np.isfinite(found.grades).any():
        return
    st.markdown("How well each LLM meets each of your criteria by itself, in the order of your ranking.")
    if not found.is_whole:
        st.caption(_how_far(found))
    st.html(grades_table(found, leaderboard.ranking.llms, leaderboard.titles, palette(), page_colour()))
    st.caption(
        "Grades go from 0 to 5: five times the mean probability that the LLM’s response meets the criterion "
        f"better than {plain(leaderboard.typical_opponent)}’s, so 2.5 is as good as that. “All together” is "
        "their mean by weight (PrefAlign); the ranking weighs all criteria in each response at once, so the "
        "two may differ."
    )
    if len(leaderboard.criteria) > MAX_CRITERIA:
        st.caption(f"Only your first {MAX_CRITERIA} criteria are graded.")
    name = f"usl-{leaderboard.view.benchmark}-grades.csv"
    offer_file(st, "Download CSV", found.to_csv if writing else found.to_csv(), name)


def _how_far(found: Alignment) -> str:
    if not found.n_graded:
        return (
            "So far no question is graded under all criteria: each column is of the questions graded under "
            "its own."
        )
    return f"So far these are grades on {found.n_graded:,} of {found.n_queries:,} questions."
