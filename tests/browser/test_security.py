"""No page does what its content security policy forbids, and nothing that is shown leads to strangers."""

from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import ROOT, rest

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
_LISTEN = """addEventListener("securitypolicyviolation", (event) => console.error(
    `forbidden: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile} ${event.sample}`))"""
CRITERIA = "criterion=Warm&criterion=avoid%7Cemojis&benchmark=dailybench"


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_pages_keep_to_their_policy(desktop: BrowserContext, app_url: str, name: str) -> None:
    page = desktop.new_page()
    page.add_init_script(_LISTEN)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    address = "" if name == "leaderboard" else name
    page.goto(f"{app_url}{address}?{CRITERIA}")
    rest(page)
    for number in range(page.get_by_role("tab").count()):
        page.get_by_role("tab").nth(number).click()
        rest(page)

    forbidden = {text for text in said if text.startswith(("forbidden:", "error:"))}
    # The icon in a browser's tab, which Streamlit asks Google for.
    assert {text for text in forbidden if "img-src https://fonts.gstatic.com/" not in text} == set()


@pytest.mark.browser
@pytest.mark.parametrize("asked", ["llm?llm={}", "?topic={}", "?criterion={}&profile=1"])
def test_what_a_link_brings_is_shown_and_leads_nowhere(
    desktop: BrowserContext, app_url: str, asked: str
) -> None:
    """Texts of imported benchmarks go the same way (tests/pages/test_plain_text.py)."""
    text = "[prize](https://evil.example) www.evil.example https://evil.example me@evil.example"
    page = desktop.new_page()
    page.goto(f"{app_url}{asked.format(quote(text))}")
    rest(page)

    shown = page.get_by_text("[prize]").first
    expect(shown).to_be_visible()
    assert (
        page.locator("main a[href*='evil'], [data-testid=stMain] a[href^=mailto]").evaluate_all(
            "links => links.map(link => link.href).filter(href => new URL(href).origin !== location.origin)"
        )
        == []
    )


@pytest.mark.browser
def test_pages_of_others_may_frame_only_what_is_made_for_it(app_url: str) -> None:
    policies = [
        httpx2.get(f"{app_url}{query}").headers["content-security-policy"] for query in ("", "?embed=true")
    ]

    assert ["frame-ancestors 'self'" in policy for policy in policies] == [True, False]
    assert ["frame-ancestors *" in policy for policy in policies] == [False, True]
    assert not any("unsafe-eval" in policy.replace("wasm-unsafe-eval", "") for policy in policies)
