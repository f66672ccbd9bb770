"""Topic discovery: from embedded queries to topics with parts, categories, a map and figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.data.topic_model import AssignmentStep, TopicParameters, find_topics, min_texts
from db import Database
from db.source_records import SET_ASIDE, FoundTopic, PoolQueryRecord, TopicMapRecord
from precompute.embed import embed_texts
from precompute.errors import PrecomputeError
from precompute.topics.assignment import TopicAssigner, stored_reference
from precompute.topics.catalogue import catalogue
from precompute.topics.encoders import EmbeddedQueries, Vectors, embed_queries, make_encoder
from precompute.topics.naming import group_keywords
from precompute.topics.plain_names import ListedQueries, plain_categories, plain_names
from precompute.topics.quality import Stability, coherence, stability
from precompute.topics.settings import (
    CategorySettings,
    ClusteringSettings,
    EncoderSettings,
    PartSettings,
    TemplateSettings,
)
from precompute.topics.templates import NO_TEMPLATE, template_families

_STEP_NAMES = ("clustered", "c-tf-idf", "distributions", "embeddings", "outlier", SET_ASIDE)
TEMPLATES_KEY = "templates"
"""Key of the topic under which prompts of data sets' templates are kept."""
TEMPLATES_CATEGORY = "Set aside"

OnStage = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is: 0 of 0 if that is unknown."""


def find_topic_map(
    database: Database,
    embedded: EmbeddedQueries,
    settings: ClusteringSettings,
    on_progress: OnStage = lambda _what, _done, _total: None,
) -> TopicMapRecord:
    """Find the topics of embedded queries; its ``settings`` are left empty.

    Prompts that follow templates are set aside before: they are under a topic of their own, and dropped.

    Args:
        database: with the categories, where they are DailyBench's.

    Raises:
        PrecomputeError: no group of queries means alike; the categories are DailyBench's, which is not
            stored.
    """
    family_of = set_aside([query.text for query in embedded.queries], settings.templates)
    rows = np.flatnonzero(family_of == NO_TEMPLATE)
    kept = EmbeddedQueries(tuple(embedded.queries[row] for row in rows), embedded.vectors[rows])
    parameters = settings.topics.parameters(len(rows))
    on_progress("Finding topics", 0, 0)
    listed = listed_queries(database, kept)
    guided = EmbeddedQueries(kept.queries, guided_vectors(kept.vectors, listed, settings.topics.guided))
    looking = partial(on_progress, "Looking into large topics")
    damp_frequent = settings.topics.damp_frequent
    tree = find_tree(guided, parameters, settings.parts, looking, damp_frequent=damp_frequent)
    if tree is None:
        raise PrecomputeError(
            f"No {parameters.smallest_cluster} queries mean so much alike that they form a topic: add "
            "queries, or set a smaller smallest_cluster in the table [topics]."
        )
    on_progress("Placing topics", 0, 0)
    topics = _described_topics(database, kept, listed, tree, settings)
    on_progress("Drawing the map", 0, 0)
    xy = map_positions(embedded.vectors, parameters)
    again = partial(on_progress, "Finding topics with other seeds")
    stable = stability(guided, parameters, tree.top_of, settings.quality.seeds, again)
    n_templates = int(family_of.max(initial=NO_TEMPLATE)) + 1
    figures = _figures(tree, topics, kept.words, stable)
    figures |= {
        "n_queries": len(family_of),
        "n_set_aside": len(family_of) - len(rows),
        "n_templates": n_templates,
    }
    # Dropped queries have a topic, so that they have a place when they are restored.
    topic_of = np.full(len(family_of), len(topics), dtype=np.int32)
    step_of = np.full(len(family_of), _STEP_NAMES.index(SET_ASIDE), dtype=np.int8)
    topic_of[rows], step_of[rows] = tree.node_of, tree.step_of
    return TopicMapRecord(
        topics=(*topics, templates_topic()) if n_templates else topics,
        steps=_STEP_NAMES,
        topic_of=topic_of,
        step_of=step_of,
        xy=xy,
        pool_digest=pool_digest(embedded.queries),
        digest=_digest(tree.nodes, topic_of),
        settings={},
        quality=figures,
    )


def set_aside(texts: Sequence[str], settings: TemplateSettings) -> NDArray[np.int32]:
    """Return the template that each query follows ``[Q]``, −1 for none, or where none is set aside."""
    if not settings.set_aside:
        return np.full(len(texts), NO_TEMPLATE, dtype=np.int32)
    return template_families(texts, settings.shared_words, settings.shared_by)


def templates_topic() -> FoundTopic:
    """Return the topic of prompts that are set aside."""
    summary = "Prompts that data sets made from templates. They are left out until they are restored."
    return FoundTopic(TEMPLATES_KEY, "Template prompts", TEMPLATES_CATEGORY, summary)


def pool_digest(queries: Sequence[PoolQueryRecord]) -> str:
    """Return SHA-256 (hex) of a pool's queries in their order."""
    return hashlib.sha256("\n".join(query.sha256 for query in queries).encode()).hexdigest()


