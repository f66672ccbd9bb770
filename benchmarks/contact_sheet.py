"""Every page and tab at four widths, light and dark, on contact sheets that can be looked at one by one.

    python -m benchmarks.contact_sheet FOLDER [--only NAME]

Starts the app on a new database, opens each view anew in headless Chromium and writes one sheet a view, with
the widths side by side, light above dark. The table says what stands out of the window sideways. Not a
measurement, but it needs what they need.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from PIL import Image
from playwright.sync_api import Browser, Page
from playwright.sync_api import Error as BrowserError

from benchmarks._report import Report
from benchmarks.first_paint import PAINT_TIMEOUT, MeasurementError, chromium, running_server
from benchmarks.pictures import MAIN, settle
from crm.cli_runner import run_cli

app = typer.Typer(add_completion=False)

WIDTHS = {1400: 900, 1024: 768, 768: 1024, 390: 844}
"""Of the window in pixels, and its height."""
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_WISHES = "criterion=Concise+and+direct&criterion=Warm+and+encouraging"
_MOST_HEIGHT = 3400
"""Of a page, in pixels: what is further down is cut off."""
_GAP = 24
_SCALE = 0.5
_MOST_NAMED = 3
_OUTSIDE = """() => [...document.querySelectorAll('[data-testid=stMain] *')].filter(each => {
  const box = each.getBoundingClientRect(), style = getComputedStyle(each);
  if (!box.width || !box.height || style.visibility === 'hidden' || style.position === 'fixed') return false;
  if (box.right <= innerWidth + 1 && box.left >= -1) return false;
  for (let over = each.parentElement; over; over = over.parentElement)
    if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(over).overflowX)
        && over.getBoundingClientRect().right <= innerWidth + 1) return false;
  return true;
}).map(each => `${each.tagName.toLowerCase()} “${(each.innerText || '').slice(0, 30)}”`)"""


@dataclass(frozen=True)
class View:
    """A page by its address, and which of its tabs is opened."""

    path: str
    tab: str | None = None


VIEWS: Mapping[str, View] = {
    "leaderboard": View(f"?{_WISHES}"),
    "leaderboard_without_criteria": View(""),
    "leaderboard_modern": View("?benchmark=modern&criterion=No+longer+than+a+tweet"),
    **{
        f"leaderboard_{tab.replace(' ', '_').lower()}": View(f"?benchmark=dailybench&{_WISHES}", tab)
        for tab in ("Chart", "You and the average", "By criterion", "How sure")
    },
    "leaderboard_human_votes": View("", "Human votes"),
    "leaderboard_price": View(f"?{_WISHES}", "Price"),
    "find_choices": View("find?benchmark=dailybench"),
    "find_interview": View("find?benchmark=dailybench&way=questions"),
    "find_history": View("find?way=history"),
    "compare": View("compare"),
    "llm": View("llm?benchmark=dailybench&llm=brevia&criterion=Concise+and+direct"),
    "judges": View("judges"),
    "topics": View("topics"),
    "yours": View("yours"),
    "about": View("about"),
}


def seen(page: Page, address: str, view: View) -> tuple[Image.Image, list[str]]:
    """Open a view and return a picture of all of it, and what of it stands out of the window sideways.

    The window is as high as the page afterwards.
    """
    page.goto(f"{address}/{view.path}")
    page.get_by_role("heading", level=1).first.wait_for()
    settle(page)
    if view.tab is not None:
        page.get_by_role("tab", name=view.tab, exact=True).press("Enter")
        settle(page)
    outside: list[str] = page.evaluate(_OUTSIDE)
    width, height = page.evaluate("[innerWidth, innerHeight]")
    needed = int(page.locator(MAIN).evaluate("main => main.scrollHeight")) + 80
    page.set_viewport_size({"width": width, "height": min(_MOST_HEIGHT, max(height, needed))})
    page.wait_for_timeout(700)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB"), outside


def sheet(rows: Sequence[Sequence[Image.Image]]) -> Image.Image:
    """Return pictures in rows, at half their size."""
    small = [
        [
            each.resize((round(each.width * _SCALE), round(each.height * _SCALE)), Image.Resampling.LANCZOS)
            for each in row
        ]
        for row in rows
    ]
    width = max(sum(each.width + _GAP for each in row) for row in small) + _GAP
    height = sum(max(each.height for each in row) + _GAP for row in small) + _GAP
    whole, top = Image.new("RGB", (width, height), "#888888"), _GAP
    for row in small:
        left = _GAP
        for each in row:
            whole.paste(each, (left, top))
            left += each.width + _GAP
        top += max(each.height for each in row) + _GAP
    return whole


def _rows(browser: Browser, address: str, view: View) -> tuple[list[list[Image.Image]], list[str]]:
    """Return a row of pictures for each theme, and the widths at which something stands outside."""
    rows, outside = [], []
    for theme in THEMES:
        row = []
        for width, height in WIDTHS.items():
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
            )
            page.set_default_timeout(PAINT_TIMEOUT * 1e3)
            try:
                picture, out = seen(page, address, view)
            finally:
                page.close()
            row.append(picture)
            if out:
                outside.append(f"{width} px, {theme}: {', '.join(out[:_MOST_NAMED])}")
        rows.append(row)
    return rows, outside


@app.command()
def main(
    folder: Annotated[Path, typer.Argument(help="Where the sheets are written.")],
    only: Annotated[list[str] | None, typer.Option(help="Views to draw; all by default.")] = None,
) -> None:
    """Draw the sheets."""
    if unknown := set(only or ()) - VIEWS.keys():
        raise MeasurementError(f"There is no view {min(unknown)!r}: choose from {', '.join(VIEWS)}.")
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="usl-sheets-") as name,
        running_server(Path(name) / "usl.sqlite3", Path(name) / "server.log") as server,
        chromium() as browser,
    ):
        server.wait_until_up()
        for view in only or VIEWS:
            try:
                rows, outside = _rows(browser, server.address, VIEWS[view])
            except BrowserError as error:
                raise server.failure(f"{view} could not be drawn ({error.message})") from None
            sheet(rows).save(folder / f"{view}.png")
            found.append((view, f"{rows[0][0].height} px", "; ".join(outside) or "nothing"))
    Report(
        title="Pages and tabs at four widths, light and dark",
        columns=("view", "height at the widest", "outside of the window"),
        rows=tuple(found),
        note=f"Widths {', '.join(f'{width}' for width in WIDTHS)} px; sheets in {folder}.",
    ).finish(None)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
