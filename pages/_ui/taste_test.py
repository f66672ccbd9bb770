"""A blind taste test of the view's ranking: the way to it, its pairs, what came out and what it teaches."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from crm.criteria import CriteriaSet, Criterion
from crm.errors import CriterionError
from leaderboard.benchmark import missing_texts_message
from leaderboard.elicitation.checklist import ChecklistLine
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.session import ElicitationSession, session_checklist
from leaderboard.elicitation.taste_test import (
    N_PAIRS,
    BlindPair,
    Taste,
    TasteTest,
    corrected_taste,
    make_taste_test,
)
from leaderboard.elicitation.text import (
    corrected_taste_sentence,
    evidence_sentence,
    fewer_pairs_sentence,
    taste_result_sentence,
    taste_sentence,
    taste_verdict_sentence,
    votes_agreement_sentence,
)
from leaderboard.render.responses import revealed_html
from leaderboard.result import Leaderboard
from leaderboard.view import View
from pages._ui.checklist import NextStep
from pages._ui.elicitation import (
    choice_buttons,
    current_elicitation,
    from_the_top,
    keep_elicitation,
    own_draws,
    show_pair,
)
from pages._ui.listing import known_llms, list_or_all
from pages._ui.session import (
    SHOWN_ERRORS,
    as_parameters,
    change_criteria,
    errors_shown,
    plain,
    service,
    stay,
)

WAY, TASTE_TEST = "find_way", "taste"
"""Key of the choice of ways on “Find my criteria”, and the value of this one, also in a link."""
_TEST, _ROUND, _EARLIER, _LEARNT = "taste_test", "taste_round", "taste_earlier", "taste_learnt"
_BUTTONS = (
    (Taste.FIRST, "A is better", "A"),
    (Taste.ALIKE, "No difference", "N"),
    (Taste.SECOND, "B is better", "B"),
)
"""What is said, label and key."""


def offer_taste_test(leaderboard: Leaderboard) -> None:
    """Draw the button that leads from a ranking to its test."""
    if st.button("Test this ranking blind", key="to_taste_test", icon=":material/visibility_off:"):
        st.session_state[WAY] = TASTE_TEST
        way = {"way": TASTE_TEST}
        st.switch_page("pages/find.py", query_params=as_parameters(leaderboard.view, way))


def taste_test(go_on_choosing: NextStep) -> None:
    """Draw the test of the view's ranking, or what came out of it."""
    view: View = st.session_state.view
    benchmark = service().benchmark(view.benchmark)
    wishes = "; ".join(map(str, view.criteria)) or "no criteria, the default ranking"
    st.caption(plain(f"Your ranking on {benchmark.record.info.title}: {wishes}"))
    with errors_shown():
        if not benchmark.readable.any():
            st.info(plain(missing_texts_message(benchmark.record)), icon=":material/visibility_off:")
        elif _current(view).is_over:
            _show_result(view, go_on_choosing)
        else:
            _ask()
    st.page_link(
        "pages/leaderboard.py",
        label="Back to the leaderboard",
        icon=":material/arrow_back:",
        query_params=as_parameters(view),
    )


def _current(view: View) -> TasteTest:
    """Return the view's test, begun where there is none of it yet."""
    key: Hashable = view, service().benchmark(view.benchmark).identity
    kept: tuple[Hashable, TasteTest] | None = st.session_state.get(_TEST)
    if kept is None or kept[0] != key:
        with st.spinner("Drawing pairs of answers …"):
            leaderboard = service().leaderboard(view.whole, subscriber=None)
            listed = list_or_all(leaderboard, known_llms()).leaderboard.llms
            seed: int = own_draws() + st.session_state.get(_ROUND, 0)
            kept = key, make_taste_test(service(), leaderboard, listed, seed=seed)
        st.session_state[_TEST] = kept
    return kept[1]


def _keep(test: TasteTest) -> None:
    key, _ = st.session_state[_TEST]
    st.session_state[_TEST] = key, test


@st.fragment
def _ask() -> None:
    """Show the next pair; a click or a key answers it, and only this part is run again."""
    view: View = st.session_state.view
    test = _current(view)
    if test.is_over:
        stay()
    done, n = len(test.tastes), len(test.pairs)
    if not done:
        pairs = {1: "One pair", N_PAIRS: "Six pairs"}.get(n, f"{n} pairs")
        st.markdown(
            f"{pairs} of answers without names. In each of them, one is by the LLM that your ranking puts "
            "first. Say which you like better: then you see who was who, and whether the ranking knew."
        )
        if fewer := fewer_pairs_sentence(test):
            st.info(plain(fewer))
    st.progress(done / n, text=f"Pair {done + 1} of {n}")
    if not show_pair(service().benchmark(view.benchmark), test.current.pair):
        return
    with choice_buttons():
        for taste, label, key in _BUTTONS:
            st.button(
                label,
                key=f"taste:{taste}",
                shortcut=key,
                on_click=_say,
                args=(taste, done),
                type="secondary" if taste is Taste.ALIKE else "primary",
            )
    st.button(
        "Undo",
        key="taste:undo",
        icon=":material/undo:",
        shortcut="U",
        type="tertiary",
        disabled=not done,
        on_click=lambda: _keep(test.without_last()),
    )
    from_the_top(done)


