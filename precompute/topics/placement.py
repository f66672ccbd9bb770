"""Which of a pool's topics a new query belongs to, and how sure that is, learnt from the pool itself.

Each query that has a topic is taken out and put back twice: once as it is, and once as if its topic were not
there, as that of a query on something new is not. What tells the right nearest topics from the wrong ones, in
cosines, becomes the confidence of new queries: so it means the same in pools of broad and of fine topics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precompute.topics.encoders import Vectors

_ON_SOMETHING_NEW = 0.5
"""New queries on something new that are reckoned with, for each that is on a topic that is there."""
_NEIGHBOURS = 5
_LEARNT_FROM = 5000
_AT_ONCE = 500
"""Queries that are compared with all others at a time, so that a large pool fits into memory."""


@dataclass(frozen=True, eq=False)
class Placement:
    """Where N queries would go.

    Attributes:
        nearest: The nearest topic of each ``[N]``.
        confidence: Probability that it is the right one ``[N]``.
    """

    nearest: NDArray[np.intp]
    confidence: NDArray[np.float64]


def place(known: Vectors, topic_of: NDArray[np.intp], new: Vectors) -> Placement:
    """Return where new queries belong.

    With fewer than two topics there is nothing to learn from, and no confidence.

    Args:
        known: Unit-length embeddings of queries that have a topic ``[Q, d]``.
        topic_of: Their topics ``[Q]``, numbered from 0, each with one query at least.
        new: Unit-length embeddings of others ``[N, d]``.
    """
    n_topics = int(topic_of.max(initial=-1)) + 1
    nearness = _Nearness(known, topic_of, n_topics)
    to_new = nearness.of(new)
    nearest = to_new.argmax(axis=1)
    if n_topics < 2 or not len(new):  # noqa: PLR2004
        return Placement(nearest, np.zeros(len(new)))
    # Evenly spread: enough to learn two weights from, however large the pool.
    rows = np.linspace(0, len(known) - 1, min(len(known), _LEARNT_FROM)).astype(np.intp)
    own = nearness.left_out(rows)
    without = own.copy()
    without[np.arange(len(rows)), topic_of[rows]] = -1.0
    features = np.concatenate([_features(own), _features(without)])
    right = np.concatenate([own.argmax(axis=1) == topic_of[rows], np.zeros(len(rows), dtype=bool)])
    if right.all() or not right.any():
        return Placement(nearest, np.full(len(new), float(right.any())))
    weights = np.repeat([1.0, _ON_SOMETHING_NEW], len(rows))
    learner = _learner().fit(features, right, logisticregression__sample_weight=weights)
    confidence = learner.predict_proba(_features(to_new))[:, 1]
    return Placement(nearest, confidence)


def _learner() -> Any:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    return make_pipeline(StandardScaler(), LogisticRegression())


@dataclass(frozen=True, eq=False)
class _Nearness:
    """How near queries are to topics: to the middle of each, and to its nearest queries."""

    known: Vectors
    topic_of: NDArray[np.intp]
    n_topics: int

    def of(self, vectors: Vectors) -> NDArray[np.float64]:
        """Return how near each of N queries is to each topic ``[N, K]``."""
        middles = _unit(self._sums())
        return 0.5 * (vectors @ middles.T + self._neighbours(vectors)).astype(np.float64)

    def left_out(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the same for N known queries, each compared with the others only ``[N, K]``."""
        vectors, own = self.known[rows], self.topic_of[rows]
        sums = self._sums()
        to_middle = vectors @ _unit(sums).T
        rest = sums[own] - vectors
        is_alone = np.bincount(self.topic_of, minlength=self.n_topics)[own] == 1
        to_own = np.einsum("nd,nd->n", vectors, _unit(rest))
        to_middle[np.arange(len(rows)), own] = np.where(is_alone, -1.0, to_own)
        return 0.5 * (to_middle + self._neighbours(vectors, rows)).astype(np.float64)

    def _sums(self) -> Vectors:
        sums = np.zeros((self.n_topics, self.known.shape[1]), dtype=np.float32)
        np.add.at(sums, self.topic_of, self.known)
        return sums

    def _neighbours(self, vectors: Vectors, but: NDArray[np.intp] | None = None) -> Vectors:
        """Return the mean cosine with the nearest queries of each topic ``[N, K]``.

        Args:
            but: For each, a known query that it is not compared with ``[N]``: itself.
        """
        near = np.empty((len(vectors), self.n_topics), dtype=np.float32)
        members = [np.flatnonzero(self.topic_of == topic) for topic in range(self.n_topics)]
        for start in range(0, len(vectors), _AT_ONCE):
            chunk = slice(start, start + _AT_ONCE)
            cosine = vectors[chunk] @ self.known.T
            if but is not None:
                cosine[np.arange(len(cosine)), but[chunk]] = -1.0
            for topic, rows in enumerate(members):
                count = min(_NEIGHBOURS, len(rows))
                near[chunk, topic] = np.partition(cosine[:, rows], -count, axis=1)[:, -count:].mean(axis=1)
        return near


def _unit(vectors: Vectors) -> Vectors:
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-9)
    return scaled


def _features(nearness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what tells right places from wrong ones ``[N, 2]``: how near the nearest is, and by how much."""
    ordered = np.sort(nearness, axis=1)
    return np.stack([ordered[:, -1], ordered[:, -1] - ordered[:, -2]], axis=1)
