"""A checklist from a person's history: upload past choices, see what they tell, edit it and rank."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from crm.paths import BUNDLED
from leaderboard.personal.history import MOST_CHARACTERS, MOST_USED
from leaderboard.personal.history_checklist import Learnt
from leaderboard.personal.history_files import HISTORY_TYPES, MOST_MEGABYTES, read_history
from leaderboard.personal.history_rows import MOST_ROWS
from leaderboard.personal.history_source import learn_from
from leaderboard.personal.history_words import explained_sentence, reading_sentence, summary_sentence
from leaderboard.personal.wording import evidence_sentence
from leaderboard.service import Service
from pages._learnt_checklist import LearntLine, WayOn, edit_checklist
from pages._session import MENDABLE, plain

SAMPLE = BUNDLED.parent / "history-sample.jsonl"
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
answer be made anew and then wrote on: the answer that you went on with was chosen. Thumbs are not read.
"""


@dataclass(frozen=True, eq=False)
class _Told:
    """What is kept of an upload in the session: what was learnt, and no text of it."""

    read: str
    learnt: Learnt


def learn_from_history(service: Service) -> None:
    """Draw the upload, or what the last one told."""
    told: _Told | None = st.session_state.get(_LEARNT)
    if told is None:
        told = _upload(service)
    if told is not None:
        _show(told)


def _upload(service: Service) -> _Told | None:
    """The form; what is learnt from a file takes its place."""
    place = st.empty()
    with place.container():
        st.markdown(
            "Bring choices that you have made elsewhere. They are read in memory to learn from them, and "
            "nothing of them is stored."
        )
        uploaded = st.file_uploader(
            "Past choices",
            type=list(HISTORY_TYPES),
            max_upload_size=MOST_MEGABYTES,
            key=f"history_file:{st.session_state.get(_ROUND, 0)}",
        )
        outcome = st.container()
        st.caption(
            "CSV, JSON Lines or JSON with query, chosen and rejected; LMArena’s votes; ChatGPT’s data "
            f"export. Up to {MOST_MEGABYTES} MB, {MOST_ROWS:,} choices and {MOST_CHARACTERS:,} characters an "
            f"answer; {MOST_USED} choices are learnt from."
        )
        with st.expander("What such a file looks like"):
            st.markdown(_FORMS)
            st.download_button(
                "A sample file",
                SAMPLE.read_bytes,
                file_name="past-choices.jsonl",
                mime="application/jsonl",
                on_click="ignore",
                icon=":material/download:",
            )
        if uploaded is None:
            return None
        with outcome:
            try:
                told = _told(uploaded.getvalue(), uploaded.name, service)
            except MENDABLE as error:
                st.error(plain(str(error)))
                return None
    st.session_state[_LEARNT] = told
    place.empty()
    return told


def _told(content: bytes, file: str, service: Service) -> _Told:
    history = read_history(content, file)
    bar = st.progress(0.0, "Reading the answers …")
    learnt = learn_from(
        history,
        service,
        st.session_state.view.benchmark,
        lambda what, done, total: bar.progress(done / total, f"{what}: {done:,} of {total:,}"),
    )
    return _Told(reading_sentence(history), learnt)


def _show(told: _Told) -> None:
    learnt = told.learnt
    st.markdown(f"**{plain(summary_sentence(learnt))}**")
    draw = st.success if learnt.foretold.telling else st.warning
    draw(plain(explained_sentence(learnt)))
    st.caption(plain(told.read))
    edit_checklist(
        [LearntLine(line.criterion, evidence_sentence(line)) for line in learnt.lines],
        learnt_from=f"Learnt from {learnt.n_choices:,} choice{'' if learnt.n_choices == 1 else 's'}.",
        ways_on=[WayOn("Bring another file", "history:again", _start_again, ":material/arrow_back:")],
    )


def _start_again() -> None:
    st.session_state.pop(_LEARNT, None)
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
