"""Products with weights in blocks are those with the weights."""

import numpy as np
import pytest

from crm.embedded.blocks import PackedWeight, in_blocks, times_blocks
from parsing.gguf import Quantised

DRAW = np.random.default_rng(0)


@pytest.mark.parametrize("n_rows", [0, 1, 9, 40])
def test_a_weight_in_blocks_multiplies_as_it_does_whole(n_rows: int) -> None:
    weight = DRAW.normal(size=(96, 192)).astype(np.float32)
    inputs = DRAW.normal(size=(n_rows, 96)).astype(np.float32)

    np.testing.assert_allclose(times_blocks(inputs, in_blocks(weight)), inputs @ weight, atol=1e-4)


def test_a_weight_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="reshape"):
        in_blocks(np.zeros((96, 100), np.float32))


@pytest.mark.parametrize("n_rows", [0, 1, 9, 40])
@pytest.mark.parametrize("rank", [0, 4])
def test_a_packed_weight_multiplies_as_its_numbers_say(n_rows: int, rank: int) -> None:
    numbers = DRAW.integers(0, 16, (320, 96)).astype(np.uint8)
    scale, least = (DRAW.normal(size=(320, 3)).astype(np.float32) for _ in range(2))
    left, right = (DRAW.normal(size=shape).astype(np.float16) for shape in ((320, rank), (rank, 96)))
    packed = PackedWeight.of(Quantised(numbers, scale, least), (left, right) if rank else None)
    inputs = DRAW.normal(size=(n_rows, 96)).astype(np.float32)

    weight = numbers * scale.repeat(32, axis=1) + least.repeat(32, axis=1)
    weight += left.astype(np.float32) @ right.astype(np.float32)
    np.testing.assert_allclose(packed.times(inputs), inputs @ weight.T, rtol=1e-4, atol=2e-2)
    runs = [slice(0, n_rows // 3), slice(n_rows // 3, n_rows)]
    np.testing.assert_array_equal(
        packed.times(inputs, runs), np.concatenate([packed.times(inputs[run]) for run in runs])
    )
