"""What a session chose and answered on “Find my criteria”, and the checklist that follows from it."""

from __future__ import annotations

import streamlit as st

from leaderboard.personal.checklist import ChecklistLine
from leaderboard.personal.course import Course
from leaderboard.personal.course_checklist import course_checklist
from leaderboard.personal.library import criterion_library
from leaderboard.personal.replies import support_for
from leaderboard.personal.source import shown_of
from leaderboard.personal.standing import standing
from leaderboard.personal.wording import certainty_sentence, evidence_sentence, learnt_from_sentence
from pages._learnt_checklist import LearntLine, WayOn, edit_checklist
from pages._session import service


def course_of(slug: str, topics: tuple[str, ...]) -> Course:
    """The course of this session on a benchmark; other topics keep it, another benchmark starts anew.

    So does a benchmark that changed meanwhile, as when the session added an LLM to it.

    Raises:
        LeaderboardError, CRMError, DatabaseError: There is nothing to choose from.
    """
    key = (slug, service().contest(slug).identity)
    if st.session_state.get("find_benchmark") != key:
        keep(Course.start(shown_of(service(), slug, topics)))
        st.session_state.find_benchmark, st.session_state.find_topics = key, topics
        go_on()
    elif st.session_state.find_topics != topics:
        keep(held().on(shown_of(service(), slug, topics)))
        st.session_state.find_topics = topics
    return held()


def held() -> Course:
    """The course of this session."""
    course: Course = st.session_state.course
    return course


def keep(course: Course) -> None:
    """Go on from another state of the course."""
    st.session_state.course = course


def at_checklist() -> bool:
    """Whether the checklist is to be shown."""
    return bool(st.session_state.get("find_step") == "checklist" and held().steps)


def stop() -> None:
    """Show the checklist."""
    st.session_state.find_step = "checklist"


def go_on() -> None:
    """Back from the checklist to what it is learnt from."""
    st.session_state.find_step = "learning"


def start_again() -> None:
    """Forget all choices and answers."""
    for name in ("course", "find_benchmark", "find_topics", "find_step"):
        st.session_state.pop(name, None)


def show_checklist(course: Course, *ways_on: WayOn, why: str = "") -> None:
    """Draw the checklist of a course.

    Args:
        course: What was chosen and answered.
        ways_on: How to go on learning.
        why: Why it is shown now, in a sentence.
    """
    lines = course_checklist(course, criterion_library())
    edit_checklist(
        [LearntLine(line.criterion, _evidence(line, course)) for line in lines],
        learnt_from=f"{learnt_from_sentence(len(course.choices), len(course.replies))} {why}".strip(),
        certainty=certainty_sentence(standing(course.person, course.shown)),
        ways_on=(*ways_on, WayOn("Start again", "find:again", start_again)),
    )


def _evidence(line: ChecklistLine, course: Course) -> str:
    labels = [item.label for item in criterion_library()]
    index = labels.index(line.label)
    support = support_for(index, line.criterion.polarity, course.shown.material, course.replies)
    return evidence_sentence(line, support)
