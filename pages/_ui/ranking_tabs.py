"""A ranking in words and in tabs: table, chart, the average one beside it, grades by criterion, robustness.

A link in the table loads the page again, which begins a new session. Where a session holds something that
would be lost, the way to an LLM's page leads through Streamlit instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from urllib.parse import quote_plus

import streamlit as st

from leaderboard.export import ranking_csv
from leaderboard.file_formats import FileFormat, file_of
from leaderboard.listed import Listed
from leaderboard.llm_facts.catalogue import Catalogue
from leaderboard.llm_facts.listing import Sort
from leaderboard.llm_facts.votes import n_rated, votes_agreement
from leaderboard.render.fact_tables import FactColumns, votes_table
from leaderboard.render.price_chart import frontier_in_words, price_chart
from leaderboard.render.ranking_charts import interval_chart, slope_chart
from leaderboard.render.robustness_sentences import (
    against_the_favourite,
    comparison_sentences,
    headline,
    sensitivity_sentences,
)
from leaderboard.render.tables import (
    groups_table,
    not_compared_table,
    ranking_table,
    under_floor_table,
)
from leaderboard.result import Leaderboard
from leaderboard.robustness import MAX_CRITERIA, TOP, Robustness, assess_robustness
from leaderboard.sentences import NOT_COMPARED, SCORES, UNDER_FLOOR
from leaderboard.statistics.agreement import MIN_LLMS
from leaderboard.statistics.significance import PairwiseSignificance
from leaderboard.view import View
from pages._ui.agreement import correlation_figures
from pages._ui.answer import AnswerCard
from pages._ui.corrected import has_votes, show_corrected
from pages._ui.grades import go_on_grading, show_grades
from pages._ui.listing import as_listed, choose_llms, known_llms, take_over_clicks, worth_the_money
from pages._ui.live_ranking import is_active
from pages._ui.reach import mark_ranking
from pages._ui.saved_views import offer_to_keep
from pages._ui.session import (
    SHOWN_ERRORS,
    as_parameters,
    change_view,
    draw_chart,
    errors_shown,
    menu,
    offer_file,
    palette,
    plain,
    service,
    stay,
)
from pages._ui.share import offer_to_share
from pages._ui.taste_test import offer_taste_test
from pages._ui.three_answers import show_three_answers


def show_ranking(leaderboard: Leaderboard) -> None:
    """Draw the answer that a ranking gives, what is known of it, and its tabs."""
    leaderboard, catalogue = as_listed(leaderboard), known_llms()
    card = None
    if leaderboard.view.whole == st.session_state.view.whole:  # else it answers what was asked before
        card = AnswerCard(leaderboard, catalogue, _link_to_llm(leaderboard))
    with st.container():  # keeps what follows in its place
        if card is not None:
            card.draw()
            show_three_answers(leaderboard)
            offer_taste_test(leaderboard)
        mark_ranking()
        st.header("Your ranking" if leaderboard.criteria else "The default ranking", anchor=False)
        _describe(leaderboard)
        if card is None and leaderboard.narrow:  # else the answer says it
            st.warning(plain(leaderboard.narrow), icon=":material/warning:")
    slug = leaderboard.benchmark.info.slug
    views: dict[str, Callable[[Leaderboard], None]] = {
        "Ranking": partial(_table, catalogue, card),
        "Chart": partial(_chart, catalogue),
    }
    if any(catalogue.facts(llm, slug).price for llm in leaderboard.llms):
        views["Price"] = partial(_price, catalogue)
    if leaderboard.criteria and leaderboard.correlations is not None:
        views["You and the average"] = partial(_compare, catalogue)
    elif not leaderboard.criteria and n_rated(leaderboard.llms, catalogue, slug) >= MIN_LLMS:
        views["Human votes"] = partial(_votes, catalogue)
    if len(leaderboard.criteria) > 1:
        views["By criterion"] = show_grades
    views["How sure"] = _robustness
    if has_votes(leaderboard.view):
        views["By your votes"] = _by_your_votes
    # Only the open one is drawn: charts cost the browser more than all the rest.
    _keep_open(list(views))
    tabs = st.tabs(list(views), key="tabs", on_change="rerun")
    for tab, draw in zip(tabs, views.values(), strict=True):
        if tab.open:
            with tab:
                draw(leaderboard)
        elif draw is show_grades:
            go_on_grading(leaderboard)
    if card is not None:
        card.complete()


def _keep_open(names: list[str]) -> None:
    """Let the open tab stay open when there are others beside it: to Streamlit they all are new ones then."""
    before, opened = st.session_state.get("tab_names"), st.session_state.get("tabs")
    if before != names:
        st.session_state.tab_names = names
        if before is not None and opened in names:
            st.session_state.tabs = opened


def _by_your_votes(leaderboard: Leaderboard) -> None:
    show_corrected(leaderboard.view, st.session_state.elicitation)


def _describe(leaderboard: Leaderboard) -> None:
    """Draw the paper's line: version, number of examples and of models; and who judged."""
    info = leaderboard.benchmark.info
    judged = f"{leaderboard.n_judged} of " if leaderboard.n_judged < leaderboard.n_queries else ""
    above = f"{len(leaderboard.ranking.llms)} of " if leaderboard.ranking.under_floor else ""
    parts = [
        f"{info.title}, version {info.version or '–'}",
        f"{judged}{leaderboard.n_queries} questions",
        f"{above}{len(leaderboard.llms)} LLMs against {leaderboard.opponent}",
        f"judged by {leaderboard.judge} CRM {leaderboard.crm_version}",
    ]
    st.caption(plain(" · ".join(parts)))
    if leaderboard.weighted:
        st.info(plain(leaderboard.weighted), icon=":material/scale:")
    if leaderboard.removed:
        effect, preference = leaderboard.removed
        st.info(plain(effect), icon=":material/balance:")
        st.caption(plain(preference))
    if info.slug == "dailybench":
        st.info(
            "The eight assistants here are one LLM under eight style instructions, not eight products: they "
            "are made so that you can check by eye how a ranking reacts to a criterion.",
            icon=":material/info:",
        )


