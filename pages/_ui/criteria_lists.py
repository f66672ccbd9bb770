"""Which list of criteria is edited: the common one, or one that takes its place in some categories."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crm.criteria import CriteriaSet
from leaderboard.sentences import listed
from leaderboard.view import View
from pages._ui.session import change_criteria, change_view, menu, plain, service, show

_LIST, _CHOICE, _NEW = "criteria_list", "criteria_list_choice", "criteria_list_new"
_HELP = (
    "What you like may differ by topic. A topic with a list of its own is judged by that list alone; "
    "all other questions are judged by the common list."
)

Names = tuple[str, ...]


def current_list() -> CriteriaSet:
    """Return the list of the view that is edited; a new one has no criteria yet."""
    return _view().criteria.lists.get(_current(), CriteriaSet())


def change_list(criteria: CriteriaSet) -> None:
    """Replace the list that is edited."""
    change_criteria(_view().criteria.with_list(_current(), criteria))


def choose_list(criteria: CriteriaSet) -> Names:
    """Draw the choice of the list to edit where there are several, and return what it is for."""
    names = _known(criteria)
    lists = [*dict.fromkeys([*criteria.lists, names])]
    if len(lists) > 1:
        labels = {"Everything else": (), **{listed(each, "and"): each for each in lists if each}}
        show(_CHOICE, next(label for label, each in labels.items() if each == names))
        st.segmented_control(
            "Criteria for",
            list(labels),
            key=_CHOICE,
            required=True,
            format_func=plain,
            help=_HELP,
            on_change=lambda: _edit(labels[st.session_state[_CHOICE]]),
        )
    return names


def offer_list(place: DeltaGenerator, criteria: CriteriaSet) -> None:
    """Draw the button behind which a topic gets a list of its own; nothing where all have one."""
    record = service().benchmark(_view().benchmark).record
    free = [category.name for category in record.categories if category.name not in criteria.names]
    if not free:
        return
    menu(place, "By topic", lambda: _choose_topic(free), icon=":material/account_tree:", key="lists_menu")


def _choose_topic(free: list[str]) -> None:
    st.markdown(_HELP)
    show(_NEW, None)
    st.selectbox(
        "A list of its own for",
        free,
        index=None,
        key=_NEW,
        format_func=plain,
        placeholder="Choose a topic",
        on_change=_begin,
    )


def _begin() -> None:
    """Give the topic that was chosen a list of its own, which starts as the common one."""
    name = st.session_state[_NEW]
    if name is None:
        return
    criteria = _view().criteria
    change_criteria(criteria.with_list((name,), criteria.common or current_list()))
    _edit((name,))


def _edit(names: Names) -> None:
    st.session_state[_LIST] = names
    change_view()


def _current() -> Names:
    return _known(_view().criteria)


def _known(criteria: CriteriaSet) -> Names:
    """Return the list that was chosen, as long as the view has it; else the common one."""
    names: Names = st.session_state.get(_LIST, ())
    return names if names in criteria.lists else ()


def _view() -> View:
    view: View = st.session_state.view
    return view
