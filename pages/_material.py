"""Material of one's own: LLMs and queries that are ranked for this session, and forgotten with it."""

from __future__ import annotations

import json
from dataclasses import replace

import streamlit as st

from crm.representation import NAME
from leaderboard.view import View
from leaderboard.yours.own_data import import_material
from leaderboard.yours.session_material import MARK, Material, added_llms, check_room, marked, own_benchmark
from leaderboard.yours.session_service import SessionService
from leaderboard.yours.uploads import (
    MOST_CHARACTERS,
    MOST_MEGABYTES,
    MOST_NAME_CHARACTERS,
    MOST_RESPONSES,
    UPLOAD_TYPES,
    read_answers,
)
from pages._admin import ask_admin
from pages._session import MENDABLE, as_parameters, change_view, plain, service, shared_service

_STORED, _OWN = "Responses to queries that are here", "Queries of my own"
_COLUMNS = {_STORED: "query (or id) and response, perhaps llm", _OWN: "query, llm and response"}
_NAME = {
    _STORED: ("Name of the LLM", "where no column llm names it"),
    _OWN: ("Title", "the name of the file"),
}
_HELP = {
    _STORED: "Rows belong to the query of their id, else of exactly their text. AlpacaEval’s files fit.",
    _OWN: "One response a row. The columns id, category and topic are read too where they are.",
}
_LIMITS = (
    f"up to {MOST_MEGABYTES} MB, {MOST_RESPONSES:,} responses in a session "
    f"and {MOST_CHARACTERS:,} characters a field"
)
_KEY = "material"


def bring_material() -> None:
    """The section on uploads: what there is, and a form for more."""
    st.header("Your own material", anchor=False)
    st.markdown(
        "Upload the responses of an LLM, and it is ranked with the others at once. Uploads stay in the "
        "memory of this session: nobody else sees them, nothing is stored, and they are gone when you close "
        "or reload the page."
    )
    if done := st.session_state.pop("material_done", None):
        st.success(plain(done), icon=":material/check:")
    materials = _materials()
    for material in materials:
        _row(material)
    _form()
    if materials:
        with st.expander("Keep for everybody"):
            if ask_admin("keep an upload for everybody"):
                _keep(materials)


def _materials() -> tuple[Material, ...]:
    held: tuple[Material, ...] = st.session_state.get(_KEY, ())
    return held


def _set(materials: tuple[Material, ...]) -> None:
    """Hold these uploads; every page of this session ranks with them from now on."""
    st.session_state[_KEY] = materials
    st.session_state.session_service = SessionService(shared_service(), materials) if materials else None
    st.session_state.pop("last_leaderboard", None)


def _row(material: Material) -> None:
    contest = service().contest(material.benchmark)
    with st.container(border=True):
        row = st.container(horizontal=True, vertical_alignment="center")
        what = contest.record.info.title
        names = ", ".join(material.llms)
        row.markdown(
            f"**{plain(names)}** · {plain(what)} · {material.n_responses:,} responses", width="stretch"
        )
        row.page_link(
            "pages/leaderboard.py",
            label="See the ranking",
            icon=":material/leaderboard:",
            query_params=as_parameters(_view_of(material)),
        )
        row.button(
            "Remove",
            key=f"remove:{material.key}",
            icon=":material/delete:",
            on_click=_remove,
            args=(material,),
        )
        for notice in material.notices:
            st.caption(plain(notice))


def _view_of(material: Material) -> View:
    """The session's view, of the upload's benchmark."""
    view: View = st.session_state.view
    if view.benchmark == material.benchmark:
        return view
    return replace(view, benchmark=material.benchmark, topics=())


def _remove(material: Material) -> None:
    _set(tuple(other for other in _materials() if other is not material))
    view: View = st.session_state.view
    if material.made is not None and view.benchmark == material.benchmark:
        change_view(benchmark=View().benchmark, topics=())


