"""NormAlign (PrefDisco, Li et al. 2025): how much of what can be gained over the default ranking was gained.

Of one person in one context it is 100 (discovery − baseline) / (oracle − baseline), each of them a PrefAlign
(eq. 2): 0 is the default ranking's first LLM, 100 that of the person's own ranking. Of many there are two:

- the *ratio of means*, 100 Σ (discovery − baseline) / Σ (oracle − baseline), in which everybody counts by how
  much there is to gain for them;
- the *mean of ratios*, in which everybody counts alike. Somebody for whom next to nothing can be gained has a
  ratio of any size, so whoever has less room than ``SMALLEST_ROOM`` has none, is left out and counted.

Standard errors are of people drawn at random, all contexts of a person together (the linearised ratio of two
sums; Cochran, Sampling Techniques, 1977, section 6.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.alignment import BEST_GRADE

Floats = NDArray[np.floating]

SMALLEST_ROOM = 0.02 * BEST_GRADE
"""PrefAlign by which the oracle has to be ahead of the baseline for a ratio: 2 % of the scale, 0.1 of 5."""
COLUMNS = ("NormAlign, ratio of means", "mean of ratios", "below 0")
_NORMAL = 1.96


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error; both NaN where nobody counts, the error where one person does."""

    value: float
    error: float

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "–"
        return f"{self.value:.0f} ± {_NORMAL * self.error:.0f}"


@dataclass(frozen=True)
class NormAlign:
    """NormAlign of several people, each in one context or more.

    Attributes:
        ratio_of_means: Everybody counts by the room that there is for them.
        mean_of_ratios: Everybody with a ratio counts alike.
        below_zero: Share of those with a ratio for whom it is below 0, in percent.
        n_ratios: How many have a ratio.
        n_left_out: How many have none, as there is too little room, or nothing was measured.
    """

    ratio_of_means: Estimate
    mean_of_ratios: Estimate
    below_zero: Estimate
    n_ratios: int
    n_left_out: int

    @property
    def cells(self) -> tuple[str, str, str]:
        """What stands in the columns ``COLUMNS`` of a table."""
        below = "–" if np.isnan(self.below_zero.value) else f"{self.below_zero.value:.0f} %"
        return str(self.ratio_of_means), str(self.mean_of_ratios), below

    @property
    def left_out(self) -> str:
        """How many have no ratio, of how many."""
        return f"{self.n_left_out:,} of {self.n_left_out + self.n_ratios:,}"


def norm_align(discovery: Floats, baseline: Floats, oracle: Floats) -> NormAlign:
    """Return NormAlign of U people in X contexts.

    Args:
        discovery: PrefAlign of what each was given after it was asked ``[U, X]``; NaN where there is none.
        baseline: Of what everybody is given ``[U, X]``.
        oracle: Of what is given to who is known ``[U, X]``.
    """
    gain, room = discovery - baseline, oracle - baseline
    measured = ~np.isnan(gain) & ~np.isnan(room)
    enough = measured & (room >= SMALLEST_ROOM)
    ratio = gain[enough] / room[enough]
    return NormAlign(
        _percent(gain[measured], room[measured], measured),
        _percent(ratio, np.ones_like(ratio), enough),
        _percent(ratio < 0, np.ones_like(ratio), enough),
        int(enough.sum()),
        int(enough.size - enough.sum()),
    )


def _percent(
    numerator: Floats | NDArray[np.bool_], denominator: Floats, where: NDArray[np.bool_]
) -> Estimate:
    """Return 100 times the ratio of two sums, over the people with something to sum.

    Args:
        where: Of which people and contexts the terms are ``[U, X]``.
    """
    terms = np.zeros((2, *where.shape))
    terms[:, where] = numerator, denominator
    value, error = ratio_of_sums(*terms[:, where.any(axis=1)].sum(axis=2))
    return Estimate(100 * value, 100 * error)


def ratio_of_sums(numerator: Floats, denominator: Floats) -> tuple[float, float]:
    """Return Σ numerator / Σ denominator over U people ``[U]`` with its standard error.

    NaN where the denominators sum to nothing or less; an error of NaN where there is one person.
    """
    whole = float(denominator.sum())
    if whole <= 0:
        return float("nan"), float("nan")
    value = float(numerator.sum()) / whole
    n_people = len(numerator)
    if n_people < 2:
        return value, float("nan")
    rest = numerator - value * denominator
    return value, float(np.sqrt(np.square(rest).sum() * n_people / (n_people - 1)) / whole)
