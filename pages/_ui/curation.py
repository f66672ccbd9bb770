"""Curation of topics on the page: forms for who knows the admin token, and the log for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import streamlit as st

from leaderboard.topics.actions import (
    MAX_NAME,
    MAX_SUMMARY,
    Action,
    DropQueries,
    Merge,
    MoveQueries,
    MoveToCategory,
    Rename,
    Restore,
    apply,
)
from leaderboard.topics.curation import MAX_REASON, CuratedTopics, Curation
from leaderboard.topics.split import MAX_PARTS
from leaderboard.topics.tree import OUTLIER, Topic, difference
from leaderboard.topics.yaml_file import MAX_BYTES
from pages._ui.admin import ask_admin
from pages._ui.session import (
    announce,
    errors_shown,
    form_round,
    offer_file,
    plain,
    service,
    show_announcement,
    stay,
)

_MAX_LABEL = 90
_SHOWN_EDITS = 20
_MOVE, _DROP, _RESTORE = "Move", "Drop", "Restore"
_NAME = "Name"


@st.cache_resource(show_spinner=False)
def curation() -> Curation:
    """Return the curation of this process's database."""
    return Curation(service().database)


@dataclass(frozen=True)
class Desk:
    """What a person who changes topics has before them.

    Attributes:
        seen: The version that the person looked at when they sent what is handled in this run.
    """

    topics: CuratedTopics
    seen: str
    chosen: Topic | None

    def make(self, action: Action, reason: str) -> None:
        """Make a change and draw the page again, or say why it is impossible."""
        with errors_shown():
            after = curation().edit(self.topics.pool.slug, action, reason, self.seen)
            self._draw_again(after.history[-1].what)

    def undo(self) -> None:
        """Take the last change back and draw the page again."""
        last = self.topics.last
        with errors_shown():
            curation().undo(self.topics.pool.slug, self.seen)
            self._draw_again(f"Undone: {self.topics.history[last.position].what}" if last else "Undone")

    def _draw_again(self, done: str) -> NoReturn:
        announce("curation", f"{done}.")
        # What is drawn next is this person's own doing.
        st.session_state.pop("curation_drawn")
        stay()


def curate(topics: CuratedTopics, chosen: str | None) -> None:
    """Draw the section on curation: sign-in and forms, the file of topics, and the log."""
    st.subheader("Curation", anchor=False)
    show_announcement("curation")
    slug = topics.pool.slug
    # A form that is sent was filled in before what the last run has drawn, whatever is stored by now.
    seen = st.session_state.get("curation_drawn", {}).get(slug, topics.version)
    desk = Desk(topics, seen, None if chosen is None else topics.tree[chosen])
    st.session_state.curation_drawn = {slug: topics.version}
    admitted = ask_admin("change topics")
    if admitted and seen != topics.version:
        st.warning("Somebody else changed the topics meanwhile: this is what they are now.")
    if admitted:
        _forms(desk)
    _download(topics)
    _log(desk, admitted=admitted)


def _forms(desk: Desk) -> None:
    of_topic = {_NAME: _rename, "Merge": _merge, "Split": _split}
    others = {"Category": _categorise, "Queries": _queries, "File": _reviewed_file}
    kinds = [*of_topic, *others]
    kind = st.pills("What to change", kinds, key="curation_kind", default=_NAME, required=True) or _NAME
    if kind in others:
        others[kind](desk)
    elif desk.chosen is None:
        st.caption("Choose the topic at the top of the page.")
    else:
        of_topic[kind](desk, desk.chosen)


def _rename(desk: Desk, topic: Topic) -> None:
    with st.form(f"rename:{topic.key}:{form_round('curation')}"):
        name = st.text_input("Name", topic.name, max_chars=MAX_NAME)
        summary = st.text_area("Summary", topic.summary, max_chars=MAX_SUMMARY, height=80)
        reason = _reason()
        if st.form_submit_button("Rename", type="primary"):
            name, summary = name.strip(), summary.strip()
            new_summary = summary if summary != topic.summary else None
            desk.make(Rename(topic.key, name if name != topic.name else None, new_summary), reason)


def _merge(desk: Desk, topic: Topic) -> None:
    others = [item.key for item in desk.topics.tree.topics if item.key != topic.key]
    with st.form(f"merge:{topic.key}:{form_round('curation')}"):
        merged = st.multiselect(
            plain(f"Topics to merge into “{topic.name}”"),
            others,
            format_func=lambda key: _label(desk, key),
            help="Their queries, and those of their parts, come into this topic; they themselves go.",
        )
        reason = _reason()
        if st.form_submit_button("Merge", type="primary"):
            desk.make(Merge(tuple(merged), topic.key), reason)


def _split(desk: Desk, topic: Topic) -> None:
    with st.form(f"split:{topic.key}:{form_round('curation')}"):
        n_parts = st.number_input(
            plain(f"Parts of “{topic.name}”, by the meaning of its queries"),
            min_value=2,
            max_value=MAX_PARTS,
            value=2,
            help="They are named by the words that tell them apart; rename them afterwards.",
        )
        reason = _reason()
        if st.form_submit_button("Split", type="primary"):
            with errors_shown():
                desk.make(curation().split(desk.topics, topic.key, int(n_parts)), reason)


