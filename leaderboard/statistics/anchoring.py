"""The default ranking ∅ held to people's votes: who is how strong they say, on which queries the judge says.

A judge that learnt what people generally prefer tells responses apart, but hardly LLMs that are all good. Of
many LLMs the votes are known. All margins of an LLM on one kind of question are moved by one amount, so that
the strengths in duels come out as the ratings say; where it is stronger and weaker stays with the judge. An
LLM that nobody rated gets what its strength by the judge foretells, by the regression of ratings on strength:
where the judge says little of ratings, that is about the middle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leaderboard.statistics.bradley_terry import bradley_terry
from leaderboard.statistics.duels import Margins, coverage

FEWEST = 10
"""Rated LLMs from which on margins are moved."""
ELO = float(np.log(10.0) / 400.0)
"""Log-odds of one Elo point: 400 are ten times the odds."""
VOTES_ERROR = 0.15
"""By how much votes mistake the duels of two LLMs, in log-odds: ratings of current LLMs on LMArena differ
between kinds of questions by a standard deviation of some 17 Elo points, 0.1, of which a duel has two."""
_STEPS = 12
_CLOSE = 0.01
_MOST_APART = 3.0

_Array = NDArray[np.float64]


def anchored(
    margins: Margins,
    strata: NDArray[np.integer],
    categories: NDArray[np.integer],
    n_categories: int,
    rating: _Array,
    *,
    used: NDArray[np.bool_] | None = None,
) -> Margins:
    """Return margins under which L LLMs are as strong in soft duels on some queries as people rate them.

    Args:
        margins: Of L LLMs on Q queries.
        strata: Topic index of each query ``[Q]``.
        categories: Category index of each query ``[Q]``.
        rating: Elo points ``[L]``, NaN where nobody rated the LLM; with fewer than ``FEWEST`` ratings of LLMs
            that can be compared, the margins stay as they are.
        used: The queries ``[Q]``, by default all; margins on others stay as they are.
    """
    if used is None:
        used = np.ones(len(strata), dtype=np.bool_)
    compared = coverage(margins.asked, categories, n_categories, used=used).comparable
    rated = compared & np.isfinite(rating)
    if rated.sum() < FEWEST:
        return margins

    def strengths(moved: Margins) -> _Array:
        found = bradley_terry(moved, strata, categories, used=used, compared=compared, soft=True)
        return found.strength

    target = _targets(strengths(margins), rating * ELO, rated)
    moved, shift = margins, np.zeros(len(rating))
    for _ in range(_STEPS):
        lacking = np.nan_to_num(target - strengths(moved))
        if np.abs(lacking).max() < _CLOSE:
            break
        shift += lacking
        moved = replace(margins, asked=margins.asked + np.outer(shift, used).astype(margins.asked.dtype))
    return moved


def _targets(strength: _Array, rating: _Array, rated: NDArray[np.bool_]) -> _Array:
    """Return strengths around 0 that LLMs should have ``[L]``, in log-odds, NaN for who is not compared."""
    known, given = strength[rated], rating[rated]
    around = known - known.mean()
    slope = max(0.0, float(around @ given / max(float(around @ around), 1e-9)))
    foretold = given.mean() + slope * (strength - known.mean())
    target = np.where(rated, rating, np.clip(foretold, given.min(), given.max()))
    middle = float(np.nanmean(np.where(np.isnan(strength), np.nan, target)))
    return np.clip(np.where(np.isnan(strength), np.nan, target - middle), -_MOST_APART, _MOST_APART)
