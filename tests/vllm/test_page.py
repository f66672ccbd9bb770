"""The page's journey with a judge on a real vLLM server."""

import csv
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import browser, running_app  # noqa: F401  # a fixture
from tests.browser.test_slow_judge import choose_judge
from tests.vllm.conftest import SHORT, run_command

pytestmark = [pytest.mark.vllm, pytest.mark.browser]

ROWS = 'table[data-testid="ranking"] tbody tr'
BAR = ".st-key-judging"
MINUTE = 60_000


def test_choose_the_judge_type_a_criterion_and_see_dailybench_ranked(
    judges: Path,
    browser: Browser,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running_app(tmp_path) as url:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(MINUTE)
        page.goto(f"{url}?benchmark=dailybench")
        expect(page.locator(ROWS)).to_have_count(7, timeout=MINUTE)

        choose_judge(page, "served")
        page.get_by_label("What do you like in an answer?").fill(SHORT)
        page.get_by_role("button", name="Rank LLMs for me").click()

        # The bar is there while the judge works and gone when it has finished.
        expect(page.locator(BAR)).to_be_visible(timeout=MINUTE)
        expect(page.get_by_text("judged by served CRM")).to_be_visible(timeout=10 * MINUTE)
        expect(page.locator(BAR)).to_have_count(0, timeout=30 * MINUTE)
        expect(page.get_by_text("judged by served CRM")).to_be_visible()
        expect(page.get_by_text("· 522 questions ·")).to_be_visible()
        expect(page.locator(ROWS)).to_have_count(7)
        shown = page.locator(ROWS).evaluate_all("rows => rows.map(row => row.dataset.llm)")
        page.close()

    monkeypatch.setenv("USL_DATABASE_URL", f"sqlite:///{tmp_path / 'usl.sqlite3'}")
    stored = run_command(
        "leaderboard",
        "rank",
        "--benchmark",
        "dailybench",
        "--criterion",
        SHORT,
        "--crm",
        "served",
        "--format",
        "csv",
    )
    assert [row["llm"] for row in csv.DictReader(stored.splitlines())] == shown
