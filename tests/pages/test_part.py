"""A part of a page is drawn alone when one of its widgets is changed, and the rest is left as it is."""

import asyncio
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from streamlit.testing.v1 import AppTest

from benchmarks._visitor import Run, Visitor, query_of
from tests.browser.conftest import running_app


async def visit(address: str) -> tuple[Run, Run]:
    """Open the page, and change its criteria."""
    async with Visitor(address, query_of("dailybench")) as visitor:
        return await visitor.open(), await visitor.type_criteria("Warm and encouraging")


def test_a_change_of_criteria_draws_the_ranking_but_not_the_sidebar(
    filled_file: Path, tmp_path: Path
) -> None:
    shutil.copy(filled_file, tmp_path / "usl.sqlite3")
    with running_app(tmp_path, USL_LOG_FORMAT="json") as url, ThreadPoolExecutor(1) as thread:
        # In a thread of its own: beside tests in a browser a loop is running in this one.
        opened, changed = thread.submit(asyncio.run, visit(url.rstrip("/"))).result()

    assert changed.ranking is not None
    assert {"benchmark", "judge", "criteria_text", "tabs"} <= set(opened.widgets)
    assert {"criteria_text", "tabs"} <= set(changed.widgets)
    assert not {"benchmark", "judge", "topic_search"} & set(changed.widgets)
    lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines if line.startswith("{")]
    pages = [line for line in told if line["event"] == "page" and line["page"] == "leaderboard"]
    assert len(pages) == 2
    assert all(line["waited"] >= 0 for line in pages)


def test_while_the_database_is_away_the_whole_page_is_told_and_the_part_says_so_itself() -> None:
    def page() -> None:
        import streamlit as st

        from db import DatabaseError
        from pages._ui.part import _draw_alone, draw_part

        def fail() -> None:
            raise DatabaseError("The database is away.")

        try:
            draw_part("leaderboard", fail)
        except DatabaseError as error:
            st.info(str(error))
        st.session_state.changed_here = True
        _draw_alone("leaderboard", fail)

    shown = AppTest.from_function(page).run()

    assert not shown.exception
    assert [each.value for each in shown.info] == ["The database is away."]
    assert [each.value.replace("\\", "") for each in shown.error] == ["The database is away."]
    assert shown.button(key="try_part_again").label == "Try again"
    assert "changed_here" not in shown.session_state
