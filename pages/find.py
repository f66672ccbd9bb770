"""Find my criteria: choose between answers or answer questions, get a checklist, rank with it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import streamlit as st

from leaderboard.personal.interview import MOST_QUESTIONS
from leaderboard.personal.source import readable_benchmarks
from leaderboard.personal.wording import SETTLED_SENTENCE
from pages._choosing import ask
from pages._course import at_checklist, course_of, go_on, show_checklist
from pages._interview import interview
from pages._learnt_checklist import WayOn
from pages._navigation import come_through_app
from pages._session import MENDABLE, current_view, plain, service, show, write_link
from pages._topic_choice import choose_topics

_CHOICES, _QUESTIONS, _HISTORY = "choices", "questions", "history"
_WAYS = {
    _CHOICES: "Choose between answers",
    _QUESTIONS: "Answer questions",
    _HISTORY: "From my history",
}
_WAY = "find_way"


def main() -> None:
    """Lay the page out."""
    current_view()
    st.title("Find my criteria", anchor=False)
    way = _choose_way()
    if way == _HISTORY:
        import_module("pages._history").learn_from_history(service())
    else:
        _learn_here(way)
    write_link({} if way == _CHOICES else {"way": way})


def _choose_way() -> str:
    """How criteria are to be found; the address that a session comes by may say it."""
    ways = [way for way in _WAYS if way != _HISTORY or find_spec("pages._history")]
    if st.session_state.get(_WAY) not in ways:
        asked = st.query_params.get("way")
        show(_WAY, asked if asked in ways else _CHOICES)
    return (
        st.segmented_control(
            "How",
            ways,
            format_func=_WAYS.__getitem__,
            required=True,
            key=_WAY,
            label_visibility="collapsed",
            persist_state="session",
            on_change=go_on,
        )
        or _CHOICES
    )


def _go(way: str) -> None:
    st.session_state[_WAY] = way
    go_on()


def _learn_here(way: str) -> None:
    """Learn from the answers of a benchmark: by choices between them, or by questions about them."""
    readable = {summary.slug: summary.title for summary in readable_benchmarks(service())}
    if not readable:
        st.info("No benchmark with texts is stored here: import one to choose between its answers.")
        return
    view = st.session_state.view
    slug = _choose_source(readable, view.benchmark)
    record = service().contest(slug).record
    known = {category.name for category in record.categories}
    known |= {topic.name for category in record.categories for topic in category.topics}
    topics = tuple(topic for topic in view.topics if topic in known)
    with st.sidebar:
        choose_topics(record, topics)
    try:
        with st.spinner("Reading the answers …"):
            course = course_of(slug, topics)
        if at_checklist():
            early = way == _QUESTIONS and len(course.replies) < MOST_QUESTIONS and course.question is None
            show_checklist(course, *_ways_on(way), why=SETTLED_SENTENCE if early else "")
        elif way == _CHOICES:
            ask(service().contest(slug))
        else:
            interview(slug, topics)
    except MENDABLE as error:
        st.error(plain(str(error)))


def _ways_on(way: str) -> list[WayOn]:
    """Back to the way that led to the checklist, and over to the other."""
    back = ":material/arrow_back:"
    if way == _CHOICES:
        return [
            WayOn("Go on choosing", "find:more", go_on, back),
            WayOn("Answer questions too", "find:other", lambda: _go(_QUESTIONS)),
        ]
    return [
        WayOn("Back to the questions", "find:more", go_on, back),
        WayOn("Make it surer: choose between answers", "find:other", lambda: _go(_CHOICES)),
    ]


def _choose_source(readable: dict[str, str], wanted: str) -> str:
    """Which benchmark's answers are shown: the view's where it has texts."""
    if st.session_state.get("find_source") not in readable:
        show("find_source", wanted if wanted in readable else next(iter(readable)))
    if len(readable) > 1:
        st.sidebar.selectbox(
            "Answers from", list(readable), format_func=readable.__getitem__, key="find_source"
        )
    chosen: str = st.session_state.find_source
    return chosen


come_through_app()
main()
