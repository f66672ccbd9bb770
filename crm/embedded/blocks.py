"""Products with large weights for a few rows at a time, such as the ten to fifty tokens of a wish.

A weight ``[in, out]`` of megabytes is read from memory for every product, and OpenBLAS first copies it into
an order of its own: both take longer than to multiply. Stored as blocks of a few columns that each lie
together, it is read in order and, for few rows, not copied, which is two to three times as fast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
LowRank = tuple[Rows, Rows]
"""Two factors ``[out, R]`` and ``[R, in]``
of what a low-rank adaptation (Hu et al. 2021) adds to a weight."""

_COLUMNS = 64
"""Of a block; the widths of the models used here are multiples of it."""


def in_blocks(weight: Rows) -> Rows:
    """Return a weight ``[in, out]`` as blocks of its columns ``[out / 64, in, 64]``.

    Raises:
        ValueError: The number of columns is no multiple of 64.
    """
    return np.ascontiguousarray(weight.reshape(len(weight), -1, _COLUMNS).transpose(1, 0, 2))


def times_blocks(inputs: Rows, blocks: Rows) -> Rows:
    """Return ``inputs @ weight`` ``[T, out]`` of T rows ``[T, in]`` and a weight's blocks."""
    products: Rows = inputs @ blocks  # [out / 64, T, 64]
    n_blocks, n_rows, width = products.shape
    return products.transpose(1, 0, 2).reshape(n_rows, n_blocks * width)
