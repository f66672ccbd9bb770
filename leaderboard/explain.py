"""Behind one LLM's rank: its score by topic, where it wins and loses, and why it won one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Criterion
from crm.protocol import Reason
from leaderboard.statistics.win_rate import checked_weights, win_rates


@dataclass(frozen=True)
class TopicScore:
    """An LLM's win rate on the selected queries of one topic, a fraction; NaN where it answered none."""

    category: str
    topic: str
    win_rate: float
    n_queries: int


@dataclass(frozen=True)
class QueryScore:
    """The verdict on one query: probability that the LLM's response is preferred to the baseline's.

    Without a baseline, the mean of that over the others' responses.
    """

    query: str
    category: str
    topic: str
    prob: float


@dataclass(frozen=True)
class CriterionVerdict:
    """What one criterion says of a pair.

    Attributes:
        criterion: None for the default ranking's preference.
        prob: Probability that the LLM's response is preferred.
        warning: Why the judge should not be trusted on this criterion, in one sentence.
        nearest: The passages of both responses that come nearest to it, as far as it is judged by passages;
            None where a text is not stored.
    """

    criterion: Criterion | None
    prob: float
    reasons: tuple[Reason, ...]
    warning: str | None = None
    nearest: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class PairReport:
    """The responses to one query and the verdict on them; texts are None where they are not stored.

    Attributes:
        opponent: Whose response it is compared with: the baseline's, or without one the best other's.
    """

    query: str
    category: str
    topic: str
    query_text: str | None
    response: str | None
    opponent: str
    opponent_response: str | None
    prob: float
    verdicts: tuple[CriterionVerdict, ...]


def topic_scores(
    won: NDArray[np.float64],
    categories: Sequence[str],
    topics: Sequence[str],
    *,
    weights: NDArray[np.float64] | None = None,
) -> list[TopicScore]:
    """Win rate by topic, best first.

    Args:
        won: What one LLM scores on each of the selected queries ``[Q]``, NaN where it has no verdict.
        weights: How much each query counts ``[Q]``, all positive; all alike by default.
    """
    counts = checked_weights(weights, len(won))
    members: dict[tuple[str, str], list[int]] = {}
    for index, key in enumerate(zip(categories, topics, strict=True)):
        members.setdefault(key, []).append(index)
    scores = [
        TopicScore(
            category,
            topic,
            win_rate=float(win_rates(won[np.newaxis, rows], counts[rows])[0]),
            n_queries=int(np.isfinite(won[rows]).sum()),
        )
        for (category, topic), rows in members.items()
    ]
    return sorted(scores, key=lambda score: (-np.nan_to_num(score.win_rate, nan=-1.0), score.topic))
