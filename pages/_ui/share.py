"""Ways to pass a ranking on: link, text, picture, citation, a frame in another page, and what that shows."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from leaderboard.citation import cite
from leaderboard.render.html import frame
from leaderboard.render.tables import ranking_table
from leaderboard.result import Leaderboard
from leaderboard.view import View
from pages._ui.answer import AnswerCard
from pages._ui.listing import known_llms, list_or_all
from pages._ui.live_ranking import live
from pages._ui.session import offer_file, palette, plain

_WIDTH = 560
"""Pixels, so that what is open stays in its place from tab to tab."""


def offer_to_share(leaderboard: Leaderboard, card: AnswerCard | None) -> None:
    """Draw all that a ranking can be passed on as; text and picture need the answer's card."""
    view, base = leaderboard.view, st.context.url or ""
    names = ["Link", *(["Text", "Picture"] if card else []), "Embed", "Cite"]
    with st.container(width=_WIDTH):
        places = dict(zip(names, st.tabs(names), strict=True))
    places["Link"].code(view.to_link(base), language=None, wrap_lines=True)
    places["Link"].caption(
        "Topics, interests, criteria, weights, floor, musts, judge, control, filters and order are in "
        "the link; whoever opens it sees the same."
    )
    if card is not None:
        card.offer_text(places["Text"])
        name = f"usl-{view.benchmark}.png"
        offer_file(places["Picture"], "Download picture", card.to_picture, name, kind="image/png")
        places["Picture"].caption("The answer and the top ten, 1200 × 630 pixels, as previews of links have.")
    places["Embed"].code(frame(view.to_link(base, embed="true")), language=None, wrap_lines=True)
    places["Embed"].caption(
        "The answer and the table, for a page of yours: 600 pixels wide or more, always of the newest data."
    )
    entries = cite(leaderboard, view.to_link(base), datetime.now(UTC))
    places["Cite"].code(entries, language=None, wrap_lines=True)
    places["Cite"].caption("BibTeX of this view as it is today, and of the paper whose method it implements.")


def show_embedded(view: View) -> None:
    """Draw the answer and the table of a view without controls, as a page in somebody else's."""
    with st.container(key="embedded"):
        live(view, _draw_embedded)


def _draw_embedded(leaderboard: Leaderboard) -> None:
    catalogue = known_llms()
    card = AnswerCard(leaderboard, catalogue, lambda _: "")
    card.draw(inviting=False)
    shown = list_or_all(leaderboard, catalogue).leaderboard
    st.html(ranking_table(shown, (), lambda _: "", palette().accent))
    row = st.container(horizontal=True, vertical_alignment="center")
    row.link_button(
        "Which LLM suits you?", leaderboard.view.to_link(st.context.url or ""), icon=":material/open_in_new:"
    )
    row.caption(plain(f"{card.source}, judged by {leaderboard.view.crm} {leaderboard.crm_version}."))
    card.complete()
