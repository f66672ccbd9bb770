"""The encoder in ONNX Runtime, against the same weights in transformers."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import erf

from crm.embedded.encoder import DIMENSIONS, WINDOW, encoder_parts
from crm.embedded.functions import gelu
from crm.embedded.minilm import N_LAYERS, last_states_of_each, load_minilm

TEXTS = ["How do I boil an egg?", "", "簡潔に 🎉", "naïve café — résumé", "word " * (WINDOW - 2)]
NAME = "encoder.layer.3.attention.self.query"


@pytest.fixture(scope="module")
def reference():  # type: ignore[no-untyped-def]
    """Tokenizer and model of transformers."""
    tokenizer, model = encoder_parts()
    return tokenizer, model


def states_of(model, windows: list[list[int]]) -> list[np.ndarray]:  # type: ignore[no-untyped-def]
    """What transformers makes of the windows, one after the other."""
    import torch

    with torch.inference_mode():
        each = [
            model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states for ids in windows
        ]
    return [np.concatenate([states[layer][0] for states in each]) for layer in range(N_LAYERS + 1)]


def test_every_layer_gives_what_transformers_gives(reference) -> None:  # type: ignore[no-untyped-def]
    tokenizer, model = reference
    windows = tokenizer(TEXTS)["input_ids"]
    found = load_minilm(_folder()).states(windows)

    assert len(found) == N_LAYERS + 1
    assert found[-1].shape == (sum(map(len, windows)), DIMENSIONS)
    for ours, theirs in zip(found, states_of(model, windows), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_an_adapted_encoder_is_one_with_other_weights(reference) -> None:  # type: ignore[no-untyped-def]
    tokenizer, model = reference
    random = np.random.default_rng(0)
    left, right = (random.normal(size=shape).astype(np.float16) / 8 for shape in ((384, 2), (2, 384)))
    windows = tokenizer(TEXTS[:2])["input_ids"]
    weight = model.get_submodule(NAME).weight
    before = weight.data.clone()
    weight.data += weight.new_tensor(left.astype(np.float32) @ right.astype(np.float32))
    theirs = states_of(model, windows)
    weight.data = before

    plain, adapted = (load_minilm(_folder(), given).states(windows) for given in ({}, {NAME: (left, right)}))
    np.testing.assert_allclose(adapted[-1], theirs[-1], atol=1e-4)
    np.testing.assert_array_equal(adapted[3], plain[3])  # up to the adapted layer nothing changes
    assert np.abs(adapted[4] - plain[4]).max() > 0.01


def test_a_window_is_read_alike_in_any_company(reference) -> None:  # type: ignore[no-untyped-def]
    windows = reference[0](TEXTS)["input_ids"]
    together = load_minilm(_folder()).states(windows)[-1]
    alone = load_minilm(_folder()).states(windows[:1])[-1]

    np.testing.assert_allclose(together[: len(windows[0])], alone, atol=1e-5)


def test_several_encoders_read_together_as_each_does_alone(reference) -> None:  # type: ignore[no-untyped-def]
    random = np.random.default_rng(0)
    windows = reference[0](TEXTS)["input_ids"]
    adapters = [
        {},
        *(
            {NAME: tuple(random.normal(size=shape).astype(np.float16) / 8 for shape in ((384, 2), (2, 384)))}
            for _ in range(2)
        ),
    ]
    encoders = [load_minilm(_folder(), given) for given in adapters]
    together = last_states_of_each(encoders, windows)

    for found, encoder in zip(together, encoders, strict=True):
        np.testing.assert_allclose(found, encoder.states(windows)[-1], atol=1e-5)
    assert np.abs(together[0] - together[1]).max() > 0.01
    assert np.abs(together[1] - together[2]).max() > 0.01


def test_the_error_linear_unit_is_that_of_the_error_function() -> None:
    inputs = np.linspace(-12, 12, 100_001)
    expected = inputs * (0.5 + 0.5 * erf(inputs / 2**0.5))

    for each in (np.float32, np.float64):
        np.testing.assert_allclose(gelu(inputs.astype(each)), expected, atol=1e-6)
    assert gelu(inputs.astype(np.float32)).dtype == np.float32


def test_reading_a_criterion_imports_neither_pytorch_nor_transformers() -> None:
    script = (
        "import sys\n"
        "from crm.criteria import CriteriaSet\n"
        "from crm.embedded.model import embedded_crm\n"
        "embedded_crm().direction(CriteriaSet.of(['Playful humor']))\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def _folder():  # type: ignore[no-untyped-def]
    from crm.embedded import encoder

    return encoder._folder()