def _table(catalogue: Catalogue, card: AnswerCard | None, whole: Leaderboard) -> None:
    listed = choose_llms(whole, catalogue)
    leaderboard = listed.leaderboard
    columns = leaderboard.shown_categories

    def csv() -> str:
        misses = leaderboard.misses if leaderboard.musts else None
        note = "; ".join(leaderboard.caveats)
        return ranking_csv(
            leaderboard.ranking,
            columns,
            misses=misses,
            amounts=leaderboard.amounts,
            coverage=leaderboard.coverage,
            not_compared=leaderboard.not_compared,
            note=note,
        )

    row = st.container(horizontal=True, vertical_alignment="center")
    # While a slow judge works there would be a new file every moment, so it is written when asked for.
    file = csv if is_active(leaderboard) else csv()
    offer_file(row, "Download CSV", file, f"usl-{leaderboard.view.benchmark}.csv")
    formats, share = partial(_offer_formats, listed), partial(offer_to_share, leaderboard, card)
    menu(row, "Other formats", formats, icon=":material/download:", key="formats_menu")
    menu(row, "Share", share, icon=":material/share:", key="share_menu")
    offer_to_keep(leaderboard.view.whole, row)
    wide = row.toggle(
        "Categories", value=bool(leaderboard.view.topics), help="One column per chosen category."
    )
    # A link would load the page again, and what only the session holds would be gone.
    link_to_order = (lambda _: "") if _holds_something() else partial(_link_to_order, leaderboard.view)
    facts = FactColumns(listed.facts, leaderboard.view.listing, link_to_order)
    shown = columns if wide else ()
    st.html(ranking_table(leaderboard, shown, _link_to_llm(leaderboard), palette().accent, facts))
    take_over_clicks()
    _look_inside(leaderboard)
    counted = (
        " Beside it: what your criteria count, on average over its answers." if leaderboard.amounts else ""
    )
    st.caption(f"{SCORES[leaderboard.against]}{counted}")
    if below := under_floor_table(leaderboard, _link_to_llm(leaderboard), palette().accent):
        st.subheader(UNDER_FLOOR, anchor=False)
        st.html(below)
    if apart := not_compared_table(leaderboard, _link_to_llm(leaderboard), palette().accent):
        st.subheader(NOT_COMPARED, anchor=False)
        if leaderboard.too_few and st.button(
            _rank_partial_label(len(leaderboard.too_few), len(leaderboard.not_compared)),
            key="rank_partial",
            on_click=lambda: change_view(keep_partial=True),
        ):
            stay()  # of its own the ranking would be drawn again for the view before
        st.html(apart)


