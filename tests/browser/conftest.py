"""One app for all tests, on a port and a database of its own, and a Chromium to open it in."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as NotInTime

from tests.servers import app_served_by, free_port

expect.set_options(timeout=60_000)

ROOT = Path(__file__).parents[2]
SERVER = "tests.browser.slow_server"
TOKEN = "a token that nobody guesses"
SIZES = {"desktop": {"width": 1400, "height": 1000}, "phone": {"width": 390, "height": 844}}
TABLE = 'table[data-testid="ranking"]'
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def app_folder(filled_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the app's database and log are, and a file “down” while the judge “served” is to fail."""
    folder = tmp_path_factory.mktemp("app")
    shutil.copy(filled_file, folder / "usl.sqlite3")
    return folder


@pytest.fixture(scope="session")
def app_url(app_folder: Path) -> Iterator[str]:
    """The app with an administrator and the judges “slow” and “served”."""
    down = str(app_folder / "down")
    with running_app(app_folder, SERVER, SERVER_IS_DOWN=down, USL_ADMIN_TOKEN=TOKEN) as url:
        yield url


@pytest.fixture(params=SIZES)
def context(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """A new visitor's browser, once on a desk and once on a phone."""
    with _visitor(browser, request.param) as context:
        yield context


@pytest.fixture
def desktop(browser: Browser) -> Iterator[BrowserContext]:
    """A new visitor's browser on a desk."""
    with _visitor(browser, "desktop") as context:
        yield context


@contextmanager
def _visitor(browser: Browser, size: str) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=SIZES[size], accept_downloads=True)
    context.set_default_timeout(60_000)
    yield context
    context.close()


def settle(page: Page) -> None:
    """Wait until the page's script has run to its end."""
    page.locator("[data-test-script-state=notRunning]").wait_for()


_LOOK = """() => JSON.stringify([document.querySelector("[data-testid=stMain]")?.scrollTop,
    ...[...document.querySelectorAll("button, a, input, textarea, summary, .usl-query")]
        .map((each) => { const box = each.getBoundingClientRect(); return [box.left, box.top]; })])"""
_LOOKS_APART_MS, _SAME_LOOKS, _MOST_LOOKS = 100, 3, 100
PRESS = 100
"""Milliseconds for which people hold a button down."""


def rest(page: Page) -> None:
    """Wait until the page's script has run to its end and nothing that can be pressed moves any more."""
    same, before = 0, ""
    for _ in range(_MOST_LOOKS):
        settle(page)
        now = page.evaluate(_LOOK)
        same, before = (same + 1 if now == before else 0), now
        if same == _SAME_LOOKS:
            return
        page.wait_for_timeout(_LOOKS_APART_MS)
    raise AssertionError("The page does not come to rest.")


def press(place: Locator) -> None:
    """Press something as people do: when the page has come to rest, and for a moment."""
    rest(place.page)
    place.click(delay=PRESS)


def downloaded(page: Page, button: str, folder: Path) -> Path:
    """The file that a button downloads.

    Streamlit forgets a session's files while its script runs anew and offers them again after it: a click in
    between comes to nothing, and whoever waits for the file clicks again.
    """
    for tries in range(4):
        settle(page)
        try:
            with page.expect_download(timeout=60_000 if tries == 3 else 20_000) as download:
                page.get_by_role("button", name=button).click()
        except NotInTime:
            continue
        saved = folder / download.value.suggested_filename
        download.value.save_as(saved)
        return saved
    raise AssertionError(f"“{button}” was clicked four times and nothing was downloaded.")


def llms(page: Page) -> list[str]:
    return page.locator(f"{TABLE} tbody tr").evaluate_all("rows => rows.map(row => row.dataset.llm)")


def scores(page: Page) -> list[str]:
    return page.locator(f"{TABLE} tbody tr").evaluate_all("rows => rows.map(row => row.cells[3].textContent)")


@contextmanager
def running_app(folder: Path, program: str = "streamlit", **settings: str) -> Iterator[str]:
    """The address of the app, started on the database in the folder, which is made if it is not there.

    Args:
        folder: Where the database and the log are.
        program: The module that runs the app, with the arguments of Streamlit.
        settings: More variables of its environment.
    """
    port = free_port()
    command = [sys.executable, "-m", program, "run", "serve.py", f"--server.port={port}"]
    command += ["--server.address=127.0.0.1", "--server.headless=true"]
    environment = os.environ | settings | {"USL_DATABASE_URL": f"sqlite:///{folder / 'usl.sqlite3'}"}
    with app_served_by(command, port, environment, log=folder / "log", folder=ROOT) as url:
        yield url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    names = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"
    executable = next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        reason = "Chromium is not installed: apt-get install chromium-headless-shell"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield chromium
        chromium.close()
