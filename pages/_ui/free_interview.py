"""An interview by an LLM with questions of its own, where one is set up: up to five, answered in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from crm.criteria import CriteriaSet
from leaderboard.elicitation.free_interview import (
    MAX_ANSWER,
    FreeInterviewer,
    NextQuestion,
    Turn,
    configured_free_interviewer,
    free_interviewer_name,
)
from leaderboard.elicitation.interview import MAX_QUESTIONS
from leaderboard.limits import Limits
from leaderboard.user_data.session_data import is_of_session
from leaderboard.view import View
from pages._ui.checklist import NextStep
from pages._ui.session import SHOWN_ERRORS, change_criteria, plain

_KEPT, _BEGUN = "free_interview", "free_interviews_begun"


@dataclass(frozen=True)
class _Interview:
    """An interview so far.

    Attributes:
        topics: What it is about; none for everything.
        said: What the interviewer said last: a question, or what the person wants.
    """

    topics: tuple[str, ...]
    said: NextQuestion | CriteriaSet
    turns: tuple[Turn, ...] = ()


@st.cache_resource(show_spinner=False)
def _interviewer(name: str) -> FreeInterviewer:
    return configured_free_interviewer(name)


def free_interview(other: NextStep) -> None:
    """Draw the interview: its beginning, the question that is open, or what came of it.

    Args:
        other: Another way to be learnt.
    """
    name = free_interviewer_name()
    if name is None:
        return
    view: View = st.session_state.view
    topics = () if is_of_session(view.benchmark) else tuple(view.topics)
    kept: _Interview | None = st.session_state.get(_KEPT)
    if kept is None:
        _offer(name, topics, other)
    elif isinstance(kept.said, NextQuestion):
        _ask(name, kept, kept.said)
    else:
        _show_result(name, kept, kept.said, other)


def _offer(name: str, topics: tuple[str, ...], other: NextStep) -> None:
    about = f" about {', '.join(topics)}" if topics else ""
    st.markdown(
        plain(
            f"Up to {MAX_QUESTIONS} questions{about}, asked by {name}: you answer in your own words. Then it "
            "writes what you like in an answer, and LLMs are ranked by that."
        )
    )
    begun, most = int(st.session_state.get(_BEGUN, 0)), Limits.from_environment().interviews
    with st.container(horizontal=True):
        pressed = st.button("Begin", type="primary", key="words:begin", disabled=begun >= most)
        st.button(other.label, key=other.key, type="tertiary", on_click=other.on_click)
    if begun >= most:
        st.caption(f"You have had the {most:,} interviews that one visit may begin.")
    else:
        st.caption(
            plain(f"Your answers and topics go to {name}. Nothing of them is stored, so say nothing private.")
        )
    if pressed:
        st.session_state[_BEGUN] = begun + 1
        _go_on(name, topics, ())


def _go_on(name: str, topics: tuple[str, ...], turns: tuple[Turn, ...], *, enough: bool = False) -> None:
    """Ask the interviewer; what was answered before stays where that fails."""
    try:
        with st.spinner("Thinking …", show_time=True):
            said = _interviewer(name).goes_on(topics, turns, enough=enough)
    except SHOWN_ERRORS as error:
        st.error(plain(str(error)))
        return
    st.session_state[_KEPT] = _Interview(topics, said, turns)
    st.rerun()


def _ask(name: str, kept: _Interview, question: NextQuestion) -> None:
    n_answered = len(kept.turns)
    st.progress(n_answered / MAX_QUESTIONS, text=f"Question {n_answered + 1} of at most {MAX_QUESTIONS}")
    st.header(plain(question.text), anchor=False)
    with st.form(f"words:form:{n_answered}", border=False):
        answer = st.text_area(
            "Your answer",
            key=f"words:answer:{st.session_state.get(_BEGUN, 0)}:{n_answered}",
            max_chars=MAX_ANSWER,
            label_visibility="collapsed",
            placeholder="In your own words; “no preference” is an answer, too",
        )
        answered = st.form_submit_button("Answer", type="primary")
    with st.container(horizontal=True):
        st.button(
            "Back", key="words:back", icon=":material/undo:", type="tertiary", on_click=_back, args=(kept,)
        )
        enough = st.button(
            "That is enough",
            key="words:stop",
            icon=":material/checklist:",
            type="tertiary",
            disabled=not kept.turns,
        )
    _say_so_far(kept)
    if enough:
        _go_on(name, kept.topics, kept.turns, enough=True)
    elif answered:
        if not answer.strip():
            st.error("Write an answer first; “no preference” is one, too.")
            return
        _go_on(name, kept.topics, (*kept.turns, Turn(question.text, " ".join(answer.split()))))


def _back(kept: _Interview) -> None:
    """Ask the last answered question again; before the first answer, begin anew."""
    if not kept.turns:
        _forget()
        return
    *before, last = kept.turns
    st.session_state[_KEPT] = replace(kept, said=NextQuestion(last.question), turns=tuple(before))


def _forget() -> None:
    st.session_state.pop(_KEPT, None)


def _say_so_far(kept: _Interview) -> None:
    for turn in kept.turns:
        st.caption(plain(f"{turn.question} — {turn.answer}"))


def _show_result(name: str, kept: _Interview, criteria: CriteriaSet, other: NextStep) -> None:
    st.header("What you like in an answer", anchor=False)
    st.markdown(
        "\n".join(f"- {plain(str(each))} · {plain(each.weight.value.lower())}" for each in criteria)
        or "Nothing: your answers name no preference."
    )
    st.caption(plain(f"Written by {name} from your answers. You can change every word beside the ranking."))
    with st.container(horizontal=True):
        if st.button("Rank LLMs for me", type="primary", key="words:rank", disabled=not criteria):
            change_criteria(criteria)
            st.switch_page("pages/leaderboard.py")
        st.button(
            "Back", key="words:back", icon=":material/undo:", type="tertiary", on_click=_back, args=(kept,)
        )
        st.button("Start again", key="words:again", type="tertiary", on_click=_forget)
        st.button(other.label, key=other.key, type="tertiary", on_click=other.on_click)
    _say_so_far(kept)
