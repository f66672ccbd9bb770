"""Two anonymous answers side by side, and the buttons to choose between them."""

from __future__ import annotations

import streamlit as st

from leaderboard.contest import StoredContest
from leaderboard.personal.choice import Answer, Choice
from leaderboard.personal.course import Course
from leaderboard.personal.source import texts_of
from leaderboard.personal.standing import standing
from leaderboard.personal.wording import ENOUGH, certainty_sentence, progress_sentence
from leaderboard.pictures.response_html import pair_html, query_html
from pages._course import at_checklist, held, keep, stop
from pages._session import MENDABLE, plain, stay

_BUTTONS = (
    (Answer.FIRST, "A is better", "A"),
    (Answer.BOTH, "Both are good", "G"),
    (Answer.NEITHER, "Neither is", "N"),
    (Answer.SECOND, "B is better", "B"),
)
"""Answer, label and key."""
_STYLE = """
<style>
div:has(> .st-key-find_buttons) { position: sticky; bottom: 0; z-index: 10; }
.st-key-find_buttons { background: BACKGROUND; padding: 0.6rem 0; gap: 0.6rem; }
.st-key-find_buttons > div { flex: 1 1 20%; width: auto; }
.st-key-find_buttons button { width: 100%; min-height: 2.75rem; }
@media (max-width: 640px) {
  .st-key-find_buttons { gap: 0.5rem; border-top: 1px solid rgba(128,128,128,0.3); }
  .st-key-find_buttons > div { flex: 1 1 45%; order: 2; }
  .st-key-find_buttons > div:first-child, .st-key-find_buttons > div:last-child { order: 1; }
}
</style>
"""
"""The buttons stay in reach below however long an answer: in a row, on a phone two by two, A and B first."""
_FROM_THE_TOP = """
<script>
/* pair PAIR */
requestAnimationFrame(() => document.querySelector(".usl-query")?.scrollIntoView({ block: "nearest" }));
</script>
"""
"""Who has scrolled down a long answer is shown the next pair from its question on."""


@st.fragment
def ask(contest: StoredContest) -> None:
    """Show the next pair of this session; a click or a key answers it, and only this part is run again."""
    if at_checklist():
        stay()
    course = held()
    if not course.steps:
        st.markdown(
            "You see a question and the answers of two LLMs. Say which you like better: after about "
            f"{ENOUGH} choices, two minutes, you get a checklist of what you like, and LLMs ranked by it. "
            "Nothing is stored."
        )
    _progress(course)
    try:
        texts = texts_of(contest, course.pair)
    except MENDABLE as error:
        st.error(plain(str(error)))
        return
    st.html(query_html(texts.query))
    st.html(pair_html([("Answer A", texts.first), ("Answer B", texts.second)]))
    st.html(_STYLE.replace("BACKGROUND", _background()))
    with st.container(horizontal=True, key="find_buttons"):
        for answer, label, key in _BUTTONS:
            st.button(
                label,
                key=f"find:{answer}",
                shortcut=key,
                on_click=_take,
                args=(answer, len(course.choices)),
                type="primary" if answer in (Answer.FIRST, Answer.SECOND) else "secondary",
            )
    with st.container(horizontal=True):
        st.button(
            "Undo",
            key="find:undo",
            icon=":material/undo:",
            shortcut="U",
            type="tertiary",
            disabled=not course.choices,
            on_click=_undo,
        )
        st.button(
            "Show my checklist",
            key="find:checklist",
            icon=":material/checklist:",
            type="primary" if len(course.choices) >= ENOUGH else "tertiary",
            disabled=not course.steps,
            on_click=stop,
        )
    if course.choices:
        st.html(_FROM_THE_TOP.replace("PAIR", str(len(course.choices))), unsafe_allow_javascript=True)


def _background() -> str:
    """The page's, for what stands over it."""
    dark = st.context.theme.type == "dark"
    return str(st.get_option(f"theme.{'dark' if dark else 'light'}.backgroundColor"))


def _progress(course: Course) -> None:
    done = len(course.choices)
    st.progress(min(1.0, done / ENOUGH), text=progress_sentence(done))
    if course.steps:
        st.caption(certainty_sentence(standing(course.person, course.shown)))


def _take(answer: Answer, n_choices: int) -> None:
    """Take the answer over, unless it was given to a pair that is not shown any more."""
    if len(held().choices) == n_choices:
        keep(held().chosen(answer))


def _undo() -> None:
    keep(held().without_last(Choice))
