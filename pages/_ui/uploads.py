"""Data of one's own: uploads that live with the session, and imports for everybody by an administrator."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from crm.embedded.representation import NAME
from leaderboard.limits import Limits
from leaderboard.user_data.admin import (
    TABLE_TYPES,
    delete_benchmark,
    import_material,
    import_table,
    own_benchmarks,
)
from leaderboard.user_data.session_benchmark import SessionService
from leaderboard.user_data.session_data import (
    MARK,
    SessionData,
    added_llms,
    check_room,
    marked,
    own_benchmark,
)
from leaderboard.user_data.uploads import (
    MAX_CHARACTERS,
    MAX_MEGABYTES,
    MAX_NAME_CHARACTERS,
    UPLOAD_TYPES,
    read_responses,
)
from leaderboard.view import View
from pages._ui.admin import ask_admin
from pages._ui.curation import curation
from pages._ui.session import (
    announce,
    as_parameters,
    change_view,
    errors_shown,
    form_round,
    offer_file,
    plain,
    service,
    shared_service,
    show_announcement,
    show_place,
    warm_up_for_files,
)

_STORED, _OWN = "Responses to queries that are here", "Queries of my own"
_COLUMNS = {_STORED: "query (or id) and response, perhaps llm", _OWN: "query, llm and response"}
_NAME = {
    _STORED: ("Name of the LLM", "if the file does not say it"),
    _OWN: ("Title", "by default, the name of the file"),
}
_HELP = {
    _STORED: "Rows belong to the query of their id, else of exactly their text. AlpacaEval’s files fit.",
    _OWN: "One response a row. The columns id, category and topic are read too where they are.",
}
_KEY, _OWN_DATA = "uploads", "own_data"
"""Of the session's state: what is held, and the beginnings of the sections' keys."""


def show_uploads() -> None:
    """Draw the section on uploads: what there is, and a form for more."""
    st.header("Your own material", anchor=False)
    st.markdown(
        "Upload the responses of an LLM, and it is ranked with the others at once. Uploads stay in the "
        "memory of this session: nobody else sees them, nothing is stored, and they are gone when you close "
        "or reload the page."
    )
    show_announcement(_KEY)
    uploads = _uploads()
    for upload in uploads:
        _row(upload)
    _form()
    if uploads:
        with st.expander("Keep for everybody"):
            if ask_admin("keep an upload for everybody"):
                _keep(uploads)


def _uploads() -> tuple[SessionData, ...]:
    held: tuple[SessionData, ...] = st.session_state.get(_KEY, ())
    return held


def _set(uploads: tuple[SessionData, ...]) -> None:
    """Hold these uploads; every page of this session ranks with them from now on."""
    st.session_state[_KEY] = uploads
    st.session_state.session_service = SessionService(shared_service(), uploads) if uploads else None
    st.session_state.pop("last_leaderboard", None)


def _row(upload: SessionData) -> None:
    benchmark = service().benchmark(upload.benchmark)
    with st.container(border=True):
        row = st.container(horizontal=True, vertical_alignment="center")
        what = benchmark.record.info.title
        names = ", ".join(upload.llms)
        row.markdown(
            f"**{plain(names)}** · {plain(what)} · {upload.n_responses:,} responses", width="stretch"
        )
        row.page_link(
            "pages/leaderboard.py",
            label="See the ranking",
            icon=":material/leaderboard:",
            query_params=as_parameters(_view_of(upload)),
        )
        row.button(
            "Remove", key=f"remove:{upload.key}", icon=":material/delete:", on_click=_remove, args=(upload,)
        )
        for notice in upload.notices:
            st.caption(plain(notice))


def _view_of(upload: SessionData) -> View:
    view: View = st.session_state.view
    if view.benchmark == upload.benchmark:
        return view
    return replace(view, benchmark=upload.benchmark, topics=())


def _remove(upload: SessionData) -> None:
    _set(tuple(other for other in _uploads() if other is not upload))
    view: View = st.session_state.view
    if upload.made is not None and view.benchmark == upload.benchmark:
        change_view(benchmark=service().first_benchmark(), topics=())


def _form() -> None:
    kind = st.radio("What do you have?", (_STORED, _OWN), horizontal=True, key="uploads_kind")
    benchmark = _choose_benchmark() if kind == _STORED else ""
    with st.form(f"upload:{kind}:{form_round(_KEY)}"):
        uploaded = st.file_uploader(
            "File", type=list(UPLOAD_TYPES), max_upload_size=MAX_MEGABYTES, help=_HELP[kind]
        )
        st.caption(plain(f"CSV, JSON Lines or JSON in UTF-8 with the columns {_COLUMNS[kind]}; {_limits()}."))
        left, right = st.columns(2)
        label, otherwise = _NAME[kind]
        name = left.text_input(label, placeholder=otherwise, max_chars=MAX_NAME_CHARACTERS)
        baseline = ""
        if kind == _OWN:
            baseline = right.text_input(
                "Baseline", placeholder="the first LLM of the file", max_chars=MAX_NAME_CHARACTERS
            )
        if not st.form_submit_button("Rank it with the others", type="primary"):
            warm_up_for_files()
            return
        if uploaded is None:
            st.error("Choose a file.")
            return
        with errors_shown():
            upload = _read(uploaded.getvalue(), uploaded.name, benchmark, name, baseline)
            check_room(_uploads(), upload)
            _take_in(upload)


def _limits() -> str:
    most = Limits.from_environment()
    return (
        f"up to {MAX_MEGABYTES} MB, {most.upload_responses:,} responses in a session "
        f"and {MAX_CHARACTERS:,} characters a field"
    )


def _read(content: bytes, file: str, benchmark: str, name: str, baseline: str) -> SessionData:
    """Return what a file holds: LLMs of a benchmark, or one of its own where none is named."""
    answers = read_responses(content, file)
    if not benchmark:
        return own_benchmark(answers, name, baseline, file)
    return added_llms(answers, shared_service().benchmark(benchmark).record, name, file)


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
    benchmark = shared_service().benchmark(chosen)
    if any(text is not None for text in benchmark.query_texts):
        offer_file(
            row,
            "Its queries",
            lambda: _queries_file(chosen),
            f"{chosen}-queries.jsonl",
            kind="application/jsonl",
            explanation="A file with one query a line: add the response of your LLM to each, and upload it.",
        )
    return chosen


def _queries_file(slug: str) -> str:
    benchmark = shared_service().benchmark(slug)
    return "".join(
        json.dumps({"id": query.external_id, "query": text, "response": ""}, ensure_ascii=False) + "\n"
        for query, text in zip(benchmark.record.queries, benchmark.query_texts, strict=True)
        if text is not None
    )


def _take_in(upload: SessionData) -> None:
    bar = st.progress(0.0, "Reading the responses …")

    def show_progress(done: int, total: int) -> None:
        bar.progress(done / total, f"Reading the responses: {done:,} of {total:,}")

    upload.encode(NAME, show_progress, show_place(bar))
    _set((*_uploads(), upload))
    announce(_KEY, f"{', '.join(map(marked, upload.llms))}: {upload.n_responses:,} responses are ranked now.")
    st.rerun()


def _keep(uploads: tuple[SessionData, ...]) -> None:
    with st.form(f"keep:{form_round(_KEY)}", border=False):
        chosen = st.selectbox(
            "Upload", uploads, format_func=lambda upload: ", ".join(upload.llms), key="keep_which"
        )
        slug = st.text_input("Name in links", placeholder="for queries of your own", max_chars=80)
        if not st.form_submit_button("Keep for everybody", icon=":material/group:"):
            return
        benchmark = service().benchmark(chosen.benchmark)
        title = benchmark.record.info.title.removesuffix(MARK).strip()
        with errors_shown():
            with st.spinner("Importing …", show_time=True):
                done = import_material(
                    service().database,
                    chosen,
                    benchmark,
                    slug.strip(),
                    title=title,
                    on_progress=_said_below(),
                )
            _remove(chosen)
            announce(_KEY, done)
            st.rerun()


def _said_below() -> Callable[[str], None]:
    """Return what shows how far an import is, in a line that takes the place of the one before."""
    line = st.empty()

    def show(said: str) -> None:
        line.caption(plain(said))

    return show


def manage_own_data() -> None:
    """Draw the section on one's own data: import a table, delete a benchmark or a pool."""
    st.header("Your own data", anchor=False)
    show_announcement(_OWN_DATA)
    if not ask_admin("import or delete data"):
        return
    _import_table()
    database = service().database
    titles = {f"benchmark {slug}": (slug, title) for slug, title in own_benchmarks(database).items()}
    _delete_data("a benchmark", titles, lambda slug: delete_benchmark(database, slug))
    pools = {f"pool {pool.slug}": (pool.slug, pool.title) for pool in curation().pools()}
    _delete_data("a query pool, with its topics and curation", pools, curation().delete)


