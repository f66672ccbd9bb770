"""A topic taken apart by the meaning of its queries, and keywords that distinguish groups of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import LeaderboardError
from leaderboard.topics.actions import MAX_NAME, Part, Split
from leaderboard.topics.tree import TopicTree

MAX_PARTS = 20
_MIN_PARTS = 2
_STARTS = 10
_WORDS_IN_A_NAME = 3


def propose_split(
    tree: TopicTree,
    key: str,
    n_parts: int,
    texts: Mapping[str, str],
    points: Mapping[str, NDArray[np.float32]],
) -> Split:
    """Return a topic's own queries divided among ``n_parts`` parts, named by the words that tell them apart.

    Args:
        texts: Texts of its queries by id.
        points: Where they lie: embeddings ``[d]``, or places on the map.

    Raises:
        LeaderboardError: There is no such topic; it cannot be split into that many parts.
    """
    topic = tree[key]
    if not _MIN_PARTS <= n_parts <= MAX_PARTS:
        raise LeaderboardError(f"A topic is split into {_MIN_PARTS} to {MAX_PARTS} parts, not {n_parts}.")
    queries = tree.queries_of([key], dropped=True)
    if len(queries) < n_parts:
        raise LeaderboardError(
            f"{topic.name!r} has {len(queries)} queries of its own, too few for {n_parts} parts."
        )
    labels = k_means(np.stack([points[query] for query in queries]), n_parts)
    if labels.max() + 1 < n_parts:
        raise LeaderboardError(f"The queries of {topic.name!r} are too alike for {n_parts} parts.")
    members = [
        tuple(query for query, label in zip(queries, labels.tolist(), strict=True) if label == part)
        for part in range(n_parts)
    ]
    words = distinctive_words([" ".join(texts[query] for query in part) for part in members])
    names = _distinct_names(words, {item.name.casefold() for item in tree.topics}, topic.name)
    return Split(key, tuple(map(Part, _new_keys(tree, key, n_parts), names, members, words)))


def k_means(points: NDArray[np.float32], n_clusters: int) -> NDArray[np.intp]:
    """Return the cluster ``[n]`` of every point ``[n, d]`` by k-means, always the same for the same points.

    Clusters are numbered from the largest on; there are fewer than asked for where fewer points differ.
    """
    # Half a second that only those who split a topic wait for.
    from sklearn.cluster import KMeans  # noqa: PLC0415

    n_clusters = min(n_clusters, len(np.unique(points, axis=0)))
    found = KMeans(n_clusters, n_init=_STARTS, random_state=0).fit_predict(points.astype(np.float64))
    sizes = np.bincount(found, minlength=n_clusters)
    first = [int(np.flatnonzero(found == cluster)[0]) for cluster in range(n_clusters)]
    order = sorted(range(n_clusters), key=lambda cluster: (-sizes[cluster], first[cluster]))
    rank = np.empty(n_clusters, dtype=np.intp)
    rank[order] = np.arange(n_clusters)
    return np.asarray(rank[found])


def _new_keys(tree: TopicTree, key: str, count: int) -> Sequence[str]:
    used = [topic.key for topic in tree.topics if topic.key.startswith(f"{key}.")]
    numbers = [int(number) for used_key in used if (number := used_key[len(key) + 1 :]).isdecimal()]
    start = max(numbers, default=0) + 1
    return [f"{key}.{start + place}" for place in range(count)]


def _distinct_names(words: Sequence[Sequence[str]], taken: set[str], topic: str) -> list[str]:
    names = []
    for place, listed in enumerate(words, start=1):
        name = ", ".join(listed[:_WORDS_IN_A_NAME])[:MAX_NAME].strip(" ,")
        if not name or name.casefold() in taken:
            name = f"{topic[: MAX_NAME - 12]} – part {place}"
            while name.casefold() in taken:
                name += "′"
        taken = taken | {name.casefold()}
        names.append(name)
    return names


_WORDS = 10
"""Of a group, at most."""


def distinctive_words(groups: Sequence[str]) -> list[tuple[str, ...]]:
    """The words that are typical of each group of joined texts, most telling first; none without words.

    By class-based TF-IDF (Grootendorst 2022): the frequency of a word in its group times log(1 + A / f), with
    A the words of a group on average and f the frequency of the word in all of them.
    """
    # Half a second that only those who split a topic wait for.
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    vectorizer = CountVectorizer(stop_words="english", token_pattern=r"(?u)\b[^\W\d_]{2,}\b")
    try:
        counts = vectorizer.fit_transform(groups).toarray().astype(np.float64)
    except ValueError:  # stop words alone
        return [() for _ in groups]
    words = vectorizer.get_feature_names_out()
    frequency = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    weight = frequency * np.log1p(counts.sum() / len(groups) / counts.sum(axis=0))
    # Of equal weights the first word of the alphabet, so that names are always the same.
    order = np.lexsort((np.broadcast_to(np.arange(len(words)), weight.shape), -weight), axis=1)
    return [
        tuple(str(words[index]) for index in row[:_WORDS] if weight[group, index] > 0)
        for group, row in enumerate(order)
    ]
