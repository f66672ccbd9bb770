"""Topics with their queries as a page draws them: of a pool, or of a benchmark that has topics already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from db import BenchmarkRecord, Database
from db.repositories import benchmarks, representations, texts
from leaderboard.contest import QUERY_REPRESENTATION
from leaderboard.topics.curation import CuratedTopics
from leaderboard.topics.labels import plain, wrapped
from leaderboard.topics.tree import OUTLIER, Topic, TopicTree

OUTLIERS = "no topic"
_AXES = 2


@dataclass(frozen=True, eq=False)
class Atlas:
    """Topics, queries and where they lie on a map.

    Attributes:
        identity: Tells what is drawn from anything else.
        tree: The topics.
        texts: Texts of the queries by id; those that are not stored are left out.
        xy: Places of the queries on a map ``[Q, 2]``; None where there is none.
        projection: How the map was made, in one sentence.
    """

    identity: str
    tree: TopicTree
    texts: Mapping[str, str]
    xy: NDArray[np.float32] | None
    projection: str

    @cached_property
    def hovers(self) -> list[str]:
        """What is shown of every query ``[Q]``: the start of its text in short lines, and its topic."""
        names = {topic.key: f"<br><b>{plain(topic.name)}</b>" for topic in self.tree.topics}
        return [
            wrapped(self.texts.get(query, "text not stored")) + names.get(key, f"<br><b>{OUTLIERS}</b>")
            for query, key in zip(self.tree.query_ids, self.tree.topic_of, strict=True)
        ]


def atlas_of_pool(topics: CuratedTopics) -> Atlas:
    """The curated topics of a pool."""
    return Atlas(
        identity=topics.identity,
        tree=topics.tree,
        texts=topics.texts,
        xy=topics.record.xy,
        projection="Queries that lie near each other ask for something similar (UMAP of their embeddings).",
    )


def atlas_of_benchmark(database: Database, slug: str) -> Atlas:
    """A benchmark's own categories and topics, with its queries on the main axes of their embeddings.

    Raises:
        BenchmarkNotFoundError: There is no such benchmark.
    """
    with database.session() as session:
        record = benchmarks.get_benchmark(session, slug)
        stored = texts.query_texts(session, slug)
        arrays = representations.get_query_representation(session, slug, QUERY_REPRESENTATION)
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
    """A benchmark's categories and topics as a tree, in the benchmark's order."""
    topics = [
        Topic(str(number), topic.name, category.name)
        for number, (category, topic) in enumerate(
            (category, topic) for category in record.categories for topic in category.topics
        )
    ]
    keys = {(topic.category, topic.name): topic.key for topic in topics}
    return TopicTree(
        tuple(topics),
        tuple(query.external_id for query in record.queries),
        tuple(keys.get((query.category, query.topic), OUTLIER) for query in record.queries),
    )


def main_axes(embedding: NDArray[np.floating]) -> NDArray[np.float32]:
    """Places ``[n, 2]`` of embeddings ``[n, d]`` on their two principal components.

    The sign of an axis is chosen so that its largest coordinate is positive: the same map every time.
    """
    centred = embedding.astype(np.float32) - embedding.mean(axis=0, dtype=np.float32)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    xy = centred @ axes[:_AXES].T
    largest = np.take_along_axis(xy, np.abs(xy).argmax(axis=0)[None], axis=0)
    signed: NDArray[np.float32] = (xy * np.where(largest < 0, -1, 1)).astype(np.float32)
    return signed
