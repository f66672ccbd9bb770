"""How often a judge prefers the side that the criteria prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crm.dataset import JudgedPair
from crm.protocol import CRM

_Z = 1.959964
"""Two-sided 95 % quantile of the standard normal distribution."""


@dataclass(frozen=True)
class Accuracy:
    """Share of right verdicts with its 95 % Wilson interval; an undecided verdict counts half.

    Attributes:
        subset: What was judged.
        n: Number of verdicts.
        value: Fraction right.
        low: Lower end of the interval.
        high: Upper end.
    """

    subset: str
    n: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """A judge's results.

    Attributes:
        crm: Name of the judge.
        accuracies: Per criteria list, per single criterion of a list, and per kind of extra criterion.
        calibration_error: Expected calibration error over lists, ten bins of equal width.
    """

    crm: str
    accuracies: tuple[Accuracy, ...]
    calibration_error: float


def evaluate(crm: CRM, judged: Sequence[JudgedPair]) -> Evaluation:
    """Judge labelled pairs; ties are left out."""
    decided = [item for item in judged if item.label]
    verdicts = crm.judge([item.question for item in decided])
    right: dict[str, list[float]] = {}
    lists = []
    for item, verdict in zip(decided, verdicts, strict=True):
        label = float(item.label or 0.0)
        if item.kind == "list":
            lists.append((verdict.prob_a, label > 0))
            right.setdefault("criteria list", []).append(_right(verdict.prob_a, label))
            for alone in verdict.per_criterion:
                right.setdefault("criterion", []).append(_right(alone, label))
        else:
            right.setdefault(item.kind, []).append(_right(verdict.prob_a, label))
    return Evaluation(
        crm=crm.name,
        accuracies=tuple(_accuracy(subset, scores) for subset, scores in right.items()),
        calibration_error=calibration_error(
            np.array([prob for prob, _ in lists]), np.array([won for _, won in lists])
        ),
    )


def calibration_error(prob: NDArray[np.float64], won: NDArray[np.bool_], bins: int = 10) -> float:
    """Expected calibration error (Guo et al. 2017) of probabilities ``[N]`` against outcomes ``[N]``."""
    if not len(prob):
        return float("nan")
    index = np.minimum((prob * bins).astype(int), bins - 1)
    gaps = [
        abs(prob[index == number].mean() - won[index == number].mean()) * (index == number).mean()
        for number in np.unique(index)
    ]
    return float(sum(gaps))


def _right(prob: float, label: float) -> float:
    return 0.5 if prob == 0.5 else float((prob > 0.5) == (label > 0))  # noqa: PLR2004


def _accuracy(subset: str, scores: Sequence[float]) -> Accuracy:
    n, value = len(scores), float(np.mean(scores))
    centre = (value + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    margin = _Z / (1 + _Z**2 / n) * np.sqrt(value * (1 - value) / n + _Z**2 / (4 * n**2))
    return Accuracy(subset, n, value, float(centre - margin), float(centre + margin))
