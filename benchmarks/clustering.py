"""How long topics take to be found in real queries, how good they are, and whether they are the same twice.

The queries are those of public corpora: the AlpacaEval instructions, FLASK and Arena-Hard v2. Each run has a
database of its own, so that nothing is embedded before. Of the texts, nothing but keywords is written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from benchmarks._report import Report, duration
from crm.cli_runner import run_cli
from crm.errors import CRMError
from crm.paths import CORPORA
from crm.report_table import describe_machine
from db import Database, DatabaseError
from db.source_records import TopicMapRecord
from precompute.errors import PrecomputeError
from precompute.pool import gather
from precompute.topics.cluster import cluster_pool, tree_lines
from precompute.topics.settings import ClusteringSettings, read_clustering_settings

app = typer.Typer(add_completion=False)

FILES = (
    "alpaca_eval/results/gpt4_1106_preview/model_outputs.json",
    "flask/flask_evaluation.jsonl",
    "arena_hard_v2/question.jsonl",
)
_POOL = "everyday"


Measurement = tuple[dict[str, float], TopicMapRecord]
"""The seconds that each stage of a run in a fresh database took, in order, and the topics it found."""


class Stopwatch:
    """Adds up the seconds between one stage's first sign and the next stage's."""

    def __init__(self, stage: str) -> None:
        self.seconds = {stage: 0.0}
        self._stage, self._since = stage, perf_counter()

    def on_progress(self, stage: str, _done: int = 0, _total: int = 0) -> None:
        """Note that a stage is under way."""
        now = perf_counter()
        self.seconds[self._stage] += now - self._since
        self.seconds.setdefault(stage, 0.0)
        self._stage, self._since = stage, now


def measure(corpora: Path, settings: ClusteringSettings) -> Measurement:
    """Gather and cluster the corpora in a database of their own."""
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as folder:
        database = Database.open(f"sqlite:///{Path(folder) / 'usl.sqlite3'}")
        watch = Stopwatch("Gathering queries")
        gather(database, _POOL, files=[corpora / file for file in FILES])
        summary = cluster_pool(database, _POOL, settings, on_progress=watch.on_progress)
        watch.on_progress("end")
        database.close()
    del watch.seconds["end"]
    return watch.seconds, summary.found


def in_own_process(measurement: Callable[[], Measurement]) -> Measurement:
    """A measurement in a process of its own, as a person's command is one: nothing is compiled before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measurement).result()


def report(timed: dict[str, float], found: TopicMapRecord, again: TopicMapRecord) -> Report:
    """Return the figures as a table: seconds of each stage, the topics, and those of a second run."""
    figures = found.quality
    same = "yes" if found.digest == again.digest else "no"
    stable = figures.get("stability")
    rows = [(stage, duration(seconds)) for stage, seconds in timed.items()]
    rows += [
        ("All", duration(sum(timed.values()))),
        ("Queries", f"{figures['n_queries']:,}"),
        ("Prompts of templates, set aside", f"{figures['n_set_aside']:,}"),
        ("Topics", f"{figures['n_topics']}"),
        ("Parts of topics", f"{figures['n_parts']}"),
        ("Outliers after clustering", f"{figures['outlier_share_clustered']:.1%}"),
        *((f"Reassigned by {step}", f"{figures['steps'][step]:,}") for step in found.steps[1:4]),
        ("Outliers after reassignment", f"{figures['outlier_share']:.2%}"),
        ("Coherence (NPMI) of keywords", f"{figures['coherence']:.3f}"),
    ]
    if stable is not None:
        rows += [
            (f"Adjusted Rand index over {len(stable['seeds'])} seeds, mean", f"{stable['ari_mean']:.3f}"),
            ("… least", f"{stable['ari_min']:.3f}"),
        ]
    rows.append(("The same tree in a second database", same))
    return Report(
        title="Topics of public queries",
        columns=("what", "figure"),
        rows=tuple(rows),
        note=f"AlpacaEval, FLASK and Arena-Hard v2; every text once. {describe_machine()}.",
    )


_TREE_HEAD = """\
# Topics of everyday queries

{n_queries:,} queries of AlpacaEval, FLASK and Arena-Hard v2, clustered with the default settings (MiniLM,
names from the list of topics): categories, topics, and parts of large topics, each with its number of queries
and what its name stands for. Written by `python -m benchmarks.clustering`.
"""


def tree(found: TopicMapRecord) -> str:
    """Return the tree as a page of Markdown."""
    head = _TREE_HEAD.format(n_queries=found.quality["n_queries"])
    return "\n".join([head, *tree_lines(found), ""])


@app.command()
def main(
    corpora: Annotated[Path, typer.Option(help="Folder of the public corpora.")] = CORPORA,
    config: Annotated[Path | None, typer.Option(help="Settings; default the defaults.")] = None,
    output: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
    tree_output: Annotated[Path | None, typer.Option(help="Also write the tree as Markdown.")] = None,
) -> None:
    """Find the topics of public corpora, twice."""
    settings = read_clustering_settings(config)
    # The second run shows the tree alone, which does not depend on how its quality is measured.
    unmeasured = settings.model_copy(update={"quality": settings.quality.model_copy(update={"seeds": 0})})
    timed, found = in_own_process(partial(measure, corpora, settings))
    _, again = in_own_process(partial(measure, corpora, unmeasured))
    report(timed, found, again).finish(output)
    if tree_output is not None:
        tree_output.parent.mkdir(parents=True, exist_ok=True)
        tree_output.write_text(tree(found), encoding="utf-8")


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, PrecomputeError)
