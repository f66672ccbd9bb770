"""The interview: one question at a time, a button for each option."""

from __future__ import annotations

import streamlit as st

from leaderboard.personal.course import Course
from leaderboard.personal.interview import MOST_QUESTIONS
from leaderboard.personal.questions import Question
from leaderboard.personal.replies import Reply
from leaderboard.personal.standing import standing
from leaderboard.personal.wording import certainty_sentence, interview_over_sentence
from pages._course import held, keep, stop
from pages._session import plain


def interview(course: Course) -> None:
    """Ask the course's next question; a click or a digit answers it."""
    n_replies = len(course.replies)
    st.markdown("Up to five short questions, about one minute. Nothing is stored.")
    question = course.question
    if question is None:
        st.progress(1.0, text=plain(interview_over_sentence(n_replies)))
    else:
        st.progress(n_replies / MOST_QUESTIONS, text=f"Question {n_replies + 1} of at most {MOST_QUESTIONS}")
    if course.steps:
        st.caption(certainty_sentence(standing(course.person, course.shown)))
    if question is not None:
        _ask(question, n_replies)
    with st.container(horizontal=True):
        st.button(
            "Back",
            key="find:back",
            icon=":material/undo:",
            shortcut="U",
            type="tertiary",
            disabled=not n_replies,
            on_click=_undo,
        )
        st.button(
            "Show my checklist",
            key="find:checklist",
            icon=":material/checklist:",
            type="primary" if question is None else "tertiary",
            disabled=not course.steps,
            on_click=stop,
        )


def _ask(question: Question, n_replies: int) -> None:
    st.subheader(plain(question.text), anchor=False)
    with st.container(key="find_options", gap="small"):
        for option, text in enumerate(question.options):
            st.button(
                plain(text),
                key=f"find:option:{n_replies}:{option}",
                shortcut=str(option + 1),
                width="stretch",
                on_click=_take,
                args=(option, n_replies),
            )


def _take(option: int, n_replies: int) -> None:
    """Take the answer over, unless it was given to a question that is not shown any more."""
    if len(held().replies) == n_replies:
        keep(held().replied(option))


def _undo() -> None:
    keep(held().without_last(Reply))
