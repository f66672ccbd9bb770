"""Whether visitors are served through faults: no traceback, the last good ranking stays, nothing is lost.

Each fault is brought about on a running server while a visitor is there (``benchmarks/_visitor.py``), and
mended again. A row says what was done, how often it was borne, and what the page said meanwhile. A run may be
made in pieces, ``--only "first start" --seed 1 --moments 5 --pieces FOLDER`` and so on, with a table of all.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import sleep
from typing import Annotated

import typer

from benchmarks._clock import MovedClock
from benchmarks._faults import (
    NotBorneError,
    Seen,
    bound_by_permissions,
    came_back,
    command,
    endpoint,
    full_disk,
    in_time,
    kill,
    read_only,
    until,
)
from benchmarks._load import circumstances
from benchmarks._postgres import PostgreSQL
from benchmarks._report import Report
from benchmarks._visitor import Run, Visitor, query_of
from benchmarks.first_paint import MeasurementError, Server, free_port, running_server
from crm.cli_runner import run_cli
from db import Database
from db.errors import NotFoundError
from db.repositories.benchmarks import find_benchmark
from db.repositories.contents import response_texts
from leaderboard.service import Service
from leaderboard.user_data.admin import TOKEN_VARIABLE

app = typer.Typer(add_completion=False)

Fault = Callable[[Path, Seen, random.Random], None]
SLUG = "dailybench"
_LINK = query_of(SLUG)
_MINE, _QUERIES = "mine", 150
"""A benchmark that is imported, and its number of queries."""
_IMPORT_PAGE, _TOKEN, _IMPORT_SECONDS = "about", "only-for-these-faults", 15.0
"""Where a person imports, as whom, and how long that takes at least."""
_ADMITTING = {TOKEN_VARIABLE: _TOKEN}
_HOUR = 3600
_NO_WORD = re.compile(r"\W+")


@contextmanager
def served(folder: Path, **options: object) -> Iterator[Server]:
    """Start the app on the folder's database, or on another URL, and wait until it answers."""
    url = options.pop("url", folder / "usl.sqlite3")
    with running_server(url, folder / "log", **options) as server:  # type: ignore[arg-type]
        server.wait_until_up()
        yield server


async def looked_at(server: Server, seen: Seen) -> None:
    """Open the page and rank by a criterion; a NotBorneError unless both show what was asked for."""
    async with Visitor(server.address, _LINK) as visitor:
        seen.check(await in_time(visitor.open()))
        seen.check(await in_time(visitor.type_criteria("Warm")), wanted=True)


def is_whole(database: Path) -> None:
    """Raise a NotBorneError unless SQLite finds nothing wrong with a file."""
    with closing(sqlite3.connect(database)) as connection:
        [found] = connection.execute("PRAGMA integrity_check").fetchone()
    if found != "ok":
        raise NotBorneError(f"the database is damaged: {found}")


def killed_at_first_start(folder: Path, seen: Seen, draw: random.Random) -> None:
    """Kill the server at a random moment while it fills an empty database, and start it again."""
    with running_server(folder / "usl.sqlite3", folder / "log") as server:
        server.wait_until_up()  # the database is opened when the first page asks for it

        async def open_and_kill() -> None:
            async with Visitor(server.address, _LINK) as visitor:
                opened = asyncio.ensure_future(visitor.open())
                await asyncio.wait([opened], timeout=draw.uniform(0.0, 4.0))
                kill(server)
                await asyncio.gather(opened, return_exceptions=True)

        asyncio.run(open_and_kill())
    with served(folder) as server:
        asyncio.run(looked_at(server, seen))
    is_whole(folder / "usl.sqlite3")