def _categorise(desk: Desk) -> None:
    tree = desk.topics.tree
    keys = [topic.key for topic in tree.topics]
    chosen = [desk.chosen.key] if desk.chosen is not None else []
    with st.form(f"category:{chosen}:{form_round('curation')}"):
        moved = st.multiselect("Topics", keys, chosen, format_func=lambda key: _label(desk, key))
        category = st.selectbox(
            "Category",
            tree.categories,
            index=None,
            accept_new_options=True,
            placeholder="Choose one, or type the name of a new one",
        )
        reason = _reason()
        if st.form_submit_button("Move to category", type="primary"):
            desk.make(MoveToCategory(tuple(moved), (category or "").strip()), reason)


def _queries(desk: Desk) -> None:
    tree, topic = desk.topics.tree, desk.chosen
    key = OUTLIER if topic is None else topic.key
    members = tree.queries_of([key] if topic is None else tree.family(key), dropped=True)
    place = "no topic" if topic is None else f"“{topic.name}”"
    with st.form(f"queries:{key}:{form_round('curation')}"):
        chosen = st.multiselect(
            plain(f"Queries of {place}"),
            members,
            format_func=lambda query: _query_label(desk, query),
            placeholder="Type a word of a query",
        )
        what = st.radio("What to do with them", (_MOVE, _DROP, _RESTORE), horizontal=True)
        target = st.selectbox(
            "Topic to move them to",
            [item.key for item in tree.topics if item.key != key],
            index=None,
            format_func=lambda each: _label(desk, each),
            placeholder="Only to move",
        )
        reason = _reason()
        if st.form_submit_button("Change queries", type="primary"):
            if what == _MOVE and target is None:
                st.error("Choose the topic to move them to.")
                return
            actions: dict[str, Action] = {
                _MOVE: MoveQueries(tuple(chosen), target or ""),
                _DROP: DropQueries(tuple(chosen)),
                _RESTORE: Restore(tuple(chosen)),
            }
            desk.make(actions[what], reason)


def _reviewed_file(desk: Desk) -> None:
    uploaded = st.file_uploader(
        "A file of topics (YAML) that was downloaded, reviewed and changed",
        type=["yaml", "yml"],
        key=f"topics_file:{form_round('curation')}",
    )
    if uploaded is not None:
        _take_over(desk, uploaded.name, uploaded.read(MAX_BYTES + 1))


def _take_over(desk: Desk, name: str, content: bytes) -> None:
    with errors_shown():
        action = curation().import_of(desk.topics, content, name)
        if action is None:
            st.info("The topics are those of the file already.", icon=":material/check:")
            return
        found = difference(desk.topics.tree, apply(desk.topics.tree, action))
        st.markdown(plain(f"This would change: {found}."))
        st.markdown("\n".join(f"- {plain(line)}" for line in found.brief))
        with st.form(f"import:{form_round('curation')}"):
            reason = _reason()
            if st.form_submit_button("Take over", type="primary"):
                desk.make(action, reason)


def _download(topics: CuratedTopics) -> None:
    row = st.container(horizontal=True, vertical_alignment="center")
    with_texts = row.toggle("With texts", key="topics_with_texts", help="Also the texts of the queries.")
    offer_file(
        row,
        "Download YAML",
        lambda: curation().export(topics, with_texts=with_texts),
        f"topics-{topics.pool.slug}.yaml",
        kind="application/yaml",
    )


def _log(desk: Desk, *, admitted: bool) -> None:
    edits = desk.topics.history
    if not edits:
        st.caption("Nothing was changed since the topics were found.")
        return
    st.markdown("**What was changed**")
    undoable = admitted and desk.topics.last is not None
    if undoable and st.button("Undo the last change", icon=":material/undo:"):
        desk.undo()
    for edit in edits[: -_SHOWN_EDITS - 1 : -1]:
        line = plain(f"{edit.what}: {edit.reason}")
        when = plain(f"{edit.created_at:%Y-%m-%d %H:%M} UTC")
        if edit.undone_at is not None:
            st.markdown(f":gray[{when} · ~~{line}~~ · undone {plain(f'{edit.undone_at:%Y-%m-%d %H:%M}')}]")
        else:
            st.markdown(f":gray[{when}] · {line}")
    if len(edits) > _SHOWN_EDITS:
        st.caption(plain(f"and {len(edits) - _SHOWN_EDITS} older ones: python -m precompute topics log."))


def _reason() -> str:
    return st.text_input("Why", max_chars=MAX_REASON, placeholder="For whoever reads the log")


def _label(desk: Desk, key: str) -> str:
    tree = desk.topics.tree
    return f"{tree.name_of(key)} · {tree.size(key):,} · {tree[key].category}"


def _query_label(desk: Desk, query: str) -> str:
    text = " ".join(desk.topics.texts[query][: 2 * _MAX_LABEL].split())
    text = text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "…"
    return f"{text} (dropped)" if query in desk.topics.tree.dropped else text
