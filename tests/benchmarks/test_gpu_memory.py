import pytest

from benchmarks.gpu.memory import SHAPES, state
from crm.training.classifier.options import Options, Weights


@pytest.mark.parametrize("name", SHAPES)
def test_the_arithmetic_counts_the_weights_of_the_real_model(name: str) -> None:
    shape = SHAPES[name]
    real = sum(one.numel() for one in shape.model(Weights.FP32, "meta").parameters())
    assert shape.weights == pytest.approx(real, rel=1e-3)


def test_weights_gradients_and_moments_in_single_precision_take_16_bytes_a_weight() -> None:
    shape = SHAPES["4B"]
    whole, halved = state(shape, Options()), state(shape, Options(weights=Weights.BF16))
    assert 16 < whole / shape.weights < 18
    assert halved / shape.weights == 8
    adapted = state(shape, Options(weights=Weights.BF16, lora=16)) / shape.weights
    assert 2 < adapted < 2.2