def killed_while_importing(folder: Path, seen: Seen, draw: random.Random) -> None:
    """Kill an import at a random moment beside a running server, rank, and import again."""
    table = folder / "mine.csv"
    table.write_bytes(_table("one", "two"))
    importing = ("import", "table", str(table), "--benchmark", _MINE, "--baseline", "one")
    url = f"sqlite:///{folder / 'usl.sqlite3'}"
    with served(folder) as server:
        asyncio.run(looked_at(server, seen))
        with command(url, *importing) as first:
            sleep(draw.uniform(1.0, 9.0))
            first.kill()
        asyncio.run(looked_at(server, seen))
        with command(url, *importing) as again:
            said, _ = again.communicate()
        if again.returncode:
            raise NotBorneError(f"importing again failed: {said.decode().strip()[-300:]}")
        asyncio.run(_opened(server, _MINE, seen))
    is_whole(folder / "usl.sqlite3")


def _table(*llms: str) -> bytes:
    """Return a table of responses as a person uploads it."""
    rows = [
        f"Question {number}?,Mine,Mine,{llm},Answer {number} of {llm}"
        for llm in llms
        for number in range(_QUERIES)
    ]
    return ("\n".join(["query,category,topic,llm,response", *rows]) + "\n").encode()


def killed_importing_in_browser(folder: Path, seen: Seen, draw: random.Random) -> None:
    """Kill the server at a random moment while a person imports through the page; start it, import again."""
    database = folder / "usl.sqlite3"

    async def begin_and_kill(server: Server) -> None:
        async with Visitor(server.address, page=_IMPORT_PAGE) as visitor:
            await _signed_in(visitor, seen)
            importing = asyncio.ensure_future(_import(visitor, _table("one", "two")))
            await asyncio.wait([importing], timeout=draw.uniform(0.0, _IMPORT_SECONDS))
            kill(server)
            await asyncio.gather(importing, return_exceptions=True)

    async def import_again(server: Server) -> None:
        await looked_at(server, seen)
        if _n_responses(database):  # what is stored is stored as a whole
            await _opened(server, _MINE, seen)
        async with Visitor(server.address, page=_IMPORT_PAGE) as visitor:
            await _signed_in(visitor, seen)
            await _imported(visitor, _table("one", "two"), seen)
        await _opened(server, _MINE, seen)

    with served(folder, TMPDIR=str(folder), **_ADMITTING) as server:
        asyncio.run(looked_at(server, seen))
        asyncio.run(begin_and_kill(server))
    is_whole(database)
    if (n_stored := _n_responses(database)) not in (0, 2 * _QUERIES):
        raise NotBorneError(f"{n_stored} of {2 * _QUERIES} responses are stored")
    with served(folder, TMPDIR=str(folder), **_ADMITTING) as server:
        asyncio.run(import_again(server))
    is_whole(database)
    if (n_stored := _n_responses(database)) != 2 * _QUERIES:
        raise NotBorneError(f"{n_stored} of {2 * _QUERIES} responses are stored after importing again")


async def _signed_in(visitor: Visitor, seen: Seen) -> None:
    seen.check(await in_time(visitor.open()), ranked=False)
    [token] = [label for label in visitor.widgets if label.startswith("Admin token")]
    seen.check(await in_time(visitor.submit("Sign in", {token: _TOKEN})), ranked=False)


async def _import(visitor: Visitor, table: bytes) -> Run:
    fields = {"Name in links": _MINE, "Title": "", "Baseline": "one"}
    return await in_time(visitor.submit("Import", fields, {"Table": ("mine.csv", table)}))


async def _imported(visitor: Visitor, table: bytes, seen: Seen) -> None:
    """Import a table through the page; a NotBorneError unless the page says that it is done."""
    run = seen.check(await _import(visitor, table), ranked=False)
    if not any(text.startswith(f"{_MINE}\\:") for text in run.texts):
        raise NotBorneError(f"importing failed: {'; '.join(run.errors) or 'nothing was said'}")


def _n_responses(file: Path) -> int:
    """Return how many responses of the imported benchmark are stored."""
    database = Database.open(f"sqlite:///{file}")
    try:
        with database.session() as session:
            benchmark = find_benchmark(session, _MINE)
            stored = (response_texts(session, benchmark, llm) for llm in ("one", "two"))
            return sum(text is not None for texts in stored for text in texts)
    except NotFoundError:
        return 0
    finally:
        database.close()


async def _opened(server: Server, slug: str, seen: Seen) -> None:
    async with Visitor(server.address, query_of(slug)) as visitor:
        seen.check(await in_time(visitor.open()))


