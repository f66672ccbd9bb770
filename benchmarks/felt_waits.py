"""How long a person waits for what they click: from the click to what it shows, in headless Chromium.

Every repetition starts the app anew on the same filled database, so that each wait is the first of its kind
in a server; the page that the click is on is loaded before, and the server has had time to warm up.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from os import getloadavg
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated

import typer
from playwright.sync_api import Browser, FilePayload, Page
from playwright.sync_api import Error as BrowserError

from benchmarks._report import Report, duration
from benchmarks.first_paint import (
    PAINT_TIMEOUT,
    PROJECT_ROOT,
    RANKING_ROWS,
    MeasurementError,
    chromium,
    running_server,
)
from crm.cli_runner import run_cli
from crm.report_table import describe_machine

app = typer.Typer(add_completion=False)

WARM_UP = 12.0
"""Seconds that somebody reads the first page before they click on."""
_READING = 5.0
"""Seconds that somebody looks at a ranking before they go to another page."""
CHOOSING = 5.0
"""Seconds in which somebody finds the file that they upload."""
_FINISHED = "[data-test-script-state=notRunning]"
_CHART = ".js-plotly-plot .main-svg"
_SAMPLE = PROJECT_ROOT / "bundled" / "history-sample.jsonl"
_ROUNDS = 4
_OPTIONS = ".st-key-find_options button"


def chart_tab(page: Page) -> float:
    """Open the tab with the ranking as a chart."""
    tab = page.get_by_role("tab", name="Chart")
    return _timed(tab.click, page.locator(_CHART).first.wait_for)


def share_menu(page: Page) -> float:
    """Open the menu with the ranking's link."""
    button = page.get_by_role("button", name="Share")
    return _timed(button.click, page.get_by_role("tab", name="Link").wait_for)


def topics_page(page: Page) -> float:
    """Go to the map of what people ask about, having read the ranking for some seconds."""
    page.wait_for_timeout(_READING * 1e3)
    return topics_page_at_once(page)


def topics_page_at_once(page: Page) -> float:
    """Go there as soon as the ranking stands."""
    link = page.locator("a[href$='/topics']").first
    return _timed(link.click, page.locator(_CHART).first.wait_for)


def compare_example(page: Page) -> float:
    """Compare the default ranking with four others."""
    page.locator("a[href$='/compare']").first.click()
    button = page.locator("[data-testid=stBaseButton-primary]").first
    button.wait_for()
    _settle(page)
    return _timed(button.click, page.locator('table[data-testid="rank-agreement"]').wait_for)


def interview_answer(page: Page) -> float:
    """Answer the first question of the interview."""
    page.goto(f"{page.url.split('?')[0]}find?benchmark=dailybench&way=questions")
    options = page.locator(_OPTIONS)
    options.first.wait_for()
    _settle(page)
    question = page.locator("[data-testid=stMain]").inner_text()
    changed = "before => document.querySelector('[data-testid=stMain]').innerText !== before"

    def wait() -> None:
        page.wait_for_function(changed, arg=question)
        _settle(page)

    return _timed(options.nth(1).click, wait)


def history_upload(page: Page) -> float:
    """Learn a checklist from a file of past choices."""
    page.goto(f"{page.url.split('?')[0]}find?benchmark=dailybench&way=history")
    upload = page.locator("input[type=file]")
    upload.wait_for(state="attached")
    _settle(page)
    page.wait_for_timeout(1000 * CHOOSING)
    rows = [json.loads(line) for line in _SAMPLE.read_text(encoding="utf-8").splitlines()]
    lines = [
        json.dumps(row | {"query": f"{row['query']} ({number})"}) for number in range(_ROUNDS) for row in rows
    ]
    file: FilePayload = {
        "name": "past.jsonl",
        "mimeType": "application/json",
        "buffer": "\n".join(lines).encode(),
    }
    return _timed(
        lambda: upload.set_input_files(file),
        page.locator("input[aria-label^='Criterion 1']").first.wait_for,
    )


WAITS: dict[str, Callable[[Page], float]] = {
    "Chart tab": chart_tab,
    "Share menu": share_menu,
    "Topics page": topics_page,
    "Topics page, as soon as the ranking stands": topics_page_at_once,
    "First comparison of five views": compare_example,
    "First answer in the interview": interview_answer,
    f"First upload of {6 * _ROUNDS} past choices": history_upload,
}


def measure(browser: Browser, folder: Path) -> dict[str, float]:
    """Return each wait in seconds, all in one server and each in a browser of its own."""
    found: dict[str, float] = {}
    with running_server(folder / "usl.sqlite3", folder / "server.log") as server:
        server.wait_until_up()
        for name, wait in WAITS.items():
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            context.set_default_timeout(PAINT_TIMEOUT * 1e3)
            try:
                page = context.new_page()
                page.goto(server.address)
                page.locator(RANKING_ROWS).first.wait_for()
                _settle(page)
                if not found:
                    page.wait_for_timeout(WARM_UP * 1e3)
                found[name] = wait(page)
            except BrowserError as error:
                raise server.failure(f"{name}: {error.message}") from None
            finally:
                context.close()
    return found


def _timed(act: Callable[[], None], wait: Callable[[], None]) -> float:
    start = perf_counter()
    act()
    wait()
    return perf_counter() - start


def _settle(page: Page) -> None:
    page.wait_for_timeout(300)
    page.locator(_FINISHED).wait_for()


@app.command()
def main(
    repetitions: Annotated[int, typer.Option(min=1, help="Starts of the server.")] = 3,
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Time what a person waits for after a click."""
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name, chromium() as browser:
        found = [measure(browser, Path(name)) for _ in range(repetitions)]
    rows = [
        (wait, duration(median(times)), duration(min(times)), duration(max(times)))
        for wait in WAITS
        for times in [[each[wait] for each in found]]
    ]
    Report(
        title="What a click waits for",
        columns=("wait", "median", "shortest", "longest"),
        rows=tuple(rows),
        note=f"{repetitions} starts of the server, each wait its first of the kind. {describe_machine()}, "
        f"load at the end {getloadavg()[0]:.1f}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
