"""Products with weights in blocks are those with the weights."""

import numpy as np
import pytest

from crm.embedded.blocks import in_blocks, times_blocks

DRAW = np.random.default_rng(0)


@pytest.mark.parametrize("n_rows", [0, 1, 9, 40])
def test_a_weight_in_blocks_multiplies_as_it_does_whole(n_rows: int) -> None:
    weight = DRAW.normal(size=(96, 192)).astype(np.float32)
    inputs = DRAW.normal(size=(n_rows, 96)).astype(np.float32)

    np.testing.assert_allclose(times_blocks(inputs, in_blocks(weight)), inputs @ weight, atol=1e-4)


def test_a_weight_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="reshape"):
        in_blocks(np.zeros((96, 100), np.float32))
