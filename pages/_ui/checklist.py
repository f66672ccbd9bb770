"""Learnt checklists: lines with their evidence, to be edited and carried to the leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.errors import CriterionError
from leaderboard.elicitation.checklist import ChecklistLine, criteria_of
from leaderboard.elicitation.per_category import CategoryChecklist
from leaderboard.elicitation.text import evidence_sentence, list_heading, several_lists_sentence
from pages._ui.clarifying import Clarifying, ask_which
from pages._ui.session import change_criteria, plain

_WISH_WIDTH = 420


@dataclass(frozen=True)
class NextStep:
    """A button beside “Rank LLMs for me”; ``on_click`` acts before the page is run again."""

    label: str
    key: str
    on_click: Callable[[], None]
    icon: str | None = None


def edit_checklists(
    checklists: Sequence[CategoryChecklist],
    *,
    learnt_from: str,
    certainty: str | None = None,
    next_steps: Sequence[NextStep],
    clarifying: Clarifying | None = None,
) -> None:
    """Draw the lists, each with its lines, the weightiest first, to be edited.

    Args:
        clarifying: What is asked first, where the choices do not tell wishes apart.

    Edits last as long as the same lines are learnt.
    """
    st.header("Your checklists" if len(checklists) > 1 else "Your checklist", anchor=False)
    st.markdown(plain(f"{learnt_from} Change what is not right, then rank."))
    if certainty is not None:
        st.caption(plain(certainty))
    if clarifying is not None:
        ask_which(clarifying, "checklist:clarifying")
    if not any(each.lines for each in checklists):
        st.info("Nothing was learnt from that: your answers do not point anywhere yet.")
    if len(checklists) > 1:
        st.markdown(plain(several_lists_sentence(checklists)))
    edited = [_draw_list(each, several=len(checklists) > 1) for each in checklists]
    with st.container(horizontal=True):
        ranks = st.button("Rank LLMs for me", type="primary", key="find:rank")
        for step in next_steps:
            st.button(step.label, key=step.key, icon=step.icon, type="tertiary", on_click=step.on_click)
    if ranks:
        _rank(edited)


@dataclass(frozen=True)
class _DrawnList:
    """A list as it was drawn: its lines by the keys of their widgets, and what was added."""

    categories: tuple[str, ...]
    lines: Mapping[str, ChecklistLine]
    added: str

    def edited(self) -> CriteriaSet:
        """Return the list as its widgets say; raises as ``Criterion``."""
        kept = [line for key, learnt in self.lines.items() if (line := _edited(key, learnt)) is not None]
        own = (Criterion(self.added),) if self.added.strip() else ()
        return CriteriaSet((*criteria_of(kept), *own))


def _draw_list(checklist: CategoryChecklist, *, several: bool) -> _DrawnList:
    if several:
        st.subheader(plain(list_heading(checklist.categories)), anchor=False)
    lines = checklist.lines
    edition = hash((checklist.categories, *((line.criterion, evidence_sentence(line)) for line in lines)))
    keyed = {f"checklist:{edition:x}:{place}": line for place, line in enumerate(lines)}
    for place, (key, line) in enumerate(keyed.items()):
        _draw_line(key, place, line)
    added = st.text_input(
        "One more criterion",
        placeholder="Add one of your own",
        key=f"checklist:{edition:x}:added",
        persist_state="session",
    )
    return _DrawnList(checklist.categories, keyed, added)


def _draw_line(key: str, place: int, line: ChecklistLine) -> None:
    kept = _is_kept(key)
    with st.container(border=True, gap="xsmall"):
        row = st.container(horizontal=True, vertical_alignment="center", gap="small")
        row.text_input(
            f"Criterion {place + 1}",
            line.criterion.text,
            key=f"{key}:text",
            label_visibility="collapsed",
            persist_state="session",
            disabled=not kept,
            width=_WISH_WIDTH,
        )
        row.segmented_control(
            f"Weight of criterion {place + 1}",
            [weight.value for weight in Weight],
            default=line.criterion.weight.value,
            required=True,
            key=f"{key}:weight",
            label_visibility="collapsed",
            persist_state="session",
            disabled=not kept,
        )
        with row.container(horizontal=True, vertical_alignment="center", width="content"):
            st.toggle(
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
        st.caption(plain(evidence_sentence(line)))


def _is_kept(key: str) -> bool:
    return not st.session_state.get(f"{key}:left_out", False)


def _leave_out(key: str, left_out: bool) -> None:
    st.session_state[key] = left_out


def _edited(key: str, line: ChecklistLine) -> ChecklistLine | None:
    """Return the line as its widgets say; None where it is left out or emptied."""
    text, weight, avoid = (st.session_state[f"{key}:{part}"] for part in ("text", "weight", "avoid"))
    if not _is_kept(key) or not text.strip():
        return None
    polarity = Polarity.AVOID if avoid else Polarity.WANT
    return replace(line, criterion=Criterion(text, Weight(weight), polarity))


def _rank(drawn: Sequence[_DrawnList]) -> None:
    criteria = CriteriaSet()
    try:
        for each in drawn:
            criteria = criteria.with_list(each.categories, each.edited())
    except CriterionError as error:
        st.error(plain(str(error)))
        return
    if not criteria:
        st.error("No criterion is left: type one, or take a line in again.")
        return
    change_criteria(criteria)
    st.switch_page("pages/leaderboard.py")
