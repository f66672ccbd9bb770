"""Functions that networks are made of, in NumPy, and how their weights are called."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
LowRank = tuple[Rows, Rows]
"""Two factors ``[out, R]`` and ``[R, in]`` of what a low-rank adaptation (Hu et al. 2021) adds to a weight.
"""

_ONE, _HALF, _ROOT_HALF = np.float32(1), np.float32(0.5), np.float32(0.5**0.5)
_AT = np.float32(0.3275911)
_TERMS = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))
"""Of the error function, from the highest power down."""


def normalised(rows: Rows, epsilon: np.float32) -> Rows:
    """Return rows with mean 0 and variance 1 each (Ba et al. 2016, https://arxiv.org/abs/1607.06450)."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    variance = np.square(centred).mean(axis=1, keepdims=True)
    scaled: Rows = centred / np.sqrt(variance + epsilon)
    return scaled


def gelu(inputs: Rows) -> Rows:
    """Return the Gaussian error linear unit (Hendrycks & Gimpel 2016) of every number.

    The error function is formula 7.1.26 of Abramowitz & Stegun (1964), whose error is as small as a rounding
    in single precision: SciPy's takes six times as long.
    """
    size = np.abs(inputs)
    root = size * _ROOT_HALF
    inverse: Rows = np.reciprocal(_ONE + _AT * root)
    beyond = inverse * _TERMS[0]
    for term in _TERMS[1:]:
        beyond += term
        beyond *= inverse
    beyond *= np.exp(-np.square(root))
    beyond *= size
    beyond *= _HALF
    gained: Rows = np.maximum(inputs, 0) - beyond
    return gained
