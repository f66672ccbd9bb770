"""No page does what its content security policy forbids."""

import httpx2
import pytest
from playwright.sync_api import BrowserContext

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
def test_pages_of_others_may_frame_only_what_is_made_for_it(app_url: str) -> None:
    policies = [
        httpx2.get(f"{app_url}{query}").headers["content-security-policy"] for query in ("", "?embed=true")
    ]

    assert ["frame-ancestors 'self'" in policy for policy in policies] == [True, False]
    assert ["frame-ancestors *" in policy for policy in policies] == [False, True]
    assert not any("unsafe-eval" in policy.replace("wasm-unsafe-eval", "") for policy in policies)
