"""From ten choices, or an interview, to a ranking that others can open, in a real Chromium."""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import PRESS, TABLE, llms, press, scores, settle

pytestmark = pytest.mark.browser

CRITERIA = "What do you like in an answer?"
NAMES = ("brevia", "stepwise", "scholia", "empath", "bard")


def choose_shorter(page: Page, n_choices: int) -> None:
    """Choose the shorter answer of each pair, by keys and clicks in turn."""
    for n in range(n_choices):
        expect(page.get_by_text(f"{n} of about 12")).to_be_visible()
        settle(page)
        # Also who has scrolled down a long answer sees the next pair from its question on.
        expect(page.locator(".usl-query")).to_be_in_viewport()
        page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, main.scrollHeight)")
        first, second = page.locator(".usl-response").all_inner_texts()
        letter = "A" if len(first) < len(second) else "B"
        button = page.get_by_role("button", name=f"{letter} is better")
        expect(button).to_be_in_viewport()
        if n % 2:
            button.click(delay=PRESS)
        else:
            page.keyboard.press(letter.lower())


def open_elsewhere(browser: Browser, page: Page, link: str) -> tuple[list[str], list[str], str]:
    """LLMs, scores and criteria that a link shows in another browser of the same size."""
    other = browser.new_context(viewport=page.viewport_size)
    second = other.new_page()
    second.goto(link)
    expect(second.locator(f"{TABLE} th", has_text="± average")).to_have_count(1)
    expect(second.get_by_label(CRITERIA)).not_to_have_value("")
    settle(second)
    shown = llms(second), scores(second), second.get_by_label(CRITERIA).input_value()
    other.close()
    return shown


def test_ten_choices_become_a_ranking_for_oneself_and_others(
    context: BrowserContext, browser: Browser, app_url: str
) -> None:
    page = context.new_page()
    page.goto(f"{app_url}find?benchmark=dailybench")
    expect(page.get_by_text("two minutes")).to_be_visible()
    choose_shorter(page, 10)
    expect(page.get_by_text("10 of about 12")).to_be_visible()
    assert not [name for name in NAMES if name in page.inner_text("body").casefold()]

    # The checklist: edit a line, leave one out.
    press(page.get_by_role("button", name="Show my checklist"))
    expect(page.get_by_text("Learnt from 10 choices.")).to_be_visible()
    expect(page.get_by_text("times.").first).to_be_visible()
    line = page.get_by_label("Criterion 1", exact=True)
    line.fill("Short and to the point")
    line.press("Enter")
    settle(page)
    press(page.get_by_role("button", name="Rank LLMs for me"))

    expect(page.locator(f"{TABLE} th", has_text="± average")).to_have_count(1)
    expect(page.get_by_label(CRITERIA)).to_have_value(re.compile("Short and to the point"))
    settle(page)
    shown = llms(page), scores(page), page.get_by_label(CRITERIA).input_value()
    assert open_elsewhere(browser, page, page.url) == shown

    # The same under a private link.
    page.goto(page.url.replace(app_url, f"{app_url}yours"))
    press(page.get_by_role("button", name="Save under a private link"))
    link = page.get_by_test_id("stCode").inner_text().strip()
    assert open_elsewhere(browser, page, link) == shown


def test_an_interview_becomes_a_ranking(context: BrowserContext, app_url: str) -> None:
    page = context.new_page()
    page.goto(f"{app_url}find?benchmark=dailybench&way=questions")
    options = page.locator(".st-key-find_options button")
    for n in range(1, 6):
        expect(
            page.get_by_text(f"Question {n} of at most 5").or_(page.get_by_text("Learnt from"))
        ).to_be_visible()
        settle(page)
        if not options.count():
            break
        if n % 2:
            page.keyboard.press("2")
        else:
            press(options.nth(1))
    expect(page.get_by_text("Learnt from")).to_be_visible()
    expect(page.get_by_text("your answer").or_(page.get_by_text("You answered")).first).to_be_visible()
    press(page.get_by_role("button", name="Rank LLMs for me"))
    expect(page.locator(f"{TABLE} th", has_text="± average")).to_have_count(1)
    expect(page.get_by_label(CRITERIA)).not_to_have_value("")
