"""How long until the ranking is on the screen: after starting the server, and after opening a link.

Starts the app twice, on a database that does not exist yet and on the one the first start has filled, and
opens it in headless Chromium. The server's memory is read after each step.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Annotated
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import typer
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Error as BrowserError

from benchmarks._report import Report, duration, size
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.report_table import describe_machine
from db.database import URL_VARIABLE

app = typer.Typer(add_completion=False)

PROJECT_ROOT = Path(__file__).resolve().parent.parent
RANKING_ROWS = 'table[data-testid="ranking"] tbody tr'
START_TIMEOUT = 120.0
PAINT_TIMEOUT = 120.0
_POLL = 0.02
_LOG_LINES_QUOTED = 5
_CHROMIUM_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
_STREAMLIT = ("-m", "streamlit", "run", "serve.py", "--server.headless", "true")
_CRITERIA = ("Concise and direct", "Warm and encouraging")
_TYPED = ("Plain words", "Vivid imagery", "Weighs both sides", "Numbered steps", "Playful humor")


class MeasurementError(Exception):
    """The app could not be measured; the message says why."""


@dataclass(frozen=True)
class Server:
    """A running app."""

    process: subprocess.Popen[bytes]
    address: str
    log: Path

    def wait_until_up(self) -> None:
        """Wait until the server answers; a MeasurementError if it has ended or does not answer in time."""
        deadline = perf_counter() + START_TIMEOUT
        while perf_counter() < deadline and self.process.poll() is None:
            try:
                with urlopen(f"{self.address}/_stcore/health", timeout=5):
                    return
            except (URLError, OSError):
                sleep(_POLL)
        raise self.failure(f"The app did not answer within {START_TIMEOUT:.0f} s")

    def failure(self, message: str) -> MeasurementError:
        """Return what went wrong, or that the server has ended, and what it last said."""
        code = self.process.poll()
        what = message if code is None else f"The app ended with exit code {code}"
        lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
        quoted = [line.strip() for line in lines if line.strip()][-_LOG_LINES_QUOTED:]
        return MeasurementError(f"{what}; it last said: {' / '.join(quoted) or 'nothing'}")

    def memory(self) -> int:
        """Resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(resident.split()[1]) * 1024


@contextmanager
def running_server(
    database: Path | str, log: Path, *, port: int | None = None, through: Sequence[str] = (), **settings: str
) -> Iterator[Server]:
    """Start the app on a SQLite file, or a database's URL; stop it afterwards.

    Args:
        log: The file that it writes its log to.
        port: Where it listens; a free one by default.
        through: A command that runs the one after it in its own place, e.g. with fewer rights.
        settings: More variables of its environment.
    """
    port = port or free_port()
    url = database if isinstance(database, str) else f"sqlite:///{database}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*through, sys.executable, *_STREAMLIT, "--server.port", str(port)],
            cwd=PROJECT_ROOT,
            env={**os.environ, URL_VARIABLE: url, **settings},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Server(process, f"http://localhost:{port}", log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """Headless Chromium as it is installed here; a MeasurementError if it is not or does not start."""
    names = "chromium", "chromium-headless-shell", "google-chrome"
    executable = next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        raise MeasurementError("Chromium is missing: install it (Debian: apt-get install chromium).")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=executable, args=[*_CHROMIUM_OPTIONS, *options]
            )
        except BrowserError as error:
            raise MeasurementError(f"{executable} does not start: {error.message}") from None
        try:
            yield browser
        finally:
            browser.close()


def measure(browser: Browser, folder: Path, database: str) -> list[tuple[str, ...]]:
    """Return a row for each wait of a person; ``database`` says which start of the server it is."""
    links = {"Open the page": ""}
    links |= {
        f"Open a link with {count} criterion": _link(criterion)
        for count, criterion in zip(("a", "another"), _CRITERIA, strict=True)
    }
    # The start is timed with the browser already open, so that its own start does not count.
    start = perf_counter()
    with running_server(folder / "usl.sqlite3", folder / "server.log") as server:
        server.wait_until_up()
        _open(browser, server, "")
        waits = [("Start the server, open the page", perf_counter() - start, server.memory())]
        waits += [(name, _open(browser, server, link), server.memory()) for name, link in links.items()]
        what = f"Type a criterion (median of {len(_TYPED)})"
        waits.append((what, _type(browser, server), server.memory()))
    return [(name, database, duration(seconds), size(memory)) for name, seconds, memory in waits]


def _type(browser: Browser, server: Server) -> float:
    """Median seconds from the end of typing to the new ranking, on the larger bundled benchmark."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    try:
        page.goto(server.address, timeout=PAINT_TIMEOUT * 1e3)
        page.locator(RANKING_ROWS).first.wait_for(timeout=PAINT_TIMEOUT * 1e3)
        box = page.get_by_label("What do you like in an answer?")
        waits = []
        for criterion in _TYPED:
            box.fill(criterion)
            start = perf_counter()
            box.press("Control+Enter")
            page.locator(f'table[data-criteria="{CriteriaSet.of([criterion]).key}"]').wait_for()
            waits.append(perf_counter() - start)
        return median(waits)
    except BrowserError:
        raise server.failure("No new ranking came after typing a criterion") from None
    finally:
        page.close()


def _open(browser: Browser, server: Server, link: str) -> float:
    """Seconds from opening the link, with an empty browser cache, to the first visible row of the ranking."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        start = perf_counter()
        page.goto(f"{server.address}/{link}", timeout=PAINT_TIMEOUT * 1e3)
        page.locator(RANKING_ROWS).first.wait_for(state="visible", timeout=PAINT_TIMEOUT * 1e3)
        return perf_counter() - start
    except BrowserError:
        raise server.failure(
            f"No ranking was visible within {PAINT_TIMEOUT:.0f} s of opening “/{link}”"
        ) from None
    finally:
        context.close()


def _link(criterion: str) -> str:
    return f"?{urlencode({'benchmark': 'dailybench', 'criterion': criterion})}"


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@app.command()
def main(
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Time the way to the first ranking on the screen, after a first and a second start."""
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name, chromium() as browser:
        folder = Path(name)
        rows = [row for database in ("new", "existing") for row in measure(browser, folder, database)]
    Report(
        title="Until the ranking is on the screen",
        columns=("step", "database", "time", "server memory after"),
        rows=tuple(rows),
        note=f"Headless Chromium with an empty cache at every step. {describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
