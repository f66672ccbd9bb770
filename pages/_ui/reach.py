"""The leaderboard for keyboards and screen readers: links that jump, and the answer said when it comes."""

from __future__ import annotations

import streamlit as st

from leaderboard.render.answer_card import RANKING, anchor, skip_links

_REGION = '<p class="usl-unseen" role="status" data-testid="announced"></p>'
_QUIET_MS = 400
"""For so long an answer must not change before it is said: it is drawn in steps."""
_SAY_ANSWERS = """
export default function ({ parentElement }) {
  const region = parentElement.querySelector("[role=status]");
  let timer = 0;
  const say = () => {
    const parts = document.querySelectorAll(".usl-answer .usl-lead, .usl-answer h2, .usl-answer .usl-doubt");
    const text = [...parts].map((part) => part.innerText.trim().replace(/\\n+/g, ". ")).join(". ");
    if (text && region.textContent !== text) region.textContent = text;
  };
  const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(say, QUIET); });
  watch.observe(document.body, { childList: true, subtree: true });
  say();
  return () => { clearTimeout(timer); watch.disconnect(); };
}
""".replace("QUIET", str(_QUIET_MS))


def offer_shortcuts() -> None:
    """Draw the links to the box and to the ranking, before whatever else a keyboard comes by."""
    with st.container(key="skip_links"):
        st.html(skip_links())


def announce_answers() -> None:
    """Have screen readers say an answer that has changed.

    Its card is replaced as a whole, which they do not notice: what they listen to stays, and is told.
    """
    with st.container(key="announcer"):
        renderer = st.components.v2.component(
            "usl_announcer", html=_REGION, js=_SAY_ANSWERS, isolate_styles=False
        )
        renderer(key="announced")


def mark_ranking() -> None:
    """Mark the place that the link to the ranking leads to; to be drawn right before it."""
    st.html(anchor(RANKING))
