"""Ratings of LLMs that nobody rated, foretold from how they answer.

Who answers alike is rated alike: differences between people's ratings are regressed on mean differences of
features over the queries that both LLMs answered. A judge's margins come first; ridge regression (Hoerl and
Kennard 1970, https://doi.org/10.1080/00401706.1970.10488634) then explains of the ratings what they leave.
``benchmarks.held_to_votes`` measures what is foretold of LLMs whose ratings are taken for unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.optimize import nnls

from leaderboard.statistics.anchoring import FEWEST
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.win_rate import Mask

_PENALTY = 0.3
"""Of the squared weights, in mean squared differences of a feature; results hardly differ from 0.1 to 1."""
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
    published: _Array | None = None,
) -> _Array:
    """Return the ratings with those of other LLMs foretold ``[L]``, NaN for who shares too few queries.

    Args:
        rating: Of each LLM ``[L]``, in any unit, NaN where nobody rated it; nothing is foretold from fewer
            than ``FEWEST`` ratings.
        features: Of each response ``[L, Q, D]``; those of missing ones are not looked at.
        margins: Of each response by a judge.
        used: The queries to look at ``[Q]``.
        published: What another leaderboard says of each LLM ``[L]``, in any unit of which more is better, NaN
            where it says nothing. Of an LLM it knows, the rating is foretold from this and the margins.
    """
    rated = np.flatnonzero(np.isfinite(rating))
    if len(rated) < FEWEST or len(rated) == len(rating):
        return rating
    apart = _differences(features[:, used], margins, used, rated)
    elsewhere = np.full(len(rating), np.nan) if published is None else published
    known_elsewhere = np.isfinite(elsewhere)
    if known_elsewhere[rated].sum() < FEWEST:
        known_elsewhere = np.zeros(len(rating), dtype=np.bool_)
    unrated = np.isnan(rating)
    found = rating.copy()
    by_answers = np.flatnonzero(unrated & ~known_elsewhere)
    if len(by_answers):
        found[by_answers] = _by_answers(rating, apart, rated)[by_answers]
    by_figures = np.flatnonzero(unrated & known_elsewhere)
    if len(by_figures):
        found[by_figures] = _by_figures(rating, apart, rated, elsewhere)[by_figures]
    return np.clip(found, np.nanmin(rating), np.nanmax(rating))


def _by_answers(rating: _Array, apart: _Apart, rated: NDArray[np.intp]) -> _Array:
    """Return what the margins and, of what they leave, the features foretell ``[L]``."""
    known = apart.shared >= _SHARED
    one, other = np.nonzero(np.triu(known[rated], k=1))
    ahead = rating[rated[one]] - rating[rated[other]]
    weight = np.sqrt(apart.shared[rated[one], other])
    by_judge, inputs = apart.margins[rated[one], other], apart.features[rated[one], other]
    scale = max(0.0, float((weight * by_judge) @ ahead / max(float((weight * by_judge) @ by_judge), 1e-9)))
    direction = _ridge(inputs, ahead - scale * by_judge, weight)
    return _foretold(rating[rated], scale * apart.margins + apart.features @ direction, apart.shared, known)


def _by_figures(rating: _Array, apart: _Apart, rated: NDArray[np.intp], published: _Array) -> _Array:
    """Return what the margins and another leaderboard's figures foretell ``[L]``."""
    known = (apart.shared >= _SHARED) & np.isfinite(published)[:, np.newaxis] & np.isfinite(published[rated])
    inputs = np.stack([apart.margins, published[:, np.newaxis] - published[rated]], axis=2)
    inputs = np.where(known[..., np.newaxis], inputs, 0.0)
    one, other = np.nonzero(np.triu(known[rated], k=1))
    ahead = rating[rated[one]] - rating[rated[other]]
    root = np.sqrt(np.sqrt(apart.shared[rated[one], other]))
    says, _ = nnls(inputs[rated[one], other] * root[:, np.newaxis], ahead * root)
    return _foretold(rating[rated], inputs @ says, apart.shared, known)


def _foretold(rating: _Array, further: _Array, shared: _Array, known: NDArray[np.bool_]) -> _Array:
    """Return the ratings that LLMs have by how much further they are than R rated ones ``[L]``.

    Args:
        rating: Of the rated ones ``[R]``.
        further: Than each of them ``[L, R]``.
        shared: Queries that both answered ``[L, R]``.
        known: Whether they can be compared ``[L, R]``; with fewer than ``_RIVALS`` nothing is foretold, NaN.
    """
    weight = np.where(known, np.sqrt(shared), 0.0)
    total = weight.sum(axis=1)
    mean = ((rating + further) * weight).sum(axis=1) / np.maximum(total, 1e-9)
    return np.where(known.sum(axis=1) >= _RIVALS, mean, np.nan)


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
