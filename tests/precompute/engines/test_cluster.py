"""A cluster that runs already, started as an operator starts one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest
from ray.util import get_node_ip_address

from crm.criteria import CriteriaSet
from db import Database
from db.database import URL_VARIABLE
from db.records import ScoreKey
from db.repositories import scores
from db.repositories.benchmarks import find_benchmark
from precompute.engines.ray import short_folder
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[3]
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
RAY = [sys.executable, "-m", "ray.scripts.scripts"]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Address of a cluster of one node, which knows nothing of this checkout."""
    port = free_port()
    environment = {**os.environ, **TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
    environment.pop("PYTHONPATH", None)
    with short_folder() as folder:
        options = [f"--port={port}", "--num-cpus=2", f"--temp-dir={folder}", "--include-dashboard=false"]
        head = subprocess.Popen(
            [*RAY, "start", "--head", "--block", *options],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert head.stdout is not None
        assert any("Ray runtime started" in line for line in head.stdout)
        yield f"{get_node_ip_address()}:{port}"
        # An orderly end takes half a minute.
        for process in [*psutil.Process(head.pid).children(recursive=True), head]:
            with suppress(psutil.NoSuchProcess):  # it ends with the one before it
                process.kill()
        head.communicate(timeout=60)


def test_it_gets_the_code_and_does_the_work(address: str, own_url: str, tmp_path: Path) -> None:
    arguments = ["score", "--benchmark", "dailybench", "--crm", "longer", "--topic", "Short fiction"]
    done = subprocess.run(
        [sys.executable, "-m", "precompute", *arguments, "--engine", "ray", "--ray-address", address],
        env={**os.environ, **TOKEN, "PYTHONPATH": str(ROOT), URL_VARIABLE: own_url},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("dailybench: 42 pairs judged by longer in ")
    with closing(Database.open(own_url)) as database, database.session() as session:
        key = ScoreKey("longer", "1", CriteriaSet().key)
        rows = scores.get_scores(session, find_benchmark(session, "dailybench"), key)
    assert sum(int(row.judged.sum()) for row in rows.values()) == 42


@pytest.fixture
def own_url(filled_file: Path, tmp_path: Path) -> str:
    """The URL of a copy of the database of bundled benchmarks."""
    copy = tmp_path / "usl.sqlite3"
    copy.write_bytes(filled_file.read_bytes())
    return f"sqlite:///{copy}"
