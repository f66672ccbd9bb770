"""Why an LLM stands where it does: how well it meets each criterion by itself."""

from __future__ import annotations

import streamlit as st

from leaderboard.alignment import MOST_CRITERIA, alignment
from leaderboard.pictures.alignment_html import grades_table
from leaderboard.result import Leaderboard
from pages._session import MENDABLE, page_colour, palette, plain, service


def show_by_criterion(leaderboard: Leaderboard) -> None:
    """Draw the section for the leaderboard that is shown."""
    try:
        found = alignment(service(), leaderboard.view)
    except MENDABLE as error:
        st.error(plain(str(error)))
        return
    if found is None:
        st.caption("This judge reads texts, so it is not asked for each criterion: that would take too long.")
        return
    st.markdown("How well each LLM meets each of your criteria by itself, in the order of your ranking.")
    st.html(grades_table(found, leaderboard.ranking.llms, leaderboard.titles, palette(), page_colour()))
    st.caption(
        "Grades go from 0 to 5: five times the mean probability that the LLM’s response meets the criterion "
        f"better than {plain(leaderboard.baseline_title)}’s, so 2.5 is as good as that. “All together” is "
        "their mean by weight (PrefAlign); the ranking weighs all criteria in each response at once, so the "
        "two may differ."
    )
    if len(leaderboard.view.criteria) > MOST_CRITERIA:
        st.caption(f"Only your first {MOST_CRITERIA} criteria are graded.")
    st.download_button(
        "Download CSV",
        found.to_csv(),
        file_name=f"usl-{leaderboard.view.benchmark}-grades.csv",
        mime="text/csv",
        on_click="ignore",
        icon=":material/download:",
    )
