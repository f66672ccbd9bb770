"""Two anonymous answers side by side, and the buttons to choose between them."""

from __future__ import annotations

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from leaderboard.contest import StoredContest
from leaderboard.personal.choice import Answer, Choice
from leaderboard.personal.course import Course
from leaderboard.personal.source import texts_of
from leaderboard.personal.standing import standing
from leaderboard.personal.wording import ENOUGH, certainty_sentence, progress_sentence
from pages._course import held, keep, stop

_BUTTONS = (
    (Answer.FIRST, "A is better", "A"),
    (Answer.SECOND, "B is better", "B"),
    (Answer.BOTH, "Both are good", "G"),
    (Answer.NEITHER, "Neither is", "N"),
)
"""Answer, label and key."""


def ask(course: Course, contest: StoredContest) -> None:
    """Show the pair of the course; a click or a key answers it."""
    st.markdown(
        "Which answer do you like better? Each choice tells which criteria you follow. Nothing is stored."
    )
    _progress(course)
    texts = texts_of(contest, course.pair)
    st.html(f"<p style='font-size:1.1rem;font-weight:600;margin:0'>{escape(texts.query)}</p>")
    left, right = st.columns(2)
    _answer(left, "Answer A", texts.first)
    _answer(right, "Answer B", texts.second)
    with st.container(horizontal=True, key="find_buttons"):
        for answer, label, key in _BUTTONS:
            st.button(
                label,
                key=f"find:{answer}",
                shortcut=key,
                on_click=_take,
                args=(answer, len(course.choices)),
                type="primary" if answer in (Answer.FIRST, Answer.SECOND) else "secondary",
            )
    with st.container(horizontal=True):
        st.button(
            "Undo",
            key="find:undo",
            icon=":material/undo:",
            shortcut="U",
            type="tertiary",
            disabled=not course.choices,
            on_click=_undo,
        )
        st.button(
            "Show my checklist",
            key="find:checklist",
            icon=":material/checklist:",
            type="primary" if len(course.choices) >= ENOUGH else "tertiary",
            disabled=not course.steps,
            on_click=stop,
        )


def _progress(course: Course) -> None:
    done = len(course.choices)
    st.progress(min(1.0, done / ENOUGH), text=progress_sentence(done))
    if course.steps:
        st.caption(certainty_sentence(standing(course.person, course.shown)))


def _answer(column: DeltaGenerator, title: str, text: str) -> None:
    with column:
        st.markdown(f"**{title}**")
        with st.container(height=340, border=True):
            st.text(text)


def _take(answer: Answer, n_choices: int) -> None:
    """Take the answer over, unless it was given to a pair that is not shown any more."""
    if len(held().choices) == n_choices:
        keep(held().chosen(answer))


def _undo() -> None:
    keep(held().without_last(Choice))
