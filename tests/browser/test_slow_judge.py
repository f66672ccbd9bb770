"""What a person sees of a slow judge, in a real Chromium."""

import csv
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from playwright.sync_api import TimeoutError as NotInTime

from tests.browser.conftest import SERVER, SIZES, TABLE, downloaded, llms, running_app

pytestmark = pytest.mark.browser

GRADES = 'table[data-testid="grades"]'
PAIRS = re.compile(r"([\d,]+) of ([\d,]+) pairs")


@pytest.fixture
def context(desktop: BrowserContext) -> BrowserContext:
    """A context of one size only: what these tests wait for takes its time."""
    return desktop


def link(url: str, *criteria: str, crm: str = "slow", topics: tuple[str, ...] = ()) -> str:
    chosen = [("topic", topic) for topic in topics] + [("criterion", text) for text in criteria]
    return f"{url}?{urlencode([('benchmark', 'dailybench'), ('crm', crm), *chosen])}"


def bar(page: Page) -> str:
    return page.get_by_test_id("stProgress").inner_text()


def pairs(page: Page) -> int:
    """How many pairs the bar says are judged."""
    found = PAIRS.search(bar(page))
    assert found is not None, bar(page)
    return int(found[1].replace(",", ""))


def seven_llms(page: Page) -> list[str]:
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(7)
    return llms(page)


