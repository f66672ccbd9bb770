"""Ratings of LLMs that nobody rated, foretold from how they answer and from what is known of them.

Who answers alike is rated alike: differences between people's ratings are regressed on mean differences of
features over the queries that both LLMs answered. A judge's margins come first, with what is known of the
LLMs (how large, how new); ridge regression (Hoerl and Kennard 1970,
https://doi.org/10.1080/00401706.1970.10488634) then explains of the ratings what these leave.
``benchmarks.held_to_votes`` measures what is foretold of LLMs whose ratings are taken for unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from leaderboard.statistics.anchoring import FEWEST
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.win_rate import Mask

_PENALTY = 0.3
"""Of the squared weights, in mean squared differences of a feature; results hardly differ from 0.1 to 1."""
_FACTS_PENALTY = 0.1
"""The same of what is known of LLMs; at 0.3 results hardly differ."""
FORETOLD_ERROR = 0.25
"""By how much what is foretold mistakes the duels of two LLMs, in log-odds: of current LLMs and those of
2023-24 whose ratings were taken for unknown, 1.96 times as much holds 98 to 100 % of what it was off by."""
_SHARED = 5
"""Queries that two LLMs both answered, for them to be compared."""
_RIVALS = 5
"""Rated LLMs that an LLM is compared with, for its rating to be foretold."""

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Apart:
    """By how much L LLMs and R rated ones differ on average on the queries that both answered.

    Attributes:
        features: ``[L, R, D]``.
        margins: ``[L, R]``.
        shared: Queries that both answered ``[L, R]``.
    """

    features: NDArray[np.float32]
    margins: _Array
    shared: _Array


def with_foretold(
    rating: _Array,
    features: NDArray[np.integer],
    margins: Margins,
    used: Mask,
    known: _Array | None = None,
) -> _Array:
    """Return the ratings with those of other LLMs foretold ``[L]``, NaN for who shares too few queries.

    Args:
        rating: Of each LLM ``[L]``, in any unit, NaN where nobody rated it; nothing is foretold from fewer
            than ``FEWEST`` ratings.
        features: Of each response ``[L, Q, D]``; those of missing ones are not looked at.
        margins: Of each response by a judge.
        used: The queries to look at ``[Q]``.
        known: What else is known of each LLM, such as its size ``[L, F]``, in any units, NaN where it is not;
            what is known of fewer than ``FEWEST`` rated LLMs is not looked at.
    """
    rated = np.flatnonzero(np.isfinite(rating))
    if len(rated) < FEWEST or len(rated) == len(rating):
        return rating
    apart = _differences(features[:, used], margins, used, rated)
    shares = apart.shared >= _SHARED
    one, other = np.nonzero(np.triu(shares[rated], k=1))
    ahead, weight = rating[rated[one]] - rating[rated[other]], np.sqrt(apart.shared[rated[one], other])
    facts = _comparable(np.empty((len(rating), 0)) if known is None else known, rated)
    says = np.concatenate([apart.margins[..., np.newaxis], facts[:, np.newaxis] - facts[rated]], axis=2)
    by_facts = _margins_first(says[rated[one], other], ahead, weight)
    left = ahead - says[rated[one], other] @ by_facts
    direction = _ridge(apart.features[rated[one], other], left, weight)
    further = says @ by_facts + apart.features @ direction
    found = rating.copy()
    for llm in np.flatnonzero(np.isnan(rating)):
        rivals = np.flatnonzero(shares[llm])
        if len(rivals) >= _RIVALS:
            theirs, shared = rating[rated[rivals]] + further[llm, rivals], apart.shared[llm, rivals]
            foretold = np.average(theirs, weights=np.sqrt(shared))
            found[llm] = np.clip(foretold, np.nanmin(rating), np.nanmax(rating))
    return found


def _comparable(known: _Array, rated: NDArray[np.intp]) -> _Array:
    """Return facts in standard deviations of the rated LLMs ``[L, ≤ F]``; the mean where one is unknown."""
    columns = []
    for fact in known.T:
        is_known = np.isfinite(fact)
        given = fact[rated][is_known[rated]]
        if len(given) < FEWEST or not given.std():
            continue
        columns.append(np.where(is_known, (fact - given.mean()) / given.std(), 0.0))
    return np.stack(columns, axis=1) if columns else np.empty((len(known), 0))


def _margins_first(inputs: _Array, targets: _Array, weight: _Array) -> _Array:
    """Return the weights ``[1 + F]`` of a ridge regression that keeps that of the first input from nothing.

    A judge whose margins run against the targets is not believed.
    """
    share = weight / max(float(weight.sum()), 1e-9)
    scale = np.maximum(np.sqrt(share @ inputs**2), 1e-9)
    scaled = inputs / scale
    inner, outer = (scaled * share[:, np.newaxis]).T @ scaled, (scaled * share[:, np.newaxis]).T @ targets
    kept = _FACTS_PENALTY * np.eye(len(inner))
    kept[0, 0] = 1e-9
    found: _Array = solve(inner + kept, outer, assume_a="pos")
    if found[0] < 0:
        found = np.zeros_like(outer)
        if len(outer) > 1:
            found[1:] = solve((inner + kept)[1:, 1:], outer[1:], assume_a="pos")
    return found / scale


def _differences(
    features: NDArray[np.integer], margins: Margins, used: Mask, rated: NDArray[np.intp]
) -> _Apart:
    """Return how the LLMs differ from the rated ones on the queries in use, whose features are given."""
    answered = margins.present[:, used].astype(np.float32)
    judged = np.nan_to_num(margins.asked[:, used]).astype(np.float64)
    apart = np.empty((len(answered), len(rated), features.shape[2]), dtype=np.float32)
    for llm, of_responses in enumerate(features):
        apart[llm] = (answered[rated] * answered[llm]) @ of_responses.astype(np.float32)
    for place, llm in enumerate(rated):
        apart[:, place] -= (answered * answered[llm]) @ features[llm].astype(np.float32)
    shared = (answered @ answered[rated].T).astype(np.float64)
    apart /= np.maximum(shared, 1)[..., np.newaxis]
    by_judge = (judged @ answered[rated].T - answered @ judged[rated].T) / np.maximum(shared, 1)
    return _Apart(apart, by_judge, shared)


def _ridge(inputs: NDArray[np.float32], targets: _Array, weight: _Array) -> _Array:
    """Return the direction ``[D]`` that explains M targets by inputs ``[M, D]``, no intercept."""
    weighted = inputs * (weight / max(float(weight.sum()), 1e-9)).astype(np.float32)[:, np.newaxis]
    inner = (weighted.T @ inputs).astype(np.float64)
    inner += max(_PENALTY * float(np.trace(inner)) / len(inner), 1e-9) * np.eye(len(inner))
    found: _Array = solve(inner, weighted.T.astype(np.float64) @ targets, assume_a="pos")
    return found
