"""The README's pictures, made from the running app: a leaderboard, and the journey to it as an animation.

Starts the app on a new database, types a wish in headless Chromium and follows the answer to the ranking and
into an LLM. Not a measurement, but it needs what they need.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from PIL import Image
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Locator, Page, ViewportSize

from benchmarks._report import size
from benchmarks.first_paint import (
    PAINT_TIMEOUT,
    PROJECT_ROOT,
    RANKING_ROWS,
    MeasurementError,
    chromium,
    running_server,
)
from crm.cli_runner import run_cli
from leaderboard.render.answer_card import WAITING

app = typer.Typer(add_completion=False)

WISH = "Playful humor\nVivid imagery"
MOST_BYTES = 2_000_000
"""Of the animation: it is loaded with the README."""
_VIEWPORT: ViewportSize = {"width": 1280, "height": 800}
_PICTURE: ViewportSize = {"width": 1400, "height": 1560}
_WIDE = 900
_QUALITIES = 80, 65, 50, 35
_LETTERS_A_FRAME = 3
_TYPING, _SCROLLING, _GLANCE, _READING = 110, 70, 1500, 3600
"""Milliseconds that a frame stands."""
_STEPS = 7
"""Frames of one way down the page."""
_ANSWER = ".usl-answer"
MAIN = "[data-testid=stMain]"
_SKELETON = "[data-testid=stSkeleton]"
_WAITING = re.compile(rf"^{WAITING}$")


@dataclass(frozen=True)
class Frame:
    """What is seen, and for how many milliseconds."""

    picture: Image.Image
    milliseconds: int


def animated(frames: Sequence[Frame], most_bytes: int = MOST_BYTES) -> bytes:
    """Return frames as an animated WebP that plays again and again, as good as its size allows.

    Raises:
        MeasurementError: Even the poorest is larger than ``most_bytes``.
    """
    first, *others = [frame.picture for frame in frames]
    times = [frame.milliseconds for frame in frames]
    for quality in _QUALITIES:
        file = io.BytesIO()
        first.save(
            *(file, "WEBP"),
            save_all=True,
            append_images=others,
            duration=times,
            loop=0,
            quality=quality,
            method=4,
        )
        if file.tell() <= most_bytes:
            return file.getvalue()
    raise MeasurementError(f"The animation has {size(file.tell())} at least: show fewer frames.")


def journey(page: Page) -> Iterator[Frame]:
    """Go from a typed wish to its answer, the ranking and one LLM, and yield what is seen on the way."""
    yield _seen(page, _GLANCE)
    box = page.locator(f"{MAIN} textarea").first
    box.click()
    for start in range(0, len(WISH), _LETTERS_A_FRAME):
        box.press_sequentially(WISH[start : start + _LETTERS_A_FRAME])
        yield _seen(page, _TYPING)
    rank(page)
    yield from _down_to(page, page.locator(_ANSWER), _READING)
    yield from _down_to(page, page.locator(RANKING_ROWS).first, _READING)
    page.locator(f"{RANKING_ROWS} .usl-name a").first.click()
    page.locator(RANKING_ROWS).first.wait_for(state="detached")
    settle(page)
    yield _seen(page, _READING)
    yield from _down_by(page, _VIEWPORT["height"] * 0.5, _READING)


def rank(page: Page) -> None:
    """Send what is in the box, and wait until its ranking and all of its answer are there."""
    before = page.locator("table[data-criteria]").first.get_attribute("data-criteria")
    page.keyboard.press("Control+Enter")
    page.locator(f'table[data-criteria]:not([data-criteria="{before}"])').first.wait_for()
    settle(page)


def settle(page: Page) -> None:
    """Wait until the page's script has run, nothing of the answer is still to come, and all is painted."""
    page.wait_for_timeout(500)
    page.locator("[data-test-script-state=notRunning]").wait_for()
    for unfinished in (page.locator(f"{_ANSWER} dd").filter(has_text=_WAITING), page.locator(_SKELETON)):
        unfinished.first.wait_for(state="detached")
    page.wait_for_timeout(800)


def _seen(page: Page, milliseconds: int) -> Frame:
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    height = round(picture.height * _WIDE / picture.width)
    return Frame(picture.resize((_WIDE, height), Image.Resampling.LANCZOS), milliseconds)


def _down_to(page: Page, place: Locator, milliseconds: int) -> Iterator[Frame]:
    """Scroll until a place is near the upper edge; the last frame stands longer."""
    box = place.bounding_box()
    top = 0.0 if box is None else box["y"] - _VIEWPORT["height"] / 6
    yield from _down_by(page, max(0.0, top), milliseconds)


def _down_by(page: Page, pixels: float, milliseconds: int) -> Iterator[Frame]:
    start = float(page.locator(MAIN).evaluate("main => main.scrollTop"))
    for step in range(1, _STEPS + 1):
        share = step / _STEPS
        eased = share * share * (3 - 2 * share)
        page.locator(MAIN).evaluate("(main, top) => main.scrollTo(0, top)", start + eased * pixels)
        page.wait_for_timeout(100)
        yield _seen(page, milliseconds if step == _STEPS else _SCROLLING)


@app.command()
def main(
    folder: Annotated[Path, typer.Option(help="Where the pictures are written.")] = PROJECT_ROOT / "docs",
) -> None:
    """Make leaderboard.png and journey.webp anew."""
    with (
        tempfile.TemporaryDirectory(prefix="usl-pictures-") as name,
        running_server(Path(name) / "usl.sqlite3", Path(name) / "server.log") as server,
        chromium() as browser,
    ):
        server.wait_until_up()
        page = browser.new_page(viewport=_VIEWPORT, color_scheme="light", reduced_motion="reduce")
        page.set_default_timeout(PAINT_TIMEOUT * 1e3)
        try:
            page.goto(server.address)
            page.locator(RANKING_ROWS).first.wait_for()
            settle(page)
            frames = list(journey(page))
            page.go_back()
            page.locator(RANKING_ROWS).first.wait_for()
            settle(page)
            page.set_viewport_size(_PICTURE)
            settle(page)
            page.locator(MAIN).evaluate("main => main.scrollTo(0, 0)")
            picture = page.screenshot()
        except BrowserError as error:
            raise server.failure(f"The journey could not be made ({error.message})") from None
    animation = animated(frames)
    for file, content in (("leaderboard.png", picture), ("journey.webp", animation)):
        (folder / file).write_bytes(content)
    seconds = sum(frame.milliseconds for frame in frames) / 1000
    typer.echo(f"{folder}: leaderboard.png, {size(len(picture))}")
    typer.echo(f"{folder}: journey.webp, {seconds:.1f} s in {len(frames)} frames, {size(len(animation))}")


if __name__ == "__main__":
    run_cli(app, MeasurementError)
