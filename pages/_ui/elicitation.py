"""Choosing between answers and the interview on “Find my criteria”, and the session's state behind both."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.checklist import criteria_of
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair
from leaderboard.elicitation.clarifying import ClarifyingReply
from leaderboard.elicitation.interview import (
    MAX_QUESTIONS,
    Interviewer,
    InterviewQuestion,
    InterviewReply,
    QuestionWording,
    configured_interviewer,
    interviewer_name,
)
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.per_category import CategoryChecklist, categories_in, session_checklists
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs, pair_texts, session_checklist
from leaderboard.elicitation.text import (
    ENOUGH,
    agreement_sentence,
    interview_over_sentence,
    learnt_from_sentence,
    progress_sentence,
)
from leaderboard.render.responses import pair_html, query_html
from leaderboard.user_data.session_data import is_of_session
from leaderboard.view import View
from pages._ui.checklist import NextStep, edit_checklists
from pages._ui.clarifying import Clarifying
from pages._ui.corrected import show_corrected
from pages._ui.session import SHOWN_ERRORS, page_colour, plain, service, stay


def current_elicitation(slug: str, topics: tuple[str, ...]) -> ElicitationSession:
    """Return this session's elicitation on a benchmark; other topics keep it, another benchmark starts again.

    So does a benchmark that changed meanwhile, as when the session added an LLM to it.

    Raises as ``candidate_pairs``.
    """
    key = (slug, service().benchmark(slug).identity)
    if st.session_state.get("find_benchmark") != key:
        candidates = candidate_pairs(service(), slug, topics)
        keep_elicitation(ElicitationSession.start(candidates, draw_seed=own_draws()))
        st.session_state.find_benchmark, st.session_state.find_topics = key, topics
        go_on()
    elif st.session_state.find_topics != topics:
        keep_elicitation(_current().on(candidate_pairs(service(), slug, topics)))
        st.session_state.find_topics = topics
    return _current()


def own_draws() -> int:
    """Return the seed of what is drawn at random for this session: another one for everybody."""
    seed: int = st.session_state.setdefault("draw_seed", secrets.randbits(32))
    return seed


def _current() -> ElicitationSession:
    elicitation: ElicitationSession = st.session_state.elicitation
    return elicitation


def keep_elicitation(elicitation: ElicitationSession) -> None:
    """Have this session go on from there."""
    st.session_state.elicitation = elicitation


def at_checklist() -> bool:
    """Return whether the checklist is to be shown."""
    return bool(st.session_state.get("find_step") == "checklist" and _current().steps)


def _stop() -> None:
    st.session_state.find_step = "checklist"


def go_on() -> None:
    """Go back from the checklist to what it is learnt from."""
    st.session_state.find_step = "learning"


def _start_again() -> None:
    for name in ("elicitation", "find_benchmark", "find_topics", "find_step", "draw_seed"):
        st.session_state.pop(name, None)


def show_checklist(
    benchmark: LoadedBenchmark,
    elicitation: ElicitationSession,
    *next_steps: NextStep,
    to_choices: Callable[[], None],
    why: str = "",
) -> None:
    """Draw the checklists that the choices and answers lead to.

    Args:
        to_choices: Goes to choosing between answers, before the page is run again.
        why: Why they are shown now.
    """
    n_answers = len(elicitation.replies) + len(elicitation.clarified)
    learnt_from = learnt_from_sentence(len(elicitation.choices), n_answers)
    found = _checklists(benchmark, elicitation)
    if len(found) > 1 and not _by_topic(len(found)):
        found = (CategoryChecklist((), session_checklist(elicitation, criterion_library())),)
    edit_checklists(
        found,
        learnt_from=f"{learnt_from} {why}".strip(),
        # How sure the ranking is, is known of one list for everything.
        certainty=agreement_sentence(elicitation.agreement) if len(found) == 1 else None,
        next_steps=(*next_steps, NextStep("Start again", "find:again", _start_again)),
        # By topic a person may go by each of the wishes somewhere.
        clarifying=_clarifying(elicitation, to_choices) if len(found) == 1 else None,
    )
    if elicitation.choices:
        st.subheader("Corrected by your votes", anchor=False)
        slug, topics = st.session_state.find_benchmark[0], st.session_state.find_topics
        lines = session_checklist(elicitation, criterion_library())
        show_corrected(View(slug, topics, criteria_of(lines)), elicitation)


def _clarifying(elicitation: ElicitationSession, to_choices: Callable[[], None]) -> Clarifying:
    def tell_apart() -> None:
        keep_elicitation(elicitation.telling_apart())
        to_choices()

    return Clarifying(
        elicitation.to_clarify,
        elicitation.clarified,
        on_reply=lambda named: keep_elicitation(elicitation.clarify(named)),
        on_undo=lambda: keep_elicitation(elicitation.without_last(ClarifyingReply)),
        on_apart=tell_apart,
    )


def _checklists(benchmark: LoadedBenchmark, elicitation: ElicitationSession) -> tuple[CategoryChecklist, ...]:
    """Return the session's checklists, learnt once for the same steps, by topics of what will be ranked."""
    learnt = st.session_state.get("find_checklists")
    ranked = st.session_state.view.benchmark
    if learnt is None or learnt[0] is not elicitation.posterior or learnt[1] != ranked:
        categories = categories_in(service().benchmark(ranked), benchmark)
        with st.spinner("Looking whether you choose differently by topic …"):
            lists = session_checklists(elicitation, criterion_library(), categories)
        learnt = st.session_state.find_checklists = (elicitation.posterior, ranked, lists)
    found: tuple[CategoryChecklist, ...] = learnt[2]
    return found


