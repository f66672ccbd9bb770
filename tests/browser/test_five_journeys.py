"""Five people on their whole way through the app, in a real Chromium.

One types a wish and follows it to a shared link; one has only a keyboard, one only a phone, one only what a
screen reader says; and one has kept a link of the first version.
"""

import re
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.conftest import SIZES, TABLE, llms, press, rest, settle

pytestmark = pytest.mark.browser

BOX = "What do you like in an answer?"
WISH = "Provide numbered steps"
CARD = ".usl-answer"
ALIKE = "No difference"


def ranked(page: Page) -> None:
    expect(page.locator(f"{TABLE} tbody tr").first).to_be_visible()
    settle(page)


def choose_the_numbered_one(page: Page) -> None:
    """Say of a blind pair which answer counts its steps, as one would whose wish that is."""
    answers = page.locator(".usl-response")
    expect(answers).to_have_count(2)
    counted = [answers.nth(number).locator("ol").count() > 0 for number in (0, 1)]
    label = ALIKE if counted[0] == counted[1] else ("A is better" if counted[0] else "B is better")
    question = page.locator(".usl-query").inner_text()
    press(page.get_by_role("button", name=label))
    page.wait_for_function("asked => document.querySelector('.usl-query')?.innerText !== asked", arg=question)
    settle(page)


def test_a_typed_wish_leads_to_the_card_three_answers_a_taste_test_and_a_link(
    desktop: BrowserContext, browser: Browser, app_url: str
) -> None:
    page = desktop.new_page()
    page.goto(f"{app_url}?benchmark=dailybench")
    ranked(page)
    card = page.locator(CARD)

    page.get_by_label(BOX).fill(WISH)
    press(page.get_by_role("button", name="Rank LLMs for me"))
    expect(card).to_contain_text("Best for you")
    expect(card).to_contain_text("stepwise (numbered steps)")
    expect(card).to_contain_text("How reliable")
    settle(page)

    # Three answers to one question, the person's best first.
    press(page.get_by_text("Three answers to one question"))
    three = page.locator(".usl-three > section")
    expect(three).to_have_count(3)
    expect(three.first.locator(".usl-who")).to_have_text("stepwise (numbered steps)")
    asked = page.locator(".usl-query").inner_text()
    press(page.get_by_role("button", name="Another question"))
    expect(page.locator(".usl-query")).not_to_have_text(asked)

    # The same ranking, tested blind.
    press(page.get_by_role("button", name="Test this ranking blind"))
    expect(page.get_by_role("heading", name="Find my criteria")).to_be_visible()
    for _ in range(6):
        choose_the_numbered_one(page)
    expect(page.get_by_text(re.compile("You chose stepwise.+ of 6 times"))).to_be_visible()
    expect(page.locator(".usl-revealed li")).to_have_count(6)

    # Back, and the link shows another person the same.
    press(page.get_by_role("link", name="Leaderboard").first)
    ranked(page)
    expect(card).to_contain_text("stepwise (numbered steps)")
    own = llms(page)
    press(page.get_by_role("button", name="Share"))
    link = page.get_by_text(re.compile(r"^https?://.+criterion=Provide")).first
    expect(link).to_be_visible()
    other = browser.new_context(viewport=SIZES["desktop"])
    second = other.new_page()
    second.goto(link.inner_text().strip())
    ranked(second)
    assert llms(second) == own
    expect(second.locator(CARD)).to_contain_text("stepwise (numbered steps)")
    other.close()


def surroundings(page: Page, place: Locator) -> Any:
    """Return the rectangle around a place in the middle of the window, when it has come to rest there."""
    before = None
    while True:
        around = place.evaluate(
            """each => { const shown = each.closest("label") || each;
                shown.scrollIntoView({ block: "center", behavior: "instant" });
                const box = shown.getBoundingClientRect();
                const left = Math.max(0, box.left - 8), top = Math.max(0, box.top - 8);
                return { x: left, y: top, width: box.right + 8 - left, height: box.bottom + 8 - top }; }"""
        )
        if around == before:
            return around
        before = around
        page.wait_for_timeout(300)


def assert_focus_is_seen(page: Page, place: Locator) -> None:
    """What is focused looks otherwise than the same without focus."""
    around = surroundings(page, place)
    focused = page.screenshot(clip=around, animations="disabled")
    place.evaluate("each => each.blur()")
    other = page.screenshot(clip=around, animations="disabled")
    assert other != focused, f"Nobody sees that this is focused: {place}"
    place.focus()


def tab_to(page: Page, place: Locator, at_most: int = 80) -> None:
    """Press Tab until something is focused, as one does who has no mouse."""
    for _ in range(at_most):
        page.keyboard.press("Tab")
        if place.evaluate("each => each === document.activeElement"):
            assert_focus_is_seen(page, place)
            return
    pytest.fail(f"Tab does not reach {place}.")


