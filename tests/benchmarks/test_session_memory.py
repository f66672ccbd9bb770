"""Sessions that end, several at a time, and looks at what the server holds."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from benchmarks._load import ProcessFigures
from benchmarks.first_paint import Server, free_port
from benchmarks.session_memory import Look, proportional_memory, sessions_in_turn
from tests.benchmarks.conftest import Started

_FIRST = Look(10, 10, 300, 1.24, 650_000_000, ProcessFigures(700_000_000, 6, 28, 90.0))


def test_memory_is_read_after_so_many_sessions(small_apps: Started) -> None:
    server = small_apps("127.0.0.1", free_port())
    run = sessions_in_turn(server, [2, 5], changes=3, at_once=2, rest=0.1, popular=0.0, slug="modern")
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(asyncio.run, run).result()

    assert [(look.ended, look.kept, look.changes) for look in found] == [(2, 2, 6), (5, 5, 15)]
    assert found[1].minutes > found[0].minutes > 0
    assert all(look.figures.memory > 10_000_000 for look in found)


def test_a_row_says_how_much_more_than_at_first() -> None:
    later = replace(_FIRST, ended=100, figures=replace(_FIRST.figures, memory=780_000_000))
    less = replace(_FIRST, figures=replace(_FIRST.figures, memory=699_000_000))

    row = ("100", "10", "300", "1.2", "780 MB", "650 MB", "80.0 MB", "6", "28")
    assert later.cells(_FIRST) == row
    assert _FIRST.cells(_FIRST)[6] == "0.00 B"
    assert less.cells(_FIRST)[6] == "−1.00 MB"


def test_pages_that_are_shared_count_in_parts(tmp_path: Path) -> None:
    line = [sys.executable, "-c", "print('there', flush=True); input()"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        server = Server(process, "http://localhost", tmp_path / "log")
        assert 1_000_000 < proportional_memory(server) <= server.memory()
        process.communicate(b"\n")
