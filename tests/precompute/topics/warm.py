"""Imported once by the process from which the command lines of `test_interruptions` fork.

UMAP compiles itself for ten seconds in every process that uses it; what is compiled before a fork is there
after it. The command lines are real ones: they have a process of their own, and are killed.
"""

import os
import sys

import numpy as np
import umap
from bertopic import BERTopic

from crm.embedded.encoder import sentence_encoder
from precompute import __main__ as command_line
from precompute.commands import options

__all__ = ["BERTopic", "main"]


def main(arguments: list[str], environment: dict[str, str], output: str) -> None:
    """Runs the command line with nothing bundled; what it prints goes to a file."""
    os.environ.update(environment)
    options.BUNDLED = options.BUNDLED / "nowhere"
    sys.argv = ["precompute", *arguments]
    with open(output, "w") as file:  # noqa: PTH123
        sys.stdout = sys.stderr = file
        try:
            command_line.main()
        finally:
            file.flush()


sentence_encoder().embed(["warm"])
_rows = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
for _dimensions in (2, 5):
    umap.UMAP(n_neighbors=8, n_components=_dimensions, metric="cosine", random_state=0, n_jobs=1).fit(_rows)
