"""From a leaderboard that is controlled for length to a comparison that is sent to somebody, in Chromium."""

import csv
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import TABLE, downloaded, press, settle

pytestmark = pytest.mark.browser

SIDE_BY_SIDE = 'table[data-testid="side-by-side"]'
AGREEMENT = 'table[data-testid="rank-agreement"]'


def cells(page: Page, table: str) -> list[list[str]]:
    return page.locator(f"{table} tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def test_views_are_added_compared_and_sent(
    context: BrowserContext, browser: Browser, app_url: str, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(f"{app_url}?benchmark=dailybench&criterion=Concise+and+direct&control=length")
    expect(page.locator(f"{TABLE} th", has_text="± adjusted")).to_have_count(1)
    expect(page.get_by_text("Adjusted for length. Win rates")).to_be_visible()

    # How sure is that?
    press(page.get_by_role("tab", name="How sure"))
    expect(page.get_by_text("With other questions like these, brevia")).to_be_visible()
    expect(page.locator('table[data-testid="groups"] tbody tr')).to_have_count(7)

    # Keep this view, and another one.
    press(page.get_by_role("tab", name="Ranking", exact=True))
    press(page.get_by_role("button", name="Compare later"))
    expect(page.get_by_role("button", name="Added to Compare")).to_be_visible()
    settle(page)
    box = page.get_by_label("What do you like in an answer?")
    box.fill("Warm and encouraging")
    press(page.get_by_role("button", name="Rank LLMs for me"))
    expect(page.get_by_role("button", name="Compare later")).to_be_enabled()
    press(page.get_by_role("button", name="Compare later"))
    press(page.get_by_role("link", name="Compare (2)"))
    expect(page.locator(f"{SIDE_BY_SIDE} tbody tr")).to_have_count(7)
    press(page.get_by_role("button", name="Add the ranking without criteria"))
    expect(page.locator(f"{SIDE_BY_SIDE} thead th")).to_have_count(4)
    settle(page)
    ranks, likeness = cells(page, SIDE_BY_SIDE), cells(page, AGREEMENT)
    assert ranks[0][:2] == ["brevia (extremely concise)", "1"]
    assert next(row for row in ranks if row[0].startswith("lumen"))[2] == "1"
    scroller = page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    assert scroller

    # What is downloaded says the same.
    with downloaded(page, "Download ranks as CSV", tmp_path).open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    assert [[row[1], row[3], row[5]] for row in rows[1:]] == [row[1:] for row in ranks]
    assert "adjusted for length" in rows[0][1]

    # The chart, another measure, and the same in somebody else's browser.
    press(page.get_by_role("tab", name="Chart"))
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    press(page.get_by_text("NDCG", exact=True))
    expect(page.get_by_text("Rows are predictions, columns references.")).to_be_visible()
    other = browser.new_context(viewport=page.viewport_size)
    second = other.new_page()
    second.goto(page.url)
    expect(second.locator(f"{SIDE_BY_SIDE} thead th")).to_have_count(4)
    settle(second)
    assert cells(second, SIDE_BY_SIDE) == ranks
    assert cells(second, AGREEMENT) == likeness
    other.close()
