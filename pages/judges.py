"""How good the judges are: stored evaluations, and how two judges' rankings agree."""

from __future__ import annotations

import streamlit as st

from crm.evaluation.report import JudgeReport, bundled_reports
from crm.evaluation.sets import TABLE
from leaderboard.judges import comparable
from leaderboard.render.judge_charts import accuracy_chart, calibration_chart
from leaderboard.render.judge_tables import KIND_NAMES, accuracy_table, property_table
from pages._ui.agreement import compare_judges
from pages._ui.session import (
    come_through_app,
    current_view,
    draw_chart,
    errors_shown,
    page_colour,
    palette,
    plain,
)

_TERMS = """
- **New topics**: instructions that no judge was trained on. **New criteria**: criteria from clusters that
  were kept from training; if the judge itself has read them, one of its kind that has not answers for it.
- **Favoured side**: the criteria of the response that the embedded judge favours without criteria, in the
  evaluations that are shipped: nobody had chosen between these responses. **Other side**: the criteria of
  the other response to the same instruction; a judge that goes by the average taste instead of the criteria
  fails here. The **gap** is the difference of the two, in points. By people's choice the table is made of
  other pairs: `benchmarks/results/judges_by_choice.md`, explained in `docs/evaluation.md`.
- **Removed, added, replaced**: lists of the other side from which criteria are dropped, to which unrelated
  ones are added, or in which some are swapped for criteria of the favoured side.
- Half of the verdicts are right by chance. Hold the pointer over a number for its 95 % interval.
"""
_PROPERTIES = """
- **Single criteria**: share of right verdicts where one criterion stands alone; keywords have one to three
  words, and “avoid” says what the better response does not do.
- **Calibration error**: how far probabilities are from what happens, 0 is best.
- **When A and B change places**: how far the probability moves, how many verdicts change with the places,
  and how often the response named first wins; 50 % is no preference.
- **Length bias**: correlation of the verdict with the ratio of lengths where the criteria's own verdict is
  taken out; 0 is none, positive favours long responses.
- **Time and cost**: for 1,000 pairs of texts; cost where it is known.
"""


def main() -> None:
    """Lay the page out."""
    view = current_view()
    st.title("How good are the judges?", anchor=False)
    st.markdown(
        "A ranking is worth what its judge is worth. Every judge here answered the same questions, whose "
        "right answers are known: which of two responses do these criteria prefer?"
    )
    with errors_shown():
        found = comparable(bundled_reports())
        if found.shown:
            _show(found.shown)
        else:
            st.info("No evaluation is stored here: “python -m crm evaluate --bundle” makes one.")
        if found.left_out:
            names = ", ".join(found.left_out)
            st.caption(plain(f"Evaluated on other questions, so not shown: {names}."))
    compare_judges(view)


def _show(reports: tuple[JudgeReport, ...]) -> None:
    st.header("Share of right verdicts, in %", anchor=False)
    st.html(accuracy_table(reports, palette(), page_colour()))
    with st.expander("What the columns mean"):
        st.markdown(_TERMS)
    for column, kind in zip(st.columns(len(TABLE), gap="large"), TABLE, strict=True):
        with column:
            st.markdown(f"**{KIND_NAMES[kind]}**, with 95 % intervals")
            alt = (
                f"{KIND_NAMES[kind]}: share of right verdicts of each judge; the table above has the numbers."
            )
            draw_chart(accuracy_chart(reports, kind, palette()), alt)
    st.header("Calibration, biases and speed", anchor=False)
    st.html(property_table(reports, page_colour()))
    chart, terms = st.columns([0.55, 0.45], gap="large", vertical_alignment="center")
    with chart:
        st.markdown("**Is a judge as sure as it should be?**")
        alt = "How often each judge is right by how sure it is; the table above has its calibration error."
        draw_chart(calibration_chart(reports, palette()), alt)
        st.caption(
            "On the dotted line a probability comes true as often as it says. Larger marks are more verdicts."
        )
    terms.markdown(_PROPERTIES)
    machines = ", ".join(dict.fromkeys(report.speed.machine for report in reports))
    st.caption(plain(f"Timed on {machines}."))


come_through_app()
main()
