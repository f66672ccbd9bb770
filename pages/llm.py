"""Inside one LLM: its score by topic, where it wins and loses, and why."""

from __future__ import annotations

from dataclasses import replace
from textwrap import shorten

import streamlit as st

from leaderboard.benchmark import missing_texts_message
from leaderboard.explain import CriterionVerdict, PairReport, QueryScore
from leaderboard.render.collection_table import collection_in_brief, collection_table
from leaderboard.render.fact_tables import facts_in_brief, facts_table
from leaderboard.render.html import percent
from leaderboard.render.ranking_charts import topic_chart
from leaderboard.render.responses import faint_html, pair_html, query_html, verdict_html
from leaderboard.result import Leaderboard
from leaderboard.sentences import (
    amounts_in_words,
    control_in_brief,
    left_out_in_brief,
    missed_in_words,
    warnings_in_brief,
)
from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.view import Against
from pages._ui.critique import show_critique
from pages._ui.listing import known_llms
from pages._ui.live_ranking import live_status
from pages._ui.session import (
    as_parameters,
    come_through_app,
    current_view,
    draw_chart,
    palette,
    plain,
    service,
    write_link,
)

_LISTED = 12
_EVEN = 0.5
_SHOWN_TOPICS = 24
_LABEL_LENGTH = 80
_QUOTED_LENGTH = 160


def main() -> None:
    """Lay the page out."""
    view = current_view()
    leaderboard = live_status(view)
    if leaderboard is None:
        return
    llm = _choose_llm(leaderboard)
    _headline(leaderboard, llm)
    _facts(leaderboard, llm)
    _collection(leaderboard, llm)
    scores = service().query_scores(view, llm)
    query = _chosen_query(scores)
    if query is not None:
        _pair(leaderboard, service().pair_report(view, llm, query))
    topics, verdicts = st.columns([0.45, 0.55], gap="large")
    with topics:
        st.header("By topic", anchor=False)
        by_topic = [score for score in service().topic_scores(view, llm) if score.n_queries]
        half = _SHOWN_TOPICS // 2
        shown = by_topic if len(by_topic) <= _SHOWN_TOPICS else [*by_topic[:half], *by_topic[-half:]]
        if len(shown) < len(by_topic):
            st.caption(f"The best and the worst {len(shown) // 2} of {len(by_topic)} topics.")
        numbers = ", ".join(f"{score.topic} {percent(score.win_rate, 0)} %" for score in shown)
        draw_chart(topic_chart(shown, palette()), f"Score by topic: {numbers}.")
    with verdicts:
        names = _query_names(leaderboard)
        _list("Where it wins", [item for item in scores if item.prob > _EVEN], names)
        _list("Where it loses", [item for item in reversed(scores) if item.prob < _EVEN], names)
    write_link({"llm": llm} | ({"query": query} if query else {}))


def _choose_llm(leaderboard: Leaderboard) -> str:
    st.page_link(
        "pages/leaderboard.py",
        label="Back to the leaderboard",
        icon=":material/arrow_back:",
        query_params=as_parameters(leaderboard.view),
    )
    llms = leaderboard.llms
    asked = st.query_params.get("llm")
    if asked is not None and asked not in llms:
        title = leaderboard.benchmark.info.title
        st.error(plain(f"{asked!r} is not ranked in {title}; the first LLM is shown."))
    if st.session_state.get("llm") not in llms or asked in llms:
        st.session_state.llm = asked if asked in llms else llms[0]
    chosen: str = st.selectbox(
        "LLM",
        llms,
        key="llm",
        format_func=lambda llm: leaderboard.titles[llm],
        label_visibility="collapsed",
        on_change=_forget_query,
    )
    return chosen


def _forget_query() -> None:
    st.query_params["llm"] = st.session_state.llm
    _close()


def _headline(leaderboard: Leaderboard, llm: str) -> None:
    under_floor = llm in leaderboard.ranking.under_floor
    ranking = (leaderboard.ranking.without_floor if under_floor else None) or leaderboard.ranking
    row = ranking.llms.index(llm)
    st.title(plain(leaderboard.titles[llm]), anchor=False)
    criteria = str(leaderboard.criteria) if leaderboard.criteria else "average preference"
    first, second, third = st.columns(3)
    if ranking.rank[row] == UNRANKED:
        first.metric("Rank", "–")
    elif under_floor:
        first.metric("Rank", "–")
        first.caption(f"Below the floor: would be {ranking.rank[row]} of {len(ranking.llms)}")
    else:
        first.metric("Rank", f"{ranking.rank[row]} of {len(ranking.llms)}")
        first.caption(f"Likely range: {ranking.rank_low[row]} to {ranking.rank_high[row]}")
    second.metric("Score", f"{percent(float(ranking.win_rate[row]))} %")
    second.caption(
        f"Likely range: {percent(float(ranking.ci_low[row]))} to {percent(float(ranking.ci_high[row]))}"
    )
    third.metric("Questions", int(ranking.n_queries[row]))
    others = "all others" if leaderboard.against is Against.ALL else leaderboard.opponent
    third.caption(plain(f"against {others}"))
    st.html(faint_html(f"Judged by: {criteria}"))
    if removed := control_in_brief(leaderboard.view.control):
        st.caption(f"{removed} above; topics and verdicts below are as they were judged.")
    if missed := missed_in_words(leaderboard.misses.get(llm, ())):
        st.html(faint_html(f"It {missed}, a must"))
    if amounts := amounts_in_words(leaderboard.amounts, llm):
        st.html(faint_html(amounts))
    for doubt in (left_out_in_brief(leaderboard.left_out), warnings_in_brief(leaderboard.doubts)):
        if doubt:
            st.html(faint_html(doubt))


