"""How good the names are that topics get without an LLM: each judged by a reader, counted and listed.

    python -m benchmarks.topic_names --show               each name with queries of its topic, to be judged
    python -m benchmarks.topic_names [--output FILE.md]   the counts, and the list of names

The topics are those of DailyBench's queries and of the public prompts of `benchmarks.clustering`, found with
the default settings. `topic_names.toml` says what a reader thought of each name; one that is not there, or
whose topic now has another number of queries, is counted as not judged. Of the texts nothing is written.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks._report import Report
from benchmarks.clustering import FILES
from crm.cli_runner import run_cli
from crm.errors import CRMError
from crm.paths import CORPORA
from db import Database, DatabaseError
from db.repositories.pools import find_pool, pool_queries
from parsing.documents import read_toml
from precompute.commands.options import BUNDLED
from precompute.errors import PrecomputeError
from precompute.pool import gather
from precompute.topics.cluster import cluster_pool
from precompute.topics.discovery import TEMPLATES_KEY, members
from precompute.topics.settings import ClusteringSettings, QualitySettings

app = typer.Typer(add_completion=False)

JUDGEMENTS = Path(__file__).with_suffix(".toml")
VERDICTS = ("good", "acceptable", "poor", "wrong")
UNJUDGED = "not judged"
POOLS = {"dailybench": "DailyBench's queries", "public": "public prompts"}


@dataclass(frozen=True)
class Named:
    """A topic's name, the category that it stands under, and its queries."""

    pool: str
    category: str
    name: str
    texts: tuple[str, ...]

    def verdict(self, judged: Mapping[str, Mapping[str, Sequence[object]]]) -> str:
        """What a reader thought of the name, or that nobody has judged it as it is now."""
        verdict, size = judged.get(self.pool, {}).get(self.name, (UNJUDGED, len(self.texts)))
        return str(verdict) if size == len(self.texts) else UNJUDGED


def names(pool: str, settings: ClusteringSettings, corpora: Path) -> list[Named]:
    """Find and name the topics of a pool in a database of its own; by category, the largest topics first."""
    with tempfile.TemporaryDirectory(prefix="usl-benchmark-") as folder:
        bundles = [BUNDLED / "dailybench.usl.zip"] if pool == "dailybench" else []
        with closing(Database.open(f"sqlite:///{folder}/usl.sqlite3", bundles=bundles)) as database:
            files = [] if bundles else [corpora / file for file in FILES]
            gather(database, pool, files=files, benchmarks=["dailybench"] if bundles else [])
            found = cluster_pool(database, pool, settings).found
            with database.session() as session:
                queries = pool_queries(session, find_pool(session, pool))
    named = [
        Named(pool, topic.category, topic.name, tuple(queries[row].text for row in members(found, topic)))
        for topic in found.topics
        if topic.key != TEMPLATES_KEY
    ]
    return sorted(named, key=lambda each: (each.category, -len(each.texts), each.name))


def counts(named: Sequence[Named], judged: Mapping[str, Mapping[str, Sequence[object]]]) -> Report:
    """Return how many names of each pool are how good, and the share of those that can be published."""
    rows = []
    for pool, title in POOLS.items():
        found = Counter(each.verdict(judged) for each in named if each.pool == pool)
        if not (n := found.total()):
            continue
        fit = (found["good"] + found["acceptable"]) / n
        numbers = [f"{found[verdict]}" for verdict in (*VERDICTS, UNJUDGED)]
        rows.append((title, f"{n}", *numbers, f"{fit:.0%}"))
    return Report(
        "Names of topics without an LLM",
        ("names of", "topics", *VERDICTS, UNJUDGED, "good or acceptable"),
        tuple(rows),
        "Good: says at once what most of the queries are about. Acceptable: loose, or leaves a part out. "
        "Poor: says too little, or something beside the point. Wrong: something else. Judged by one reader.",
    )


def listing(named: Sequence[Named], judged: Mapping[str, Mapping[str, Sequence[object]]]) -> str:
    """Return every name with the size of its topic and what the reader thought, as Markdown."""
    lines = []
    for pool, title in POOLS.items():
        lines += ["", f"## {title[0].upper()}{title[1:]}", "", "| category | name | queries | judged |"]
        lines += ["| --- | --- | ---: | --- |"]
        lines += [
            f"| {each.category} | {each.name} | {len(each.texts)} | {each.verdict(judged)} |"
            for each in named
            if each.pool == pool
        ]
    return "\n".join([*lines, ""])


@app.command()
def measure(
    corpora: Annotated[Path, typer.Option(help="Folder of the public corpora.")] = CORPORA,
    pool: Annotated[list[str] | None, typer.Option(help="Only this pool: dailybench or public.")] = None,
    *,
    show: Annotated[bool, typer.Option("--show", help="Print names with queries, to judge them.")] = False,
    samples: Annotated[int, typer.Option(min=1, help="Queries that are shown of a topic.")] = 5,
    output: Annotated[Path | None, typer.Option(help="Markdown file for counts and names.")] = None,
) -> None:
    """Count how good the names are, or show them to be judged."""
    settings = ClusteringSettings(quality=QualitySettings(seeds=0))
    named = [each for name in pool or POOLS for each in names(name, settings, corpora)]
    if show:
        draw = np.random.default_rng(0)
        for each in named:
            typer.echo(f"{each.pool}, {each.category}: {each.name} ({len(each.texts)})")
            for text in draw.permutation(each.texts)[:samples]:
                typer.echo(f"    {' '.join(text.split())[:160]}")
        return
    judged = read_toml(JUDGEMENTS.read_bytes())
    counts(named, judged).finish(output)
    if output is not None:
        with output.open("a", encoding="utf-8") as file:
            file.write(listing(named, judged))


if __name__ == "__main__":
    run_cli(app, CRMError, DatabaseError, PrecomputeError)
