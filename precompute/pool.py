"""Gathers queries into a pool, from files, stored benchmarks and stored preferences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from db import Database
from db.database import exclusive
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.contents import query_texts
from db.repositories.pools import add_to_pool, get_pool, put_pool
from db.repositories.preferences import find_preference_set, first_turns
from precompute.errors import PrecomputeError
from precompute.importers import read_queries
from precompute.load import check_slug

QueryAndSource = tuple[str, str]
"""A query's text, and where it comes from."""


@dataclass(frozen=True, slots=True)
class PoolSummary:
    """What was gathered.

    Attributes:
        n_read: Queries read, by what they were read from.
        n_added: How many of all were new.
        n_queries: How many the pool has now.
    """

    slug: str
    n_read: dict[str, int]
    n_added: int
    n_queries: int


def gather(
    database: Database,
    slug: str,
    *,
    files: Sequence[Path] = (),
    benchmarks: Sequence[str] = (),
    preferences: Sequence[str] = (),
    column: str | None = None,
    title: str | None = None,
) -> PoolSummary:
    """Add queries to a pool, which is created if need be; texts that it has already stay as they are.

    All are added in one transaction, or none.

    Args:
        files: CSV, JSON, JSON Lines or Parquet files.
        benchmarks: slugs of benchmarks that are stored with texts.
        preferences: slugs of preference data, of which the users' first turns are taken.
        column: the column of the files with the queries; default the first usual one that they have.

    Raises:
        PrecomputeError: the slug is none; a file cannot be read; no file, benchmark or preference data is
            named; there are no texts in one of the sources.
        NotFoundError: there is no such benchmark or preference data.
    """
    check_slug(slug)
    read = {str(file): list(_of_file(file, column)) for file in files}
    with database.session() as session:
        for name in benchmarks:
            benchmark = find_benchmark(session, name)
            record = get_benchmark(session, benchmark)
            texts = zip(record.queries, query_texts(session, benchmark), strict=True)
            read[f"benchmark {name}"] = [
                (text, f"{name}:{query.external_id}") for query, text in texts if text
            ]
        for name in preferences:
            turns = first_turns(session, find_preference_set(session, name))
            read[f"preferences {name}"] = [(turn.text, f"{name}:{turn.external_id}") for turn in turns]
    if not read:
        raise PrecomputeError(
            "Name what to gather queries from: files, --benchmark SLUG or --preferences SLUG."
        )
    for source, found in read.items():
        if not found:
            raise PrecomputeError(
                f"There are no texts of queries in {source}: name another source, or import its texts."
            )
    with exclusive(database.engine), database.session() as session:
        pool = put_pool(session, slug, title)
        n_added = add_to_pool(session, pool, [query for found in read.values() for query in found])
        n_queries = get_pool(session, pool).n_queries
    return PoolSummary(slug, {source: len(found) for source, found in read.items()}, n_added, n_queries)


def _of_file(path: Path, column: str | None) -> Iterator[QueryAndSource]:
    for place, text in read_queries(path, column):
        yield text, f"{path.name}:{place}"
