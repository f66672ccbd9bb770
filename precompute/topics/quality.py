"""Figures that judge topics: coherence of their keywords, and stability over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from crm.data.topic_model import TopicParameters, find_topics
from precompute.topics.encoders import EmbeddedQueries


def coherence(words: Sequence[str], keywords: Sequence[Sequence[str]]) -> list[float]:
    """Mean normalised pointwise mutual information of the pairs of each topic's keywords, from −1 to 1.

    NPMI (Bouma 2009) of two words is ln(p(a, b) / p(a) p(b)) / −ln p(a, b), −1 where they never stand in one
    query; p is the share of all queries that have them. Above 0, keywords occur together more often than by
    chance. A topic of fewer than two keywords has 0.

    Args:
        words: The distinct words of each query ``[Q]``.
        keywords: Of each topic.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    vocabulary = sorted({word for listed in keywords for word in listed})
    if not vocabulary:
        return [0.0] * len(keywords)
    counter = CountVectorizer(vocabulary=vocabulary, binary=True, token_pattern=r"\S+", lowercase=False)
    has = counter.transform(words).astype(np.float64)
    together = (has.T @ has).toarray() / len(words)
    share = together.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / np.outer(share, share)) / -np.log(together)
    npmi[together == 0] = -1.0
    npmi[together == 1] = 1.0
    place = {word: index for index, word in enumerate(vocabulary)}
    return [
        float(np.mean([npmi[place[one], place[other]] for one, other in combinations(listed, 2)] or [0.0]))
        for listed in keywords
    ]


@dataclass(frozen=True, slots=True)
class Stability:
    """How alike the topics of different seeds are.

    Attributes:
        ari_mean: Mean adjusted Rand index over all pairs of seeds: 1 for the same topics, 0 for chance.
        n_topics: How many topics each seed finds.
    """

    seeds: tuple[int, ...]
    ari_mean: float
    ari_min: float
    n_topics: tuple[int, ...]


def stability(
    embedded: EmbeddedQueries,
    parameters: TopicParameters,
    found: NDArray[np.int32],
    n_seeds: int,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Stability | None:
    """Find topics again with further seeds, and compares; None where no seeds are asked for.

    Args:
        parameters: With the seed that ``found`` was found with.
        found: Topmost topic of each query ``[Q]``.
        n_seeds: How many further seeds.
    """
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415

    if not n_seeds:
        return None
    seeds = tuple(parameters.seed + step for step in range(n_seeds + 1))
    labels = [found]
    for done, seed in enumerate(seeds[1:]):
        progress(done, n_seeds)
        again = find_topics(embedded.words, embedded.vectors, replace(parameters, seed=seed), any_script=True)
        labels.append(np.full_like(found, -1) if again is None else again.topic_of)
    scores = [float(adjusted_rand_score(one, other)) for one, other in combinations(labels, 2)]
    return Stability(
        seeds, float(np.mean(scores)), min(scores), tuple(int(label.max()) + 1 for label in labels)
    )
