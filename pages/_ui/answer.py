"""The answer over the leaderboard's table, also as text and picture, and the ways to criteria without any.

What costs rankings is worked out after the table has been drawn, once for a view and what is listed of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from leaderboard.alignment import won_alone
from leaderboard.answer import Answer, Evidence, looked_at_alone, make_answer, read_criteria
from leaderboard.llm_facts.catalogue import Catalogue
from leaderboard.render.answer_card import CRITERIA_BOX, Part, anchor, answer_card, invitation
from leaderboard.render.picture import ranking_picture
from leaderboard.result import Leaderboard
from leaderboard.robustness import leave_one_out
from leaderboard.view import Against
from pages._ui.listing import list_or_all, worth_the_money
from pages._ui.live_ranking import is_active
from pages._ui.session import SHOWN_ERRORS, as_parameters, palette, service

_MOST_LEFT_OUT = 8
"""With more criteria none is left out in turn: each costs a ranking."""
_KEPT = "answer_evidence"


def mark_criteria_box() -> None:
    """Mark the place that the invitation to type leads to; to be drawn right before the box."""
    st.html(anchor(CRITERIA_BOX))


class AnswerCard:
    """The answer that a leaderboard gives, drawn at once with what is known and again when it is complete."""

    def __init__(self, leaderboard: Leaderboard, catalogue: Catalogue, link: Callable[[str], str]) -> None:
        """Work out what needs no more rankings.

        Args:
            link: The address of an LLM's page, from its name.
        """
        self._leaderboard, self._link = leaderboard, link
        self._shown = list_or_all(leaderboard, catalogue)
        kept = st.session_state.get(_KEPT)
        self._waiting = kept is None or kept[0] != self._key
        self._evidence: Evidence = self._at_once(catalogue) if kept is None or self._waiting else kept[1]
        self._place: Any = None
        self._text_place: Any = None

    def draw(self, *, inviting: bool = True) -> None:
        """Draw the card, and without criteria the ways to some, if it is to be ``inviting``."""
        self._place = st.container(key="answer").empty()
        self._show()
        if inviting and not self._leaderboard.view.criteria:
            _invite(self._leaderboard)

    def offer_text(self, place: Any) -> None:
        """Draw the answer as a short text with its link, to be copied."""
        self._text_place = place.empty()
        self._show_text()

    @property
    def source(self) -> str:
        """What the answer rests on, in words."""
        board = self._leaderboard
        return f"From {board.n_judged} questions of {board.benchmark.info.title}, {len(board.llms)} LLMs"

    def to_picture(self) -> bytes:
        """Return the answer over the first LLMs as a PNG file, with the date of today."""
        today, alike = datetime.now(UTC).date(), self._evidence.like_first
        return ranking_picture(self._shown.leaderboard, self._answer, alike, made=today)

    def complete(self) -> None:
        """Draw what takes rankings of its own, unless it is there already."""
        if not self._waiting:
            return
        if not is_active(self._leaderboard):
            self._evidence = self._whole()
            st.session_state[_KEPT] = self._key, self._evidence
        self._waiting = False
        self._show()
        if self._text_place is not None:
            self._show_text()

    @property
    def _answer(self) -> Answer:
        return make_answer(self._leaderboard, self._shown, self._evidence)

    @property
    def _key(self) -> Hashable:
        """All that the evidence depends on."""
        board = self._leaderboard
        listed = frozenset(self._shown.leaderboard.llms)
        return (
            *(board.view.whole, board.view.listing.use, listed, is_active(board)),
            *(board.n_judged, board.benchmark.updated_at, board.crm_version),
        )

    def _at_once(self, catalogue: Catalogue) -> Evidence:
        board = self._leaderboard
        choice = None if is_active(board) else worth_the_money(board, catalogue, self._shown)
        return Evidence(choice, read_criteria(board))

    def _whole(self) -> Evidence:
        board, at_once, served = self._leaderboard, self._evidence, service()
        view, listed = board.view.whole, frozenset(self._shown.leaderboard.llms)
        alone = tuple(looked_at_alone(board, at_once.readings))
        few = len(board.criteria) <= _MOST_LEFT_OUT
        try:
            won = served.derived(board, ("alone", alone), lambda: won_alone(served, view, alone))
            without_one = (
                served.derived(board, ("without", listed), lambda: leave_one_out(served, view, listed))
                if few
                else ()
            )
        except SHOWN_ERRORS:  # said where the ranking is
            return at_once
        return Evidence(at_once.choice, at_once.readings, won, without_one)

    def _show(self) -> None:
        answer = self._answer
        link = self._link(answer.llm) if answer.llm and answer.decided else ""
        waiting = self._still_to_come() if answer.llm and self._waiting else ()
        self._place.html(answer_card(answer, link, palette().accent, waiting=waiting))

    def _still_to_come(self) -> list[Part]:
        board = self._leaderboard
        if is_active(board):
            return []
        several = 1 < len(board.criteria) <= _MOST_LEFT_OUT
        coming = {
            Part.WHY: bool(looked_at_alone(board, self._evidence.readings)),
            Part.TURNS: several or (board.against is Against.BASELINE and not board.narrow),
        }
        return [part for part, is_coming in coming.items() if is_coming]

    def _show_text(self) -> None:
        link = self._leaderboard.view.to_link(st.context.url or "")
        self._text_place.code(self._answer.to_text(self.source, link), language=None, wrap_lines=True)


def _invite(leaderboard: Leaderboard) -> None:
    """Draw three ways to say what one likes."""
    row = st.container(horizontal=True, vertical_alignment="center", key="ways_to_criteria")
    row.html(invitation(), width="content")
    for label, icon, way in (
        ("Choose between answers", ":material/compare:", {}),
        ("Upload choices you have made", ":material/upload_file:", {"way": "history"}),
    ):
        row.page_link(
            "pages/find.py",
            label=label,
            icon=icon,
            width="content",
            query_params=as_parameters(leaderboard.view, way),
        )