def members(found: TopicMapRecord, topic: FoundTopic) -> NDArray[np.intp]:
    """Return the queries of a topic ``[M]``, those of its parts included."""
    return _under(topic.key, [other.key for other in found.topics], found.topic_of)


def _under(key: str, keys: Sequence[str], topic_of: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the queries whose finest topic is the one of a key, or a part of it."""
    below = [place for place, other in enumerate(keys) if other == key or other.startswith(f"{key}.")]
    return np.flatnonzero(np.isin(topic_of, below))


def listed_queries(database: Database, embedded: EmbeddedQueries) -> ListedQueries:
    """Return how near queries are to the topics of the list, by the bundled encoder whatever theirs is."""
    read = embed_queries(database, embedded.queries, make_encoder(EncoderSettings()))
    return ListedQueries.of([query.text for query in read.queries], read.vectors, catalogue())


def guided_vectors(vectors: Vectors, listed: ListedQueries, weight: float) -> Vectors:
    """Return vectors whose cosine is by ``1 - weight`` the queries' own, by ``weight`` what the list says.

    The list divides each query among its topics; of two queries it says how much of both is about the same
    ones (Bhattacharyya's coefficient: 1 for the same shares, 0 where no topic is in both).

    Args:
        vectors: Embeddings of the queries ``[Q, d]``, of unit length.
        listed: The same queries, in the same order.
        weight: From 0 to 1.

    Returns:
        Of unit length ``[Q, d + T]``; the embeddings themselves where the weight is 0.
    """
    if not weight:
        return vectors
    shares = np.sqrt(weight * listed.shares)
    return np.hstack([np.sqrt(1 - weight) * vectors, shares]).astype(np.float32)


def _described_topics(
    database: Database,
    embedded: EmbeddedQueries,
    listed: ListedQueries,
    tree: Tree,
    settings: ClusteringSettings,
) -> tuple[FoundTopic, ...]:
    """Return the topics with categories, and names that differ within the pool."""
    members = [tree.members(place) for place in range(len(tree.nodes))]
    names = plain_names(listed, members)
    tops = [place for place, node in enumerate(tree.nodes) if node.parent is None]
    match settings.categories.how:
        case "dailybench":
            categories = nearest_categories(database, listed.vectors, tree.top_of)
        case "grouped":
            groups = grouped_topics(embedded.vectors, tree.top_of, settings.categories)
            group_of = np.where(tree.top_of >= 0, groups[tree.top_of], -1)
            rows = [np.flatnonzero(group_of == group) for group in range(int(groups.max()) + 1)]
            of_groups = plain_categories(listed, rows)
            categories = [of_groups[group] for group in groups.tolist()]
        case "list":
            categories = [names[place].category for place in tops]
    category_of = {tree.nodes[place].key: category for place, category in zip(tops, categories, strict=True)}
    return tuple(
        replace(
            node,
            name=name.name,
            category=category_of[node.key.split(".")[0]],
            summary=name.summary,
        )
        for node, name in zip(tree.nodes, names, strict=True)
    )


def _figures(
    tree: Tree, topics: Sequence[FoundTopic], words: Sequence[str], stable: Stability | None
) -> dict[str, Any]:
    by_topic = coherence(words, [topic.keywords for topic in topics])
    tops = [score for node, score in zip(tree.nodes, by_topic, strict=True) if node.parent is None]
    counts = np.bincount(tree.step_of, minlength=len(_STEP_NAMES))
    n_queries = len(tree.step_of)
    figures: dict[str, Any] = {
        "n_topics": len(tops),
        "n_parts": len(tree.nodes) - len(tops),
        "outlier_share_clustered": 1 - float(counts[AssignmentStep.CLUSTERED]) / n_queries,
        "outlier_share": float(counts[AssignmentStep.LEFT]) / n_queries,
        "steps": dict(zip(_STEP_NAMES, map(int, counts), strict=True)),
        "coherence": float(np.mean(tops)),
        "coherence_by_topic": {
            node.key: round(score, 4) for node, score in zip(tree.nodes, by_topic, strict=True)
        },
    }
    if stable is not None:
        seeds, n_topics = list(stable.seeds), list(stable.n_topics)
        figures["stability"] = asdict(stable) | {"seeds": seeds, "n_topics": n_topics}
    return figures


def _digest(nodes: Sequence[FoundTopic], topic_of: NDArray[np.int32]) -> str:
    written = json.dumps([(node.key, node.parent, node.keywords) for node in nodes])
    return hashlib.sha256(written.encode() + topic_of.astype("<i4").tobytes()).hexdigest()


_MIN_PARTS = 2


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Topics of Q queries.

    Attributes:
        nodes: Topics before their parts, the largest first among siblings; without names and categories,
            keywords by c-TF-IDF among all topics of their level, most telling first.
        node_of: The finest topic of each query ``[Q]``, −1 for outliers.
        step_of: The ``crm.data.topic_model.AssignmentStep`` that put the query there ``[Q]``.
        top_of: The topmost topic of each query ``[Q]``, −1 for outliers.
    """

    nodes: tuple[FoundTopic, ...]
    node_of: NDArray[np.int32]
    step_of: NDArray[np.int8]
    top_of: NDArray[np.int32]

    def members(self, node: int) -> NDArray[np.intp]:
        """Return the queries of a topic, those of its parts included."""
        return _under(self.nodes[node].key, [other.key for other in self.nodes], self.node_of)


def _unnamed(key: str, parent: str | None, keywords: tuple[str, ...] = ()) -> FoundTopic:
    return FoundTopic(key, name="", category="", keywords=keywords, parent=parent)


def find_tree(
    embedded: EmbeddedQueries,
    parameters: TopicParameters,
    parts: PartSettings,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    damp_frequent: bool = True,
) -> Tree | None:
    """Find the topics of Q queries and the parts of large ones; None where no group means alike.

    Args:
        parameters: How to find topics; parts are found in the same way.
        damp_frequent: Whether words that are frequent in all topics count less among the keywords.
    """
    found = find_topics(embedded.words, embedded.vectors, parameters, any_script=True)
    if found is None:
        return None
    node_of, step_of = found.topic_of.copy(), found.step_of.copy()
    words_of = partial(group_keywords, embedded.words, count=parameters.keywords, damp_frequent=damp_frequent)
    nodes = [_unnamed(str(number), None, keywords) for number, keywords in enumerate(words_of(node_of))]
    level = list(range(len(nodes)))
    above = max(parts.above, _MIN_PARTS * parameters.smallest_cluster - 1, min_texts(parameters))
    for _ in range(parts.levels if parts.above else 0):
        large = [node for node in level if np.sum(node_of == node) > above]
        level = []
        for done, node in enumerate(large):
            progress(done, len(large))
            rows = np.flatnonzero(node_of == node)
            words = [embedded.words[row] for row in rows.tolist()]
            inside = find_topics(words, embedded.vectors[rows], parameters, any_script=True)
            n_parts = 0 if inside is None else len(inside.keywords)
            if inside is None or n_parts < _MIN_PARTS:
                continue
            kept = inside.topic_of >= 0  # an outlier inside stays in the topic as a whole
            node_of[rows[kept]] = inside.topic_of[kept] + len(nodes)
            level += range(len(nodes), len(nodes) + n_parts)
            key = nodes[node].key
            nodes += [_unnamed(f"{key}.{number}", key) for number in range(n_parts)]
        # Among its siblings alone, a part would be described by words that all topics have.
        described = words_of(node_of)
        for place in level:
            nodes[place] = replace(nodes[place], keywords=described[place])
    return Tree(tuple(nodes), node_of, step_of, found.topic_of)


def nearest_categories(database: Database, vectors: Vectors, topic_of: NDArray[np.int32]) -> list[str]:
    """Return the category of DailyBench that most queries of each topic are nearest to, or “Other”.

    Args:
        database: With DailyBench in it.
        vectors: The queries' embeddings ``[Q, 384]`` by the bundled encoder, as DailyBench's are.
        topic_of: Topic of each query ``[Q]``, −1 for outliers.

    Raises:
        PrecomputeError: DailyBench is not stored.
    """
    with database.session() as session:
        reference = stored_reference(session)
    if reference is None:
        raise PrecomputeError(
            'The categories are DailyBench\'s, which this database lacks: set how = "grouped" in the table '
            "[categories] of the configuration file."
        )
    places = TopicAssigner.of(reference, embed_texts).nearest(vectors)
    categories = []
    for topic in range(int(topic_of.max()) + 1):
        votes = [places[row][0] for row in np.flatnonzero(topic_of == topic).tolist()]
        categories.append(max(dict.fromkeys(votes), key=votes.count))
    return categories


def grouped_topics(
    embeddings: Vectors, topic_of: NDArray[np.int32], settings: CategorySettings
) -> NDArray[np.intp]:
    """Return the group of each topic ``[T]``: topics that mean most alike, joined by Ward's method.

    There are as many groups as the settings say, but at most one for two topics.

    Args:
        embeddings: Of the queries ``[Q, d]``, of unit length.
        topic_of: Topic of each query ``[Q]``, −1 for outliers.
        settings: How many groups.
    """
    from sklearn.cluster import AgglomerativeClustering  # noqa: PLC0415

    n_topics = int(topic_of.max()) + 1
    means = np.stack([embeddings[topic_of == topic].mean(axis=0) for topic in range(n_topics)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    n_groups = min(settings.count, n_topics // 2)
    if n_groups < 2:  # noqa: PLR2004
        return np.zeros(n_topics, dtype=np.intp)
    groups: NDArray[np.intp] = AgglomerativeClustering(n_groups, linkage="ward").fit_predict(means)
    return groups


_MIN_DISTANCE = 0.1
"""UMAP's own default: on a map points should not lie on each other, as they may for density clustering."""


def map_positions(embeddings: Vectors, parameters: TopicParameters) -> NDArray[np.float32]:
    """Place Q queries in the plane by UMAP on cosine distance; returns ``[Q, 2]``, the middle at 0."""
    from umap import UMAP  # noqa: PLC0415

    model = UMAP(
        n_neighbors=parameters.neighbours,
        n_components=2,
        min_dist=_MIN_DISTANCE,
        metric="cosine",
        random_state=parameters.seed,
        n_jobs=1,
    )
    placed: NDArray[np.float32] = model.fit_transform(embeddings).astype(np.float32)
    placed -= placed.mean(axis=0)
    return placed
