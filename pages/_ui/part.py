"""A part of a page that is drawn alone when something within it was changed, in its turn like whole pages.

The rest of the page stays as it is: its elements are neither made nor sent again.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from db import DatabaseError
from leaderboard.logs import told
from pages._ui.live_ranking import complain
from pages._ui.turns import PAGES


def draw_part(page: str, draw: Callable[[], None]) -> None:
    """Draw a part of a page, and it alone again when one of its widgets is changed.

    Args:
        page: Its name, for the log.
        draw: Draws the part. Nothing on the rest of the page may depend on what its widgets change.

    Raises:
        DatabaseError: As ``draw`` while the whole page is drawn; later it is shown where the part is.
    """
    failures, alone = list[DatabaseError](), False

    def draw_it() -> None:
        if alone:
            _draw_alone(page, draw)
            return
        try:
            draw()
        except DatabaseError as error:  # which Streamlit would show as an error of the program
            failures.append(error)

    st.fragment(draw_it)()
    alone = True
    if failures:
        raise failures[0]


def _draw_alone(page: str, draw: Callable[[], None]) -> None:
    st.session_state.pop("changed_here", None)
    try:
        with PAGES.turn() as waited, told("page", page=page, waited=round(waited, 4)):
            draw()
    except DatabaseError as error:
        complain(str(error), key="try_part_again")