def choose_tab(page: Page, arrow: str, name: str, tries: int = 3) -> None:
    """Go to the tab beside the chosen one by an arrow key.

    A choice right before the answer to an earlier one is at times taken back by it; then one chooses again.
    """
    tab = page.get_by_role("tab", name=name, exact=True)
    page.keyboard.press(arrow)
    for left in reversed(range(tries)):
        page.keyboard.press("Enter")
        rest(page)
        if tab.get_attribute("aria-selected") == "true" or not left:
            break
        tab.focus()
    expect(tab).to_have_attribute("aria-selected", "true")


def test_with_a_keyboard_alone(desktop: BrowserContext, app_url: str) -> None:
    page = desktop.new_page()
    page.goto(f"{app_url}?benchmark=dailybench")
    ranked(page)
    rest(page)
    tab_to(page, page.get_by_role("link", name="Skip to your criteria"))
    page.keyboard.press("Enter")
    page.wait_for_timeout(1_000)  # until the page has been told of its new address
    tab_to(page, page.get_by_label(BOX), 3)
    page.keyboard.type(WISH)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("announced")).to_contain_text("stepwise (numbered steps)")
    rest(page)

    # Weight and polarity of the criterion, then three answers.
    tab_to(page, page.get_by_label("Avoid").first)
    page.keyboard.press("Space")
    expect(page.get_by_test_id("announced")).not_to_contain_text("stepwise (numbered steps)")
    rest(page)
    page.keyboard.press("Space")
    expect(page.get_by_test_id("announced")).to_contain_text("stepwise (numbered steps)")
    rest(page)
    tab_to(page, page.locator("summary", has_text="Three answers to one question"))
    page.keyboard.press("Enter")
    expect(page.locator(".usl-three > section")).to_have_count(3)
    rest(page)

    # The tabs by arrow keys, the ranking by its headings, and into an LLM.
    tab_to(page, page.get_by_role("tab", name="Ranking", exact=True))
    choose_tab(page, "ArrowRight", "Chart")
    choose_tab(page, "ArrowLeft", "Ranking")
    ranked(page)
    rest(page)
    tab_to(page, page.locator(f"{TABLE} th a", has_text="LLM"))
    page.keyboard.press("Enter")
    expect(page.locator(f"{TABLE} th[aria-sort]", has_text="LLM")).to_have_count(1)
    ranked(page)
    assert llms(page) == sorted(llms(page))
    tab_to(page, page.locator(f"{TABLE} tbody tr[data-llm=brevia] a"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="brevia")).to_be_visible()


def assert_nothing_is_cut(page: Page) -> None:
    """Only what scrolls by itself may be wider than the screen."""
    wider = page.evaluate(
        """() => [...document.querySelectorAll(".stMainBlockContainer *")].filter((each) => {
            const place = each.getBoundingClientRect();
            if (place.width < 2 || place.height < 2 || place.right <= innerWidth + 1) return false;
            for (let up = each.parentElement; up; up = up.parentElement)
                if (/auto|scroll|hidden/.test(getComputedStyle(up).overflowX) && !up.matches(".stMain"))
                    return false;
            return true;
        }).map((each) => each.outerHTML.slice(0, 120))"""
    )
    assert wider == []


