"""Products with large weights for a few rows at a time, such as the ten to fifty tokens of a wish.

A weight ``[in, out]`` of megabytes is read from memory for every product, and OpenBLAS first copies it into
an order of its own: both take longer than to multiply. Stored as blocks of a few columns that each lie
together, it is read in order and, for few rows, not copied, which is two to three times as fast. Weights that
a file has in four bits stay in bytes, and a few blocks at a time are made numbers of: that reads a quarter of
the memory, which is shared with whatever else the computer does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parsing.gguf import GROUP, Quantised

Rows = NDArray[np.float32]
LowRank = tuple[Rows, Rows]
"""Two factors ``[out, R]`` and ``[R, in]``
of what a low-rank adaptation (Hu et al. 2021) adds to a weight."""

_COLUMNS = 64
"""Of a block; the widths of the models used here are multiples of it."""
_ALL = slice(None)
_AT_ONCE = 3
"""Blocks that are unpacked at once: they stay in the processor's cache until they are used."""


def in_blocks(weight: Rows) -> Rows:
    """Return a weight ``[in, out]`` as blocks of its columns ``[out / 64, in, 64]``.

    Raises:
        ValueError: The number of columns is no multiple of 64.
    """
    return np.ascontiguousarray(_blocks(weight))


def times_blocks(inputs: Rows, blocks: Rows) -> Rows:
    """Return ``inputs @ weight`` ``[T, out]`` of T rows ``[T, in]`` and a weight's blocks."""
    return _side_by_side(inputs @ blocks)


@dataclass(frozen=True)
class PackedWeight:
    """A linear layer's weight in bytes, and what is added to it.

    Attributes:
        numbers: In blocks ``[out / 64, in, 64]``.
        scale: Of each group of a column's numbers ``[out / 64, in / GROUP, 1, 64]``.
        least: What is added to the scaled numbers of a group ``[in / GROUP, out]``.
        added: Two factors of what is added to the weight ``[in, R]`` and ``[R, out]``.
    """

    numbers: NDArray[np.uint8]
    scale: Rows
    least: Rows
    added: tuple[Rows, Rows] | None

    @classmethod
    def of(cls, stored: Quantised, adapter: LowRank | None) -> PackedWeight:
        """Pack the weights ``[out, in]`` of a file."""
        added = None
        if adapter is not None:
            left, right = (np.ascontiguousarray(each.T, dtype=np.float32) for each in adapter)
            added = right, left
        return cls(
            np.ascontiguousarray(_blocks(stored.numbers.T)),
            np.ascontiguousarray(_blocks(stored.scale.T))[:, :, None],
            np.ascontiguousarray(stored.least.T),
            added,
        )

    def times(self, inputs: Rows, apart: Sequence[slice] = (_ALL,)) -> Rows:
        """Return ``inputs @ weight`` ``[T, out]`` of T rows ``[T, in]``.

        Args:
            apart: Runs of rows that follow each other and are multiplied each by themselves, so that none
                moves the last digits of another; the weight is unpacked once for all.
        """
        n_blocks, n_inputs, width = self.numbers.shape
        products = [np.empty((n_blocks, len(inputs[rows]), width), np.float32) for rows in apart]
        unpacked = np.empty((_AT_ONCE, n_inputs, width), np.float32)
        for start in range(0, n_blocks, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            scale = self.scale[some]
            blocks = unpacked[: len(scale)]
            grouped = (*scale.shape[:2], GROUP, width)
            np.multiply(self.numbers[some].reshape(grouped), scale, out=blocks.reshape(grouped))
            for rows, of_rows in zip(apart, products, strict=True):
                np.matmul(inputs[rows], blocks, out=of_rows[some])
        whole = [
            self._completed(_side_by_side(each), inputs[rows])
            for rows, each in zip(apart, products, strict=True)
        ]
        return whole[0] if len(whole) == 1 else np.concatenate(whole)

    def _completed(self, product: Rows, inputs: Rows) -> Rows:
        """Add what is added to the scaled numbers, and the two factors."""
        n_inputs = inputs.shape[1]
        product += inputs.reshape(len(inputs), n_inputs // GROUP, GROUP).sum(axis=2) @ self.least
        if self.added is not None:
            right, left = self.added
            product += (inputs @ right) @ left
        return product


def _blocks(weight: NDArray[Any]) -> NDArray[Any]:
    return weight.reshape(len(weight), -1, _COLUMNS).transpose(1, 0, 2)


def _side_by_side(products: Rows) -> Rows:
    """Return products of T rows with each block ``[out / 64, T, 64]`` as one ``[T, out]``."""
    n_blocks, n_rows, width = products.shape
    return products.transpose(1, 0, 2).reshape(n_rows, n_blocks * width)
