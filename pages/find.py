"""Find my criteria: choose between answers, answer questions or bring past choices; rank with them."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crm.paths import BUNDLED
from leaderboard.elicitation.free_interview import free_interviewer_name
from leaderboard.elicitation.history.choices import MAX_CHARACTERS, MAX_CHOICES, ChoiceHistory
from leaderboard.elicitation.history.learn import HistoryChecklist, learn_from_history
from leaderboard.elicitation.history.read import HISTORY_TYPES, MAX_MEGABYTES, read_history
from leaderboard.elicitation.history.rows import MAX_ROWS
from leaderboard.elicitation.interview import MAX_QUESTIONS
from leaderboard.elicitation.session import readable_benchmarks
from leaderboard.elicitation.text import (
    SETTLED_SENTENCE,
    learnt_from_sentence,
    prediction_sentence,
    reading_sentence,
    summary_sentence,
)
from leaderboard.limits import reading
from leaderboard.sentences import listed
from pages._ui.checklist import NextStep, edit_checklists
from pages._ui.clarifying import Clarifying
from pages._ui.elicitation import (
    at_checklist,
    choose_between_answers,
    current_elicitation,
    go_on,
    interview,
    show_checklist,
)
from pages._ui.free_interview import free_interview
from pages._ui.session import (
    SHOWN_ERRORS,
    come_through_app,
    current_view,
    offer_file,
    plain,
    service,
    show,
    show_place,
    warm_up_for_files,
    write_link,
)
from pages._ui.taste_test import TASTE_TEST, WAY, taste_test
from pages._ui.topic_choice import choose_topics, topic_sizes

_CHOICES, _QUESTIONS, _WORDS, _HISTORY = "choices", "questions", "words", "history"
_WAYS = {
    _CHOICES: "Choose between answers",
    _QUESTIONS: "Answer questions",
    _WORDS: "In my own words",
    _HISTORY: "From my history",
    TASTE_TEST: "Test my ranking blind",
}

_SAMPLE = BUNDLED.parent / "history-sample.jsonl"
_LEARNT = "history_learnt"
_ROUND = "history_round"
_FORMS = """
**A table** in CSV, JSON Lines or JSON, one choice a row:

    {"query": "Which soup?", "chosen": "Tomato.", "rejected": "There are many soups …"}

**Votes as LMArena has them**: `conversation_a` and `conversation_b` (or `prompt`, `response_a` and
`response_b`), and `winner`: model_a, model_b, tie or both_bad. Of a conversation the last query and its
answers count.

    {"prompt": "Which soup?", "response_a": "Tomato.", "response_b": "Leek.", "winner": "model_a"}

**ChatGPT’s data export**: the `.zip`, or `conversations.json` out of it. A choice is read where you let an
answer be made again and then wrote on: the answer that you went on with was chosen. Thumbs are not read.

