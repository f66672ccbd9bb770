"""Find my criteria: choose between answers, get a checklist, rank with it."""

from __future__ import annotations

import streamlit as st

from leaderboard.personal.course import Course
from leaderboard.personal.source import readable_benchmarks, shown_of
from pages._choosing import ask
from pages._learnt_checklist import edit_checklist
from pages._navigation import come_through_app
from pages._session import MENDABLE, current_view, plain, service, show
from pages._topic_choice import choose_topics


def main() -> None:
    """Lay the page out."""
    view = current_view()
    st.title("Find my criteria", anchor=False)
    readable = {summary.slug: summary.title for summary in readable_benchmarks(service())}
    if not readable:
        st.info("No benchmark with texts is stored here: import one to choose between its answers.")
        return
    slug = _choose_source(readable, view.benchmark)
    record = service().contest(slug).record
    known = {category.name for category in record.categories}
    known |= {topic.name for category in record.categories for topic in category.topics}
    topics = tuple(topic for topic in view.topics if topic in known)
    with st.sidebar:
        choose_topics(record, topics)
    try:
        course = _course(slug, topics)
    except MENDABLE as error:
        st.error(plain(str(error)))
        return
    if st.session_state.get("find_step") == "checklist" and course.choices:
        edit_checklist(course)
    else:
        st.session_state.find_step = "choices"
        ask(course, service().contest(slug))


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


def _course(slug: str, topics: tuple[str, ...]) -> Course:
    """The choices of this session on the benchmark; other topics keep them, another benchmark starts anew."""
    key = (slug, service().contest(slug).identity)
    if st.session_state.get("find_benchmark") != key:
        st.session_state.course = Course.start(shown_of(service(), slug, topics))
        st.session_state.find_benchmark, st.session_state.find_topics = key, topics
        st.session_state.find_step = "choices"
    elif st.session_state.find_topics != topics:
        st.session_state.course = st.session_state.course.on(shown_of(service(), slug, topics))
        st.session_state.find_topics = topics
    course: Course = st.session_state.course
    return course


come_through_app()
main()