def _facts(leaderboard: Leaderboard, llm: str) -> None:
    """Draw what is known of the LLM; nothing if the catalogue does not have it."""
    known = known_llms().find(llm, leaderboard.benchmark.info.slug)
    if known is not None:
        with st.expander(plain(facts_in_brief(known)) or "Facts", icon=":material/info:"):
            st.html(facts_table(known))


def _collection(leaderboard: Leaderboard, llm: str) -> None:
    """Draw how the LLM's answers were collected; nothing if they were imported."""
    found = service().collection(leaderboard.benchmark.info.slug, llm)
    if found is not None and (brief := collection_in_brief(found)):
        with st.expander(plain(brief), icon=":material/schedule:"):
            st.html(collection_table(found))


def _chosen_query(scores: list[QueryScore]) -> str | None:
    asked = st.session_state.get("query") or st.query_params.get("query")
    return asked if asked in {score.query for score in scores} else None


def _query_names(leaderboard: Leaderboard) -> dict[str, str]:
    """Return what each query is called: its text, or where it is not stored its place in its topic."""
    slug = leaderboard.benchmark.info.slug
    ids = [query.external_id for query in leaderboard.benchmark.queries]
    texts, titles = service().query_texts(slug), service().benchmark(slug).query_titles
    return {one: text or title for one, text, title in zip(ids, texts, titles, strict=True)}


def _list(heading: str, scores: list[QueryScore], names: dict[str, str]) -> None:
    st.header(f"{heading} :gray[{len(scores)}]", anchor=False)
    if not scores:
        st.caption("Nowhere in this selection.")
    for score in scores[:_LISTED]:
        st.button(
            f"{100 * score.prob:.0f} %  {_one_line(names[score.query])}",
            key=f"open:{heading}:{score.query}",
            help=plain(f"{score.category} › {score.topic}"),
            type="tertiary",
            on_click=_open,
            args=(score.query,),
        )


def _open(query: str) -> None:
    st.session_state.query = query
    st.query_params["query"] = query


def _pair(leaderboard: Leaderboard, report: PairReport) -> None:
    with st.container(border=True):
        st.caption(plain(f"{report.category} › {report.topic}"))
        st.html(query_html(report.query_text or _query_names(leaderboard)[report.query]))
        title = leaderboard.titles[st.session_state.llm]
        if report.response is None or report.opponent_response is None:
            st.info(missing_texts_message(leaderboard.benchmark), icon=":material/visibility_off:")
        else:
            role = "Best other answer" if leaderboard.against is Against.ALL else "Baseline"
            opponent = f"{role}: {leaderboard.titles[report.opponent]}"
            st.html(pair_html([(title, report.response), (opponent, report.opponent_response)]))
        _verdicts(report, title)
        asked = leaderboard.criteria.for_query(report.topic, report.category)
        show_critique(replace(leaderboard.view, criteria=asked), report, title)
        st.button("Close", on_click=_close, icon=":material/close:")


def _close() -> None:
    st.session_state.pop("query", None)
    st.query_params.pop("query", None)


def _verdicts(report: PairReport, title: str) -> None:
    of_all = " under all criteria" if len(report.verdicts) > 1 else ""
    st.html(verdict_html(report.prob, f"that {title} is preferred{of_all}."))
    for verdict in report.verdicts:
        wish = "Average preference" if verdict.criterion is None else str(verdict.criterion)
        st.html(verdict_html(verdict.prob, wish, _reasons(verdict)))


def _reasons(verdict: CriterionVerdict) -> list[str]:
    """Return what makes the verdict doubtful, and what speaks for it and against it."""
    speaks_for = [reason.text for reason in verdict.reasons if reason.contribution > 0]
    against = [reason.text for reason in verdict.reasons if reason.contribution < 0]
    because = "; ".join(
        f"{label} {', '.join(reasons)}"
        for label, reasons in (("for it:", speaks_for), ("against it:", against))
        if reasons
    )
    warning = f"not to be relied on: {verdict.warning}" if verdict.warning is not None else ""
    whose = ("closest to it here:", "in the other answer:")
    quoted = "; ".join(
        f"{where} “{_shortened(passage)}”"
        for where, passage in zip(whose, verdict.nearest, strict=False)
        if passage is not None
    )
    return [line for line in (warning, because, quoted) if line]


def _shortened(passage: str) -> str:
    return shorten(passage, _QUOTED_LENGTH, placeholder=" …")


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return plain(flat if len(flat) <= _LABEL_LENGTH else f"{flat[: _LABEL_LENGTH - 1]}…")


come_through_app()
main()
