"""How far the leaderboard jumps while it is drawn: Chromium's cumulative layout shift, on desk and phone.

A value of 0.1 is good by the usual measure (web.dev/cls). The shift until the page's title is drawn is of the
grey bars that Streamlit shows before; what comes after it is the page's own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Annotated
from urllib.parse import urlencode

import typer
from playwright.sync_api import Browser

from benchmarks._report import Report
from benchmarks.first_paint import (
    PAINT_TIMEOUT,
    RANKING_ROWS,
    MeasurementError,
    chromium,
    running_server,
)
from crm.cli_runner import run_cli
from crm.report_table import describe_machine

app = typer.Typer(add_completion=False)

_WATCH = """
    window.shifts = [];
    new PerformanceObserver((list) => {
      const titled = document.querySelector("h1") !== null;
      for (const shift of list.getEntries())
        if (!shift.hadRecentInput) window.shifts.push([shift.value, titled]);
    }).observe({ type: "layout-shift", buffered: true });
"""
_SIZES = {"desk, 1280 × 900": (1280, 900), "phone, 390 × 844": (390, 844)}
_LINKS = {
    "without criteria": "",
    "with two criteria": "?" + urlencode({"criterion": ["Concise and direct", "Warm"]}, doseq=True),
}
_STILL_MS = 2_500
"""After the ranking's rows are there."""
_TIMES = 3


def shifts(browser: Browser, address: str, size: tuple[int, int]) -> tuple[float, float]:
    """Return the shift before the title and after it."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    try:
        page = context.new_page()
        page.add_init_script(_WATCH)
        page.goto(address)
        page.locator(RANKING_ROWS).first.wait_for(timeout=1000 * PAINT_TIMEOUT)
        page.wait_for_timeout(_STILL_MS)
        found: list[tuple[float, bool]] = page.evaluate("window.shifts")
    finally:
        context.close()
    before, after = (sum(value for value, late in found if late == titled) for titled in (False, True))
    return before, after


@app.command()
def main(
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Measure the shifts of the leaderboard, on a warm server, thrice each."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name, chromium() as browser:
        folder = Path(name)
        with running_server(folder / "usl.sqlite", folder / "log") as server:
            server.wait_until_up()
            shifts(browser, server.address, (1280, 900))
            for page, link in _LINKS.items():
                for screen, size in _SIZES.items():
                    found = [shifts(browser, f"{server.address}/{link}", size) for _ in range(_TIMES)]
                    parts = (f"{median(part):.3f}" for part in zip(*found, strict=True))
                    rows.append((page, screen, *parts))
    Report(
        title="How far the leaderboard jumps while it is drawn",
        columns=("page", "screen", "before the title", "after it"),
        rows=tuple(rows),
        note=f"Cumulative layout shift, medians of {_TIMES} with an empty cache. {describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