def _say(taste: Taste, done: int) -> None:
    """Take the answer over, unless it was given to a pair that is not shown any more."""
    test = st.session_state[_TEST][1]
    if len(test.tastes) == done:
        _keep(test.said(taste))


def _show_result(view: View, go_on_choosing: NextStep) -> None:
    test = _current(view)
    benchmark = service().benchmark(view.benchmark)
    titles = {llm.name: llm.title for llm in benchmark.record.llms}
    st.subheader(plain(taste_result_sentence(test, titles[test.llm])), anchor=False)
    st.markdown(plain(taste_verdict_sentence(test)))
    _show_corrected(test, titles[test.llm])
    with st.container(horizontal=True):
        st.button("Six other pairs", key="taste:again", icon=":material/refresh:", on_click=_again)
        st.button(
            "Undo", key="taste:undo", icon=":material/undo:", on_click=lambda: _keep(test.without_last())
        )
    st.subheader("Who was behind each pair", anchor=False)
    texts = benchmark.query_texts
    st.html(
        revealed_html(
            [
                (
                    texts[blind.pair.query] or benchmark.query_titles[blind.pair.query],
                    *_sides(blind, titles[test.llm], titles[blind.rival]),
                    taste_sentence(blind, taste, titles[test.llm], titles[blind.rival]),
                )
                for blind, taste in zip(test.pairs, test.tastes, strict=True)
            ]
        )
    )
    _offer_learnt(view, test, go_on_choosing)


def _show_corrected(test: TasteTest, title: str) -> None:
    """Draw what the answers of this test and of those before it, of the same ranking, correct."""
    found = corrected_taste([*_earlier(), test])
    if found is not None:
        st.markdown(f"**{plain(votes_agreement_sentence(found.n_agreeing, found.n_votes))}**")
        st.markdown(plain(corrected_taste_sentence(found, title)))


def _earlier() -> tuple[TasteTest, ...]:
    """Return the tests of the same ranking that are over."""
    key, test = st.session_state[_TEST]
    kept: tuple[Hashable, tuple[TasteTest, ...]] | None = st.session_state.get(_EARLIER)
    of_same = kept[1] if kept is not None and kept[0] == key else ()
    return tuple(each for each in of_same if each.llm == test.llm)


def _sides(blind: BlindPair, llm: str, rival: str) -> tuple[str, str]:
    return (llm, rival) if blind.tested_first else (rival, llm)


def _again() -> None:
    key, test = st.session_state[_TEST]
    st.session_state[_EARLIER] = key, (*_earlier(), test)
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
    st.session_state.pop(_TEST, None)


def _offer_learnt(view: View, test: TasteTest, go_on_choosing: NextStep) -> None:
    """Draw what the choices say that the criteria do not, to be added to them."""
    st.subheader("What your choices say", anchor=False)
    try:
        with st.spinner("Learning from your choices …"):
            learnt, lines = _learnt(view, test)
    except SHOWN_ERRORS as error:
        st.caption(plain(f"Nothing could be learnt from them. {error}"))
        return
    known = {criterion.text.casefold() for criterion in view.criteria}
    new = [line for line in lines if line.evidence.supporting and line.criterion.text.casefold() not in known]
    if not new:
        st.caption("Nothing clear beyond your criteria.")
    kept = [line.criterion for place, line in enumerate(new) if _keeps(line, place, test)]
    with st.container(horizontal=True):
        adds = st.button("Add what your choices say", key="taste:add", type="primary", disabled=not kept)
        st.button(
            go_on_choosing.label,
            key=go_on_choosing.key,
            type="tertiary",
            on_click=_go_on,
            args=(learnt, view.benchmark, go_on_choosing),
            help="Six choices say little. Here more of them make your criteria surer.",
        )
    if adds:
        _add(view, kept)


def _learnt(view: View, test: TasteTest) -> tuple[ElicitationSession, tuple[ChecklistLine, ...]]:
    """Return this session's choices with those of the test, and their checklist, worked out once."""
    elicitation = current_elicitation(view.benchmark, view.topics)
    key = test, elicitation.steps, view.benchmark
    kept = st.session_state.get(_LEARNT)
    if kept is None or kept[0] != key:
        learnt = elicitation.with_choices(test.choices)
        kept = key, learnt, session_checklist(learnt, criterion_library())
        st.session_state[_LEARNT] = kept
    return kept[1], kept[2]


def _keeps(line: ChecklistLine, place: int, test: TasteTest) -> bool:
    """Draw a line with what speaks for it, and return whether it is to be added."""
    with st.container(gap="xxsmall"):
        keeps = st.checkbox(
            plain(str(line.criterion)),
            value=True,
            key=f"taste:line:{hash(test):x}:{place}",
            persist_state="session",
        )
        st.caption(plain(evidence_sentence(line)))
    return keeps


def _go_on(learnt: ElicitationSession, learnt_on: str, step: NextStep) -> None:
    keep_elicitation(learnt)
    st.session_state.find_source = learnt_on
    step.on_click()


def _add(view: View, added: list[Criterion]) -> None:
    try:
        criteria = CriteriaSet((*view.criteria, *added))
    except CriterionError as error:
        st.error(plain(str(error)))
        return
    change_criteria(criteria)
    st.switch_page("pages/leaderboard.py")
