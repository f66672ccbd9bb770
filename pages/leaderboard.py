"""The leaderboard: topics and criteria in, a ranking for one person out."""

from __future__ import annotations

import streamlit as st

from crm import registry
from leaderboard.charts import interval_chart, slope_chart
from leaderboard.correlation import highest_rbo
from leaderboard.export import ranking_csv
from leaderboard.service import Leaderboard
from leaderboard.table_html import ranking_table
from leaderboard.view import View
from pages._criteria import edit_criteria
from pages._navigation import come_through_app
from pages._session import (
    MENDABLE,
    change_view,
    correct_view,
    current_view,
    palette,
    plain,
    service,
    show,
    write_link,
)
from pages._topics import choose_topics


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
    leaderboard = _leaderboard(st.session_state.view)
    write_link()
    if leaderboard is not None:
        _show(leaderboard)


def _choose_benchmark(view: View) -> None:
    summaries = service().benchmarks()
    titles = {summary.slug: summary.title for summary in summaries}
    slugs = sorted(titles, key=lambda slug: (slug != View().benchmark, titles[slug]))
    if view.benchmark not in slugs:
        st.error(f"There is no benchmark {view.benchmark!r} here; {titles[slugs[0]]} is shown instead.")
        correct_view(benchmark=slugs[0], topics=())
    show("benchmark", st.session_state.view.benchmark)
    st.selectbox(
        "Benchmark",
        slugs,
        format_func=titles.__getitem__,
        key="benchmark",
        on_change=lambda: change_view(benchmark=st.session_state.benchmark, topics=()),
    )


def _guarded_topics(view: View) -> None:
    record = service().contest(view.benchmark).record
    known = {category.name for category in record.categories}
    known |= {topic.name for category in record.categories for topic in category.topics}
    if unknown := [topic for topic in view.topics if topic not in known]:
        st.error(f"{record.info.title} has no topic {unknown[0]!r}; it is left out.")
        correct_view(topics=tuple(topic for topic in view.topics if topic in known))
    choose_topics(record, st.session_state.view.topics)


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


def _leaderboard(view: View) -> Leaderboard | None:
    """The view's leaderboard; after an error, the last one that could be computed."""
    try:
        with st.spinner("Reading your criteria …", show_time=True):
            leaderboard = _with_progress(view)
    except MENDABLE as error:
        st.error(str(error))
        kept: Leaderboard | None = st.session_state.get("last_leaderboard")
        if kept is not None:
            st.caption("Below is the last ranking that could be computed.")
        return kept
    st.session_state.last_leaderboard = leaderboard
    return leaderboard


def _with_progress(view: View) -> Leaderboard:
    """The leaderboard, with a bar for judges that take longer than one step."""
    place = st.empty()

    def tell(done: float) -> None:
        if done < 1:
            place.progress(done, f"{view.crm} is judging: {done:.0%}")

    leaderboard = service().leaderboard(view, tell)
    place.empty()
    return leaderboard


def _show(leaderboard: Leaderboard) -> None:
    with st.container():
        if leaderboard.view.criteria:
            st.subheader(leaderboard.summary, anchor=False)
        else:
            st.subheader("The crowd’s ranking", anchor=False)
            st.markdown(
                "This is what people prefer on average. Type what *you* like above, or click an example."
            )
        _describe(leaderboard)
    names = ["Ranking", "Chart"] + (["You and the crowd"] if leaderboard.view.criteria else [])
    tabs = st.tabs(names)
    with tabs[0]:
        _table(leaderboard)
    with tabs[1]:
        st.plotly_chart(interval_chart(leaderboard, palette()), config={"displayModeBar": False})
    if leaderboard.view.criteria:
        with tabs[2]:
            _compare(leaderboard)


def _describe(leaderboard: Leaderboard) -> None:
    """The paper's line: version, number of examples and of models; and who judged."""
    info = leaderboard.benchmark.info
    judge = registry.get_crm(leaderboard.view.crm)
    parts = [
        f"{info.title}, version {info.version or '–'}",
        f"{leaderboard.n_queries} queries",
        f"{len(leaderboard.ranking.llms)} LLMs against {leaderboard.baseline_title}",
        f"judged by {judge.name} CRM {judge.version}",
    ]
    st.caption(plain(" · ".join(parts)))
    if info.slug == "dailybench":
        st.info(
            "The eight assistants here are one LLM under eight style instructions, not eight products: they "
            "are made so that you can check by eye how a ranking reacts to a criterion.",
            icon=":material/info:",
        )


def _table(leaderboard: Leaderboard) -> None:
    columns = leaderboard.shown_categories
    row = st.container(horizontal=True, vertical_alignment="center")
    row.download_button(
        "Download CSV",
        ranking_csv(leaderboard.ranking, columns),
        file_name=f"usl-{leaderboard.view.benchmark}.csv",
        mime="text/csv",
        on_click="ignore",
        icon=":material/download:",
    )
    with row.popover("Link to this view", icon=":material/link:"):
        st.code(leaderboard.view.to_link(st.context.url or ""), language=None, wrap_lines=True)
        st.caption("Topics, criteria, weights and judge are in the link; whoever opens it sees the same.")
    wide = row.toggle(
        "Categories", value=bool(leaderboard.view.topics), help="One column per chosen category."
    )
    st.html(
        ranking_table(
            leaderboard,
            columns if wide else (),
            lambda llm: leaderboard.view.to_link("llm", llm=llm),
            palette().accent,
        )
    )
    st.caption("Score: percentage of queries on which the LLM beats the baseline, with its 95 % interval.")


def _compare(leaderboard: Leaderboard) -> None:
    correlations = leaderboard.correlations
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
