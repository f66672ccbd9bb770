"""The log of a running server, in which a visit can be followed, but not what was typed."""

import asyncio
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2

from benchmarks._visitor import Visitor, query_of
from tests.browser.conftest import running_app

SECRET = "Zebrafish metaphors"


async def visit(address: str) -> None:
    async with Visitor(address, query_of("dailybench")) as visitor:
        await visitor.open()
        run = await visitor.type_criteria(f"{SECRET}\nWarm")
        assert run.ranking is not None
    async with Visitor(address, f"benchmark={SECRET}&criterion={SECRET}") as visitor:
        await visitor.open()


def test_a_visit_is_told_without_what_was_typed(filled_file: Path, tmp_path: Path) -> None:
    shutil.copy(filled_file, tmp_path / "usl.sqlite3")
    with (
        running_app(tmp_path, USL_LOG_FORMAT="json") as url,
        httpx2.Client(base_url=url, timeout=60) as client,
    ):
        # In a thread of its own: beside tests in a browser a loop is running in this one.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, visit(url.rstrip("/"))).result()
        client.get("api/v1/rank", params={"benchmark": "dailybench", "criterion": SECRET})
        client.get(f"api/v1/rank?benchmark={SECRET}")
        client.get(f"/{SECRET}")
    written = (tmp_path / "log").read_text(encoding="utf-8")

    assert "zebrafish" not in written.casefold()
    told = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
    assert {"page", "ranking", "request"} <= {line["event"] for line in told}
    pages = [line for line in told if line["event"] == "page"]
    assert pages[0]["page"] == "leaderboard"
    assert all("error" not in line for line in pages)
    ranked = [line for line in told if line["event"] == "request" and line["part"] == "api rank"]
    assert [line["status"] for line in ranked] == [200, 404]
    assert all(line["seconds"] >= 0 for line in told if line["event"] != "log")
