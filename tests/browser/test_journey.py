"""What a new user does, in a real Chromium."""

import csv
import re
from pathlib import Path
from urllib.parse import unquote_plus, urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from crm.criteria import CriteriaSet
from tests.browser.conftest import SIZES, TABLE, downloaded, llms, press, running_app, scores, settle

pytestmark = pytest.mark.browser


def open_sidebar(page: Page) -> None:
    opener = page.get_by_test_id("stExpandSidebarButton")
    if opener.count() and opener.is_visible():
        opener.click()


def close_sidebar(page: Page) -> None:
    if page.viewport_size == SIZES["phone"]:
        page.get_by_test_id("stSidebar").hover()
        press(page.get_by_test_id("stSidebarCollapseButton").get_by_role("button"))


def test_from_the_first_look_to_a_shared_link(
    context: BrowserContext, browser: Browser, app_url: str, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(app_url)
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(64)
    page.goto(f"{app_url}?benchmark=alpaca-eval")
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(47)
    settle(page)
    crowd = llms(page)

    # Choose topics.
    open_sidebar(page)
    for topic in ("Arts & Culture", "Humor & Entertainment"):
        press(page.get_by_test_id("stSidebar").get_by_text(re.compile(rf"^{topic} ·")))
        page.wait_for_url(lambda url, topic=topic: topic in unquote_plus(url))
        settle(page)
    close_sidebar(page)
    expect(page.get_by_text("89 questions")).to_be_visible()

    # Type criteria and see the order change.
    box = page.get_by_label("What do you like in an answer?")
    box.fill("Concise and direct\nAvoid emojis")
    press(page.get_by_role("button", name="Rank LLMs for me"))
    expect(page.locator(f"{TABLE} th", has_text="± average")).to_have_count(1)
    settle(page)
    apart = page.locator('table[data-testid="under-floor"] tbody tr')
    expect(apart.first).to_be_visible()
    # LLMs that tie at the floor stay above it.
    above = page.locator(f"{TABLE} tbody tr").count()
    assert 24 <= above == 47 - apart.count()
    press(page.get_by_text("Criteria alone", exact=True))
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(47)
    settle(page)
    own = llms(page)
    assert own != crowd
    assert own.index("gpt-3.5-turbo-1106") < own.index("gpt4_1106_preview_verbose")

    # Download the CSV and compare it with the table.
    with downloaded(page, "Download CSV", tmp_path).open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["llm"] for row in rows] == own
    shown = [float(score) / 100 for score in scores(page)]
    assert [float(row["win_rate"]) for row in rows] == pytest.approx(shown, abs=0.0006)
    assert list(rows[0])[6:] == ["Humor & Entertainment", "Arts & Culture", "emojis an answer"]

    # Open the link in another browser context and see the same.
    other = browser.new_context(viewport=page.viewport_size)
    second = other.new_page()
    second.goto(page.url)
    expect(second.locator(f"{TABLE} th", has_text="± average")).to_have_count(1)
    settle(second)
    assert llms(second) == own
    assert scores(second) == scores(page)
    expect(second.get_by_label("What do you like in an answer?")).to_have_value(
        "Concise and direct\nAvoid: emojis"
    )
    other.close()


def test_into_an_llm_and_back(context: BrowserContext, app_url: str) -> None:
    page = context.new_page()
    page.goto(f"{app_url}?benchmark=dailybench&criterion=Concise+and+direct")
    press(page.locator(f"{TABLE} tbody tr[data-llm=brevia] a"))
    expect(page.get_by_role("heading", name="brevia")).to_be_visible()
    press(page.get_by_role("button", name="%").first)
    expect(page.get_by_text("that brevia (extremely concise) is preferred")).to_be_visible()
    expect(page.get_by_text("shorter by").first).to_be_visible()
    assert "query=" in page.url
    press(page.get_by_text("Back to the leaderboard"))
    expect(page.locator(f"{TABLE} tbody tr").first).to_be_visible()
    assert llms(page)[0] == "brevia"
    assert "criterion=Concise" in page.url


def test_criteria_typed_one_right_after_the_other_all_count(context: BrowserContext, app_url: str) -> None:
    page = context.new_page()
    page.goto(app_url)
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(64)
    box = page.get_by_label("What do you like in an answer?")
    for criterion in ("Plain words", "Vivid imagery", "Weighs both sides"):
        box.fill(criterion)
        box.press("Control+Enter")
        # The next one is typed while the page is still drawing its charts.
        page.locator(f'table[data-criteria="{CriteriaSet.of([criterion]).key}"]').wait_for()
    settle(page)
    assert "Weighs+both+sides" in page.url


def test_a_new_servers_first_visitor_may_open_a_deep_link(browser: Browser, tmp_path: Path) -> None:
    with running_app(tmp_path) as url:
        page = browser.new_page(viewport=SIZES["desktop"])
        page.goto(f"{url}llm?benchmark=dailybench&criterion=Concise+and+direct&llm=brevia&query=01-1")
        expect(page.get_by_text("The letter named his daughter.").first).to_be_visible()
        expect(page.get_by_role("link", name="Data and method")).to_be_visible()
        expect(page.get_by_role("link", name="session")).to_have_count(0)
        assert "/llm?" in page.url
        page.close()


def test_markup_in_a_criterion_runs_nowhere(context: BrowserContext, app_url: str) -> None:
    page = context.new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.goto(
        f"{app_url}?benchmark=dailybench&keep-unjudged=1&criterion=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
    )
    expect(page.locator(f"{TABLE} tbody tr").first).to_be_visible()
    expect(page.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
    press(page.locator(f"{TABLE} tbody tr a").first)
    expect(page.get_by_text("Judged by: <img src=x onerror=alert(1)>")).to_be_visible()
    assert not said


def test_llms_that_lack_a_part_of_the_choice_come_in_at_the_press_of_a_button(
    desktop: BrowserContext, app_url: str
) -> None:
    page = desktop.new_page()
    topics = urlencode([("topic", "Riddles with a twist"), ("topic", "Stories: everyday and open")])
    page.goto(f"{app_url}?benchmark=modern&{topics}")
    rows = page.locator(f"{TABLE} tbody tr")
    expect(rows.first).to_be_visible()
    settle(page)
    complete = rows.count()

    press(page.locator(".st-key-rank_partial button"))

    expect(page.locator(".st-key-rank_partial")).to_have_count(0)
    settle(page)
    assert "keep-partial=1" in page.url
    assert rows.count() > 3 * complete
