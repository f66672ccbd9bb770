"""Topics among short texts: BERTopic's pipeline as section 4.1 of the USL paper has it.

Embeddings are compressed by UMAP on cosine distance, grouped by density with HDBSCAN, and outliers are
reassigned: first carefully by c-TF-IDF, then by the distributions of topics over words, the last few by the
nearest mean embedding. The same seed, package versions and machine give the same topics.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.protocol import Floats

OUTLIER = -1
_MORE_THAN_DIMENSIONS = 3
"""UMAP's spectral layout fails on fewer texts than that beyond its dimensions."""
_MIN_WORDS = 2
_WORDLESS = "text without words"
"""Stands for each text where none has words, which BERTopic refuses."""


class AssignmentStep(IntEnum):
    """What put a text into its topic, in the order in which it is tried."""

    CLUSTERED = 0
    C_TF_IDF = 1
    DISTRIBUTIONS = 2
    EMBEDDINGS = 3
    LEFT = 4


@dataclass(frozen=True, slots=True)
class TopicParameters:
    """How topics are found; the defaults are the paper's, or BERTopic's where the paper names none.

    Attributes:
        neighbours: UMAP's neighbours: fewer find finer structure.
        dimensions: Dimensions that UMAP leaves.
        min_distance: UMAP's least distance; 0 packs alike texts together, as density clustering likes it.
        smallest_cluster: Fewest texts in a topic.
        density_neighbours: HDBSCAN's ``min_samples``: more leave more outliers; None is ``smallest_cluster``.
        method: HDBSCAN's choice of clusters from its tree: ``eom`` prefers broad ones, ``leaf`` fine ones.
        careful: Similarity of c-TF-IDF vectors from which an outlier is reassigned by its words.
        by_distributions: Whether outliers that are left go where the distributions of their words point.
        by_embeddings: Whether the last ones go to the topic of the nearest mean embedding; those that point
            away from all of them stay.
        keywords: Words that describe a topic.
        seed: Of UMAP.
    """

    neighbours: int = 15
    dimensions: int = 5
    min_distance: float = 0.0
    smallest_cluster: int = 20
    density_neighbours: int | None = None
    method: str = "eom"
    careful: float = 0.1
    by_distributions: bool = True
    by_embeddings: bool = True
    keywords: int = 10
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """Topics of N texts, the largest first.

    Attributes:
        topic_of: Each text's topic ``[N]``, −1 for outliers that are left.
        step_of: The ``Step`` that put it there ``[N]``.
        keywords: Words of each topic by c-TF-IDF, most telling first.
    """

    topic_of: NDArray[np.int32]
    step_of: NDArray[np.int8]
    keywords: tuple[tuple[str, ...], ...]


def find_topics(
    texts: Sequence[str], embeddings: Floats, parameters: TopicParameters, *, any_script: bool = False
) -> Topics | None:
    """Find the topics of N texts; None where no group of the smallest size means alike.

    Args:
        texts: The texts ``[N]``; without two words in all of them, topics have no keywords, and outliers go
            to the nearest mean embedding.
        embeddings: Of the texts ``[N, d]``.
        parameters: How to find them.
        any_script: Whether words keep all their letters; else those beyond A to Z are taken out of them.
    """
    if len(texts) < min_texts(parameters):
        return None
    from bertopic import BERTopic  # noqa: PLC0415
    from hdbscan import HDBSCAN  # noqa: PLC0415
    from umap import UMAP  # noqa: PLC0415

    has_words = _has_words(texts)
    documents = list(texts) if has_words else [_WORDLESS] * len(texts)
    model = BERTopic(
        language="multilingual" if any_script else "english",
        umap_model=UMAP(
            n_neighbors=parameters.neighbours,
            n_components=parameters.dimensions,
            min_dist=parameters.min_distance,
            metric="cosine",
            random_state=parameters.seed,
            n_jobs=1,
        ),
        hdbscan_model=HDBSCAN(
            min_cluster_size=parameters.smallest_cluster,
            min_samples=parameters.density_neighbours,
            cluster_selection_method=parameters.method,
        ),
        vectorizer_model=vectorizer(),
        ctfidf_model=ctfidf(),
        top_n_words=parameters.keywords,
    )
    # It warns of a reduction of topics that nobody does here; making a model sets the level again.
    logging.getLogger("BERTopic").setLevel(logging.ERROR)
    topics, _ = model.fit_transform(documents, embeddings)
    if max(topics) < 0:
        return None
    topics, steps = _reassign(model, documents, embeddings, topics, parameters, by_words=has_words)
    model.update_topics(
        documents,
        topics=topics,
        top_n_words=parameters.keywords,
        vectorizer_model=vectorizer(),
        ctfidf_model=ctfidf(),
    )
    found = _largest_first(model, np.array(topics, dtype=np.int32), steps)
    return found if has_words else replace(found, keywords=((),) * len(found.keywords))