def without_database(folder: Path, seen: Seen, _: random.Random) -> None:
    """Remove the database's file while a visitor is there, and put it back."""
    _broken(folder, seen, lambda file: file.unlink())


def truncated_database(folder: Path, seen: Seen, draw: random.Random) -> None:
    """Cut the database's file off at a random place while a visitor is there, and put it back."""

    def cut(file: Path) -> None:
        os.truncate(file, int(file.stat().st_size * draw.uniform(0.0, 0.9)))

    _broken(folder, seen, cut)


def _broken(folder: Path, seen: Seen, damage: Callable[[Path], None]) -> None:
    database, copy = folder / "usl.sqlite3", folder / "copy"

    async def visit(server: Server) -> None:
        async with Visitor(server.address, _LINK) as visitor:
            seen.check(await in_time(visitor.open()))
            seen.check(await in_time(visitor.type_criteria("Warm")), wanted=True)
            shutil.copy(database, copy)
            for beside in (f"{database}-wal", f"{database}-shm"):
                Path(beside).unlink(missing_ok=True)
            damage(database)
            seen.check(await in_time(visitor.type_criteria("Concise")))
            seen.check(await in_time(visitor.type_criteria("Vivid imagery")))
            _put_back(database, copy)
            seen.check(await in_time(visitor.type_criteria("Plain words")), wanted=True)
        await looked_at(server, seen)

    with served(folder) as server:
        asyncio.run(looked_at(server, seen))
        asyncio.run(visit(server))
    with served(folder) as server:
        asyncio.run(looked_at(server, seen))
    is_whole(database)


def _put_back(database: Path, copy: Path) -> None:
    for beside in (f"{database}-wal", f"{database}-shm"):
        Path(beside).unlink(missing_ok=True)
    shutil.copy(copy, copy.with_suffix(".new"))
    copy.with_suffix(".new").replace(database)


def postgres_away(folder: Path, seen: Seen, _: random.Random) -> None:
    """Stop PostgreSQL while a visitor is there, and start it again."""
    database = PostgreSQL(folder / "postgres")
    database.start()
    try:

        async def visit(server: Server) -> None:
            async with Visitor(server.address, _LINK) as visitor:
                seen.check(await in_time(visitor.open()))
                seen.check(await in_time(visitor.type_criteria("Warm")), wanted=True)
                database.stop()
                seen.check(await in_time(visitor.type_criteria("Concise")))
                database.start()
                seen.check(await in_time(visitor.type_criteria("Plain words")), wanted=True)
            await looked_at(server, seen)

        with served(folder, url=database.url) as server:
            asyncio.run(visit(server))
    finally:
        database.stop()


def disk_full(folder: Path, seen: Seen, _: random.Random) -> None:
    """Let nothing be written any more while visitors rank and a slow judge judges, and then again."""
    port, judges = free_port(), folder / "crms.toml"
    _write_judge(judges, port)

    async def visit(server: Server) -> None:
        async with Visitor(server.address, _LINK) as visitor, Visitor(server.address, _JUDGED) as slow:
            seen.check(await in_time(visitor.open()))
            seen.check(await in_time(visitor.type_criteria("Warm")), wanted=True)
            with full_disk(server):
                seen.check(await in_time(visitor.type_criteria("Concise")), wanted=True)
                seen.check(
                    await until(lambda: in_time(slow.open()), lambda run: bool(run.shown or run.errors))
                )
                await looked_at(server, seen)
            seen.check(await in_time(visitor.type_criteria("Plain words")), wanted=True)
            if "try_again" in slow.widgets:
                seen.check(await in_time(slow.press("try_again")))
            await until(lambda: in_time(slow.open()), lambda run: bool(run.shown) and not run.errors)

    with endpoint(port):
        with served(folder, USL_CRMS=str(judges)) as server:
            asyncio.run(visit(server))
        with served(folder) as server:
            asyncio.run(looked_at(server, seen))
    is_whole(folder / "usl.sqlite3")