def until(page: Page, condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, "it did not come about"
        page.wait_for_timeout(100)


def choose_judge(page: Page, name: str) -> None:
    page.get_by_text("Judge and scoring").click()
    option = page.get_by_role("option", name=name)

    def is_chosen() -> bool:
        # While its surroundings unfold, the list closes as soon as it opens.
        page.get_by_role("combobox", name="Judge", exact=True).click()
        try:
            option.click(timeout=2000)
        except NotInTime:
            return False
        return True

    until(page, is_chosen)


def test_results_stream_in_and_can_be_stopped_and_continued(context: BrowserContext, app_url: str) -> None:
    page = context.new_page()
    page.goto(link(app_url, "Vivid imagery"))

    # A bar, a time, and a ranking in part that grows.
    running = page.get_by_text(re.compile(r"Judging with slow: [\d,]+ of 3,654 pairs · about .* left"))
    expect(running).to_be_visible()
    expect(page.locator(f"{TABLE} caption")).to_have_text(re.compile(r"So far \d+ of 522 queries are judged"))
    assert len(seven_llms(page)) == 7
    before = pairs(page)
    until(page, lambda: pairs(page) > before)

    # The rest of the page stays usable: half a criterion is not lost to the next result.
    page.get_by_role("tab", name="Chart").click()
    box = page.get_by_label("What do you like in an answer?")
    box.fill("Vivid imagery, told li")
    before = pairs(page)
    until(page, lambda: pairs(page) > before)
    expect(box).to_have_value("Vivid imagery, told li")
    expect(page.get_by_role("tab", name="Chart")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Ranking").click()
    box.fill("Vivid imagery")

    # Stopped, it stays so; continued, it goes on from there.
    page.get_by_role("button", name="Stop").click()
    stopped = page.get_by_text(re.compile(r"Stopped at \d+ %"))
    expect(stopped).to_be_visible()
    share = bar(page)
    page.wait_for_timeout(2500)
    assert bar(page) == share != "Stopped at 0 %"
    expect(page.locator(f"{TABLE} caption")).to_be_visible()
    page.get_by_role("button", name="Continue").click()
    expect(running).to_be_visible()
    assert pairs(page) >= before

    # Other topics are judged next, and then what they are compared with.
    page.get_by_test_id("stSidebar").get_by_text(re.compile("^Puzzles & Logic ·")).click()
    expect(page.locator(f"{TABLE} th", has_text="± average")).to_have_count(1)
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    expect(page.locator(f"{TABLE} caption")).to_have_count(0)
    expect(page.get_by_text("30 questions")).to_be_visible()
    assert seven_llms(page)[0] == "scholia"


def test_a_finished_page_asks_no_more(context: BrowserContext, app_url: str) -> None:
    page = context.new_page()
    sent: list[object] = []

    def note(frame: object) -> None:
        sent.append(frame)

    page.on("websocket", lambda socket: socket.on("framesent", note))
    page.goto(link(app_url, "Warm", topics=("Puzzles & Logic",)))
    expect(page.locator(f"{TABLE} th", has_text="± average")).to_have_count(1)
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    page.locator("[data-test-script-state=notRunning]").wait_for()
    # The last request of its clock may still be on its way; a clock that goes on is never silent for so long.
    for _ in range(8):
        sent.clear()
        page.wait_for_timeout(4000)
        if not sent:
            break

    assert sent == []


def test_two_visitors_who_want_the_same_wait_for_one_judge(
    context: BrowserContext, browser: Browser, app_url: str
) -> None:
    first = context.new_page()
    first.goto(link(app_url, "Numbered steps"))
    until(first, lambda: first.get_by_test_id("stProgress").count() > 0 and pairs(first) > 100)
    other = browser.new_context(viewport=SIZES["phone"])
    other.set_default_timeout(60_000)
    second = other.new_page()
    second.goto(link(app_url, "Numbered steps"))
    second.get_by_test_id("stProgress").wait_for()
    assert pairs(second) > 100

    # One who stops takes nothing from the other.
    first.get_by_role("button", name="Stop").click()
    expect(first.get_by_text("Stopped at")).to_be_visible()
    before = pairs(second)
    until(second, lambda: pairs(second) > before)

    # The bar fits a telephone.
    assert second.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"]["width"]
    right = second.get_by_role("button", name="Stop").bounding_box()
    assert right is not None
    assert right["x"] + right["width"] <= SIZES["phone"]["width"]
    other.close()


def test_a_server_that_is_down_costs_no_ranking(
    context: BrowserContext, app_url: str, app_folder: Path
) -> None:
    page = context.new_page()
    page.goto(link(app_url, "Playful humor", crm="embedded"))
    expect(page.locator(f"{TABLE} tbody tr").first).to_be_visible()
    page.locator("[data-test-script-state=notRunning]").wait_for()
    assert seven_llms(page)[0] == "jester"
    (app_folder / "down").touch()
    choose_judge(page, "served")

    # The message, and the last good ranking with a line that says what it is.
    message = page.get_by_text("“served” does not answer at http://127.0.0.1:9: start its server.")
    expect(message).to_be_visible()
    expect(page.get_by_text("Below is your last ranking: DailyBench")).to_be_visible()
    expect(page.get_by_text("for “Playful humor”, judged by embedded")).to_be_visible()
    assert seven_llms(page)[0] == "jester"

    # It comes up, and goes down again in the middle: what is judged is kept.
    (app_folder / "down").unlink()
    page.get_by_role("button", name="Try again").click()
    until(page, lambda: page.get_by_test_id("stProgress").count() > 0 and pairs(page) > 100)
    (app_folder / "down").touch()
    expect(message).to_be_visible()
    expect(page.get_by_text(re.compile(r"The \d+ % that are judged are kept"))).to_be_visible()
    expect(page.locator(f"{TABLE} caption")).to_have_text(re.compile("So far"))
    assert seven_llms(page)[0] == "scholia"
    (app_folder / "down").unlink()
    page.get_by_role("button", name="Try again").click()
    expect(message).to_have_count(0)
    expect(page.get_by_text("Judging with served")).to_be_visible()


def test_a_server_that_is_started_again_goes_on_where_it_was(
    browser: Browser, filled_file: Path, tmp_path: Path
) -> None:
    shutil.copy(filled_file, tmp_path / "usl.sqlite3")
    page = browser.new_page(viewport=SIZES["desktop"])
    page.set_default_timeout(60_000)
    with running_app(tmp_path, SERVER) as first:
        page.goto(link(first, "Plain words"))
        # Stored every five seconds, that is every 250 pairs or so.
        until(page, lambda: page.get_by_test_id("stProgress").count() > 0 and pairs(page) > 600)
    with running_app(tmp_path, SERVER) as second:
        page.goto(link(second, "Plain words"))
        page.get_by_test_id("stProgress").wait_for()
        assert pairs(page) > 250
    page.close()


def test_each_criterion_is_graded_if_somebody_wants_it(
    context: BrowserContext, browser: Browser, app_url: str, tmp_path: Path
) -> None:
    page = context.new_page()
    address = link(app_url, "Signposted paragraphs", "Gentle humour", topics=("Puzzles & Logic",))
    page.goto(address)
    page.get_by_role("tab", name="By criterion").click()
    begin, table = page.get_by_role("button", name="Grade each criterion"), page.locator(GRADES)
    expect(begin).to_be_visible()

    # When the ranking is complete there is a tab more, and this one stays open.
    expect(page.get_by_role("tab", name="You and the average")).to_be_visible()
    expect(page.get_by_role("tab", name="By criterion")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("grading each of 2 criteria by itself takes 420 comparisons")).to_be_visible()
    expect(table).to_have_count(0)
    begin.click()

    # Grades in part that grow, all on the same questions, and stop.
    expect(page.get_by_text(re.compile(r"Grading with slow: [\d,]+ of 420 pairs"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"So far these are grades on \d+ of 30 questions"))).to_be_visible()
    expect(table.locator("tbody tr")).to_have_count(7)
    page.get_by_role("button", name="Stop grading").click()
    expect(page.get_by_text(re.compile(r"Stopped at \d+ %"))).to_be_visible()
    share = bar(page)
    page.wait_for_timeout(2500)
    assert bar(page) == share

    # It goes on while another tab is open, and the whole table needs no further look.
    page.get_by_role("button", name="Continue grading").click()
    expect(page.get_by_text("Grading with slow")).to_be_visible()
    page.get_by_role("tab", name="Ranking").click()
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(7)
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    page.get_by_role("tab", name="By criterion").click()
    expect(table.locator("tbody tr")).to_have_count(7)
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    expect(page.get_by_text("So far")).to_have_count(0)
    with downloaded(page, "Download CSV", tmp_path).open(newline="", encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    assert header == ["llm", "pref_align", "Signposted paragraphs", "Gentle humour"]
    assert len(rows) == 7
    assert all(rows[0])

    # Whoever comes later has it at once, on a telephone too.
    other = browser.new_context(viewport=SIZES["phone"])
    other.set_default_timeout(60_000)
    later = other.new_page()
    later.goto(address)
    later.get_by_role("tab", name="By criterion").click()
    expect(later.locator(f"{GRADES} tbody tr")).to_have_count(7)
    expect(later.get_by_role("button", name="Grade each criterion")).to_have_count(0)
    assert later.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"]["width"]
    other.close()


def test_what_the_judge_doubts_is_said_wherever_the_ranking_goes(
    context: BrowserContext, app_url: str, tmp_path: Path
) -> None:
    page = context.new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    doubted = "<img src=x onerror=alert(1)> of 1990"
    page.goto(link(app_url, "Warm", doubted, "Short", "Formal", "Plain", topics=("Puzzles & Logic",)))

    expect(page.get_by_text(f"“{doubted}” is left out of this ranking.")).to_be_visible()
    expect(page.get_by_text("These criteria ask for contrary things.").first).to_be_visible()
    expect(page.locator(f"{TABLE} th", has_text="± average")).to_have_count(1)
    left_out = f"Left out, as the judge cannot judge it: “{doubted}”"
    doubt = "Doubtful: These criteria ask for contrary things."
    expect(page.locator(f"{TABLE} caption")).to_have_text(left_out + doubt)
    with downloaded(page, "Download CSV", tmp_path).open(newline="", encoding="utf-8") as lines:
        assert {row["note"] for row in csv.DictReader(lines)} == {f"{left_out}; {doubt}"}
    page.locator(f"{TABLE} tbody tr a").first.click()
    expect(page.get_by_text(left_out)).to_be_visible()
    expect(page.get_by_text(doubt)).to_be_visible()
    assert not said