def min_texts(parameters: TopicParameters) -> int:
    """So few texts can be laid out by UMAP's spectral method, and have a group of the smallest size."""
    return max(parameters.dimensions + _MORE_THAN_DIMENSIONS, parameters.smallest_cluster)


def vectorizer() -> Any:
    """Count the words that describe topics: English ones without stop words."""
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    return CountVectorizer(stop_words="english")


def ctfidf(*, damp_frequent: bool = False) -> Any:
    """Weights the words of topics by class-based TF-IDF.

    Args:
        damp_frequent: Whether words that are frequent in all topics count less: BM25 weights, and the square
            root of frequencies.
    """
    from bertopic.vectorizers import ClassTfidfTransformer  # noqa: PLC0415

    return ClassTfidfTransformer(bm25_weighting=damp_frequent, reduce_frequent_words=damp_frequent)


def _has_words(texts: Sequence[str]) -> bool:
    """Return whether there are the two different words that c-TF-IDF needs at least."""
    words = vectorizer().build_analyzer()
    return len({word for text in texts for word in words(text)}) >= _MIN_WORDS


def _reassign(
    model: Any,
    texts: list[str],
    embeddings: Floats,
    topics: list[int],
    parameters: TopicParameters,
    *,
    by_words: bool,
) -> tuple[list[int], NDArray[np.int8]]:
    """Return topics with outliers put where they fit best, and the step that did."""
    steps = np.where(np.array(topics) == OUTLIER, AssignmentStep.LEFT, AssignmentStep.CLUSTERED).astype(
        np.int8
    )
    strategies: list[tuple[AssignmentStep, dict[str, Any]]] = []
    if by_words:
        strategies.append(
            (AssignmentStep.C_TF_IDF, {"strategy": "c-tf-idf", "threshold": parameters.careful})
        )
    if by_words and parameters.by_distributions:
        strategies.append((AssignmentStep.DISTRIBUTIONS, {"strategy": "distributions"}))
    if parameters.by_embeddings:
        strategies.append((AssignmentStep.EMBEDDINGS, {"strategy": "embeddings", "embeddings": embeddings}))
    for step, strategy in strategies:
        if OUTLIER not in topics:
            break
        topics = [int(topic) for topic in model.reduce_outliers(texts, topics, **strategy)]
        steps[(steps == AssignmentStep.LEFT) & (np.array(topics) != OUTLIER)] = step
    return topics, steps


def _largest_first(model: Any, topic_of: NDArray[np.int32], steps: NDArray[np.int8]) -> Topics:
    sizes = np.bincount(topic_of[topic_of >= 0])
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order] = np.arange(len(order))
    rank[OUTLIER] = OUTLIER
    keywords = tuple(tuple(word for word, _ in model.get_topic(number) if word) for number in order.tolist())
    return Topics(rank[topic_of], steps, keywords)