**As exported**, without renaming anything: Open WebUI’s feedback, the copy of your data from compar:IA, the
votes that compar:IA and LMArena publish (also Parquet), and `promptfoo export eval`. A liked answer was
chosen over those beside it that were not.
"""


def main() -> None:
    """Lay the page out."""
    current_view()
    st.title("Find my criteria", anchor=False)
    way = _choose_way()
    if way == _HISTORY:
        _learn_from_history()
    elif way == _WORDS:
        free_interview(NextStep("Choose between answers instead", "words:choices", lambda: _go(_CHOICES)))
    elif way == TASTE_TEST:
        taste_test(NextStep("Go on choosing between answers", "taste:more", lambda: _go(_CHOICES)))
    else:
        _learn_here(way)
    write_link({} if way == _CHOICES else {"way": way})


def _choose_way() -> str:
    ways = [way for way in _WAYS if way != _WORDS or free_interviewer_name() is not None]
    if st.session_state.get(WAY) not in ways:
        asked = st.query_params.get("way")
        show(WAY, asked if asked in ways else _CHOICES)
    return (
        st.segmented_control(
            "How",
            ways,
            format_func=_WAYS.__getitem__,
            required=True,
            key=WAY,
            label_visibility="collapsed",
            persist_state="session",
            on_change=go_on,
        )
        or _CHOICES
    )


def _go(way: str) -> None:
    st.session_state[WAY] = way
    go_on()


def _learn_here(way: str) -> None:
    readable = {summary.slug: summary.title for summary in readable_benchmarks(service())}
    if not readable:
        st.info("No benchmark with texts is stored here: import one to choose between its answers.")
        return
    view = st.session_state.view
    slug = _choose_source(readable, view.benchmark)
    record = service().benchmark(slug).record
    known = topic_sizes(record)
    topics = tuple(topic for topic in view.topics if topic in known)
    if slug == view.benchmark and (unknown := [f"“{topic}”" for topic in view.topics if topic not in known]):
        st.info(
            plain(f"{record.info.title} has no topic {listed(unknown, 'or')}: questions are of all others.")
        )
    elif view.benchmark not in {summary.slug for summary in service().benchmarks()}:
        st.info(plain(f"There is no benchmark “{view.benchmark}” here; {readable[slug]} is shown instead."))
    with st.sidebar:
        choose_topics(record, topics)
    try:
        with st.spinner("Reading the answers …"):
            elicitation = current_elicitation(slug, topics)
        if at_checklist():
            unasked = MAX_QUESTIONS - len(elicitation.replies)
            early = way == _QUESTIONS and unasked > 0 and elicitation.question is None
            show_checklist(
                service().benchmark(slug),
                elicitation,
                *_next_steps(way),
                to_choices=lambda: _go(_CHOICES),
                why=SETTLED_SENTENCE if early else "",
            )
        elif way == _CHOICES:
            choose_between_answers(service().benchmark(slug))
        else:
            interview(slug, topics)
    except SHOWN_ERRORS as error:
        st.error(plain(str(error)))


def _next_steps(way: str) -> list[NextStep]:
    """Back to the way that led to the checklist, and over to the other."""
    back = ":material/arrow_back:"
    if way == _CHOICES:
        return [
            NextStep("Go on choosing", "find:more", go_on, back),
            NextStep("Answer questions too", "find:other", lambda: _go(_QUESTIONS)),
        ]
    return [
        NextStep("Back to the questions", "find:more", go_on, back),
        NextStep("Make it surer: choose between answers", "find:other", lambda: _go(_CHOICES)),
    ]


def _choose_source(readable: dict[str, str], wanted: str) -> str:
    """Return which benchmark's answers are shown: the view's where it has texts."""
    if st.session_state.get("find_source") not in readable:
        show("find_source", wanted if wanted in readable else next(iter(readable)))
    if len(readable) > 1:
        st.sidebar.selectbox(
            "Answers from", list(readable), format_func=readable.__getitem__, key="find_source"
        )
    chosen: str = st.session_state.find_source
    return chosen


def _learn_from_history() -> None:
    learnt = st.session_state.get(_LEARNT) or _upload_history()
    if learnt is not None:
        _show_learnt(*learnt)


def _upload_history() -> tuple[HistoryChecklist, str] | None:
    place = st.empty()
    with place.container():
        st.markdown(
            "Bring choices that you have made elsewhere. They are read in memory to learn from them, and "
            "nothing of them is stored."
        )
        uploaded = st.file_uploader(
            "Past choices",
            type=list(HISTORY_TYPES),
            max_upload_size=MAX_MEGABYTES,
            key=f"history_file:{st.session_state.get(_ROUND, 0)}",
        )
        outcome = st.container()
        st.caption(
            "CSV, JSON Lines, JSON or Parquet with query, chosen and rejected; votes of LMArena and "
            "compar:IA; exports of ChatGPT, of Open WebUI’s feedback, of a compar:IA account and of "
            "promptfoo’s ratings. "
            f"Up to {MAX_MEGABYTES} MB, {MAX_ROWS:,} choices and {MAX_CHARACTERS:,} characters an "
            f"answer; {MAX_CHOICES} choices are learnt from."
        )
        with st.expander("What such a file looks like"):
            st.markdown(_FORMS)
            file = "past-choices.jsonl"
            offer_file(st, "A sample file", _SAMPLE.read_bytes, file, kind="application/jsonl")
        if uploaded is None:
            warm_up_for_files()
            return None
        with outcome:
            try:
                whose, bar = st.container(), st.empty()
                with whose:
                    history = _read(uploaded.getvalue(), uploaded.name, bar)
                if history is None:
                    return None
                learnt = _learn(history, bar)
            except SHOWN_ERRORS as error:
                st.error(plain(str(error)))
                return None
    st.session_state[_LEARNT] = learnt
    place.empty()
    return learnt


def _read(content: bytes, file: str, bar: DeltaGenerator) -> ChoiceHistory | None:
    """Return the choices in a file that are learnt from; None while it is not yet chosen whose."""
    with reading(show_place(bar)):
        history = read_history(content, file)
    if len(history.people) < 2:  # noqa: PLR2004
        return history
    person = _choose_person(dict(history.people), file)
    if not person:
        return None if person is None else history
    with reading(show_place(bar)):
        return read_history(content, file, person)


def _choose_person(people: Mapping[str, int], file: str) -> str | None:
    """Return whose choices are learnt from: empty for everybody's, None while it is not yet chosen."""

    def shown(person: str) -> str:
        return f"{person}: {people[person]:,}" if person else f"All {len(people):,} people together"

    return st.selectbox(
        "Whose choices? The file has those of several people.",
        ["", *people],
        index=None,
        format_func=shown,
        key=f"history_person:{file}:{st.session_state.get(_ROUND, 0)}",
    )


def _learn(history: ChoiceHistory, bar: DeltaGenerator) -> tuple[HistoryChecklist, str]:
    bar.progress(0.0, "Reading the answers …")

    def on_progress(what: str, done: int, total: int) -> None:
        bar.progress(done / total, f"{what}: {done:,} of {total:,}")

    benchmark = st.session_state.view.benchmark
    learnt = learn_from_history(history, service(), benchmark, on_progress, show_place(bar))
    return learnt, reading_sentence(history)


def _show_learnt(learnt: HistoryChecklist, reading: str) -> None:
    st.markdown(f"**{plain(summary_sentence(learnt))}**")
    draw = st.success if learnt.predicted.significant else st.warning
    draw(plain(prediction_sentence(learnt)))
    st.caption(plain(reading))
    edit_checklists(
        learnt.checklists,
        learnt_from=learnt_from_sentence(learnt.n_choices),
        next_steps=[NextStep("Bring another file", "history:again", _bring_another, ":material/arrow_back:")],
        clarifying=Clarifying(
            learnt.to_clarify,
            learnt.clarified,
            on_reply=lambda named: _keep_learnt(learnt.clarify(named), reading),
            on_undo=lambda: _keep_learnt(learnt.without_last_reply(), reading),
        ),
    )


def _keep_learnt(learnt: HistoryChecklist, reading: str) -> None:
    st.session_state[_LEARNT] = learnt, reading


def _bring_another() -> None:
    st.session_state.pop(_LEARNT, None)
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1


come_through_app()
main()
