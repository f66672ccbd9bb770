"""From a file of past choices to a checklist and a ranking, in a real Chromium."""

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from leaderboard.service import Service
from tests.browser.conftest import TABLE, downloaded, llms, press, settle
from tests.leaderboard.elicitation.samples import concise_choices

pytestmark = pytest.mark.browser


def test_twenty_past_choices_become_a_checklist_and_a_ranking(
    context: BrowserContext, app_url: str, service: Service, tmp_path: Path
) -> None:
    file = tmp_path / "past.jsonl"
    file.write_bytes(concise_choices(service, 20))
    page = context.new_page()
    page.goto(f"{app_url}find?benchmark=dailybench&way=history")
    expect(page.get_by_text("Bring choices that you have made elsewhere")).to_be_visible()
    # A file that is offered before the page's script has ended may be another one's when it is clicked.
    settle(page)
    press(page.get_by_text("What such a file looks like"))
    expect(page.get_by_role("button", name="A sample file")).to_be_visible()
    sample = downloaded(page, "A sample file", tmp_path)
    assert sample.read_text(encoding="utf-8").count('"chosen"') == 6

    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("Your choices speak for")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("of 20 choices a checklist learnt from the others")).to_be_visible()
    expect(page.get_by_text("Read as a table of choices: 20 choices.")).to_be_visible()
    expect(page.locator("input[type=file]")).to_have_count(0)
    settle(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]

    press(page.get_by_role("button", name="Rank LLMs for me"))
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(7)
    settle(page)
    assert llms(page)[0] == "brevia"
