"""Imported once by the process from which the command lines of `test_interruptions` fork.

UMAP compiles itself for ten seconds in every process that uses it; what is compiled before a fork is there
after it. The command lines are real ones: they have a process of their own, and are killed. Importing this
module elsewhere, where ``WARM`` is not set, costs nothing.
"""

import os
import sys

import numpy as np

from crm.embedded.encoder import sentence_encoder
from leaderboard.scoring_jobs import progress
from precompute import __main__ as command_line
from precompute.commands import options

WARM = "USL_TEST_WARM"


def main(arguments: list[str], environment: dict[str, str], output: str) -> None:
    """Runs the command line with nothing bundled and no lines on progress; what it prints goes to a file."""
    os.environ.update(environment)
    options.BUNDLED = options.BUNDLED / "nowhere"
    progress._LOG_SECONDS = 1e9
    sys.argv = ["precompute", *arguments]
    with open(output, "w") as file:  # noqa: PTH123
        sys.stdout = sys.stderr = file
        try:
            command_line.main()
        finally:
            file.flush()


def _warm() -> None:
    import umap
    from bertopic import BERTopic  # noqa: F401

    sentence_encoder().embed(["warm"])
    rows = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    for dimensions in (2, 5):
        umap.UMAP(n_neighbors=8, n_components=dimensions, metric="cosine", random_state=0, n_jobs=1).fit(rows)


if WARM in os.environ:
    _warm()
