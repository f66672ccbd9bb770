"""Topics looked at and curated, in a real Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from db import Database
from leaderboard.topics.curation import Curation
from tests.browser.conftest import TOKEN, downloaded, press, settle
from tests.leaderboard.topics.samples import POOL, TEXTS, store

pytestmark = pytest.mark.browser

LINK = f"topics?of=pool:{POOL}&key=0"


@pytest.fixture
def database(app_folder: Path) -> Iterator[Database]:
    """The app's database with one pool, which nobody has changed yet."""
    database = Database.open(f"sqlite:///{app_folder / 'usl.sqlite3'}")
    store(database)
    yield database
    Curation(database).delete(POOL)
    database.close()


def change(page: Page, kind: str, submit: str) -> None:
    """Open the form of a kind of change and wait for it to be there."""
    press(page.get_by_test_id("stButtonGroup").get_by_text(kind, exact=True))
    page.get_by_role("button", name=submit, exact=True).wait_for()
    settle(page)


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Admin token, to change topics", exact=True).fill(token)
    press(page.get_by_role("button", name="Sign in"))
    settle(page)


def review(page: Page, folder: Path) -> None:
    """Download the topics, change the file as a reviewer would, and have it taken over."""
    reviewed = downloaded(page, "Download YAML", folder).rename(folder / "reviewed.yaml")
    reviewed.write_text(reviewed.read_text().replace("name: Bread", "name: Baking"))
    press(page.get_by_test_id("stButtonGroup").get_by_text("File", exact=True))
    page.locator("input[type=file]").set_input_files(reviewed)
    expect(page.get_by_text("This would change: 1 topic renamed.")).to_be_visible()
    page.get_by_label("Why", exact=True).last.fill("reviewed")
    press(page.get_by_role("button", name="Take over"))
    expect(page.get_by_text("Import of reviewed.yaml: 1 topic renamed.")).to_be_visible()


def test_a_pool_is_read_by_everybody_and_curated_with_the_token(
    context: BrowserContext, browser: Browser, app_url: str, database: Database, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(f"{app_url}{LINK}")
    expect(page.get_by_test_id("topic-figures")).to_contain_text("10.0 %")
    expect(page.get_by_text(TEXTS[1])).to_be_visible()

    # Nobody gets past a wrong token, and no token stays on the page.
    sign_in(page, "a token that somebody guessed")
    expect(page.get_by_text("This is not the admin token.")).to_be_visible()
    sign_in(page, TOKEN)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    assert TOKEN not in page.content()
    assert "token" not in page.url

    page.get_by_label("Name", exact=True).fill("Broth")
    page.get_by_label("Why", exact=True).fill("that is what they ask for")
    press(page.get_by_role("button", name="Rename"))
    expect(page.get_by_text("Renamed “Soup” to “Broth”.")).to_be_visible()
    settle(page)

    change(page, "Category", "Move to category")
    box = page.get_by_role("combobox", name="Category")
    box.fill("Liquids")
    box.press("Enter")
    page.get_by_label("Why", exact=True).fill("it flows")
    press(page.get_by_role("button", name="Move to category"))
    expect(page.get_by_text("Moved “Broth” to the category “Liquids”.")).to_be_visible()
    settle(page)

    change(page, "Split", "Split")
    page.get_by_label("Why", exact=True).fill("hot and cold")
    press(page.get_by_role("button", name="Split", exact=True))
    expect(page.get_by_text("Split “Broth” into").first).to_be_visible()
    settle(page)
    press(page.get_by_role("button", name="Undo the last change"))
    expect(page.get_by_text("Undone: Split “Broth” into").first).to_be_visible()
    settle(page)

    review(page, tmp_path)

    # Somebody without a token sees all that, and can change nothing.
    other = browser.new_context(viewport=page.viewport_size)
    reader = other.new_page()
    reader.goto(f"{app_url}{LINK}")
    expect(reader.get_by_role("heading", name="Broth")).to_be_visible()
    expect(reader.get_by_text("that is what they ask for")).to_be_visible()
    expect(reader.get_by_role("button", name="Rename")).to_have_count(0)
    other.close()

    tree = Curation(database).read(POOL).tree
    assert [(topic.name, topic.category) for topic in tree.topics] == [
        ("Broth", "Liquids"),
        ("Baking", "Food"),
        ("Mail", "Work"),
    ]


def test_the_bundled_benchmarks_topics_are_there_at_the_first_start(
    context: BrowserContext, app_url: str
) -> None:
    page = context.new_page()
    page.goto(f"{app_url}topics")
    dots = page.locator(".js-plotly-plot .scatterlayer .point")
    expect(dots.first).to_be_visible()
    settle(page)
    dots.nth(200).click(force=True)
    page.wait_for_url(lambda url: "key=" in url)
    settle(page)
    page.goto(f"{app_url}topics")
    expect(dots.first).to_be_visible()
    settle(page)
    press(page.get_by_role("tab", name="Tree"))
    expect(page.locator(".treemaplayer").last).to_contain_text("Humor")
    press(page.get_by_role("tab", name="List"))
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    page.get_by_label("Search topics").fill("no such topic")
    page.get_by_label("Search topics").press("Enter")
    expect(page.get_by_text("No topic has that")).to_be_visible()
    # Nothing is wider than the screen.
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
