"""The coach beside the criteria: what a broad wish may mean, and two answers that differ in a wish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crm.criteria import CriteriaSet, Criterion, Polarity
from leaderboard.coach import example_pair, may_mean, split_broad
from leaderboard.coach_llm import Coach, coach_name, configured_coach
from leaderboard.render.responses import pair_html, query_html
from leaderboard.user_data.session_data import is_of_session
from pages._ui.session import SHOWN_ERRORS, change_view, plain, service


def sharpen_broad_wishes(criteria: CriteriaSet, change: Callable[[CriteriaSet], None]) -> None:
    """Draw, for each wish that is too broad to be judged, what it may mean; ``change`` replaces the list."""
    for index, criterion in enumerate(criteria):
        if not (meanings := may_mean(criterion)):
            continue
        with st.container(border=True, gap="xsmall", key=f"broad:{index}"):
            bundled = tuple(item.criterion.text for item in meanings)
            asked = _Asked(criterion, criteria, bundled)
            chosen = st.pills(
                plain(f"“{criterion.everywhere}” can mean much. What would you see in such an answer?"),
                [*bundled, *asked.found],
                selection_mode="multi",
                key=f"broad_meanings:{criterion.text}:{criterion.polarity}",
            )
            row = st.container(horizontal=True, vertical_alignment="center")
            row.button(
                "Use these instead",
                key=f"sharpen:{index}",
                icon=":material/call_split:",
                disabled=not chosen,
                on_click=lambda broad, meant: change(split_broad(criteria, broad, meant)),
                args=(criterion, chosen),
            )
            asked.offer(row, index)


@st.cache_resource(show_spinner=False)
def _coach(name: str) -> Coach:
    return configured_coach(name)


@dataclass(frozen=True)
class _Asked:
    """What an LLM has said, or may be asked, about a broad wish; nothing where none is set up."""

    broad: Criterion
    criteria: CriteriaSet
    bundled: tuple[str, ...]

    @property
    def _key(self) -> str:
        return f"meanings_asked:{self.broad.text}"

    @property
    def found(self) -> tuple[str, ...]:
        """What it has said in this visit."""
        said = st.session_state.get(self._key, ())
        return () if isinstance(said, str) else said

    def offer(self, place: DeltaGenerator, index: int) -> None:
        """Draw the button that asks, and why nothing came."""
        name = coach_name()
        said = st.session_state.get(self._key)
        if isinstance(said, str):
            place.caption(plain(said))
        if name is None or self.found:
            return
        place.button(
            f"More by {name}",
            key=f"meanings:{index}",
            icon=":material/lightbulb:",
            type="tertiary",
            help=plain(f"Sends your criteria and topics to {name}."),
            on_click=self._ask,
            args=(name,),
        )

    def _ask(self, name: str) -> None:
        view = st.session_state.view
        others = tuple(str(each) for each in self.criteria if each != self.broad)
        try:
            # The names of a person's own topics are not sent.
            topics = () if is_of_session(view.benchmark) else tuple(view.topics)
            said = _coach(name).meanings(self.broad.text, topics, others, self.bundled)
            st.session_state[self._key] = said
        except SHOWN_ERRORS as error:
            st.session_state[self._key] = str(error)


def offer_example(place: DeltaGenerator, index: int, criterion: Criterion) -> None:
    """Draw the button that shows two answers that differ in a criterion."""
    if place.button(
        "",
        key=f"example:{index}",
        icon=":material/compare:",
        type="tertiary",
        help="Two answers that differ in this",
        on_click=change_view,
    ):
        _show_example(criterion)


@st.dialog("Two answers that differ in this", width="large")
def _show_example(criterion: Criterion) -> None:
    st.markdown(f"**{plain(str(criterion.everywhere))}**")
    try:
        with st.spinner("Looking for two short answers …"):
            pair = example_pair(service(), st.session_state.view.benchmark, criterion)
    except SHOWN_ERRORS as error:
        st.error(plain(str(error)))
        return
    if pair is None:
        st.info("No two short answers with stored texts differ in this.")
        return
    avoided = criterion.polarity is Polarity.AVOID
    more, less = ("Less of it", "More of it") if avoided else ("More of it", "Less of it")
    st.html(query_html(pair.query))
    st.html(pair_html([(more, pair.more), (less, pair.less)]))
    st.caption("As the judge “embedded” reads them. If you see it the other way round, word your wish anew.")