def _import_table() -> None:
    with st.form(f"own_data_import:{form_round(_OWN_DATA)}"):
        st.markdown("**Import a benchmark**")
        st.caption(plain("One response a row, with the columns query, topic, llm and response."))
        uploaded = st.file_uploader("Table", type=list(TABLE_TYPES))
        left, middle, right = st.columns(3)
        slug = left.text_input("Name in links", placeholder="my-benchmark", max_chars=80)
        title = middle.text_input("Title", max_chars=120)
        baseline = right.text_input("Baseline", placeholder="the first LLM of the table", max_chars=120)
        if not st.form_submit_button("Import", type="primary"):
            return
        if uploaded is None or not slug.strip():
            st.error(plain("Choose a file, and a name for the benchmark."))
            return
        with errors_shown():
            with st.spinner("Importing; representations of new responses are computed …", show_time=True):
                done = import_table(
                    service().database,
                    uploaded.getvalue(),
                    uploaded.name,
                    slug.strip(),
                    baseline=baseline.strip(),
                    title=title.strip(),
                    on_progress=_said_below(),
                )
            announce(_OWN_DATA, done)
            st.rerun()


def _delete_data(what: str, known: dict[str, tuple[str, str]], delete: Callable[[str], None]) -> None:
    """Draw a form to delete one of these, once its slug has been typed; nothing where there is none."""
    if not known:
        return
    with st.form(f"own_data_delete:{what}:{form_round(_OWN_DATA)}"):
        st.markdown(f"**Delete {what}**")
        chosen = st.selectbox(
            "Delete", known, index=None, format_func=lambda each: f"{known[each][1]} ({known[each][0]})"
        )
        typed = st.text_input("Type its name in links, to confirm", autocomplete="off")
        if not st.form_submit_button("Delete for good", icon=":material/delete:"):
            return
        if chosen is None or typed.strip() != known[chosen][0]:
            st.error("Choose one, and type its name exactly as it stands in brackets.")
            return
        with errors_shown():
            delete(known[chosen][0])
            announce(_OWN_DATA, f"{known[chosen][1]} is deleted.")
            st.rerun()
