"""The leaderboard: topics and criteria in, a ranking for one person out."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from crm import registry
from leaderboard.control import Control
from leaderboard.export import ranking_csv
from leaderboard.pictures.charts import interval_chart, slope_chart
from leaderboard.pictures.table_html import ranking_table
from leaderboard.result import Leaderboard
from leaderboard.statistics.correlation import highest_rbo
from leaderboard.view import View
from pages._by_criterion import show_by_criterion
from pages._criteria import edit_criteria
from pages._doubts import show_doubts
from pages._how_sure import show_how_sure
from pages._inside import link_to_llm, look_inside
from pages._judging import is_active, live
from pages._navigation import come_through_app
from pages._saved_views import offer_to_keep
from pages._session import (
    change_view,
    correct_view,
    current_view,
    palette,
    plain,
    service,
    show,
    write_link,
)
from pages._topic_choice import choose_topics
from pages._weights import choose_weights

_CONTROLS = {Control.NONE: "nothing", Control.LENGTH: "length", Control.STYLE: "length and Markdown style"}


def main() -> None:
    """Lay the page out."""
    view = current_view()
    with st.sidebar:
        _choose_benchmark(view)
        view = st.session_state.view
        _guarded_topics(view)
        _choose_judge(view)
    st.title("Which LLM suits you?")
    st.markdown(
        "Say what you like in an answer, pick the topics you care about, and see the LLMs ranked **for you**."
    )
    with st.container():  # keeps what follows in its place, however many rows there are
        edit_criteria(st.session_state.view.criteria)
        show_doubts(st.session_state.view)
    write_link()
    live(st.session_state.view, _show)


def _choose_benchmark(view: View) -> None:
    summaries = service().benchmarks()
    titles = {summary.slug: summary.title for summary in summaries}
    slugs = sorted(titles, key=lambda slug: (slug != View().benchmark, titles[slug]))
    if view.benchmark not in slugs:
        st.error(f"There is no benchmark {view.benchmark!r} here; {titles[slugs[0]]} is shown instead.")
        correct_view(benchmark=slugs[0], topics=(), topic_weights=())
    show("benchmark", st.session_state.view.benchmark)
    st.selectbox(
        "Benchmark",
        slugs,
        format_func=titles.__getitem__,
        key="benchmark",
        on_change=lambda: change_view(benchmark=st.session_state.benchmark, topics=(), topic_weights=()),
    )


def _guarded_topics(view: View) -> None:
    record = service().contest(view.benchmark).record
    known = {category.name for category in record.categories}
    known |= {topic.name for category in record.categories for topic in category.topics}
    if unknown := [topic for topic in view.topics if topic not in known]:
        st.error(f"{record.info.title} has no topic {unknown[0]!r}; it is left out.")
        correct_view(topics=tuple(topic for topic in view.topics if topic in known))
    choose_topics(record, st.session_state.view.topics)
    choose_weights(record, st.session_state.view)


def _choose_judge(view: View) -> None:
    with st.expander("Judge and scoring"):
        show("judge", view.crm if view.crm in registry.crm_names() else registry.DEFAULT)
        st.selectbox(
            "Judge",
            registry.crm_names(),
            key="judge",
            on_change=lambda: change_view(crm=st.session_state.judge),
            help="“embedded” is the trained judge; “longer” and “cosine” are references that it must beat.",
        )
        show("soft", view.soft)
        st.toggle(
            "Soft scores",
            key="soft",
            on_change=lambda: change_view(soft=st.session_state.soft),
            help="Mean probability of beating the baseline instead of the share of queries won.",
        )
        show("control", view.control)
        st.selectbox(
            "Control for",
            list(Control),
            key="control",
            format_func=_CONTROLS.__getitem__,
            on_change=lambda: change_view(control=st.session_state.control),
            help="What an LLM would win if its responses were like the baseline’s in length, or in length, "
            "lists, headings and bold. Length may be a bias of the judge, or just what you want: criteria "
            "that ask for short answers lose their main effect.",
        )


def _show(leaderboard: Leaderboard) -> None:
    with st.container():
        if leaderboard.view.criteria:
            st.subheader(leaderboard.summary or "Your ranking", anchor=False)
        else:
            st.subheader("The crowd’s ranking", anchor=False)
            st.markdown(
                "This is what people prefer on average. Type what *you* like above, or click an example."
            )
        _describe(leaderboard)
    pictures: dict[str, Callable[[Leaderboard], None]] = {"Ranking": _table, "Chart": _chart}
    if leaderboard.view.criteria and leaderboard.correlations is not None:
        pictures["You and the crowd"] = _compare
    if len(leaderboard.view.criteria) > 1:
        pictures["By criterion"] = show_by_criterion
    pictures["How sure"] = show_how_sure
    # Only the open one is drawn: charts cost the browser more than all the rest.
    tabs = st.tabs(list(pictures), key="tabs", on_change="rerun")
    for tab, draw in zip(tabs, pictures.values(), strict=True):
        if tab.open:
            with tab:
                draw(leaderboard)


def _describe(leaderboard: Leaderboard) -> None:
    """The paper's line: version, number of examples and of models; and who judged."""
    info = leaderboard.benchmark.info
    judged = f"{leaderboard.n_judged} of " if leaderboard.n_judged < leaderboard.n_queries else ""
    parts = [
        f"{info.title}, version {info.version or '–'}",
        f"{judged}{leaderboard.n_queries} queries",
        f"{len(leaderboard.ranking.llms)} LLMs against {leaderboard.baseline_title}",
        f"judged by {leaderboard.view.crm} CRM {leaderboard.crm_version}",
    ]
    st.caption(plain(" · ".join(parts)))
    if leaderboard.narrow:
        st.warning(plain(leaderboard.narrow), icon=":material/warning:")
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


