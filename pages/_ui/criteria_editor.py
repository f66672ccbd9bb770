"""The criteria box: a line, a weight, a polarity and a reading each; popular ones to click; warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import streamlit as st

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight, popular_criteria
from crm.errors import CriterionError
from crm.protocol import CriterionWarning
from leaderboard.reading import Badge, CriterionReading, reading_of
from leaderboard.sentences import left_out_in_brief, left_out_sentence, warning_sentence, warnings_in_brief
from leaderboard.several_wishes import parts_of, split
from leaderboard.view import View
from pages._ui.coach import offer_example, sharpen_broad_wishes
from pages._ui.criteria_lists import change_list, choose_list, current_list, offer_list
from pages._ui.session import change_view, judged_criteria, menu, plain, show

_EXAMPLES_SHOWN = 7
"""Popular sets that have a button; all of them are in the list beside."""
_POPULAR_WIDTH = 220
_WISH_WIDTH = 480
_COLOURS: Mapping[Badge, Literal["green", "blue", "gray", "orange"]] = {
    Badge.COUNTED: "green",
    Badge.STYLE: "blue",
    Badge.WORDING: "gray",
    Badge.LEFT_OUT: "orange",
    Badge.DOUBTFUL: "orange",
}
_ROWS_A_PAGE = 8
_QUESTION = "What do you like in an answer?"


def edit_criteria(criteria: CriteriaSet) -> None:
    """Draw the box and a row of settings for every criterion of one list; every change goes into the view."""
    names = choose_list(criteria)
    listed = criteria.lists.get(names, CriteriaSet())
    if "criteria_text" not in st.session_state or st.session_state.get("criteria_shown") != (names, listed):
        st.session_state.criteria_text = "\n".join(str(criterion.everywhere) for criterion in listed)
        st.session_state.criteria_shown = (names, listed)
    st.text_area(
        plain(f"What do you like in an answer on {' or '.join(names)}?") if names else _QUESTION,
        key="criteria_text",
        height=110,
        placeholder="One criterion a line, in your own words. Begin with “Avoid” for what you dislike.",
        on_change=_read_text,
    )
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button("Rank LLMs for me", type="primary", on_click=change_view)
    with row.container(key="or_keys", width="content"):
        st.caption("or Ctrl+Enter")
    if listed:
        row.button("Clear", on_click=_set, args=(CriteriaSet(),))
        as_links = partial(_popular, "tertiary")
        menu(row, "Examples", as_links, icon=":material/lightbulb:", key="examples_menu")
    else:
        st.caption("Or try one of these:")
        with st.container(horizontal=True, gap="xsmall", key="popular_criteria"):
            _popular("secondary")
    if criteria:
        offer_list(row, criteria)
    if message := st.session_state.get("criteria_error"):
        st.error(plain(message))
    if listed:
        _offer_to_split(listed)
        sharpen_broad_wishes(listed, _set)
        _rows(listed)


def _offer_to_split(criteria: CriteriaSet) -> None:
    """Draw a button for each line that lists several wishes, which then count one by one."""
    for index, criterion in enumerate(criteria):
        if parts := parts_of(criterion):
            st.button(
                plain(f"Make “{criterion}” {len(parts)} criteria"),
                key=f"split:{index}",
                icon=":material/call_split:",
                on_click=_set,
                args=(split(criteria, criterion),),
                help="Each is then read, weighed and shown by itself.",
            )


def _popular(kind: Literal["secondary", "tertiary"]) -> None:
    """Draw the first popular sets as buttons of a kind, and the list of all."""
    popular = popular_criteria()
    for item in popular[:_EXAMPLES_SHOWN]:
        st.button(str(item.criteria), on_click=_add, args=(item.criteria,), type=kind)
    by_label = {item.label: item.criteria for item in popular}
    st.selectbox(
        "Popular criteria",
        list(by_label),
        index=None,
        key="popular",
        placeholder=f"{len(popular)} popular criteria",
        label_visibility="collapsed",
        width=_POPULAR_WIDTH,
        on_change=_add_chosen,
        args=(by_label,),
    )


def _rows(criteria: CriteriaSet) -> None:
    pages = -(-len(criteria) // _ROWS_A_PAGE)
    page = st.pagination(pages, key="criteria_page") if pages > 1 else 1
    start = (min(page, pages) - 1) * _ROWS_A_PAGE
    read = _reader(st.session_state.view)
    for index, criterion in list(enumerate(criteria))[start : start + _ROWS_A_PAGE]:
        _row(index, criterion, read(criterion))


def _reader(view: View) -> Callable[[Criterion], CriterionReading | None]:
    """Return what says how the view's judge reads one of its criteria; nothing where there is no judge."""
    judged = judged_criteria(view)
    return (lambda _: None) if judged is None else partial(reading_of, *judged)


