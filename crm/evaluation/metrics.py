"""Numbers that say how good a judge's probabilities are; arrays in, numbers out.

``prob`` is always the probability that A is preferred, and ``label`` is +1 where A is preferred, −1 where B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri, xlog1py, xlogy

Numbers = NDArray[np.float64]

_Z = float(ndtri(0.975))
"""Two-sided 95 % quantile of the standard normal distribution."""
_EVEN = 0.5
_NOTHING = 1e-9


@dataclass(frozen=True)
class Accuracy:
    """Share of right verdicts with its 95 % Wilson interval; an undecided verdict counts half."""

    subset: str
    n: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ReliabilityBin:
    """Verdicts that are about equally sure.

    Attributes:
        mean_prob: Their mean probability that A is preferred.
        share: Share of them where A is.
    """

    n: int
    mean_prob: float
    share: float


@dataclass(frozen=True)
class PositionBias:
    """What changes when A and B change places.

    Attributes:
        n: Number of pairs, each judged in both orders.
        mean_gap: Mean of ``|p(A, B) − (1 − p(B, A))|``, 0 to 1.
        flipped: Share of pairs on which the other response wins after the change.
        first_place: Share of all 2n verdicts for the response named first, ties half; 0.5 is no preference.
    """

    n: int
    mean_gap: float
    flipped: float
    first_place: float


@dataclass(frozen=True)
class LengthBias:
    """How much length moves a verdict that the criteria do not ask for.

    Attributes:
        correlation: Partial correlation of the probability for A and the logarithm of the ratio of lengths
            in characters, given the label; positive where longer responses are favoured, 0 is no bias.
        low: Lower end of its 95 % interval (Fisher's z).
        high: Upper end.
    """

    n: int
    correlation: float
    low: float
    high: float


def accuracy(subset: str, scores: Sequence[float]) -> Accuracy:
    """Mean of scores, each 0, ½ or 1, with its interval (Wilson 1927)."""
    n, value = len(scores), float(np.mean(scores))
    centre = (value + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    margin = _Z / (1 + _Z**2 / n) * np.sqrt(value * (1 - value) / n + _Z**2 / (4 * n**2))
    return Accuracy(subset, n, value, float(centre - margin), float(centre + margin))


def right(prob: float, label: float) -> float:
    """1 for a verdict on the label's side, 0 for one on the other, ½ for none."""
    return _EVEN if prob == _EVEN else float((prob > _EVEN) == (label > 0))


def reliability(prob: Numbers, won: NDArray[np.bool_], bins: int = 10) -> tuple[ReliabilityBin, ...]:
    """Return the verdicts ``[N]`` against outcomes ``[N]`` in bins of equal width, empty bins left out."""
    index = np.minimum((prob * bins).astype(int), bins - 1)
    return tuple(
        ReliabilityBin(int(inside.sum()), float(prob[inside].mean()), float(won[inside].mean()))
        for inside in (index == number for number in np.unique(index))
    )


def calibration_error(prob: Numbers, won: NDArray[np.bool_], bins: int = 10) -> float:
    """Expected calibration error (Guo et al. 2017) of probabilities ``[N]`` against outcomes ``[N]``."""
    return expected_gap(reliability(prob, won, bins))


def expected_gap(bins: Sequence[ReliabilityBin]) -> float:
    """Mean gap between probability and share, weighted by the bins' sizes; NaN of nothing."""
    total = sum(item.n for item in bins)
    if not total:
        return float("nan")
    return sum(item.n * abs(item.mean_prob - item.share) for item in bins) / total


def gap_by_chance(bins: Sequence[ReliabilityBin]) -> float:
    """Return the expected gap of a judge whose probabilities are right, by the draw of so few outcomes.

    In each bin it is the mean absolute deviation of a binomial share; NaN of nothing.
    """
    total = sum(item.n for item in bins)
    if not total:
        return float("nan")
    return sum(_mean_deviation(item.n, item.mean_prob) for item in bins) / total


def _mean_deviation(n: int, prob: float) -> float:
    """Mean absolute deviation of a binomial count from its mean: de Moivre's formula."""
    above = int(n * prob) + 1
    if above > n:
        return n * (1 - prob)
    ways = gammaln(n + 1) - gammaln(above + 1) - gammaln(n - above + 1)
    share = np.exp(ways + xlogy(above, prob) + xlog1py(n - above, -prob))
    return float(2 * above * (1 - prob) * share)


def position_bias(prob_ab: Numbers, prob_ba: Numbers) -> PositionBias:
    """Compare the verdicts on N pairs ``[N]`` with those on the same pairs in the other order ``[N]``."""
    swapped_back = 1 - prob_ba
    first = [right(prob, 1.0) for prob in (*prob_ab, *prob_ba)]
    return PositionBias(
        n=len(prob_ab),
        mean_gap=float(np.abs(prob_ab - swapped_back).mean()),
        flipped=float(np.mean((prob_ab - _EVEN) * (swapped_back - _EVEN) < 0)),
        first_place=float(np.mean(first)),
    )


def length_bias(prob: Numbers, label: Numbers, length_a: Numbers, length_b: Numbers) -> LengthBias | None:
    """How far verdicts ``[N]`` follow the lengths of the responses ``[N]`` beyond what the label explains.

    None where that is undefined: of fewer than five verdicts, and where verdict, label or length never varies
    or verdict and label say the same.
    """
    ratio = np.log((length_a + 1) / (length_b + 1))
    fewest = 5
    if len(prob) < fewest or min(np.ptp(prob), np.ptp(label), np.ptp(ratio)) == 0:
        return None
    (_, by_label, by_length), (_, _, together), _ = np.corrcoef([prob, label, ratio])
    left = (1 - by_label**2) * (1 - together**2)
    if left <= _NOTHING:
        return None
    partial = float(np.clip((by_length - by_label * together) / np.sqrt(left), -1, 1))
    z = np.arctanh(np.clip(partial, -1 + 1e-12, 1 - 1e-12))
    margin = _Z / np.sqrt(len(prob) - 4)
    return LengthBias(len(prob), partial, float(np.tanh(z - margin)), float(np.tanh(z + margin)))
