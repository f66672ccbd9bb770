"""Where the data come from, under which licence, and how the numbers are made."""

from __future__ import annotations

import streamlit as st

from crm.embedded import VERSIONS
from crm.paths import BUNDLED
from pages._navigation import come_through_app
from pages._own_data import manage_own_data
from pages._session import plain, service
from pages._themes import show_themes

come_through_app()
st.title("Data and method", anchor=False)
st.markdown(
    """
A ranking starts from responses that every LLM has already given to the same queries. A *Customizable
Reward Model* (CRM) judges each response against the baseline LLM's **by your criteria**; an LLM's score is
the percentage of queries on which it wins. Intervals come from 1,000 bootstrap samples of the queries, drawn
topic by topic. The crowd's ranking ∅ is made by the same judge from average preferences, without criteria.
The method is that of *User-centric Subjective Leaderboard by Customizable Reward Modeling* (Jia et al.,
2025).

What you type is used for your ranking and kept in the link of your page. It is stored in the database of
this installation only if you save a profile, or choose a judge that reads texts: such a judge stores its
verdicts with the criteria. Choices, answers and uploads stay in the memory of your session.
"""
)
st.header("Benchmarks", anchor=False)
for summary in service().benchmarks():
    info = service().contest(summary.slug).record.info
    with st.container(border=True):
        st.subheader(plain(info.title), anchor=False)
        st.markdown(plain(info.description))
        st.caption(f"{summary.n_queries} queries, {summary.n_llms} LLMs, version {plain(info.version)}")
        if info.attribution:
            st.markdown(f"**Source** {plain(info.attribution)}")
        if info.licence:
            st.markdown(f"**Licence** {plain(info.licence)}")
        if not summary.has_texts and info.text_import_command:
            st.markdown("The texts are not stored here. This command imports them:")
            st.code(info.text_import_command, language="bash", wrap_lines=True)
show_themes()
st.header("The embedded judge", anchor=False)
st.markdown((BUNDLED / f"embedded-{VERSIONS[-1]}.md").read_text(encoding="utf-8").split("\n", 1)[1])
manage_own_data()
