"""A critique of the response that is looked at, where an LLM for critiques is set up."""

from __future__ import annotations

import streamlit as st

from leaderboard.critique import Critic, Review, configured_critic, critic_name, review
from leaderboard.critique_scores import SCORES, Scores
from leaderboard.explain import PairReport
from leaderboard.limits import Limits
from leaderboard.render.responses import pair_html, verdict_html
from leaderboard.view import View
from pages._ui.session import SHOWN_ERRORS, plain

_ASKED = "critiques_asked"


@st.cache_resource(show_spinner=False)
def _critic(name: str) -> Critic:
    return configured_critic(name)


def show_critique(view: View, report: PairReport, title: str) -> None:
    """Draw a button and, once it was pressed, the critique; it lives as long as the page."""
    name = critic_name()
    if name is None or not view.criteria or report.query_text is None or report.response is None:
        return
    key = (view.benchmark, title, report.query, view.criteria.key, view.crm)
    most, asked = Limits.from_environment().critiques, int(st.session_state.get(_ASKED, 0))
    if st.button(
        "Critique this response",
        key="critique",
        icon=":material/rate_review:",
        help=plain(f"Sends the query, the response and your criteria to {name}. Nothing of it is stored."),
        disabled=asked >= most,
    ):
        st.session_state[_ASKED] = asked + 1
        st.session_state.critique_shown = key, _ask(name, view, report)
    if asked >= most:
        st.caption(f"You have had the {most:,} critiques that one visit may ask for.")
    kept = st.session_state.get("critique_shown")
    if kept is None or kept[0] != key:
        return
    if isinstance(kept[1], Review):
        _draw(kept[1], title, report.response)
    else:
        st.error(plain(kept[1]))


def _ask(name: str, view: View, report: PairReport) -> Review | str:
    with st.spinner("Writing a critique …", show_time=True):
        try:
            return review(_critic(name), view, report)
        except SHOWN_ERRORS as error:
            return str(error)


def _draw(found: Review, title: str, original: str) -> None:
    critique = found.critique
    st.subheader("Critique", anchor=False)
    before, after = critique.scores, critique.edited_scores
    columns = st.columns(len(SCORES) + 1)
    for column, score in zip(columns, SCORES, strict=False):
        old, new = getattr(before, score), getattr(after, score)
        column.metric(score.capitalize(), _signed(old), f"{_signed(new - old)} when edited")
    columns[-1].metric(
        "All three", _signed(round(before.final, 1)), f"{_signed(round(critique.gain, 1))} when edited"
    )
    st.caption(
        plain(
            f"From −5 to 5, by {found.critic}, which wrote the suggestions and the edit too and scored each "
            "text by itself. All three: 0.35 helpfulness + 0.40 personalization + 0.25 naturalness."
        )
    )
    for what, scores in (("Taken off", before), ("Taken off the edit", after)):
        if scores.deductions:
            st.caption(plain(f"{what}: {_deductions(scores)}."))
    st.markdown("\n".join(f"- {plain(suggestion)}" for suggestion in critique.suggestions))
    both = ((f"Original: {title}", original), (f"Edited by {found.critic}", critique.edited))
    st.html(pair_html(both))
    _verdict(found)


def _verdict(found: Review) -> None:
    if found.verdict is None:
        st.warning(plain(f"The judge could not compare the two. {found.problem}"))
        return
    lines = [(found.verdict.prob_a, "that the edited response is preferred to the original")]
    if len(found.criteria) > 1:
        alone = zip(found.verdict.per_criterion, map(str, found.criteria), strict=True)
        lines = [(lines[0][0], f"{lines[0][1]} under all criteria"), *alone]
    st.html("".join(verdict_html(share, text) for share, text in lines))


def _deductions(scores: Scores) -> str:
    return "; ".join(f"−{each.points} {each.score}: {each.why}" for each in scores.deductions)


def _signed(score: float) -> str:
    return f"{score:+}".replace("-", "−") if score else "0"
