"""How heavy the map of queries is: seconds to build it, bytes to send, seconds until Chromium has drawn it.

Pools of several sizes are made of the bundled queries of DailyBench, each told apart by a number, around the
places of their topics. The page is opened on each in headless Chromium, which draws WebGL without a GPU.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from playwright.sync_api import Browser
from playwright.sync_api import Error as BrowserError

from benchmarks._report import Report, duration, size
from benchmarks.first_paint import PAINT_TIMEOUT, MeasurementError, Server, chromium, running_server
from crm.cli_runner import run_cli
from crm.report_table import describe_machine
from db import Database
from db.repositories import pools
from db.source_records import FoundTopic, TopicMapRecord
from leaderboard.render.chart_style import LIGHT
from leaderboard.render.topic_charts import map_groups, query_map
from leaderboard.service import Service
from leaderboard.topics.atlas import Atlas, atlas_of_benchmark, atlas_of_pool
from leaderboard.topics.curation import Curation

app = typer.Typer(add_completion=False)

SIZES = (3_000, 10_000)
_SOFTWARE_WEBGL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
_MAP = ".js-plotly-plot .main-svg"
_FINISHED = "[data-test-script-state=notRunning]"
_MOVES = 20
_BENCHMARK = "dailybench"


def fill(database: Database, source: Atlas, n_queries: int) -> str:
    """Store a pool of so many queries with the topics of DailyBench; returns its slug."""
    slug = f"map-{n_queries}"
    generator = np.random.default_rng(0)
    place = np.arange(n_queries) % len(source.tree.query_ids)
    texts = [
        f"{source.texts[source.tree.query_ids[row]]} ({number})" for number, row in enumerate(place.tolist())
    ]
    centres = generator.normal(0, 10, (len(source.tree.topics), 2))
    topic_of = source.tree.indices[place]
    found = TopicMapRecord(
        topics=tuple(FoundTopic(topic.key, topic.name, topic.category) for topic in source.tree.topics),
        steps=("clustered",),
        topic_of=topic_of,
        step_of=np.zeros(n_queries, dtype=np.int8),
        xy=(centres[topic_of] + generator.normal(0, 1, (n_queries, 2))).astype(np.float32),
        pool_digest="0" * 64,
        digest=f"{n_queries:064d}",
        settings={},
        quality={},
    )
    with database.session() as session:
        pool = pools.put_pool(session, slug)
        pools.add_to_pool(session, pool, [(text, "benchmark") for text in texts])
        pools.put_topic_map(session, pool, found)
    return slug


def measure(browser: Browser, server: Server, database: Database, slug: str) -> tuple[str, ...]:
    """Build the map, then open the page on it and move it about; return the row of the table."""
    atlas = atlas_of_pool(Curation(database).read(slug))
    start = perf_counter()
    figure = query_map(atlas, map_groups(atlas.tree), LIGHT)
    build = perf_counter() - start
    sent, drawn, move = _open(browser, server, slug)
    weights = (size(len(figure.to_json().encode())), size(sent), duration(drawn), duration(move))
    return f"{len(atlas.tree.query_ids):,}", duration(build), *weights


def _open(browser: Browser, server: Server, slug: str) -> tuple[int, float, float]:
    """Return bytes received, seconds until the map is drawn, seconds of a move."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    received: list[int] = []
    try:
        page = context.new_page()
        page.on(
            "websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame)))
        )
        start = perf_counter()
        page.goto(f"{server.address}/topics?of=pool:{slug}", timeout=PAINT_TIMEOUT * 1e3)
        canvas = page.locator(_MAP).first
        canvas.wait_for(state="visible", timeout=PAINT_TIMEOUT * 1e3)
        page.locator(_FINISHED).wait_for(timeout=PAINT_TIMEOUT * 1e3)
        drawn = perf_counter() - start
        box = canvas.bounding_box()
        if box is None:
            raise server.failure("The map has no place on the page")
        page.mouse.move(box["x"] + 300, box["y"] + 250)
        page.mouse.down()
        start = perf_counter()
        for step in range(_MOVES):
            page.mouse.move(box["x"] + 300 + 4 * step, box["y"] + 250 + 3 * step)
            # The next frame comes when this one has been drawn.
            page.evaluate("() => new Promise(requestAnimationFrame)")
        move = (perf_counter() - start) / _MOVES
        page.mouse.up()
        return sum(received), drawn, move
    except BrowserError:
        raise server.failure(f"No map of {slug} was drawn within {PAINT_TIMEOUT:.0f} s") from None
    finally:
        context.close()


@contextmanager
def _filled(file: Path) -> Iterator[tuple[Database, list[str]]]:
    service = Service.open(f"sqlite:///{file}")
    try:
        source = atlas_of_benchmark(service.database, _BENCHMARK)
        yield service.database, [fill(service.database, source, n_queries) for n_queries in SIZES]
    finally:
        service.close()


@app.command()
def main(
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Weigh the map of queries of the page “Topics” at 3,000 and 10,000 queries."""
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name, chromium(*_SOFTWARE_WEBGL) as browser:
        file = Path(name) / "usl.sqlite3"
        with _filled(file) as (database, slugs), running_server(file, Path(name) / "server.log") as server:
            server.wait_until_up()
            # The first page of a new server also waits for its imports.
            _open(browser, server, slugs[0])
            rows = tuple(measure(browser, server, database, slug) for slug in slugs)
    Report(
        title="The map of queries",
        columns=("queries", "figure built", "figure as JSON", "sent in all", "page drawn", "one move"),
        rows=rows,
        note=f"Headless Chromium with an empty cache, WebGL in software. {describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
