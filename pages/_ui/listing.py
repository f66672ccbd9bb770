"""Which LLMs are listed, in which order, and what they would cost the person: controls over a ranking.

A heading that is clicked is a link. A script on the page takes the click over, so that the rows are put into
another order without the page being loaded again; without it the link does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from leaderboard.errors import LeaderboardError
from leaderboard.listed import Listed, facts_of, list_llms
from leaderboard.llm_facts.catalogue import Catalogue, LLMFacts
from leaderboard.llm_facts.choosing import Choice
from leaderboard.llm_facts.files import load_catalogue
from leaderboard.llm_facts.listing import DAYS, DEFAULT_TOKENS, DailyUse, Listing, Sort, organisations
from leaderboard.offers import Contenders, contenders, offers
from leaderboard.result import Leaderboard
from leaderboard.view import View
from pages._ui.session import SHOWN_ERRORS, correct_view, menu, plain, service, show, write_link

_CONTEXTS = (32_000, 128_000, 200_000, 1_000_000)
_TAKE_OVER_CLICKS = """
export default function ({ setTriggerValue }) {
  const onClick = (event) => {
    const link = event.target.closest?.("a[data-usl-sort]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    setTriggerValue("sort", link.dataset.uslSort);
    /* The table is drawn anew: the heading that was clicked keeps the focus. */
    const heading = `a[data-usl-column="${link.dataset.uslColumn}"]`;
    const watch = new MutationObserver(() => {
      const again = document.querySelector(heading);
      if (again && again !== link) { again.focus({ preventScroll: true }); watch.disconnect(); }
    });
    watch.observe(document.body, { childList: true, subtree: true });
    setTimeout(() => watch.disconnect(), 10000);
  };
  document.addEventListener("click", onClick);
  return () => document.removeEventListener("click", onClick);
}
"""


def known_llms() -> Catalogue:
    """Return the catalogue; an empty one where a person's own file is wrong, which is then said."""
    try:
        return load_catalogue()
    except SHOWN_ERRORS as error:
        st.error(plain(str(error)))
        return Catalogue.of(())


def as_listed(leaderboard: Leaderboard) -> Leaderboard:
    """Return the leaderboard with the listing that the person wants now, which may be newer than its own."""
    listing = st.session_state.view.listing
    return replace(leaderboard, view=replace(leaderboard.view, listing=listing))


def list_or_all(leaderboard: Leaderboard, catalogue: Catalogue) -> Listed:
    """Return the LLMs that pass the view's filters; all of them where filters mean nothing."""
    try:
        return list_llms(leaderboard, catalogue)
    except LeaderboardError:
        return list_llms(replace(leaderboard, view=leaderboard.view.whole), catalogue)


def choose_llms(leaderboard: Leaderboard, catalogue: Catalogue) -> Listed:
    """Draw the search, the filters and the person's month, and return the LLMs that pass.

    Filters that mean nothing are named, and every LLM is listed.
    """
    listing = leaderboard.view.listing
    row = st.container(horizontal=True, vertical_alignment="center", key="choose_llms")
    show("llm_search", listing.search)
    row.text_input(
        "Search LLMs",
        key="llm_search",
        placeholder="Search LLMs",
        label_visibility="collapsed",
        icon=":material/search:",
        width=210,
        on_change=lambda: _change(search=st.session_state.llm_search.strip()),
    )
    facts = facts_of(leaderboard, catalogue)
    if _is_known(facts.values()):
        n_filters = len(replace(listing, search="", sort=Sort(), use=None).to_query())
        label = f"Filter · {n_filters}" if n_filters else "Filter"
        draw_filters = partial(_filters, listing, organisations(facts.values()))
        menu(row, label, draw_filters, icon=":material/filter_list:", key="filter_menu")
        menu(row, "Your month", partial(_use, listing.use), icon=":material/payments:", key="use_menu")
    if message := st.session_state.get("listing_error"):
        st.error(plain(message))
    try:
        listed = list_llms(leaderboard, catalogue)
    except LeaderboardError as error:
        st.error(plain(str(error)))
        return list_or_all(leaderboard, catalogue)
    if listing.filters:
        row.button("Show all", key="show_all", icon=":material/close:", on_click=_show_all)
    write_link()
    return listed


def take_over_clicks() -> None:
    """Let a click on a heading of the table sort it without the page being loaded again."""
    renderer = st.components.v2.component("usl_sort", js=_TAKE_OVER_CLICKS, isolate_styles=False)
    renderer(key="sort_click", on_sort_change=_sort)


def _sort() -> None:
    clicked = st.session_state.sort_click.sort
    if clicked:
        _change(sort=Sort.parse(clicked))


def _is_known(facts: Iterable[LLMFacts]) -> bool:
    return any(known.organisation or known.price or known.released for known in facts)


def _change(**changes: Any) -> None:
    view: View = st.session_state.view
    try:
        correct_view(listing=replace(view.listing, **changes))
        st.session_state.listing_error = None
    except LeaderboardError as error:
        st.session_state.listing_error = str(error)


def _show_all() -> None:
    _change(**vars(st.session_state.view.listing.everything))


def _filters(listing: Listing, known: Sequence[str]) -> None:
    show("open_weights", listing.open_weights)
    st.toggle(
        "Open weights only",
        key="open_weights",
        on_change=lambda: _change(open_weights=st.session_state.open_weights),
    )
    show("organisations", list(listing.organisations))
    st.multiselect(
        "Organisations",
        list(dict.fromkeys((*known, *listing.organisations))),
        key="organisations",
        placeholder="All",
        on_change=lambda: _change(organisations=tuple(st.session_state.organisations)),
    )
    show("max_price", listing.max_price)
    st.number_input(
        "Price up to",
        min_value=0.0,
        step=0.5,
        format="%g",
        key="max_price",
        placeholder="Any",
        icon=":material/attach_money:",
        on_change=lambda: _change(max_price=st.session_state.max_price),
        help="US dollars for a million tokens, half of them read and half written.",
    )
    show("released_since", listing.released_since)
    st.text_input(
        "Released since",
        key="released_since",
        placeholder="2025, 2025-06 or 2025-06-30",
        on_change=lambda: _change(released_since=st.session_state.released_since.strip()),
    )
    contexts = sorted({*_CONTEXTS, *filter(None, [listing.min_context])})
    show("min_context", listing.min_context)
    st.selectbox(
        "Reads at a time at least",
        contexts,
        key="min_context",
        format_func=lambda tokens: f"{tokens:,} tokens",
        placeholder="Any",
        on_change=lambda: _change(min_context=st.session_state.min_context),
    )
    st.caption(
        "An LLM of which something is not known does not pass a filter on it. Scores stay as they are."
    )


def _use(use: DailyUse | None) -> None:
    st.markdown("What would an LLM cost you?")
    for key, label, value, explanation in (
        (
            "use_messages",
            "Messages a day",
            use.messages if use else None,
            "Nothing: prices are for a million tokens.",
        ),
        (
            "use_read",
            "Tokens of a message",
            use.tokens_read if use else DEFAULT_TOKENS,
            "What the LLM reads for each: your words, attachments and what was said before. "
            "1,000 tokens are some 750 words.",
        ),
        (
            "use_written",
            "Tokens of an answer",
            use.tokens_written if use else DEFAULT_TOKENS,
            "Reasoning is billed as written, and may be several times the answer.",
        ),
    ):
        show(key, None if value is None else float(value))
        st.number_input(
            label,
            min_value=0.0,
            step=10.0,
            format="%g",
            key=key,
            placeholder="None",
            help=explanation,
            on_change=_change_use,
        )
    st.caption(f"For {DAYS} days at list prices, without caches and batches.")


def _change_use() -> None:
    state = st.session_state
    if state.use_messages is None:
        _change(use=None)
        return
    read, written = (
        DEFAULT_TOKENS if number is None else number for number in (state.use_read, state.use_written)
    )
    _change(use=DailyUse(state.use_messages, read, written))


def found_contenders(leaderboard: Leaderboard) -> Contenders | None:
    """Return who can come first, worked out once for all who look at the same ranking."""
    served, view = service(), leaderboard.view.whole
    return served.derived(leaderboard, "contenders", lambda: contenders(served, view))


def worth_the_money(
    leaderboard: Leaderboard, catalogue: Catalogue, listed: Listed, *, tell_all_apart: bool = False
) -> Choice | None:
    """Return what the listed LLMs cost for what they are worth; None if none of them can come first.

    Args:
        tell_all_apart: Also say who is surely beaten, which takes longer.
    """
    found = found_contenders(leaderboard)
    if found is None:
        return None
    pairs = found.pairs_apart if tell_all_apart else None
    return offers(leaderboard, found, catalogue, listed.leaderboard.ranking.llms, pairs)
