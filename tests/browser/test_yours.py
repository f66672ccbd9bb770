"""A profile under a private link in two browsers, and an LLM of one's own, in a real Chromium."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.conftest import TABLE, downloaded, llms, press, scores, settle

pytestmark = pytest.mark.browser


VIEW = "benchmark=dailybench&topic=Arts+%26+Culture&criterion=optional%7CWarm"


def test_a_private_link_shows_the_same_in_a_second_browser(
    context: BrowserContext, browser: Browser, app_url: str, app_folder: Path, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(f"{app_url}?{VIEW}")
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(7)
    settle(page)
    shown = llms(page), scores(page)
    page.goto(f"{app_url}yours?{VIEW}")
    press(page.get_by_role("button", name="Save under a private link"))
    expect(page.get_by_text("Saved. Keep the link below")).to_be_visible()
    link = page.get_by_test_id("stCode").inner_text().strip()
    token = link.split("?profile=")[1]
    assert link.startswith(f"{app_url}?profile=")

    saved = downloaded(page, "Download", tmp_path)
    assert json.loads(saved.read_text())["criteria"][0]["weight"] == "Optional"

    other = browser.new_context(viewport=page.viewport_size)
    second = other.new_page()
    second.goto(link)
    expect(second.get_by_text("Your profile is open")).to_be_visible()
    expect(second.get_by_label("What do you like in an answer?")).to_have_value("Warm")
    expect(second.get_by_text("42 questions")).to_be_visible()
    settle(second)
    assert (llms(second), scores(second)) == shown

    # The token is nowhere but in the private link: not in the address, on the page, or in the log.
    second.wait_for_url(lambda url: "criterion=" in url)
    assert token not in second.url
    assert token not in second.content()
    assert token not in (app_folder / "log").read_text()

    press(page.get_by_role("button", name="Delete"))
    press(page.get_by_role("button", name="Delete for good"))
    expect(page.get_by_text("The profile is deleted. Your criteria stay")).to_be_visible()
    second.goto(link)
    expect(second.get_by_text("opens no profile")).to_be_visible()
    other.close()


def test_an_uploaded_llm_is_ranked_at_once(context: BrowserContext, app_url: str, tmp_path: Path) -> None:
    page = context.new_page()
    page.goto(f"{app_url}yours?benchmark=dailybench")
    queries = downloaded(page, "Its queries", tmp_path)
    rows = [json.loads(line) for line in queries.read_text(encoding="utf-8").splitlines()[:20]]
    assert len(rows) == 20
    upload = tmp_path / "mine.jsonl"
    answers = [{**row, "response": f"=1+1 <b>Short</b> {row['query'][:20]}"} for row in rows]
    upload.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    page.locator("input[type=file]").last.set_input_files(upload)
    page.get_by_label("Name of the LLM").fill("mine")
    press(page.get_by_role("button", name="Rank it with the others"))
    expect(page.get_by_text("20 responses are ranked now")).to_be_visible()
    expect(page.get_by_text("502 queries have no response")).to_be_visible()

    press(page.get_by_text("See the ranking"))
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(8)
    expect(page.locator(f"{TABLE} tbody tr[data-llm=mine]")).to_contain_text("mine (yours, this session)")
    settle(page)
    press(page.get_by_role("combobox", name="Look inside an LLM"))
    page.keyboard.type("mine")
    expect(page.get_by_role("option")).to_have_text(["mine (yours, this session)"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="mine (yours, this session)")).to_be_visible()
    press(page.get_by_role("button", name="%").first)
    expect(page.get_by_text("=1+1 <b>Short</b>").first).to_be_visible()
