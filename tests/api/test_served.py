"""The API answers in the process that serves the pages, with the numbers of the command line."""

import shutil
from pathlib import Path

import httpx2
import pytest

from leaderboard.__main__ import main
from tests.browser.conftest import running_app
from tests.conftest import Run


@pytest.fixture
def folder(filled_file: Path, tmp_path: Path) -> Path:
    shutil.copy(filled_file, tmp_path / "usl.sqlite3")
    return tmp_path


def test_beside_the_pages(folder: Path, run_main: Run) -> None:
    _, printed, _ = run_main(
        main, "rank", "--benchmark", "dailybench", "--criterion", "Warm", "--format", "csv"
    )
    with running_app(folder) as url, httpx2.Client(base_url=url, timeout=60) as client:
        asked = {"benchmark": "dailybench", "criterion": "Warm", "format": "csv"}
        ranked = client.get("api/v1/rank", params=asked)
        page = client.get("", headers={"Accept": "text/html"})
        wrong = client.get("api/v1/rank", params={"benchmark": "nope"})

    assert (ranked.status_code, ranked.text) == (200, printed)
    assert (page.status_code, "<style>" in page.text) == (200, True)
    assert (wrong.status_code, list(wrong.json())) == (404, ["error"])


def test_where_it_is_switched_off_there_is_none(folder: Path) -> None:
    with running_app(folder, USL_API="off") as url, httpx2.Client(base_url=url, timeout=60) as client:
        answer = client.get("api/v1/benchmarks")
        figures = client.get("metrics")

    assert "usl_http" not in figures.text
    assert "application/json" not in answer.headers["content-type"]


def test_figures_are_told_only_where_that_is_asked_for(folder: Path) -> None:
    with running_app(folder, USL_METRICS="on") as url, httpx2.Client(base_url=url, timeout=60) as client:
        client.get("api/v1/benchmarks")
        told = client.get("metrics")
        page = client.get("", headers={"Accept": "text/html"})

    assert 'usl_http_requests_total{method="GET",part="api benchmarks",status="200"} 1.0' in told.text
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "object-src 'none'" in page.headers["content-security-policy"]
    assert "<style>" in page.text
