"""The server as its module starts it."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.servers import app_served_by, free_port

ROOT = Path(__file__).parents[1]
_SAID = """
import serve
from threadpoolctl import threadpool_info
print({each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"})
"""


def test_products_are_computed_in_the_thread_that_asks_for_them(tmp_path: Path) -> None:
    settings = {"OPENBLAS_NUM_THREADS": "2", "USL_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _SAID],
        cwd=ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "{1}"


def test_the_first_page_is_prepared_before_anybody_comes(tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log"
    command = [sys.executable, "-m", "streamlit", "run", "serve.py", f"--server.port={port}"]
    settings = {"USL_HOME": str(tmp_path), "USL_LOG_FORMAT": "json", "STREAMLIT_SERVER_HEADLESS": "true"}

    with app_served_by(command, port, os.environ | settings, log=log, folder=ROOT):
        until = time.monotonic() + 60
        while '"event": "ranking"' not in log.read_text() and time.monotonic() < until:
            time.sleep(0.1)

    said = log.read_text()
    assert '"event": "ranking"' in said
    assert '"event": "page"' not in said
    assert "Traceback" not in said
