"""From a file of past choices to a checklist and a ranking, in a real Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from leaderboard.service import Service
from tests.browser.test_journey import SIZES, TABLE, llms, settle
from tests.leaderboard.personal.past_choices import concise_choices

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)


@pytest.fixture(params=SIZES)
def context(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=SIZES[request.param], accept_downloads=True)
    context.set_default_timeout(30_000)
    yield context
    context.close()


def test_twenty_past_choices_become_a_checklist_and_a_ranking(
    context: BrowserContext, app_url: str, service: Service, tmp_path: Path
) -> None:
    file = tmp_path / "past.jsonl"
    file.write_bytes(concise_choices(service, 20))
    page = context.new_page()
    page.goto(f"{app_url}find?benchmark=dailybench&way=history")
    # The first look at a new database waits until it is filled.
    expect(page.get_by_text("Bring choices that you have made elsewhere")).to_be_visible(timeout=120_000)
    page.get_by_text("What such a file looks like").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="A sample file").click()
    assert download.value.path().read_text(encoding="utf-8").count('"chosen"') == 6

    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("Your choices speak for")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("of 20 choices a checklist learnt from the others")).to_be_visible()
    expect(page.get_by_text("Read as a table of choices: 20 choices.")).to_be_visible()
    expect(page.locator("input[type=file]")).to_have_count(0)
    settle(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]

    page.get_by_role("button", name="Rank LLMs for me").click()
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(7)
    settle(page)
    assert llms(page)[0] == "brevia"