def _rank_partial_label(n: int, n_apart: int) -> str:
    which = "them" if n == n_apart else f"{n} of them"
    return f"Rank {which} as well, by what {'it' if n_apart == 1 else 'they'} answered"


_FORMATS = {
    FileFormat.CSV_FULL: ("CSV with titles, criteria, judge and date", "-full.csv", "text/csv"),
    FileFormat.JSON: ("JSON", ".json", "application/json"),
    FileFormat.PARQUET: ("Parquet", ".parquet", "application/vnd.apache.parquet"),
    FileFormat.EVERY_EVAL_EVER: ("Every Eval Ever 0.3 (JSON)", "-every-eval-ever.json", "application/json"),
}
"""What the button of each says, how its file's name ends, and its media type."""


def _link_to_order(view: View, sort: Sort) -> str:
    return replace(view, listing=replace(view.listing, sort=sort)).to_link()


def _offer_formats(listed: Listed) -> None:
    """Draw a button for each other format; none of the files is written before it is asked for."""
    leaderboard = listed.leaderboard
    for kind, (label, ending, media_type) in _FORMATS.items():
        name = f"usl-{leaderboard.view.benchmark}{ending}"
        offer_file(st, label, partial(file_of, leaderboard, kind, facts=listed.facts), name, kind=media_type)


def _chart(catalogue: Catalogue, whole: Leaderboard) -> None:
    chart = interval_chart(choose_llms(whole, catalogue).leaderboard, palette())
    draw_chart(chart, "Score of each LLM with its likely range; the tab Ranking has the numbers.")
    st.caption(SCORES[whole.against])


def _price(catalogue: Catalogue, whole: Leaderboard) -> None:
    listed = choose_llms(whole, catalogue)
    with errors_shown():
        _score_and_price(whole, catalogue, listed)


def _score_and_price(whole: Leaderboard, catalogue: Catalogue, listed: Listed) -> None:
    choice = worth_the_money(whole, catalogue, listed, tell_all_apart=True)
    if choice is None or not any(offer.cost for offer in choice.offers):
        st.caption("No price is known of the LLMs listed here.")
        return
    chart = price_chart(choice, whole.ranking, whole.titles, palette())
    draw_chart(chart, "Score of each LLM by its price; those that are best for the money are named below.")
    unpriced = f" {len(choice.unpriced)} LLMs of unknown price are left out." if choice.unpriced else ""
    best = plain(frontier_in_words(choice, whole.titles))
    st.caption(
        f"Best for the money, from the cheapest: {best}. No other LLM is as good for less, going by the "
        "scores alone. Faint: clearly beaten by one that costs no more. Lines are likely ranges (95 % "
        f"intervals). Prices as of {choice.prices_date}.{unpriced}"
    )


def _compare(catalogue: Catalogue, leaderboard: Leaderboard) -> None:
    if leaderboard.correlations is None:
        return
    st.markdown(f"**{plain(leaderboard.summary)}**")
    figures = correlation_figures(leaderboard.correlations)
    for column, (name, value, note) in zip(st.columns(len(figures)), figures, strict=True):
        column.metric(name, value)
        column.caption(note)
    chart = slope_chart(leaderboard, palette())
    draw_chart(
        chart, "Rank of each LLM on average and for you; the tab Ranking says how many places they differ."
    )
    _votes(catalogue, leaderboard)


def _votes(catalogue: Catalogue, leaderboard: Leaderboard) -> None:
    """Draw how far the ranking agrees with people's votes; nothing where too few LLMs have been rated."""
    scores = {llm: -float(rank) for llm, rank in leaderboard.ranking.ranks.items()}
    found = votes_agreement(scores, catalogue, leaderboard.benchmark.info.slug)
    table = votes_table(found, palette().accent)
    if not table:
        return
    st.subheader("Beside people’s votes", anchor=False)
    whose = "Your ranking" if leaderboard.criteria else "This ranking"
    if sentence := found.sentence(whose):
        st.markdown(f"**{plain(sentence)}**")
    st.html(table)
    st.caption(
        "Spearman’s ρ between this ranking and LMArena’s ratings by kind of question, with its likely range "
        f"and the number of LLMs in both. Ratings as of {found.date}. They are of whoever votes there, and "
        "none says what is right for you."
    )