def _row(index: int, criterion: Criterion, reading: CriterionReading | None) -> None:
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    about = row.container(gap="xxsmall", width=_WISH_WIDTH)
    choices = row.container(horizontal=True, vertical_alignment="center", gap="small", width="content")
    line = about.container(horizontal=True, vertical_alignment="center", gap="xsmall")
    line.text(criterion.text, width="content")
    if reading is not None:
        line.badge(reading.badge, color=_COLOURS[reading.badge])
    offer_example(line, index, criterion)
    if reading is not None and reading.sentence:
        about.caption(plain(reading.sentence))
    weight_key, avoid_key = f"weight:{index}", f"avoid:{index}"
    show(weight_key, criterion.weight.value)
    show(avoid_key, criterion.polarity is Polarity.AVOID)
    choices.segmented_control(
        f"Weight of criterion {index + 1}",
        [choice.value for choice in Weight],
        key=weight_key,
        required=True,
        label_visibility="collapsed",
        on_change=_change,
        args=(index, weight_key, avoid_key),
    )
    choices.toggle("Avoid", key=avoid_key, on_change=_change, args=(index, weight_key, avoid_key))


def _read_text() -> None:
    """Take over what was typed; known lines keep their weight, and a bad line changes nothing."""
    current = current_list()
    weights = {(item.text, item.polarity): item.weight for item in current}
    try:
        typed = CriteriaSet.from_lines(st.session_state.criteria_text)
    except CriterionError as error:
        st.session_state.criteria_error = str(error)
        change_view()
        return
    kept = [replace(item, weight=weights.get((item.text, item.polarity), item.weight)) for item in typed]
    _set(CriteriaSet(tuple(kept)))


def _add(criteria: CriteriaSet) -> None:
    _set(CriteriaSet((*(criterion.everywhere for criterion in current_list()), *criteria)))


def _add_chosen(by_label: Mapping[str, CriteriaSet]) -> None:
    """Take over what was chosen from the list, which then shows nothing chosen again."""
    chosen = st.session_state.popular
    st.session_state.popular = None
    if chosen in by_label:
        _add(by_label[chosen])


def _change(index: int, weight_key: str, avoid_key: str) -> None:
    """Take over a row's settings, unless the row is gone or has not been drawn with its value yet."""
    criteria = list(current_list())
    weight = st.session_state[weight_key]
    if weight is None or index >= len(criteria):
        change_view()
        return
    polarity = Polarity.AVOID if st.session_state[avoid_key] else Polarity.WANT
    criteria[index] = replace(criteria[index], weight=Weight(weight), polarity=polarity)
    _set(CriteriaSet(tuple(criteria)))


def _set(criteria: CriteriaSet) -> None:
    """Replace the list that is shown."""
    st.session_state.pop("criteria_error", None)
    change_list(criteria)


_SHOWN = 3


def show_criterion_warnings(view: View) -> None:
    """Draw a notice for every criterion that the judge cannot judge, and for a list at odds with itself.

    Below those criteria is a switch that takes them in. What is wrong with the judge itself stands where the
    ranking is.
    """
    judged = judged_criteria(view)
    if judged is None:
        return
    _, checked = judged
    _notices(checked.left_out, left_out_sentence, left_out_in_brief)
    _notices(checked.warnings, warning_sentence, warnings_in_brief)
    if checked.left_out or any(item.criterion is not None for item in checked.warnings):
        show("keep_unjudged", view.keep_unjudged)
        st.toggle(
            "Rank by what the judge cannot judge as well",
            key="keep_unjudged",
            on_change=lambda: change_view(keep_unjudged=st.session_state.keep_unjudged),
            help="By default they are left out, as the ranking would follow what you did not ask for.",
        )


def _notices(
    warnings: Sequence[CriterionWarning],
    sentence: Callable[[CriterionWarning], str],
    in_brief: Callable[[Iterable[CriterionWarning]], str],
) -> None:
    """Draw the first few warnings each in a sentence, and the others in one line."""
    for warning in warnings[:_SHOWN]:
        st.info(plain(sentence(warning)), icon=":material/help:")
    if more := warnings[_SHOWN:]:
        st.info(plain(f"{len(more)} more. {in_brief(more)}"), icon=":material/help:")