def _table(leaderboard: Leaderboard) -> None:
    columns = leaderboard.shown_categories

    def csv() -> str:
        return ranking_csv(leaderboard.ranking, columns, note="; ".join(leaderboard.caveats))

    row = st.container(horizontal=True, vertical_alignment="center")
    row.download_button(
        "Download CSV",
        # While a slow judge works there would be a new file every moment, so it is written when asked for.
        csv if is_active(leaderboard) else csv(),
        file_name=f"usl-{leaderboard.view.benchmark}.csv",
        mime="text/csv",
        on_click="ignore",
        icon=":material/download:",
    )
    with row.popover("Link to this view", icon=":material/link:"):
        st.code(leaderboard.view.to_link(st.context.url or ""), language=None, wrap_lines=True)
        st.caption(
            "Topics, interests, criteria, weights, judge and control are in the link; "
            "whoever opens it sees the same."
        )
    offer_to_keep(leaderboard.view, row)
    wide = row.toggle(
        "Categories", value=bool(leaderboard.view.topics), help="One column per chosen category."
    )
    st.html(
        ranking_table(
            leaderboard,
            columns if wide else (),
            link_to_llm(leaderboard),
            palette().accent,
        )
    )
    look_inside(leaderboard)
    st.caption("Score: percentage of queries on which the LLM beats the baseline, with its 95 % interval.")


def _chart(leaderboard: Leaderboard) -> None:
    st.plotly_chart(interval_chart(leaderboard, palette()), config={"displayModeBar": False})


def _compare(leaderboard: Leaderboard) -> None:
    correlations = leaderboard.correlations
    if correlations is None:
        return
    best = highest_rbo(correlations.n)
    values = (
        ("Kendall τ", f"{correlations.tau:.2f}", f"p = {correlations.p_value:.3g}"),
        ("NDCG", f"{correlations.ndcg:.2f}", "1 = same order; errors at the top count most"),
        ("RBO", f"{correlations.rbo:.2f}", f"top-weighted overlap; {best:.2f} = same order"),
        ("Weighted τ", f"{correlations.weighted_tau:.2f}", "τ with more weight on the top"),
        ("Spearman ρ", f"{correlations.spearman:.2f}", "correlation of the ranks"),
    )
    for column, (name, value, note) in zip(st.columns(len(values)), values, strict=True):
        column.metric(name, value.replace("-", "−"))
        column.caption(note)
    st.plotly_chart(slope_chart(leaderboard, palette()), config={"displayModeBar": False})


come_through_app()
main()
