"""Import and deletion of data from the browser, for who knows the admin token."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from leaderboard.yours.own_data import TABLE_TYPES, delete_benchmark, import_table, own_benchmarks
from pages._admin import ask_admin
from pages._curation import curation
from pages._session import MENDABLE, plain, service


def manage_own_data() -> None:
    """The section on one's own data: import a table, delete a benchmark or a pool."""
    st.header("Your own data", anchor=False)
    if done := st.session_state.pop("own_data_done", None):
        st.success(plain(done), icon=":material/check:")
    if not ask_admin("import or delete data"):
        return
    _import()
    database = service().database
    titles = {f"benchmark {slug}": (slug, title) for slug, title in own_benchmarks(database).items()}
    _delete("a benchmark", titles, lambda slug: delete_benchmark(database, slug))
    pools = {f"pool {pool.slug}": (pool.slug, pool.title) for pool in curation().pools()}
    _delete("a query pool, with its topics and curation", pools, curation().delete)


def _import() -> None:
    with st.form(f"own_data_import:{st.session_state.get('own_data_round', 0)}"):
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
        try:
            with st.spinner("Importing; representations of new responses are computed …", show_time=True):
                said = import_table(
                    service().database,
                    uploaded.getvalue(),
                    uploaded.name,
                    slug.strip(),
                    baseline=baseline.strip(),
                    title=title.strip(),
                )
        except MENDABLE as error:
            st.error(plain(str(error)))
            return
        _done(said)


def _delete(what: str, known: dict[str, tuple[str, str]], delete: Callable[[str], None]) -> None:
    """A form to delete one of these, once its slug has been typed; nothing where there is none."""
    if not known:
        return
    with st.form(f"own_data_delete:{what}:{st.session_state.get('own_data_round', 0)}"):
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
        try:
            delete(known[chosen][0])
        except MENDABLE as error:
            st.error(plain(str(error)))
            return
        _done(f"{known[chosen][1]} is deleted.")


def _done(said: str) -> None:
    st.session_state.own_data_done = said
    st.session_state.own_data_round = st.session_state.get("own_data_round", 0) + 1
    st.rerun()
