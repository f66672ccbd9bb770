"""The interview: one question at a time, a button for each option."""

from __future__ import annotations

import streamlit as st

from leaderboard.personal.interview import MOST_QUESTIONS
from leaderboard.personal.interviewer import Interviewer, configured_interviewer, interviewer_name
from leaderboard.personal.question_wording import QuestionWording
from leaderboard.personal.questions import Question
from leaderboard.personal.replies import Reply
from leaderboard.personal.standing import standing
from leaderboard.personal.wording import certainty_sentence, interview_over_sentence
from leaderboard.yours.session_material import is_of_session
from pages._course import at_checklist, held, keep, stop
from pages._session import MENDABLE, plain, stay

_STYLE = """
<style>
.st-key-find_options { max-width: 40rem; }
.st-key-find_options button { min-height: 3rem; text-align: left; }
.st-key-find_options button > div { width: 100%; justify-content: space-between; }
</style>
"""


@st.fragment
def interview(slug: str, topics: tuple[str, ...]) -> None:
    """Ask this session's next question; a click or a digit answers it, and the last leads to the checklist.

    Only this part of the page is run again for that.

    Args:
        slug: The benchmark whose LLMs are to be ranked.
        topics: What the questions may be worded for.
    """
    if at_checklist():
        stay()
    course = held()
    n_replies = len(course.replies)
    if not course.steps:
        st.markdown(
            "Say what you like in an answer: up to five short questions, about a minute. Then you get a "
            "checklist of what you like, and LLMs ranked by it. Nothing is stored."
        )
    question = course.question
    if question is None:
        st.progress(1.0, text=interview_over_sentence(n_replies))
    else:
        st.progress(n_replies / MOST_QUESTIONS, text=f"Question {n_replies + 1} of at most {MOST_QUESTIONS}")
    if course.steps:
        st.caption(certainty_sentence(standing(course.person, course.shown)))
    if question is not None:
        _ask(_wording(question, slug, topics), n_replies)
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


def _ask(wording: QuestionWording, n_replies: int) -> None:
    st.html(_STYLE)
    st.subheader(plain(wording.text), anchor=False)
    with st.container(key="find_options", gap="small"):
        for option, text in enumerate(wording.options):
            st.button(
                plain(text),
                key=f"find:option:{n_replies}:{option}",
                shortcut=str(option + 1),
                width="stretch",
                on_click=_take,
                args=(option, text, n_replies),
            )


def _take(option: int, text: str, n_replies: int) -> None:
    """Take the answer over, unless it was given to a question that is not shown any more."""
    if len(held().replies) != n_replies:
        return
    keep(held().replied(option, text))
    if held().question is None:
        stop()


def _undo() -> None:
    keep(held().without_last(Reply))


def _wording(question: Question, slug: str, topics: tuple[str, ...]) -> QuestionWording:
    """The LLM's wording for the topics where one is set up and replies; else the fixed one.

    What was shown once stays as it is, and an LLM that failed once is not waited for again in this session.
    The names of a person's own topics are not sent.
    """
    name = interviewer_name()
    if name is None or not topics or is_of_session(slug):
        return QuestionWording.fixed(question)
    kept: dict[tuple[str, tuple[str, ...]], QuestionWording] = st.session_state.setdefault("wordings", {})
    if (question.text, topics) not in kept:
        kept[question.text, topics] = _worded(name, question, topics)
    if st.session_state.get("wording_failed"):
        st.caption(f"In fixed words: {plain(name)}, which words questions for your topics, gave none.")
    else:
        st.caption(f"Worded for your topics by {plain(name)}.")
    return kept[question.text, topics]


def _worded(name: str, question: Question, topics: tuple[str, ...]) -> QuestionWording:
    if st.session_state.get("wording_failed"):
        return QuestionWording.fixed(question)
    try:
        with st.spinner("Wording the question …"):
            return _interviewer(name).word(question, topics)
    except MENDABLE:
        st.session_state.wording_failed = True
        return QuestionWording.fixed(question)


@st.cache_resource(show_spinner=False)
def _interviewer(name: str) -> Interviewer:
    return configured_interviewer(name)