def disk_read_only(folder: Path, seen: Seen, _: random.Random) -> None:
    """Make the database's folder read-only while a visitor ranks, start the server on it, and mend it."""
    place = folder / "disk"
    place.mkdir()
    (folder / "usl.sqlite3").rename(place / "usl.sqlite3")
    url = f"sqlite:///{place / 'usl.sqlite3'}"

    async def visit(server: Server) -> None:
        async with Visitor(server.address, _LINK) as visitor:
            seen.check(await in_time(visitor.open()))
            seen.check(await in_time(visitor.type_criteria("Warm")), wanted=True)
            with read_only(place):
                seen.check(await in_time(visitor.type_criteria("Concise")), wanted=True)
                await looked_at(server, seen)
            seen.check(await in_time(visitor.type_criteria("Plain words")), wanted=True)

    async def said(server: Server) -> None:
        async with Visitor(server.address, _LINK) as visitor:
            run = seen.check(await in_time(visitor.open()), ranked=False)
            if not run.shown and not run.errors:
                raise NotBorneError("neither a ranking nor why there is none")

    with served(folder, url=url, through=bound_by_permissions()) as server:
        asyncio.run(visit(server))
    with read_only(place), served(folder, url=url, through=bound_by_permissions()) as server:
        asyncio.run(said(server))
    with served(folder, url=url, through=bound_by_permissions()) as server:
        asyncio.run(looked_at(server, seen))
    is_whole(place / "usl.sqlite3")


def clock_set_back(folder: Path, seen: Seen, _: random.Random) -> None:
    """Set the clock back an hour between two imports of one benchmark, and look at what came of it."""
    clock = MovedClock(folder)

    async def visit(server: Server) -> None:
        async with (
            Visitor(server.address, _LINK) as visitor,
            Visitor(server.address, page=_IMPORT_PAGE) as admin,
        ):
            seen.check(await in_time(visitor.open()))
            seen.check(await in_time(visitor.type_criteria("Warm")), wanted=True)
            await _signed_in(admin, seen)
            await _imported(admin, _table("one", "two"), seen)
            await _opened(server, _MINE, seen)
            clock.move(-_HOUR)
            seen.check(await in_time(visitor.type_criteria("Concise")), wanted=True)
            await _imported(admin, _table("one", "two", "three"), seen)
            async with Visitor(server.address, query_of(_MINE)) as other:
                run = seen.check(await in_time(other.open()))
            if not any("three" in text for text in run.texts):
                raise NotBorneError("the benchmark is shown as it was before the second import")

    with served(folder, **_ADMITTING, **clock.settings) as server:
        asyncio.run(visit(server))
    with served(folder, **clock.settings) as server:
        asyncio.run(looked_at(server, seen))
    is_whole(folder / "usl.sqlite3")


_JUDGED = f"{query_of(SLUG)}&topic=Riddles&crm=endpoint"


def _write_judge(file: Path, port: int) -> None:
    file.write_text(
        f'[endpoint]\nbackend = "llm-judge"\nmodel = "m"\nurl = "http://127.0.0.1:{port}/v1"\n'
        "retries = 0\nconcurrency = 2\n",
        encoding="utf-8",
    )


def judge_away(folder: Path, seen: Seen, _: random.Random) -> None:
    """Stop the endpoint of a slow judge while it judges, and start it again."""
    port = free_port()
    judges = folder / "crms.toml"
    _write_judge(judges, port)

    async def visit(server: Server) -> None:
        async with Visitor(server.address, _JUDGED) as visitor:
            with endpoint(port):
                run = await until(lambda: in_time(visitor.open()), lambda run: bool(run.shown))
                seen.check(run)
            await in_time(visitor.type_criteria("Warm"))
            away = await until(lambda: in_time(visitor.open()), lambda run: bool(run.errors))
            seen.check(away)
            with endpoint(port):
                seen.check(await in_time(visitor.press("try_again")))
                await until(lambda: in_time(visitor.open()), lambda run: bool(run.shown) and not run.errors)

    with served(folder, USL_CRMS=str(judges)) as server:
        asyncio.run(visit(server))


