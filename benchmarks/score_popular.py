"""How long it takes to score the popular criteria ahead of time with the embedded judge.

Each benchmark is scored as “python -m precompute score --criteria popular” does it: the default ranking and
40 criteria sets, from the stored representations to stored score matrices and win rates. The second run
finds everything done. The sentence encoder is loaded before, as it is by any use of the page.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from benchmarks._report import Report, duration, size
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet, popular_criteria
from crm.embedded.encoder import sentence_encoder
from crm.embedded.model import embedded_crm
from crm.errors import CRMError
from crm.report_table import describe_machine
from db import Database, DatabaseError
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service
from precompute.bundles import save_bundle
from precompute.score import score_benchmark

app = typer.Typer(add_completion=False)

SLUGS = ("dailybench", "alpaca-eval")


def measure(database: Database, slug: str, folder: Path) -> tuple[str, ...]:
    """Score one benchmark under the popular criteria, twice, and bundle it; return the row of the table."""
    sets = [CriteriaSet(), *(item.criteria for item in popular_criteria())]
    before = _stored_bytes(database)
    [first] = score_benchmark(database, slug, [embedded_crm()], sets)
    grown = _stored_bytes(database) - before
    start = perf_counter()
    score_benchmark(database, slug, [embedded_crm()], sets)
    again = perf_counter() - start
    path = folder / "out.usl.zip"
    with_scores = save_bundle(database, slug, path).size
    without = save_bundle(database, slug, path, crms=()).size
    speed = duration(first.seconds), f"{first.judged / first.seconds:,.0f}", duration(again)
    return slug, f"{first.judged:,}", *speed, *map(size, (grown, with_scores, without))


def _stored_bytes(database: Database) -> int:
    path = Path(str(database.engine.url.database))
    return sum(file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.exists())


@app.command()
def main(
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Time “score --criteria popular” on the bundled benchmarks."""
    sentence_encoder()
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as folder:
        service = Service.open(f"sqlite:///{Path(folder) / 'usl.sqlite3'}")
        rows = tuple(measure(service.database, slug, Path(folder)) for slug in SLUGS)
        service.close()
    Report(
        title="Scoring 40 popular criteria sets and the default ranking ahead of time",
        columns=(
            *("benchmark", "pairs", "seconds", "pairs per second", "second run"),
            *("database grows by", "bundle with scores", "bundle without"),
        ),
        rows=rows,
        note="The embedded judge on SQLite; a pair is one response to one query under one criteria set. "
        f"Seconds hold judging, intervals and storing, not loading the sentence encoder. "
        f"{describe_machine()}.",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, LeaderboardError)