def _by_topic(n_lists: int) -> bool:
    """Draw the switch between lists by topic and one for everything."""
    return st.toggle(f"{n_lists} lists, by topic", True, key="find:by_topic", persist_state="session")


_BUTTONS = (
    (ChoiceOutcome.FIRST, "A is better", "A"),
    (ChoiceOutcome.BOTH, "Both are good", "G"),
    (ChoiceOutcome.NEITHER, "Neither is", "N"),
    (ChoiceOutcome.SECOND, "B is better", "B"),
)
"""Outcome, label and key."""
_FROM_THE_TOP = """
<script>
/* pair PAIR */
requestAnimationFrame(() => document.querySelector(".usl-query")?.scrollIntoView({ block: "nearest" }));
</script>
"""
"""A person who has scrolled down a long answer is shown the next pair from its question on."""


@st.fragment
def choose_between_answers(benchmark: LoadedBenchmark) -> None:
    """Show the next pair of this session; a click or a key answers it, and only this part is run again."""
    if at_checklist():
        stay()
    elicitation = _current()
    if not elicitation.steps:
        st.markdown(
            "You see a question and the answers of two LLMs. Say which you like better: after about "
            f"{ENOUGH} choices, two minutes, you get a checklist of what you like, and LLMs ranked by it. "
            "Nothing is stored."
        )
    done = len(elicitation.choices)
    st.progress(min(1.0, done / ENOUGH), text=progress_sentence(done))
    if elicitation.steps:
        st.caption(agreement_sentence(elicitation.agreement))
    if not show_pair(benchmark, elicitation.pair):
        return
    with choice_buttons():
        for outcome, label, key in _BUTTONS:
            st.button(
                label,
                key=f"find:{outcome}",
                shortcut=key,
                on_click=_take_choice,
                args=(outcome, len(elicitation.choices)),
                type="primary" if outcome.decided else "secondary",
            )
    _undo_or_stop("Undo", Choice, enough=len(elicitation.choices) >= ENOUGH)
    from_the_top(len(elicitation.choices))


def show_pair(benchmark: LoadedBenchmark, pair: ResponsePair) -> bool:
    """Draw a question and two answers without names; return whether their texts are still there."""
    try:
        texts = pair_texts(benchmark, pair)
    except SHOWN_ERRORS as error:
        st.error(plain(str(error)))
        return False
    st.html(query_html(texts.query))
    st.html(pair_html([("Answer A", texts.first), ("Answer B", texts.second)]))
    return True


