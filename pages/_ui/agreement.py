"""How two judges rank the same LLMs: a choice of benchmark, judges and criteria, figures and a chart."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crm import registry
from crm.criteria import CriteriaSet
from crm.errors import CriterionError
from db.records import BenchmarkSummary
from leaderboard.judges import Agreement, able_judges, agreement
from leaderboard.render.judge_charts import agreement_chart
from leaderboard.result import Leaderboard
from leaderboard.scoring_jobs.progress import State
from leaderboard.statistics.correlation import Correlations, highest_rbo
from leaderboard.view import View
from pages._ui.live_ranking import PATIENCE, of_view, show_progress, subscriber, while_judging
from pages._ui.session import (
    change_criteria,
    draw_chart,
    errors_shown,
    palette,
    plain,
    service,
    show,
    write_link,
)

_LISTED = 6
_FIGURE_WIDTH = 165
"""Pixels; two stand side by side on a phone."""
_USUAL = (registry.DEFAULT, "longer")
_MIN_JUDGES = 2


def compare_judges(view: View) -> None:
    """Let two judges be chosen, rank with both, and say how far they agree."""
    st.header("How do two judges’ rankings agree?", anchor=False)
    st.markdown(
        "The same LLMs on the same questions, ranked by two judges: for your criteria, or on average."
    )
    summary = _choose_benchmark(view)
    judges = _judges_for(summary)
    if len(judges) < _MIN_JUDGES:
        st.info(
            f"No texts of {plain(summary.title)} are stored here, so there are no two judges for it. "
            "Choose another benchmark, or import its texts (see “Data and method”).",
            icon=":material/info:",
        )
        return
    first, second = _choose_judges(judges)
    _edit_criteria(view.criteria)
    write_link({"on": summary.slug, "first": first, "second": second})
    # By all criteria: leaving out what one of them cannot judge would ask the two for different things.
    shared = View(summary.slug, criteria=st.session_state.view.criteria.common, keep_unjudged=True)
    _live(replace(shared, crm=first), replace(shared, crm=second))


def _choose_benchmark(view: View) -> BenchmarkSummary:
    """Return the link's benchmark; else the session's, unless only another one can be judged by two."""
    known = {summary.slug: summary for summary in service().benchmarks()}
    if st.session_state.get("on") not in known:
        asked = st.query_params.get("on")
        preferred = sorted(
            known, key=lambda slug: (len(_judges_for(known[slug])) < _MIN_JUDGES, slug != view.benchmark)
        )
        st.session_state.on = asked if asked in known else preferred[0]
    slug: str = st.selectbox("Benchmark", known, key="on", format_func=lambda slug: known[slug].title)
    return known[slug]


def _judges_for(summary: BenchmarkSummary) -> list[str]:
    return able_judges(service().database, summary)


def _choose_judges(judges: list[str]) -> tuple[str, str]:
    places = st.columns(2)
    chosen = []
    for place, (key, label) in enumerate((("first", "First judge"), ("second", "Second judge"))):
        if st.session_state.get(key) not in judges:
            asked = st.query_params.get(key)
            usual = _USUAL[place] if _USUAL[place] in judges else judges[place]
            st.session_state[key] = asked if asked in judges else usual
        chosen.append(places[place].selectbox(label, judges, key=key))
    return chosen[0], chosen[1]


def _edit_criteria(criteria: CriteriaSet) -> None:
    text = "\n".join(map(str, criteria.common))
    if st.session_state.get("agreement_shown") != criteria:
        st.session_state.agreement_shown = criteria
        show("agreement_criteria", text)
    st.text_area(
        "Criteria",
        key="agreement_criteria",
        height=80,
        placeholder="One a line; none means what people prefer on average.",
        on_change=_read_criteria,
    )
    if message := st.session_state.get("agreement_error"):
        st.error(plain(message))


def _read_criteria() -> None:
    try:
        typed = CriteriaSet.from_lines(st.session_state.agreement_criteria)
        change_criteria(st.session_state.view.criteria.with_list((), typed))
        st.session_state.agreement_error = None
    except CriterionError as error:
        st.session_state.agreement_error = str(error)


def _live(first: View, second: View) -> None:
    new = st.session_state.get("agreement_asked") != (first, second)
    st.session_state.agreement_asked = (first, second)
    with errors_shown():
        with st.spinner("Ranking with both …", show_time=True):
            begun = _both(first, second, PATIENCE if new else 0.0)
        while_judging(begun, lambda: _both(first, second, 0.0), _working, lambda so_far: _draw(*so_far))


def _both(first: View, second: View, patience: float) -> tuple[Leaderboard, Leaderboard]:
    return _leaderboard(first, "first", patience), _leaderboard(second, "second", patience)


def _leaderboard(view: View, place: str, patience: float) -> Leaderboard:
    """Return what there is, and set the judge to work on the rest; ∅ beside it is not asked for."""
    so_far = service().leaderboard(view, subscriber=None)
    if so_far.judging is None or so_far.judging.own.state is State.FINISHED:
        return so_far
    return service().leaderboard(view, subscriber=_subscriber(place), patience=patience)


def _subscriber(place: str) -> str:
    return f"{subscriber()}:{place}"


def _working(leaderboards: tuple[Leaderboard, Leaderboard]) -> bool:
    return any(one.judging is not None and one.judging.own.active for one in leaderboards)


def _draw(first: Leaderboard, second: Leaderboard) -> None:
    for leaderboard, place in ((first, "first"), (second, "second")):
        _progress(leaderboard, place)
    if not (first.n_judged and second.n_judged):
        return
    with errors_shown():
        _draw_agreement(agreement(first, second))


def _draw_agreement(compared: Agreement) -> None:
    st.markdown(f"**{plain(compared.sentence)}**")
    _figures(compared.correlations)
    chart, differences = st.columns([0.64, 0.36], gap="large", vertical_alignment="center")
    with chart:
        alt = f"Chart of each LLM’s rank under {compared.first} and under {compared.second}."
        draw_chart(agreement_chart(compared, palette()), alt)
        st.caption(plain(f"Above the line: ranked better by {compared.second}; below: by {compared.first}."))
    with differences:
        _differences(compared)


def _progress(leaderboard: Leaderboard, place: str) -> None:
    judging, view = leaderboard.judging, leaderboard.view
    if judging is None or judging.own.state is State.FINISHED:
        return
    progress = judging.own
    text = f"{view.crm}: {progress}"
    if progress.state is State.FAILED:
        st.error(plain(f"{view.crm}: {progress.message}"))
        text = f"{view.crm}: {progress.percentage}"
    key = f"agreement:{place}"
    show_progress(progress, text, of_view(view, _subscriber(place)), key=key, of=view.crm)


def _figures(correlations: Correlations) -> None:
    row = st.container(horizontal=True)
    for name, value, note in correlation_figures(correlations):
        box = row.container(width=_FIGURE_WIDTH, gap="xsmall")
        box.metric(name, value)
        box.caption(note)


def correlation_figures(correlations: Correlations) -> list[tuple[str, str, str]]:
    """Return the name, the value and what it means of every measure of how far two rankings agree."""
    best = highest_rbo(correlations.n)
    return [
        (name, f"{value:.2f}".replace("-", "−"), note)
        for name, value, note in (
            ("Kendall τ", correlations.tau, f"p = {correlations.p_value:.3g}"),
            ("NDCG", correlations.ndcg, "1 = same order; errors at the top count most"),
            ("RBO", correlations.rbo, f"top-weighted overlap; {best:.2f} = same order"),
            ("Weighted τ", correlations.weighted_tau, "τ with more weight on the top"),
            ("Spearman ρ", correlations.spearman, "correlation of the ranks"),
        )
    ]


def _differences(compared: Agreement) -> None:
    moved = sorted((item for item in compared.llms if item.change), key=lambda item: -abs(item.change))
    if not moved:
        st.markdown("No LLM changes places.")
        return
    st.markdown(plain(f"Where they differ most: rank under {compared.first} → {compared.second}"))
    st.markdown("\n".join(f"- {plain(item.title)}: {item.first} → {item.second}" for item in moved[:_LISTED]))
