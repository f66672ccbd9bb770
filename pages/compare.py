"""Several views side by side: who is where for whom, and how far the rankings agree."""

from __future__ import annotations

from functools import partial

import streamlit as st

from crm.criteria import popular_criteria
from leaderboard.compare import LETTERS, Column, SideBySide, in_words, side_by_side
from leaderboard.export import rank_agreement_csv, ranks_csv
from leaderboard.render.ranking_charts import bump_chart
from leaderboard.render.tables import rank_agreement_table, ranks_table
from leaderboard.result import Leaderboard
from leaderboard.sentences import control_in_brief
from leaderboard.statistics.correlation import DRAWS, Measure, highest_rbo
from leaderboard.view import View
from pages._ui.saved_views import drop, drop_all, keep, saved_views, take_over_link, write_compare_link
from pages._ui.session import (
    SHOWN_ERRORS,
    as_parameters,
    come_through_app,
    draw_chart,
    offer_file,
    page_colour,
    palette,
    plain,
    service,
)

_MIN_VIEWS = 2
_EXAMPLES = 4
_NOTES = {
    Measure.KENDALL: "−1 to 1: share of pairs in the same order less share in the opposite order.",
    Measure.NDCG: "0 to 1: how much of the best is on top, if the column's ranking is the right one.",
    Measure.RBO: "0 to {best:.2f}: overlap of the tops, the first places counting most.",
    Measure.WEIGHTED_TAU: "−1 to 1: τ in which pairs near the top of the row's ranking count more.",
    Measure.SPEARMAN: "−1 to 1: correlation of the ranks.",
}


def main() -> None:
    """Lay the page out."""
    view = take_over_link()
    st.title("Compare views", anchor=False)
    st.markdown(
        "Rankings for several wishes, topics or judges side by side. Each is a view of the leaderboard that "
        "you added with **Compare later**; the link of this page holds them all."
    )
    views = saved_views()
    columns = [column for letter, kept in zip(LETTERS, views, strict=False) if (column := _row(letter, kept))]
    _buttons(view, views)
    write_compare_link()
    if len(columns) < _MIN_VIEWS:
        what = "Add another view" if views else "Add views on the leaderboard, or try an example"
        st.info(f"Two views are needed to compare. {what}.", icon=":material/info:")
        return
    compared = side_by_side(columns)
    _ranks(compared)
    _agreement(compared)


def _row(letter: str, view: View) -> Column | None:
    """Draw a line on one view with its way back and out; return its leaderboard, where it can be had."""
    leaderboard, problem = _leaderboard(view)
    title = view.benchmark if leaderboard is None else leaderboard.benchmark.info.title
    words = in_words(view, title)
    row = st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False)
    row.markdown(f"**{letter}** &nbsp; {plain(words)}", width="stretch")
    row.page_link(
        "pages/leaderboard.py", label="Open", icon=":material/open_in_new:", query_params=as_parameters(view)
    )
    row.button(
        "",
        key=f"drop:{letter}",
        on_click=drop,
        args=(view,),
        icon=":material/close:",
        type="tertiary",
        help=f"Remove {letter}",
    )
    if problem:
        st.error(plain(f"{letter}: {problem}"))
    elif leaderboard is not None and not leaderboard.n_judged:
        st.info(f"{letter} is not judged yet: open it on the leaderboard.", icon=":material/hourglass:")
    elif leaderboard is not None and (warnings := _caveats(leaderboard)):
        st.caption(plain(f"{letter}: {warnings}"))
    return None if leaderboard is None or not leaderboard.n_judged else Column(letter, words, leaderboard)


def _caveats(leaderboard: Leaderboard) -> str:
    """Return what is in part or doubtful; what is controlled for is among the words already."""
    control = control_in_brief(leaderboard.view.control)
    return "; ".join(caveat for caveat in leaderboard.caveats if caveat != control)


def _leaderboard(view: View) -> tuple[Leaderboard | None, str]:
    """Return what there is of a view without setting a slow judge to work, or what is wrong with it."""
    try:
        return service().leaderboard(view, subscriber=None), ""
    except SHOWN_ERRORS as error:
        return None, str(error)


def _buttons(view: View, views: tuple[View, ...]) -> None:
    row = st.container(horizontal=True, vertical_alignment="center")
    crowd = view.crowd
    if view.criteria and view not in views and len(views) < len(LETTERS):
        row.button("Add the leaderboard’s view", on_click=keep, args=(view,), icon=":material/add:")
    if crowd not in views and len(views) < len(LETTERS):
        row.button("Add the ranking without criteria", on_click=keep, args=(crowd,), icon=":material/add:")
    if not views:
        examples = [View(view.benchmark, criteria=item.criteria) for item in popular_criteria()[:_EXAMPLES]]
        row.button(
            "Try an example",
            on_click=keep,
            args=(View(view.benchmark), *examples),
            type="primary",
            help=f"The ranking without criteria, and {_EXAMPLES} popular criteria.",
        )
    else:
        row.button("Remove all", on_click=drop_all, type="tertiary")


def _ranks(compared: SideBySide) -> None:
    st.header("Ranks", anchor=False)
    offer_file(st, "Download ranks as CSV", ranks_csv(compared), "usl-ranks.csv")
    table, chart = st.tabs(["Table", "Chart"], key="compare_tabs", on_change="rerun")
    if table.open:
        with table:
            st.html(ranks_table(compared, palette().accent, page_colour()))
    if chart.open:
        with chart:
            draw_chart(
                bump_chart(compared, palette()),
                "Rank of each LLM in each view; the tab Table has the numbers.",
            )
            st.caption("In colour: the LLMs whose rank changes most.")


def _agreement(compared: SideBySide) -> None:
    st.header("How far the rankings agree", anchor=False)
    measure = st.segmented_control(
        "Measure",
        list(Measure),
        default=Measure.KENDALL,
        key="measure",
        required=True,
        label_visibility="collapsed",
    )
    measure = Measure(measure or Measure.KENDALL)
    st.html(rank_agreement_table(compared, measure, palette()))
    note = _NOTES[measure].format(best=highest_rbo(len(compared.llms)))
    roles = "" if measure.is_symmetric else " Rows are predictions, columns references."
    side = "two-sided" if measure.is_signed else "one-sided"
    how = "exact or asymptotic" if measure is Measure.KENDALL else f"from {DRAWS:,} orders drawn at random"
    st.caption(
        f"{note}{roles} p: how often chance makes two rankings at least so alike, {side}, {how}, "
        "for each pair by itself."
    )
    offer_file(
        st,
        "Download agreement as CSV",
        # Five measures of every pair with their p-values take seconds, so it is written when asked for.
        partial(rank_agreement_csv, compared),
        "usl-agreement.csv",
        explanation="All five measures with their p-values.",
    )


come_through_app()
main()
