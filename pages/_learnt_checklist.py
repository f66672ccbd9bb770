"""A learnt checklist: lines with their evidence, to be edited and carried to the leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.errors import CriterionError
from pages._session import change_view, plain


@dataclass(frozen=True)
class LearntLine:
    """A criterion that a person seems to follow, and what speaks for it in a sentence."""

    criterion: Criterion
    evidence: str


@dataclass(frozen=True)
class WayOn:
    """A button beside “Rank LLMs for me”.

    Attributes:
        label: What it says.
        key: Of the widget, unique on the page.
        on_click: What it does before the page is run again.
        icon: In front of the label.
    """

    label: str
    key: str
    on_click: Callable[[], None]
    icon: str | None = None


def edit_checklist(
    lines: Sequence[LearntLine], *, learnt_from: str, certainty: str | None = None, ways_on: Sequence[WayOn]
) -> None:
    """Draw the lines to be edited; what is changed in them holds as long as the same lines were learnt.

    Args:
        lines: The weightiest first.
        learnt_from: What they rest on, in a sentence.
        certainty: How sure the ranking is, in a sentence.
        ways_on: What else can be done: going back, starting again.
    """
    st.subheader("Your checklist", anchor=False)
    st.markdown(plain(f"{learnt_from} Change what is not right, then rank."))
    if certainty is not None:
        st.caption(plain(certainty))
    if not lines:
        st.info("Nothing was learnt from that: your answers do not point anywhere yet.")
    edition = f"checklist:{hash(tuple(lines)):x}"
    edited = [_line(f"{edition}:{place}", place, line) for place, line in enumerate(lines)]
    added = st.text_input(
        "One more criterion",
        placeholder="Add one of your own",
        key=f"{edition}:added",
        persist_state="session",
    )
    if added.strip():
        edited.append((added, Weight.ESSENTIAL, Polarity.WANT))
    with st.container(horizontal=True):
        ranks = st.button("Rank LLMs for me", type="primary", key="find:rank")
        for way in ways_on:
            st.button(way.label, key=way.key, icon=way.icon, type="tertiary", on_click=way.on_click)
    if ranks:
        _rank([line for line in edited if line is not None])


Edited = tuple[str, Weight, Polarity]


def _line(key: str, place: int, line: LearntLine) -> Edited | None:
    """One line's widgets, and what they say; None where the line is left out."""
    kept = not st.session_state.get(f"{key}:left_out", False)
    with st.container(border=True, gap="xsmall"):
        first, second, third = st.columns([0.46, 0.33, 0.21], vertical_alignment="center")
        text = first.text_input(
            f"Criterion {place + 1}",
            line.criterion.text,
            key=f"{key}:text",
            label_visibility="collapsed",
            persist_state="session",
            disabled=not kept,
        )
        grade = second.segmented_control(
            f"Weight of criterion {place + 1}",
            [weight.value for weight in Weight],
            default=line.criterion.weight.value,
            required=True,
            key=f"{key}:weight",
            label_visibility="collapsed",
            persist_state="session",
            disabled=not kept,
        )
        with third.container(horizontal=True, vertical_alignment="center"):
            avoid = st.toggle(
                "Avoid",
                line.criterion.polarity is Polarity.AVOID,
                key=f"{key}:avoid",
                persist_state="session",
                disabled=not kept,
            )
            st.button(
                "",
                key=f"{key}:leave",
                icon=":material/close:" if kept else ":material/undo:",
                help="Leave this line out" if kept else "Take this line in again",
                type="tertiary",
                on_click=_leave_out,
                args=(f"{key}:left_out", kept),
            )
        st.caption(plain(line.evidence))
    if not kept or not text.strip():
        return None
    return text, Weight(grade), Polarity.AVOID if avoid else Polarity.WANT


def _leave_out(key: str, left_out: bool) -> None:
    st.session_state[key] = left_out


def _rank(edited: Sequence[Edited]) -> None:
    if not edited:
        st.error("No criterion is left: type one, or take a line in again.")
        return
    try:
        criteria = CriteriaSet(tuple(Criterion(*line) for line in edited))
    except CriterionError as error:
        st.error(plain(str(error)))
        return
    change_view(criteria=criteria)
    st.switch_page("pages/leaderboard.py")
