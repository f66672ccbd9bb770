"""A question of the person's own, answered at once by LLMs of the ranking, where that is set up."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crm.errors import CRMError
from leaderboard.errors import LeaderboardError
from leaderboard.live_answers import MOST_CHARACTERS, LiveAnswers, Panel, ask, panel_of, questions_allowed
from leaderboard.query_checklists.asked import (
    QuestionChecklists,
    checklists_llm_name,
    configured_checklists,
)
from leaderboard.render.responses import checklist_html, query_html
from leaderboard.render.three_answers import Whose, marked_in_words, three_answers_html
from leaderboard.result import Leaderboard
from leaderboard.sentences import listed as in_words
from pages._ui.session import SHOWN_ERRORS, plain

_ASKED, _SHOWN = "live_questions_asked", "live_answers"


def offer_live_answers(leaderboard: Leaderboard, listed: Sequence[str]) -> None:
    """Draw a box for a question, what its answers cost at most, and the answers; nothing if not set up."""
    try:
        allowed = questions_allowed()
        if not allowed:
            return
        panel = panel_of(leaderboard, listed)
    except (CRMError, LeaderboardError) as error:
        st.caption(plain(str(error)))
        return
    titles = [leaderboard.titles[name] for name in panel.roles]
    st.markdown(f"**Ask them yourself:** {plain(in_words(titles))} answer your own question.")
    question = st.text_area(
        "Your question",
        key="live_question",
        max_chars=MOST_CHARACTERS,
        label_visibility="collapsed",
        placeholder="A question of your own, without anything private",
    )
    row = st.container(horizontal=True, vertical_alignment="center")
    pressed = row.button("Ask", key="live_ask", icon=":material/send:", disabled=_left(allowed) < 1)
    note = row.empty()
    note.caption(_note(panel, question, allowed))
    if writer := _writer_name(leaderboard):
        st.caption(plain(f"With your criteria it also goes to {writer}, which says what they mean here."))
    key = leaderboard.view.benchmark, leaderboard.view.crm, leaderboard.criteria
    if pressed:
        st.session_state[_SHOWN] = key, _asked(leaderboard, panel, question)
        note.caption(_note(panel, question, allowed))
    kept = st.session_state.get(_SHOWN)
    if kept is not None and kept[0] == key:
        _draw(leaderboard, *kept[1])


def _left(allowed: int) -> int:
    return allowed - int(st.session_state.get(_ASKED, 0))


def _note(panel: Panel, question: str, allowed: int) -> str:
    left = f"{_left(allowed)} of {allowed} questions left in this visit."
    return plain(f"{_cost(panel, question)} {left}")


def _cost(panel: Panel, question: str) -> str:
    cost = panel.cost(question)
    sent = f"The question goes to {'all three' if len(panel.roles) > 2 else 'both'}"  # noqa: PLR2004
    if cost is None:
        return f"{sent}; what that costs is not known."
    return f"{sent}; that costs {f'at most ${cost:.4f}' if cost else 'nothing'}."


def _writer_name(leaderboard: Leaderboard) -> str | None:
    """Return who writes what the criteria come to for a question; None without criteria, or if not set up."""
    return checklists_llm_name() if leaderboard.criteria.common else None


@st.cache_resource(show_spinner=False)
def _writer(name: str) -> QuestionChecklists:
    return configured_checklists(name)


def _asked(leaderboard: Leaderboard, panel: Panel, question: str) -> tuple[Panel, LiveAnswers | str]:
    with st.spinner("Waiting for the answers …", show_time=True):
        try:
            name = _writer_name(leaderboard)
            writer = _writer(name) if name else None
            found = ask(panel, question, leaderboard.criteria.common, leaderboard.view.crm, writer)
        except SHOWN_ERRORS as error:
            return panel, str(error)
        finally:
            if question.strip():
                st.session_state[_ASKED] = st.session_state.get(_ASKED, 0) + 1
    return panel, found


def _draw(leaderboard: Leaderboard, panel: Panel, found: LiveAnswers | str) -> None:
    if isinstance(found, str):
        st.error(plain(found))
        return
    st.html(query_html(found.shown.title))
    if found.checklist is not None:
        st.html(checklist_html(found.checklist, checklists_llm_name() or "an LLM"))
    st.html(
        three_answers_html(found.shown, panel.three, Whose(leaderboard.titles, bool(leaderboard.criteria)))
    )
    if marked := marked_in_words(found.shown):
        st.caption(plain(marked))
    for problem in found.problems.values():
        st.warning(plain(problem))
