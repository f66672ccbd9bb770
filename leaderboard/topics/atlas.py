"""Topics with their queries as a page draws them: of a pool, or of a benchmark that has topics already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from db import Database
from db.records import BenchmarkRecord
from db.repositories import benchmarks, contents, representations
from leaderboard.benchmark import QUERY_REPRESENTATION
from leaderboard.topics.curation import CuratedTopics
from leaderboard.topics.tree import OUTLIER, Topic, TopicTree

OUTLIERS = "no topic"
_AXES = 2


@dataclass(frozen=True, eq=False)
class Atlas:
    """Topics, queries and where they lie on a map.

    Attributes:
        identity: Tells what is drawn from anything else.
        texts: Texts of the queries by id; those that are not stored are left out.
        xy: Places of the queries on a map ``[Q, 2]``; None where there is none.
    """

    identity: str
    tree: TopicTree
    texts: Mapping[str, str]
    xy: NDArray[np.float32] | None
    projection: str


def atlas_of_pool(topics: CuratedTopics) -> Atlas:
    """Return the curated topics of a pool."""
    return Atlas(
        identity=topics.identity,
        tree=topics.tree,
        texts=topics.texts,
        xy=topics.record.xy,
        projection="Queries that lie near each other ask for something similar (UMAP of their embeddings).",
    )


def atlas_of_benchmark(database: Database, slug: str) -> Atlas:
    """Return a benchmark's topics, its queries on the main axes of their embeddings; or a NotFoundError."""
    with database.session() as session:
        benchmark = benchmarks.find_benchmark(session, slug)
        record = benchmarks.get_benchmark(session, benchmark)
        stored = contents.query_texts(session, benchmark)
        arrays = representations.get_query_representation(session, benchmark, QUERY_REPRESENTATION)
    ids = [query.external_id for query in record.queries]
    embedding = None if arrays is None else arrays["embedding"]
    fits = embedding is not None and len(embedding) == len(ids) > _AXES
    return Atlas(
        identity=f"{slug}:{record.updated_at.isoformat()}",
        tree=benchmark_tree(record),
        texts={query: text for query, text in zip(ids, stored, strict=True) if text is not None},
        xy=main_axes(embedding) if embedding is not None and fits else None,
        projection="Queries that lie near each other ask for something similar. The map shows the two main "
        "axes of their embeddings, a small part of what tells them apart.",
    )


def benchmark_tree(record: BenchmarkRecord) -> TopicTree:
    """Return a benchmark's categories and topics as a tree, in the benchmark's order."""
    names = [(topic.name, category.name) for category in record.categories for topic in category.topics]
    topics = [Topic(str(number), *name) for number, name in enumerate(names)]
    keys = {(topic.category, topic.name): topic.key for topic in topics}
    return TopicTree(
        tuple(topics),
        tuple(query.external_id for query in record.queries),
        tuple(keys.get((query.category, query.topic), OUTLIER) for query in record.queries),
    )


def main_axes(embedding: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return places ``[n, 2]`` of embeddings ``[n, d]`` on their two principal components.

    The sign of an axis is chosen so that its largest coordinate is positive: the same map every time.
    """
    centred = embedding.astype(np.float32) - embedding.mean(axis=0, dtype=np.float32)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    xy = centred @ axes[:_AXES].T
    largest = np.take_along_axis(xy, np.abs(xy).argmax(axis=0)[None], axis=0)
    return np.asarray((xy * np.where(largest < 0, -1, 1)).astype(np.float32))