def choice_buttons() -> DeltaGenerator:
    """Return the row for the buttons of a choice, which stays in reach below long answers."""
    st.html(f"<style>.st-key-find_buttons {{ background: {page_colour()}; }}</style>")
    return st.container(horizontal=True, key="find_buttons")


def from_the_top(n_before: int) -> None:
    """Bring the question of a new pair into view; nothing before the first choice."""
    if n_before:
        st.html(_FROM_THE_TOP.replace("PAIR", str(n_before)), unsafe_allow_javascript=True)


def _take_choice(outcome: ChoiceOutcome, n_choices: int) -> None:
    """Take the answer over, unless it was given to a pair that is not shown any more."""
    if len(_current().choices) == n_choices:
        keep_elicitation(_current().chosen(outcome))


def _undo_or_stop(undo: str, kind: type[Choice] | type[InterviewReply], *, enough: bool) -> None:
    steps = _current().steps
    with st.container(horizontal=True):
        st.button(
            undo,
            key=f"find:{undo.lower()}",
            icon=":material/undo:",
            shortcut="U",
            type="tertiary",
            disabled=not any(isinstance(step, kind) for step in steps),
            on_click=lambda: keep_elicitation(_current().without_last(kind)),
        )
        st.button(
            "Show my checklist",
            key="find:checklist",
            icon=":material/checklist:",
            type="primary" if enough else "tertiary",
            disabled=not steps,
            on_click=_stop,
        )


@st.fragment
def interview(slug: str, topics: tuple[str, ...]) -> None:
    """Ask this session's next question; a click or a digit answers it, and the last leads to the checklist.

    Only this part of the page is run again for that.
    """
    if at_checklist():
        stay()
    elicitation = _current()
    n_replies = len(elicitation.replies)
    if not elicitation.steps:
        st.markdown(
            "Say what you like in an answer: up to five short questions, about a minute. Then you get a "
            "checklist of what you like, and LLMs ranked by it. Nothing is stored."
        )
    question = elicitation.question
    if question is None:
        st.progress(1.0, text=interview_over_sentence(n_replies))
    else:
        st.progress(n_replies / MAX_QUESTIONS, text=f"Question {n_replies + 1} of at most {MAX_QUESTIONS}")
    if elicitation.steps:
        st.caption(agreement_sentence(elicitation.agreement))
    if question is not None:
        _ask_question(_wording(question, slug, topics), n_replies)
    _undo_or_stop("Back", InterviewReply, enough=question is None)


def _ask_question(wording: QuestionWording, n_replies: int) -> None:
    st.header(plain(wording.text), anchor=False)
    with st.container(key="find_options", gap="small"):
        for option, text in enumerate(wording.options):
            st.button(
                plain(text),
                key=f"find:option:{n_replies}:{option}",
                shortcut=str(option + 1),
                width="stretch",
                on_click=_take_option,
                args=(option, text, n_replies),
            )


def _take_option(option: int, text: str, n_replies: int) -> None:
    """Take the answer over, unless it was given to a question that is not shown any more."""
    if len(_current().replies) != n_replies:
        return
    keep_elicitation(_current().replied(option, text))
    if _current().question is None:
        _stop()


def _wording(question: InterviewQuestion, slug: str, topics: tuple[str, ...]) -> QuestionWording:
    """Return the LLM's wording for the topics where one is set up and replies; else the fixed one.

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


def _worded(name: str, question: InterviewQuestion, topics: tuple[str, ...]) -> QuestionWording:
    if st.session_state.get("wording_failed"):
        return QuestionWording.fixed(question)
    try:
        with st.spinner("Wording the question …"):
            return _interviewer(name).word(question, topics)
    except SHOWN_ERRORS:
        st.session_state.wording_failed = True
        return QuestionWording.fixed(question)


@st.cache_resource(show_spinner=False)
def _interviewer(name: str) -> Interviewer:
    return configured_interviewer(name)
