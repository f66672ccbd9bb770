"""What votes alone tell: a Bradley-Terry model of the LLMs, without any criteria."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from leaderboard.personal.choice import Answer, Choice

_PRIOR_VARIANCE = 1.0
_STEPS = 30
_SCORE = {Answer.FIRST: 1.0, Answer.SECOND: 0.0, Answer.BOTH: 0.5, Answer.NEITHER: 0.5}


def strengths(choices: Sequence[Choice], n_rows: int) -> NDArray[np.float64]:
    """Strengths of R responders by Bradley-Terry with a normal prior, ties as half a win each ``[R]``.

    The prior makes the answer unique where votes are few.
    """
    design = np.zeros((len(choices), n_rows))
    for row, choice in enumerate(choices):
        design[row, choice.pair.first], design[row, choice.pair.second] = 1, -1
    score = np.array([_SCORE[choice.answer] for choice in choices])
    strength = np.zeros(n_rows)
    for _ in range(_STEPS):
        expected = expit(design @ strength)
        gradient = design.T @ (score - expected) - strength / _PRIOR_VARIANCE
        curvature = (design.T * (expected * (1 - expected))) @ design + np.eye(n_rows) / _PRIOR_VARIANCE
        strength += np.linalg.solve(curvature, gradient)
    return strength