def _form() -> None:
    kind = st.radio("What do you have?", (_STORED, _OWN), horizontal=True, key="material_kind")
    benchmark = _choose_benchmark() if kind == _STORED else ""
    with st.form(f"material:{kind}:{st.session_state.get('material_round', 0)}"):
        uploaded = st.file_uploader(
            "File", type=list(UPLOAD_TYPES), max_upload_size=MOST_MEGABYTES, help=_HELP[kind]
        )
        st.caption(plain(f"CSV, JSON Lines or JSON in UTF-8 with the columns {_COLUMNS[kind]}; {_LIMITS}."))
        left, right = st.columns(2)
        label, otherwise = _NAME[kind]
        name = left.text_input(label, placeholder=otherwise, max_chars=MOST_NAME_CHARACTERS)
        baseline = ""
        if kind == _OWN:
            baseline = right.text_input(
                "Baseline", placeholder="the first LLM of the file", max_chars=MOST_NAME_CHARACTERS
            )
        if not st.form_submit_button("Rank it with the others", type="primary"):
            return
        if uploaded is None:
            st.error("Choose a file.")
            return
        try:
            material = _read(uploaded.getvalue(), uploaded.name, benchmark, name, baseline)
            check_room(_materials(), material)
        except MENDABLE as error:
            st.error(plain(str(error)))
            return
        _take_in(material)


def _read(content: bytes, file: str, benchmark: str, name: str, baseline: str) -> Material:
    """What a file holds: LLMs of a benchmark, or one of its own where none is named."""
    answers = read_answers(content, file)
    if not benchmark:
        return own_benchmark(answers, name, baseline, file)
    return added_llms(answers, shared_service().contest(benchmark).record, name, file)


def _choose_benchmark() -> str:
    titles = {summary.slug: summary.title for summary in shared_service().benchmarks()}
    shown = st.session_state.view.benchmark
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen: str = row.selectbox(
        "Benchmark",
        titles,
        index=list(titles).index(shown) if shown in titles else 0,
        format_func=titles.__getitem__,
    )
    contest = shared_service().contest(chosen)
    if any(text is not None for text in contest.query_texts):
        row.download_button(
            "Its queries",
            lambda: _queries_file(chosen),
            file_name=f"{chosen}-queries.jsonl",
            mime="application/jsonl",
            on_click="ignore",
            icon=":material/download:",
            help="A file with one query a line: add the response of your LLM to each, and upload it.",
        )
    return chosen


def _queries_file(slug: str) -> str:
    contest = shared_service().contest(slug)
    return "".join(
        json.dumps({"id": query.external_id, "query": text, "response": ""}, ensure_ascii=False) + "\n"
        for query, text in zip(contest.record.queries, contest.query_texts, strict=True)
        if text is not None
    )


def _take_in(material: Material) -> None:
    """Compute what the embedded judge reads of the responses, and rank with them."""
    bar = st.progress(0.0, "Reading the responses …")

    def tell(done: int, total: int) -> None:
        bar.progress(done / total, f"Reading the responses: {done:,} of {total:,}")

    material.encode(NAME, tell)
    _set((*_materials(), material))
    _done(f"{', '.join(map(marked, material.llms))}: {material.n_responses:,} responses are ranked now.")


def _keep(materials: tuple[Material, ...]) -> None:
    with st.form(f"keep:{st.session_state.get('material_round', 0)}", border=False):
        chosen = st.selectbox(
            "Upload", materials, format_func=lambda material: ", ".join(material.llms), key="keep_which"
        )
        slug = st.text_input("Name in links", placeholder="for queries of your own", max_chars=80)
        if not st.form_submit_button("Keep for everybody", icon=":material/group:"):
            return
        contest = service().contest(chosen.benchmark)
        title = contest.record.info.title.removesuffix(MARK).strip()
        try:
            with st.spinner("Importing …", show_time=True):
                said = import_material(service().database, chosen, contest, slug.strip(), title=title)
        except MENDABLE as error:
            st.error(plain(str(error)))
            return
        _remove(chosen)
        _done(said)


def _done(said: str) -> None:
    st.session_state.material_done = said
    st.session_state.material_round = st.session_state.get("material_round", 0) + 1
    st.rerun()
