"""How much memory the server keeps of visitors who are gone: each changes criteria a few times and leaves.

Visitors come one after another and type what nobody has typed before, so that no ranking is there already.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from benchmarks._load import ProcessFigures, circumstances, warm_servers, wishes
from benchmarks._report import Report, size
from benchmarks._visitor import VisitError, Visitor, query_of
from benchmarks.first_paint import MeasurementError, Server
from crm.cli_runner import run_cli

app = typer.Typer(add_completion=False)


async def visitors_in_turn(
    server: Server, visitors: int, changes: int, every: int, benchmark: str
) -> list[tuple[int, ProcessFigures]]:
    """Return what the server holds after each so many visitors; raises a VisitError."""
    found = []
    for number in range(1, visitors + 1):
        typed = wishes(random.Random(number), popular=0.0)
        async with Visitor(server.address, query_of(benchmark)) as visitor:
            for run in [
                await visitor.open(),
                *[await visitor.type_criteria(next(typed)) for _ in range(changes)],
            ]:
                if run.errors:
                    raise VisitError(run.errors[0])
        if number % every == 0:
            found.append((number, ProcessFigures.of([server])))
    return found


@app.command()
def main(
    *,
    visitors: Annotated[int, typer.Option(min=2, help="One after another.")] = 30,
    changes: Annotated[int, typer.Option(min=1, help="Of each of them.")] = 10,
    every: Annotated[int, typer.Option(min=1, help="Visitors between two looks.")] = 5,
    benchmark: Annotated[str, typer.Option(help="What they look at.")] = "modern",
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Read the server's memory after so many visitors."""
    with (
        tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name,
        warm_servers(Path(name), 1) as [server],
    ):
        try:
            found = asyncio.run(visitors_in_turn(server, visitors, changes, every, benchmark))
        except VisitError as error:
            raise server.failure(str(error)) from None
    first = found[0][1].memory
    Report(
        title="Memory of visitors who are gone",
        columns=("visitors", "changes", "memory", "more than at first", "threads", "open files"),
        rows=tuple(
            (
                *(str(number), f"{number * changes:,}", size(figures.memory)),
                *(size(max(0, figures.memory - first)), str(figures.threads), str(figures.files)),
            )
            for number, figures in found
        ),
        note=f"On {benchmark}. Streamlit keeps a session for two minutes after its page was left, as it may "
        f"come back. {circumstances()}",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
