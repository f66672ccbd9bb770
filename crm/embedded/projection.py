"""Products of stored responses, in int8, with a few directions: of these, rankings are made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crm.protocol import Floats

_BLOCK_CELLS = 400_000
"""Features widened at a time. OpenBLAS computes a product of up to 460,800 cells in the calling thread;
above that its threads wait for each other, on busy cores for far longer than the product takes."""


def project(features: NDArray[np.int8], direction: Floats) -> Floats:
    """Return features ``[..., D]`` times one direction ``[D]``, or H of them ``[D, H]``, in float32."""
    rows = features.reshape(-1, features.shape[-1])
    several = direction.shape[1:]
    height = max(1, _BLOCK_CELLS // (rows.shape[1] * max(1, *several, 1)))
    widened = np.empty((min(height, len(rows)), rows.shape[1]), dtype=np.float32)
    product = np.empty((len(rows), *several), dtype=np.float32)
    for start in range(0, len(rows), height):
        block = rows[start : start + height]
        wide = widened[: len(block)]
        np.copyto(wide, block)
        np.dot(wide, direction, out=product[start : start + len(block)])
    return product.reshape(*features.shape[:-1], *several)
