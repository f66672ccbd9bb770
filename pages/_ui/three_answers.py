"""Three answers to one question, right below the answer over a ranking; worked out once it is opened."""

from __future__ import annotations

import streamlit as st

from leaderboard.benchmark import missing_texts_message
from leaderboard.render.responses import query_html
from leaderboard.render.three_answers import Whose, marked_in_words, three_answers_html
from leaderboard.result import Leaderboard
from leaderboard.three_answers import ThreeLLMs, find_three, show_trio
from pages._ui.listing import known_llms, list_or_all
from pages._ui.live_answers import offer_live_answers
from pages._ui.session import errors_shown, plain, service

_FOUND, _PLACE = "three_answers", "three_answers_place"


@st.fragment
def show_three_answers(leaderboard: Leaderboard) -> None:
    """Draw the block, closed at first; “Another question” runs only this part of the page again."""
    block = st.expander(
        "Three answers to one question",
        key="three_answers_open",
        icon=":material/view_column:",
        on_change="rerun",
    )
    if block.open:
        with block, errors_shown():
            _show(leaderboard, _found(leaderboard))


def _found(leaderboard: Leaderboard) -> ThreeLLMs:
    """Return who is compared, found again only when the ranking or what is listed of it has changed."""
    listed = list_or_all(leaderboard, known_llms()).leaderboard.llms
    key = (
        *(leaderboard.view.whole, frozenset(listed), leaderboard.n_judged, leaderboard.default is None),
        *(leaderboard.benchmark.updated_at, leaderboard.crm_version),
    )
    kept: tuple[object, ThreeLLMs] | None = st.session_state.get(_FOUND)
    if kept is None or kept[0] != key:
        with st.spinner("Looking for a question that shows the difference …"):
            kept = key, find_three(service(), leaderboard, listed)
        st.session_state[_FOUND], st.session_state[_PLACE] = kept, 0
    return kept[1]


def _show(leaderboard: Leaderboard, three: ThreeLLMs) -> None:
    place = st.session_state[_PLACE] % len(three.trios)
    trio = three.trios[place]
    question = show_trio(service(), leaderboard.view, three, trio)
    query = leaderboard.benchmark.queries[trio.query]
    if not three.readable:
        st.info(
            f"{plain(missing_texts_message(leaderboard.benchmark))} Without them, these are the numbers that "
            "the verdicts rest on.",
            icon=":material/visibility_off:",
        )
    st.caption(plain(f"{query.category} › {query.topic}" if question.text else query.category))
    st.html(query_html(question.text or question.title))
    st.html(three_answers_html(question, three, Whose(leaderboard.titles, bool(leaderboard.criteria))))
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button(
        "Another question",
        key="another_question",
        icon=":material/arrow_forward:",
        disabled=len(three.trios) == 1,
        on_click=_next,
    )
    row.caption(
        f"{place + 1} of {len(three.trios):,}, the clearest first. {marked_in_words(question)}".strip()
    )
    offer_live_answers(leaderboard, list_or_all(leaderboard, known_llms()).leaderboard.llms)


def _next() -> None:
    st.session_state[_PLACE] += 1
