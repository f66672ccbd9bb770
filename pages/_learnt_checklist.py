"""The learnt checklist: lines with their evidence, to be edited and carried to the leaderboard."""

from __future__ import annotations

import streamlit as st

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.errors import CriterionError
from leaderboard.personal.checklist import ChecklistLine, checklist
from leaderboard.personal.course import Course
from leaderboard.personal.library import criterion_library
from leaderboard.personal.standing import standing
from leaderboard.personal.wording import certainty_sentence, evidence_sentence
from pages._session import change_view, plain


def edit_checklist(course: Course) -> None:
    """Draw the lines; what is changed in them holds until the next choice."""
    lines = checklist(course.person, course.shown.material, criterion_library(), course.choices)
    n_choices = len(course.choices)
    st.subheader("Your checklist", anchor=False)
    times = "choice" if n_choices == 1 else "choices"
    st.markdown(f"Learnt from {n_choices} {times}. Change what is not right, then rank.")
    st.caption(certainty_sentence(standing(course.person, course.shown)))
    edited = [_line(place, line, n_choices) for place, line in enumerate(lines)]
    with st.container(horizontal=True):
        ranks = st.button("Rank LLMs for me", type="primary", key="find:rank")
        st.button("Go on choosing", key="find:more", icon=":material/arrow_back:", on_click=_go_on)
        st.button("Start again", key="find:again", type="tertiary", on_click=_start_again)
    if ranks:
        _rank(edited)


def _line(place: int, line: ChecklistLine, n_choices: int) -> tuple[str, Weight, Polarity] | None:
    """One line's widgets, and what they say; None where the line is left out."""
    key = f"find:line:{n_choices}:{place}"
    with st.container(border=True, gap="xsmall"):
        first, second, third = st.columns([0.5, 0.34, 0.16], vertical_alignment="center")
        text = first.text_input(
            f"Criterion {place + 1}", line.criterion.text, key=f"{key}:text", label_visibility="collapsed"
        )
        grade = second.segmented_control(
            f"Weight of criterion {place + 1}",
            [weight.value for weight in Weight],
            default=line.criterion.weight.value,
            key=f"{key}:weight",
            label_visibility="collapsed",
        )
        avoid = third.toggle("Avoid", line.criterion.polarity is Polarity.AVOID, key=f"{key}:avoid")
        st.caption(plain(evidence_sentence(line)))
    if grade is None or not text.strip():
        return None
    return text, Weight(grade), Polarity.AVOID if avoid else Polarity.WANT


def _rank(edited: list[tuple[str, Weight, Polarity] | None]) -> None:
    try:
        criteria = CriteriaSet(tuple(Criterion(*line) for line in edited if line is not None))
    except CriterionError as error:
        st.error(plain(str(error)))
        return
    change_view(criteria=criteria)
    st.switch_page("pages/leaderboard.py")


def _go_on() -> None:
    st.session_state.find_step = "choices"


def _start_again() -> None:
    for name in ("course", "find_benchmark", "find_topics", "find_step"):
        st.session_state.pop(name, None)