def two_servers(folder: Path, seen: Seen, _: random.Random) -> None:
    """Start two servers at once on one database that is not there yet, and use both."""
    with (
        running_server(folder / "usl.sqlite3", folder / "log") as one,
        running_server(folder / "usl.sqlite3", folder / "log-2") as other,
    ):
        for server in (one, other):
            server.wait_until_up()

        async def both() -> None:
            await asyncio.gather(looked_at(one, seen), looked_at(other, seen))

        asyncio.run(both())
    is_whole(folder / "usl.sqlite3")


def lost_connection(folder: Path, seen: Seen, _: random.Random) -> None:
    """Break a visitor's connection and come back to the same session."""

    async def visit(server: Server) -> None:
        visitor = Visitor(server.address, _LINK)
        await visitor.connect()
        seen.check(await in_time(visitor.open()))
        ranked = seen.check(await in_time(visitor.type_criteria("Warm")), wanted=True)
        await visitor.lose()
        await asyncio.sleep(2)
        before = visitor.session
        await came_back(visitor)
        again = seen.check(await in_time(visitor.open()))
        if visitor.session != before or again.shown != ranked.shown:
            raise NotBorneError("another session or ranking than before")
        await visitor.leave()

    with served(folder) as server:
        asyncio.run(visit(server))


def restarted(folder: Path, seen: Seen, _: random.Random) -> None:
    """Kill the server while a visitor is there, and start it again at the same place."""
    port = free_port()

    async def come(visitor: Visitor) -> list[str]:
        await came_back(visitor)
        return seen.check(await in_time(visitor.open())).shown

    async def first(server: Server, visitor: Visitor) -> list[str]:
        await visitor.connect()
        seen.check(await in_time(visitor.open()))
        shown = seen.check(await in_time(visitor.type_criteria("Warm")), wanted=True).shown
        kill(server)
        await visitor.lose()
        return shown

    with served(folder, port=port) as server:
        visitor = Visitor(server.address, _LINK)
        before = asyncio.run(first(server, visitor))
    with served(folder, port=port):
        if asyncio.run(come(visitor)) != before:
            raise NotBorneError("another ranking than before")


_FROM_NOTHING = (killed_at_first_start, two_servers)
"""Faults of a database that is not there yet; the others begin with a filled one."""

FAULTS: dict[str, tuple[Fault, bool]] = {
    "kill −9 during the first start": (killed_at_first_start, True),
    "kill −9 of an import beside the server": (killed_while_importing, True),
    "kill −9 of the server during an import in the browser": (killed_importing_in_browser, True),
    "the database's file is removed, and put back": (without_database, False),
    "the database's file is cut off, and put back": (truncated_database, False),
    "the disk is full, and has room again": (disk_full, False),
    "the database's folder is read-only, and writable again": (disk_read_only, False),
    "the clock is set back an hour": (clock_set_back, False),
    "PostgreSQL goes away and comes back": (postgres_away, False),
    "a judge's endpoint goes away and comes back": (judge_away, False),
    "two servers start on one new database": (two_servers, False),
    "a visitor's connection breaks": (lost_connection, False),
    "the server is killed and started again": (restarted, False),
}
"""What is brought about, how, and whether its moment is random, so that it is tried several times."""


@dataclass
class Piece:
    """What was tried of one fault.

    Attributes:
        fault: Its name in `FAULTS`.
        seed: Of the moments.
        tried: How often.
        failed: How it was not borne, a sentence for each time.
        said: What the page said, each sentence once.
    """

    fault: str
    seed: int
    tried: int = 0
    failed: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def keep(self, folder: Path) -> None:
        """Write it into a folder, over an earlier one of the same fault and seed."""
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{_NO_WORD.sub('-', self.fault)}.{self.seed}.json"
        (folder / name).write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False), encoding="utf-8")


