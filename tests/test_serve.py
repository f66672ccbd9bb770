"""The server as its module starts it."""

import os
import subprocess
import sys
from pathlib import Path

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
