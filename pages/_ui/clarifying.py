"""The question which of several wishes a person chose by, above what was learnt from their choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import streamlit as st

from leaderboard.elicitation.clarifying import ClarifyingQuestion, ClarifyingReply, SignedCriterion
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.text import named_sentence
from pages._ui.session import plain


@dataclass(frozen=True)
class Clarifying:
    """What may be asked, what was said before, and what happens then, before the page is run again.

    Attributes:
        on_undo: Takes back what was said last.
        on_apart: Goes on to answers that tell the wishes apart; None where there are none to choose from.
    """

    question: ClarifyingQuestion | None
    said: Sequence[ClarifyingReply]
    on_reply: Callable[[Iterable[SignedCriterion]], None]
    on_undo: Callable[[], None]
    on_apart: Callable[[], None] | None = None


def ask_which(asked: Clarifying, key: str) -> None:
    """Draw what was said, and the question if there is one."""
    library = criterion_library()
    if asked.said:
        named = [
            each.label(library)
            for reply in asked.said
            for each in reply.question.offered
            if each in reply.named
        ]
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(plain(named_sentence(named)), width="content")
            st.button(
                "Undo", key=f"{key}:undo", icon=":material/undo:", type="tertiary", on_click=asked.on_undo
            )
    if asked.question is None:
        return
    offered = asked.question.offered
    picked = f"{key}:which:{len(asked.said)}"

    def take() -> None:
        if named := st.session_state.get(picked):
            asked.on_reply(named)

    with st.form(f"{key}:which", border=True):
        st.subheader("Which of these did you go by?", anchor=False)
        st.caption("Your choices fit all of them. Pick one or several, and the list will say what you meant.")
        st.pills(
            "Wishes that fit your choices",
            offered,
            selection_mode="multi",
            format_func=lambda each: each.label(library),
            key=picked,
            label_visibility="collapsed",
        )
        with st.container(horizontal=True):
            st.form_submit_button("I went by these", type="secondary", key=f"{key}:these", on_click=take)
            st.form_submit_button(
                "None of these", type="tertiary", key=f"{key}:none", on_click=asked.on_reply, args=((),)
            )
            if asked.on_apart is not None:
                st.form_submit_button(
                    "Not sure: show me answers that differ in them",
                    type="tertiary",
                    key=f"{key}:apart",
                    on_click=asked.on_apart,
                )