def test_on_a_phone(browser: Browser, app_url: str) -> None:
    context = browser.new_context(
        viewport=SIZES["phone"], has_touch=True, is_mobile=True, device_scale_factor=3
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{app_url}?benchmark=dailybench")
    ranked(page)
    assert_nothing_is_cut(page)

    # Topics stand behind the button, which says so.
    page.get_by_test_id("stExpandSidebarButton").tap()
    page.get_by_test_id("stSidebar").get_by_text(re.compile("^Arts & Culture ·")).tap()
    page.wait_for_url(lambda url: "Arts" in url)
    settle(page)
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").tap()

    page.get_by_label(BOX).fill(WISH)
    page.get_by_role("button", name="Rank LLMs for me").tap()
    card = page.locator(CARD)
    expect(card).to_contain_text("stepwise (numbered steps)")
    settle(page)
    assert_nothing_is_cut(page)
    page.get_by_text("Three answers to one question").tap()
    expect(page.locator(".usl-three > section")).to_have_count(3)
    places = [each.bounding_box() for each in page.locator(".usl-three > section").all()]
    assert all(place is not None and place["width"] > 300 for place in places)  # one below the other
    settle(page)
    assert_nothing_is_cut(page)

    page.locator(f"{TABLE} tbody tr[data-llm=stepwise] a").tap()
    expect(page.get_by_role("heading", name="stepwise")).to_be_visible()
    settle(page)
    assert_nothing_is_cut(page)
    page.get_by_role("button", name="%").first.tap()
    expect(page.locator(".usl-response")).to_have_count(2)
    page.get_by_text("Back to the leaderboard").tap()
    ranked(page)
    assert "criterion=Provide" in page.url
    assert "topic=Arts" in page.url
    context.close()


ASKED_OR_PRESSED = {
    *("button", "link", "textbox", "searchbox", "combobox", "checkbox", "switch", "radio", "slider", "tab"),
    *("spinbutton", "menuitem", "option", "region", "dialog"),
}


def spoken(page: Page) -> list[dict[str, str]]:
    """Role, name and level of whatever Chromium tells screen readers of, in its order."""
    settle(page)
    session = page.context.new_cdp_session(page)
    nodes: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    found = []
    for node in nodes:
        if node.get("ignored"):
            continue
        properties = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
        role, name = (node.get(key, {}).get("value", "") for key in ("role", "name"))
        found.append({"role": role, "name": str(name).strip(), "level": str(properties.get("level", ""))})
    return found


SPOKEN_PAGES = (
    *(f"?benchmark=dailybench&{urlencode({'criterion': WISH})}", "find?benchmark=dailybench", "compare"),
    *("llm?benchmark=dailybench&llm=brevia", "judges", "topics", "yours", "about"),
)


@pytest.mark.parametrize("path", SPOKEN_PAGES)
def test_a_screen_reader_has_a_name_for_everything(desktop: BrowserContext, app_url: str, path: str) -> None:
    page = desktop.new_page()
    page.goto(f"{app_url}{path}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if path.startswith("?"):
        ranked(page)
    settle(page)
    nodes = spoken(page)

    assert [node for node in nodes if node["role"] in ASKED_OR_PRESSED and not node["name"]] == []
    for chart in page.get_by_test_id("stPlotlyChart").all():
        expect(chart).to_have_accessible_name(re.compile(".{20}"))
    names = [node["name"] for node in nodes if node["role"] in ASKED_OR_PRESSED and "://" not in node["name"]]
    symbols = [
        name for name in names if re.search("[a-z]_[a-z]", name)
    ]  # icons are words in a font: expand_more
    assert symbols == []
    levels = [int(node["level"]) for node in nodes if node["role"] == "heading"]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_a_screen_reader_is_told_what_a_ranking_is(desktop: BrowserContext, app_url: str) -> None:
    page = desktop.new_page()
    page.goto(f"{app_url}{SPOKEN_PAGES[0]}")
    ranked(page)
    expect(page.get_by_role("status").filter(has_text="Best for you")).to_have_count(1)
    answer = page.get_by_role("region", name="Answer")
    expect(answer.get_by_role("heading", level=2)).to_contain_text("stepwise (numbered steps)")
    ranking = page.get_by_role("region", name="Ranking")
    for heading in ("Rank", "LLM", "Score", "Likely range"):
        expect(ranking.get_by_role("columnheader", name=heading).first).to_be_visible()
    expect(ranking.get_by_role("columnheader", name="Rank").first).to_have_attribute("aria-sort", "ascending")
    for name in ("Weight of criterion 1", "Which LLMs"):
        expect(page.get_by_role("radiogroup", name=name)).to_have_count(1)


OLD_LINK = urlencode(
    [
        *(("benchmark", "alpaca-eval"), ("topic", "Arts & Culture"), ("topic", "Humor & Entertainment")),
        *(("criterion", "Concise and direct"), ("criterion", "avoid|optional|emojis"), ("soft", "1")),
        *(("control", "length"), ("topic-weight", "Arts & Culture=2"), ("interest", "poems for birthdays")),
    ]
)


def test_a_link_of_the_first_version_still_opens(desktop: BrowserContext, app_url: str) -> None:
    page = desktop.new_page()
    page.goto(f"{app_url}?{OLD_LINK}")
    ranked(page)
    expect(page.get_by_label(BOX)).to_have_value("Concise and direct\nAvoid: emojis")
    expect(page.get_by_text("89 questions").first).to_be_visible()
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(47)  # there was no floor
    expect(page.get_by_role("columnheader", name="± adjusted")).to_have_count(1)
    expect(page.get_by_role("alert")).to_have_count(0)
    ranking = llms(page)

    # Links that pages of the first version wrote to others of them.
    page.goto(f"{app_url}compare?{urlencode([('compare', OLD_LINK), ('compare', 'benchmark=alpaca-eval')])}")
    expect(page.get_by_test_id("side-by-side").locator("thead th")).to_have_count(3)
    first = page.get_by_test_id("side-by-side").locator("tbody tr").first
    expect(first).to_be_visible()
    assert first.get_attribute("data-llm") in ranking
    page.goto(f"{app_url}llm?benchmark=dailybench&criterion=Concise+and+direct&llm=brevia&query=01-1")
    expect(page.get_by_text("The letter named his daughter.").first).to_be_visible()

    # What no longer exists is named.
    page.goto(f"{app_url}?benchmark=alpaca-eval&topic=Cooking+for+cats&crm=embedded-1")
    expect(page.get_by_text("no topic “Cooking for cats”")).to_be_visible()
    expect(page.get_by_text("embedded-1").first).to_be_visible()
