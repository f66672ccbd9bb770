"""How much memory the server keeps of sessions that have ended: each changes criteria many times and leaves.

Several visitors are there at once. After so many have left nobody is there for a few seconds, and the memory
of the server is read: what a session leaves behind shows as memory that grows from row to row.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from benchmarks._load import ProcessFigures, circumstances, warm_servers, wishes
from benchmarks._report import Report, size
from benchmarks._visitor import VisitError, Visitor, query_of
from benchmarks.first_paint import MeasurementError, Server
from crm.cli_runner import run_cli

app = typer.Typer(add_completion=False)

_KEPT_SECONDS = 120.0
"""For which Streamlit keeps a session that was left, as it may come back."""


@dataclass(frozen=True)
class Look:
    """What the server held when nobody was there.

    Attributes:
        ended: Sessions that had ended.
        kept: Those of them that Streamlit still kept.
        changes: Of all of them.
        minutes: Since the first one began.
        proportional: Bytes of memory with pages that are shared counted in parts (PSS).
        figures: The rest, with resident memory (RSS).
    """

    ended: int
    kept: int
    changes: int
    minutes: float
    proportional: int
    figures: ProcessFigures

    def cells(self, first: Look) -> tuple[str, ...]:
        """Return it as a row, beside the first one."""
        more = self.figures.memory - first.figures.memory
        return (
            *(str(self.ended), str(self.kept), f"{self.changes:,}", f"{self.minutes:.1f}"),
            *(size(self.figures.memory), size(self.proportional)),
            f"{'−' if more < 0 else ''}{size(abs(more))}",
            *self.figures.cells()[1:],
        )


async def sessions_in_turn(
    server: Server,
    looks: Sequence[int],
    *,
    changes: int,
    at_once: int,
    rest: float,
    popular: float,
    slug: str,
) -> list[Look]:
    """Have visitors come and go, and return what the server held after so many; raises a VisitError.

    Args:
        looks: After how many ended sessions to look, ascending.
        changes: Of each visitor, one as soon as the one before is drawn.
        at_once: Visitors at the same time.
        rest: Seconds without a visitor before a look.
        popular: Share of changes to criteria that others choose too.
        slug: The benchmark that they look at.
    """
    began, came, left, found = perf_counter(), 0, list[float](), []

    async def take_place(last: int) -> None:
        nonlocal came
        while came < last:
            came += 1
            await _be_visitor(server, came, changes, popular, slug)
            left.append(perf_counter())

    for ended in looks:
        async with asyncio.TaskGroup() as places:
            for _ in range(at_once):
                places.create_task(take_place(ended))
        await asyncio.sleep(rest)
        now = perf_counter()
        kept = sum(now - moment < _KEPT_SECONDS for moment in left)
        figures = ProcessFigures.of([server])
        minutes = (now - began) / 60
        found.append(Look(ended, kept, ended * changes, minutes, proportional_memory(server), figures))
    return found


async def _be_visitor(server: Server, number: int, changes: int, popular: float, slug: str) -> None:
    typed = wishes(random.Random(number), popular)
    async with Visitor(server.address, query_of(slug)) as visitor:
        run = await visitor.open()
        for _ in range(changes):
            if run.errors:
                break
            run = await visitor.type_criteria(next(typed))
        if run.errors:
            raise VisitError(run.errors[0])


def proportional_memory(server: Server) -> int:
    """Return bytes of a server's memory with pages that several processes share counted in parts (PSS)."""
    lines = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024


@app.command()
def main(
    *,
    after: Annotated[
        list[int] | None, typer.Option(min=1, help="Ended sessions after which to look; repeatable.")
    ] = None,
    changes: Annotated[int, typer.Option(min=1, help="Of each visitor.")] = 30,
    at_once: Annotated[int, typer.Option(min=1, help="Visitors at the same time.")] = 4,
    rest: Annotated[float, typer.Option(min=0, help="Seconds without a visitor before a look.")] = 5.0,
    popular: Annotated[
        float, typer.Option(min=0, max=1, help="Share of changes to criteria that others choose too.")
    ] = 0.5,
    benchmark: Annotated[str, typer.Option(help="What they look at.")] = "modern",
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Read the server's memory after so many sessions."""
    looks = sorted(set(after or (10, 25, 50, 100)))
    with (
        tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name,
        warm_servers(Path(name), 1) as [server],
    ):
        try:
            found = asyncio.run(
                sessions_in_turn(
                    server,
                    looks,
                    changes=changes,
                    at_once=at_once,
                    rest=rest,
                    popular=popular,
                    slug=benchmark,
                )
            )
        except* VisitError as errors:
            raise server.failure(str(errors.exceptions[0])) from None
    Report(
        title="Memory of sessions that have ended",
        columns=(
            *("ended sessions", "of them kept", "changes", "minutes", "RSS", "PSS"),
            *(f"RSS more than after {looks[0]}", "threads", "open files"),
        ),
        rows=tuple(look.cells(found[0]) for look in found),
        note=f"On {benchmark}, {changes} changes a session, one after the other, {100 * popular:.0f} % of "
        f"them to popular criteria; {at_once} visitors at once, none for {rest:g} s before a look. RSS is "
        "resident memory; PSS counts pages that several processes share in parts. Kept: Streamlit "
        f"keeps a session for two minutes after its page was left. {circumstances()}",
    ).finish(output)


if __name__ == "__main__":
    run_cli(app, MeasurementError)
