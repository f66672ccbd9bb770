"""Small apps that visitors meet as they meet the leaderboard: criteria, a ranking, a table to download."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from benchmarks.first_paint import PROJECT_ROOT, Server

_APP = """
import streamlit as st

from crm.criteria import CriteriaSet

text = st.text_area("Criteria", key="criteria_text")
st.html(f'<table data-criteria="{CriteriaSet.from_lines(text).key}"></table>')
st.download_button("Table", "llm,rank", "table.csv")
"""

Started = Callable[[str, int], Server]


@pytest.fixture
def small_apps(tmp_path: Path) -> Iterator[Started]:
    """Starts the app at an address and port, and ends it with the test."""
    (tmp_path / "app.py").write_text(_APP, encoding="utf-8")
    with ExitStack() as running:
        yield lambda address, port: running.enter_context(_started(tmp_path, address, port))


@contextmanager
def _started(folder: Path, address: str, port: int) -> Iterator[Server]:
    log = folder / f"{address}.log"
    line = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*line, "--server.address", address, "--server.port", str(port)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT)},
            stdout=output,
            stderr=output,
        )
    try:
        server = Server(process, f"http://{address}:{port}", log)
        server.wait_until_up()
        yield server
    finally:
        process.kill()
        process.wait()
