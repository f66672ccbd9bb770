"""Arguments, words and the database that several commands share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from db import Database
from precompute.embed import EmbedSummary
from precompute.engines import EngineKind

Folder = Annotated[Path, typer.Argument(metavar="DIR", show_default=False)]
Slug = Annotated[str, typer.Option("--benchmark", metavar="SLUG", help="The benchmark, new or stored.")]
Title = Annotated[str | None, typer.Option(help="A title for it.")]
Log = Annotated[
    Path | None,
    typer.Option("--log", metavar="FILE", help="Add progress, failures and how it ended to this file."),
]
EngineName = Annotated[EngineKind, typer.Option("--engine", help="Where the heavy part runs.")]
RayAddress = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="A running Ray cluster; default Ray on this computer.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "--actors",
        min=1,
        metavar="N",
        help="Processes, or actors of Ray; default as many as there is room for.",
    ),
]
ActorGPUs = Annotated[float, typer.Option(min=0, metavar="G", help="GPUs of each Ray actor.")]


def embedded_in_words(summary: EmbedSummary) -> str:
    """“representations: 3 computed, 5 already current”."""
    return f"representations: {summary.computed} computed, {summary.current} already current"


BUNDLED = Path(__file__).resolve().parents[2] / "bundled"


@contextmanager
def open_database() -> Iterator[Database]:
    """Yield the database that `USL_DATABASE_URL` names, filled from the bundled benchmarks.

    Raises DatabaseError: it cannot be opened, or a bundled benchmark is damaged.
    """
    database = Database.open(bundles=sorted(BUNDLED.glob("*.usl.zip")))
    try:
        yield database
    finally:
        database.close()
