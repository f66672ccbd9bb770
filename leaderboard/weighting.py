"""A view's weights on a benchmark's queries, with the interests that no query fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crm.encoder import sentence_encoder
from leaderboard.contest import StoredContest
from leaderboard.selection import topic_weights_with
from leaderboard.statistics.matrix import Mask
from leaderboard.statistics.weights import CLOSE, interest_weights
from leaderboard.view import View


@dataclass(frozen=True, eq=False)
class Weighting:
    """How much each query counts.

    Attributes:
        weights: Of the queries ``[Q]``, not negative; None where all count alike.
        distant: The interests that no selected query fits.
    """

    weights: NDArray[np.float64] | None = None
    distant: tuple[str, ...] = ()


def weighting(contest: StoredContest, view: View, selected: Mask) -> Weighting:
    """The weights of a view.

    Args:
        contest: The view's benchmark.
        view: What a person chose.
        selected: The queries that count ``[Q]``.

    Raises:
        UnknownTopicError: The benchmark lacks a topic that has a weight.
        EmbeddingsMissingError: There are interests, and the queries have no stored embeddings.
    """
    if not view.topic_weights and not view.interests:
        return Weighting()
    weights = topic_weights_with(contest.record, view.topic_weights)
    if not view.interests:
        return Weighting(weights)
    closeness = _closeness(contest, view.interests)
    nearest = np.max(closeness, axis=1, where=selected, initial=-1.0)
    distant = tuple(text for text, near in zip(view.interests, nearest, strict=True) if near < CLOSE)
    return Weighting(weights * interest_weights(closeness), distant)


def _closeness(contest: StoredContest, interests: Sequence[str]) -> NDArray[np.float32]:
    """Cosines of interests and queries ``[K, Q]``."""
    closeness: NDArray[np.float32] = sentence_encoder().embed(interests) @ contest.query_embedding.T
    return closeness