_LEAST = 2


def _robustness(leaderboard: Leaderboard) -> None:
    found = _found(leaderboard)
    if found is None:
        return
    titles = leaderboard.titles
    st.markdown(f"**{plain(headline(found.significance, titles))}**")
    if leaderboard.criteria and leaderboard.default is not None:
        st.markdown(plain(against_the_favourite(found.significance, leaderboard.default, titles)))
    if leaderboard.misses:
        st.caption("Only the LLMs that miss the fewest musts are compared here.")
    if len(found.significance.llms) >= _LEAST:
        _two_llms(found.significance, leaderboard)
    _sensitivity(found, leaderboard)
    st.subheader("Practical ties", anchor=False)
    st.html(groups_table(leaderboard, found.significance))
    st.caption(
        "LLMs of one tie are so close that their order may be chance. All pairs are tested together here, at "
        "5 %, so a tie may hold more LLMs than those that are as good as the first looked at one by one. "
        "The last of a tie and the first of the next may be as close. “Comes first”: how often, in 1,000 "
        "draws of other questions on these topics."
    )


def _found(leaderboard: Leaderboard) -> Robustness | None:
    """Return what is certain, computed again only when the view or what is judged of it has changed."""
    key = (
        leaderboard.view.whole,
        leaderboard.n_judged,
        leaderboard.benchmark.updated_at,
        leaderboard.crm_version,
    )
    kept = st.session_state.get("robustness")
    if kept is None or kept[0] != key:
        try:
            with st.spinner("Drawing other questions …"):
                kept = key, assess_robustness(service(), leaderboard.view)
        except SHOWN_ERRORS as error:
            st.error(plain(str(error)))
            return None
        st.session_state.robustness = kept
    found: Robustness | None = kept[1]
    return found


def _two_llms(certainty: PairwiseSignificance, leaderboard: Leaderboard) -> None:
    st.subheader("Two LLMs", anchor=False)
    chosen = []
    for place, (column, label) in enumerate(zip(st.columns(2), ("First LLM", "Second LLM"), strict=True)):
        key = f"told_apart:{place}"
        if st.session_state.get(key) not in certainty.llms:
            st.session_state[key] = certainty.llms[place]
        chosen.append(
            column.selectbox(label, certainty.llms, key=key, format_func=leaderboard.titles.__getitem__)
        )
    st.markdown(plain(comparison_sentences(certainty, chosen[0], chosen[1], leaderboard.titles)))


def _sensitivity(found: Robustness, leaderboard: Leaderboard) -> None:
    lines = sensitivity_sentences(
        found.without_one,
        leaderboard.titles,
        criteria_tried=found.criteria_tried and bool(leaderboard.criteria),
    )
    if not lines:
        return
    st.subheader(f"What would change the top {TOP}", anchor=False)
    st.markdown("\n".join(f"- {plain(line)}" for line in lines))
    if found.criteria_tried and len(leaderboard.criteria) > MAX_CRITERIA:
        st.caption(f"Only your first {MAX_CRITERIA} criteria are left out in turn.")
    if not found.criteria_tried and leaderboard.criteria:
        st.caption("This judge reads texts, so no criterion is left out in turn: that would take too long.")


_HELD_IN_SESSION = ("uploads", "profile")
"""Keys of the session's state under which something stands that no link carries."""


def _link_to_llm(leaderboard: Leaderboard) -> Callable[[str], str]:
    """Return what gives the address of an LLM's page from its name; none where the session would be lost."""
    if _holds_something():
        return lambda _: ""
    beginning = leaderboard.view.to_link("llm", llm="")
    return lambda llm: beginning + quote_plus(llm)


def _look_inside(leaderboard: Leaderboard) -> None:
    """Draw a list of the LLMs that leads to their pages; nothing where the table's links do."""
    if not _holds_something():
        return
    chosen = st.selectbox(
        "Look inside an LLM",
        leaderboard.llms,
        index=None,
        key="look_inside",
        format_func=lambda llm: leaderboard.titles[llm],
        placeholder="Look inside an LLM",
        label_visibility="collapsed",
        width=340,
    )
    if chosen is not None:
        st.switch_page("pages/llm.py", query_params=as_parameters(leaderboard.view, {"llm": chosen}))


def _holds_something() -> bool:
    return any(st.session_state.get(key) for key in _HELD_IN_SESSION)
