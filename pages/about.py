"""Where the data come from, under which licence, and how the numbers are made."""

from __future__ import annotations

import streamlit as st

from crm.errors import CRMError
from crm.paths import EMBEDDED_FILE
from leaderboard.render.tables import themes_table
from leaderboard.render.topic_charts import theme_chart
from leaderboard.service import SHIPPED_THEMES
from pages._ui.session import come_through_app, draw_chart, palette, plain, service, with_links
from pages._ui.uploads import manage_own_data

_INTRODUCTION = """
A ranking starts from responses that every LLM has already given to the same queries. A *Customizable
Reward Model* (CRM) judges each response against the baseline LLM's **by your criteria**; an LLM's score is
the percentage of queries on which it wins. Likely ranges are 95 % intervals, from
1,000 bootstrap samples of the queries, drawn topic by topic. The ranking without criteria is made by the
same judge from what people prefer on average.
The method is that of *User-centric Subjective Leaderboard by Customizable Reward Modeling* (Jia et al.,
2025).

What you type is used for your ranking and kept in the link of your page. It is stored in the database of
this installation only if you save a profile, or choose a judge that reads texts: such a judge stores its
verdicts with the criteria. Choices, answers and uploads stay in the memory of your session.
"""


def main() -> None:
    """Lay the page out."""
    st.title("Data and method", anchor=False)
    st.markdown(_INTRODUCTION)
    _benchmarks()
    _themes()
    st.header("The embedded judge", anchor=False)
    st.markdown(EMBEDDED_FILE.with_suffix(".md").read_text(encoding="utf-8").split("\n", 1)[1])
    manage_own_data()


def _benchmarks() -> None:
    st.header("Benchmarks", anchor=False)
    for summary in service().benchmarks():
        info = service().benchmark(summary.slug).record.info
        with st.container(border=True):
            st.subheader(plain(info.title), anchor=False)
            st.markdown(plain(info.description))
            st.caption(f"{summary.n_queries} queries, {summary.n_llms} LLMs, version {plain(info.version)}")
            if info.attribution:
                st.markdown(f"**Source** {with_links(info.attribution)}")
            if info.licence:
                st.markdown(f"**Licence** {with_links(info.licence)}")
            if not summary.has_texts and info.text_import_command:
                st.markdown("The texts are not stored here. This command imports them:")
                st.code(info.text_import_command, language=None, wrap_lines=True)


def _themes() -> None:
    """Show the themes; where preference data have themes of their own, let one be chosen."""
    st.header("What people ask for", anchor=False)
    try:
        found = service().criterion_themes()
    except CRMError as error:
        st.error(plain(str(error)))
        return
    chosen = SHIPPED_THEMES
    if len(found) > 1:
        chosen = st.selectbox("Criteria of", found, format_func=lambda slug: found[slug].source)
    themes = found[chosen]
    st.markdown(
        f"{themes.n:,} criteria from {themes.n_lists:,} lists ({plain(themes.source)}), grouped by meaning. "
        "Opposite wishes, such as short and detailed, stand side by side: no answer suits everybody."
    )
    draw_chart(
        theme_chart(themes, palette()),
        "Share of each theme in all criteria; the table below has the numbers.",
    )
    st.caption(
        "Shares of all criteria, with frequent adjectives. A bar consists of clusters of criteria that mean "
        "alike: choose one for its words."
    )
    with st.expander("The themes with their adjectives and examples"):
        st.html(themes_table(themes))
        st.caption(
            "An adjective stands only in the theme that has it most often. Themes are found by embedding and "
            "clustering the criteria; “python -m precompute cluster-criteria” makes them for your own data."
        )


come_through_app()
main()
