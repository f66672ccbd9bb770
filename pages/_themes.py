"""What people ask for: the themes of criteria, as a chart and a table."""

from __future__ import annotations

import streamlit as st

from crm.errors import CRMError
from leaderboard.pictures.theme_charts import theme_chart
from leaderboard.pictures.themes_html import themes_table
from leaderboard.themes import SHIPPED, stored_themes
from pages._session import palette, plain, service

_CHART = {"displayModeBar": False}


def show_themes() -> None:
    """Show the themes; where preference data have themes of their own, let one be chosen."""
    st.header("What people ask for", anchor=False)
    try:
        found = stored_themes(service().database)
    except CRMError as error:
        st.error(plain(str(error)))
        return
    chosen = SHIPPED
    if len(found) > 1:
        chosen = st.selectbox("Criteria of", found, format_func=lambda slug: found[slug].source)
    themes = found[chosen]
    st.markdown(
        f"{themes.n:,} criteria from {themes.n_lists:,} lists ({plain(themes.source)}), grouped by meaning. "
        "Opposite wishes, such as short and detailed, stand side by side: no answer suits everybody."
    )
    st.plotly_chart(theme_chart(themes, palette()), config=_CHART)
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