def kept(folder: Path) -> list[Piece]:
    """Return the pieces of a folder; a MeasurementError if one is of no fault in `FAULTS`."""
    pieces = []
    for file in sorted(folder.glob("*.json")):
        try:
            piece = Piece(**json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            raise MeasurementError(f"{file} holds no piece of a run: remove it.") from None
        if piece.fault not in FAULTS:
            raise MeasurementError(f"{file} is of no fault that is tried now: remove it.")
        pieces.append(piece)
    return pieces


def joined(pieces: list[Piece]) -> list[tuple[str, ...]]:
    """Return a row for each fault of which there are pieces, in the order of `FAULTS`."""
    rows: list[tuple[str, ...]] = []
    for name in FAULTS:
        if own := [piece for piece in pieces if piece.fault == name]:
            times = sum(piece.tried for piece in own)
            failed = [sentence for piece in own for sentence in piece.failed]
            said = dict.fromkeys(sentence for piece in own for sentence in piece.said)
            borne = str(times - len(failed))
            rows.append((name, str(times), borne, " / ".join(said) or "–", failed[0] if failed else "–"))
    return rows


@app.command()
def main(
    *,
    moments: Annotated[int, typer.Option(min=1, help="Random moments of each kill.")] = 20,
    only: Annotated[list[str] | None, typer.Option(help="Only faults with these words; repeatable.")] = None,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 0,
    pieces: Annotated[
        Path | None,
        typer.Option(
            help="Keep what is tried in this folder, and let the table have all that is kept there. The same "
            "fault with another seed is added, with the same one it takes the earlier one's place."
        ),
    ] = None,
    table_only: Annotated[
        bool, typer.Option("--table-only", help="Try nothing: only the table of the pieces kept.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
) -> None:
    """Bring faults about while visitors are served."""
    chosen = chosen_faults(only)
    if table_only and pieces is None:
        raise MeasurementError("--table-only needs --pieces: the folder with what was tried.")
    new = [] if table_only else _all_tried(chosen, moments, seed, pieces)
    if not (rows := joined(new if pieces is None else kept(pieces))):
        raise MeasurementError(f"Nothing is kept in {pieces}.")
    Report(
        title="Faults while visitors are served",
        columns=("fault", "tried", "borne", "the page said", "what failed"),
        rows=tuple(rows),
        note="Borne: no traceback or unexpected error on the page, some ranking always on it, what was asked "
        f"for as soon as the fault is mended, and SQLite finds the database whole. {circumstances()}",
    ).finish(output)


def chosen_faults(only: list[str] | None) -> list[str]:
    """Return the faults with some of the words, all of them without words; a MeasurementError if none has."""
    found = [name for name in FAULTS if not only or any(words in name for words in only)]
    if not found:
        raise MeasurementError(f"No fault has {' or '.join(only or ())} in its name: {'; '.join(FAULTS)}.")
    return found


def _all_tried(chosen: list[str], moments: int, seed: int, folder: Path | None) -> list[Piece]:
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as name:
        filled = Path(name) / "usl.sqlite3"
        Service.open(f"sqlite:///{filled}").close()
        return [tried(fault, filled, moments, seed, folder) for fault in chosen]


def tried(name: str, filled: Path, moments: int, seed: int, kept_in: Path | None) -> Piece:
    """Try a fault, and return what came of it, which is kept after each moment.

    Args:
        filled: A filled database, only to be copied.
    """
    fault, by_chance = FAULTS[name]
    piece, seen = Piece(name, seed), Seen()
    for number in range(moments if by_chance else 1):
        with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as folder:
            Path(folder).chmod(0o755)  # PostgreSQL's account goes through it
            if fault not in _FROM_NOTHING:
                shutil.copy(filled, Path(folder) / "usl.sqlite3")
            try:
                fault(Path(folder), seen, random.Random(f"{seed} {name} {number}"))
            except (NotBorneError, MeasurementError) as error:
                piece.failed.append(_without(folder, str(error)))
            piece.tried += 1
            seen.said = piece.said = list(dict.fromkeys(_without(folder, text) for text in seen.said))
        if kept_in is not None:
            piece.keep(kept_in)
    return piece


def _without(folder: str, sentence: str) -> str:
    """Return a sentence of the page as it is read, without where this run has its files."""
    return sentence.replace("\\", "").replace(folder, "…")


if __name__ == "__main__":
    run_cli(app, MeasurementError)
