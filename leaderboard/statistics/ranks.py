"""Ranks and quantiles without SciPy's statistics, whose import takes a quarter of a server's start."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit


def competition_ranks(values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return ranks "1, 2, 2, 4" from the lowest value up, along the last axis, NaN last.

    They are those of ``scipy.stats.rankdata(values, method="min", axis=-1)``, where no value is NaN.
    """
    order = values.argsort(axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    place = np.arange(1, values.shape[-1] + 1)
    first = np.ones(values.shape, dtype=np.bool_)
    first[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    ranks = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.maximum.accumulate(np.where(first, place, 0), axis=-1), axis=-1)
    return ranks


def last_ranks(values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return ranks "1, 3, 3, 4", the last of the places of what is tied, as ``competition_ranks``."""
    return np.asarray(values.shape[-1] + 1 - competition_ranks(-values))


def mid_ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return ranks from the lowest value up, along the last axis; what is tied shares the mean of its places.

    They are those of ``scipy.stats.rankdata(values, axis=-1)``, where no value is NaN.
    """
    return np.asarray((competition_ranks(values) + last_ranks(values)) / 2, dtype=np.float64)


def normal_quantile(prob: float) -> float:
    """Return the value that a standard normal variable stays under with a probability."""
    return float(ndtri(prob))


def t_quantile(prob: float, freedom: NDArray[np.integer] | int) -> NDArray[np.float64]:
    """Return the values that Student's t with so many degrees of freedom stays under with a probability."""
    return np.asarray(stdtrit(freedom, prob), dtype=np.float64)


def as_t(normal: float, freedom: NDArray[np.integer] | int) -> NDArray[np.float64]:
    """Return the values that Student's t exceeds as rarely as a standard normal variable does ``normal``."""
    return -t_quantile(float(ndtr(-normal)), freedom)
