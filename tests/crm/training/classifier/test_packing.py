import csv
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import (
    ModernBertConfig,
    ModernBertForSequenceClassification,
    Qwen3_5TextConfig,
    Qwen3_5TextModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from crm.data.noise import Noise
from crm.errors import CRMError
from crm.training.classifier.backbone import load_backbone
from crm.training.classifier.examples import prepare
from crm.training.classifier.options import Loss, Options
from crm.training.classifier.packing import RowLayout, packed_rows
from crm.training.classifier.questions import Collator, EncodedQuestion
from crm.training.classifier.run import train
from crm.training.classifier.trainer import margins, preference_loss
from tests.crm.training.classifier.samples import QUICK, examples, tiny_bert, tiny_llama

SHAPE = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 64}
PACKED = 96
"""Tokens in a row: some of the prompts below alone, some together."""


def tiny_qwen3(folder: Path) -> Path:
    """A decoder as the authors of USL trained, with a tokenizer that goes with it."""
    tiny_llama(folder)
    torch.manual_seed(1)
    config = Qwen3Config(vocab_size=30522, num_key_value_heads=1, head_dim=16, **SHAPE)
    Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


BACKBONES = {"bert": tiny_bert, "llama": tiny_llama, "qwen3": tiny_qwen3}


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    made: dict[str, str] = {}

    def make(name: str) -> str:
        if name not in made:
            made[name] = str(BACKBONES[name](tmp_path_factory.mktemp(name)))
        return made[name]

    return make


def questions(loss: Loss, count: int = 6) -> list[EncodedQuestion]:
    """Questions of very different lengths, about tokens that no tokenizer takes for marks."""
    draw = random.Random(0)
    each = 1 if loss is Loss.CLASSIFICATION else 2
    lengths = iter([3, 71, 20, 96, 9, 40, 64, 2, 33, 18, 5, 50])
    return [
        EncodedQuestion(
            tuple([draw.randrange(1000, 20000) for _ in range(next(lengths))] for _ in range(each)),
            sign=draw.choice((-1.0, 1.0)),
            kind=0,
        )
        for _ in range(count)
    ]


def loaded(folder: str, options: Options) -> Any:
    """Return a backbone in training, with the same head and adapters each time and nothing left to chance."""
    torch.manual_seed(7)
    model = load_backbone(folder, options).model.train()
    for name, weight in model.named_parameters():
        if "lora_B" in name:  # zero at first, which would leave the other half without gradients
            nn.init.normal_(weight, std=0.05)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def read_alone(model: Any, asked: list[EncodedQuestion], loss: Loss) -> tuple[Tensor, dict[str, Tensor]]:
    """Return logits and gradients where the model is shown one prompt at a time."""
    logits = torch.cat(
        [
            model(input_ids=torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt))).logits
            for item in asked
            for prompt in item.prompts
        ]
    )
    preference_loss(margins(logits, loss), torch.tensor([item.sign for item in asked])).backward()
    return logits.detach(), gradients(model)


def read_packed(model: Any, asked: list[EncodedQuestion], loss: Loss) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the same of one batch."""
    batch = Collator(model.config.pad_token_id)([asked])
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    preference_loss(margins(logits, loss), batch["labels"]).backward()
    return logits.detach(), gradients(model)


def gradients(model: Any) -> dict[str, Tensor]:
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("llama", {}),
        ("llama", {"lora": 4, "freeze": 1, "gradient_checkpointing": True}),
        ("qwen3", {}),
        ("qwen3", {"gradient_checkpointing": True}),
        ("bert", {}),
    ],
    ids=["llama", "llama with adapters, computed twice", "qwen3", "qwen3, computed twice", "bert"],
)
def test_packed_prompts_have_the_logits_and_gradients_of_prompts_read_alone(
    backbone: Callable[[str], str], name: str, options: dict[str, Any], loss: Loss
) -> None:
    chosen, asked = replace(QUICK, loss=loss, **options), questions(loss)
    rows = packed_rows([len(prompt) for item in asked for prompt in item.prompts], PACKED)
    assert max(map(len, rows)) > 1, "some prompts share a row"
    assert len(rows) > 1

    alone, expected = read_alone(loaded(backbone(name), chosen), asked, loss)
    packed, found = read_packed(loaded(backbone(name), replace(chosen, pack=PACKED)), asked, loss)

    torch.testing.assert_close(packed, alone, rtol=1e-4, atol=1e-6)
    assert found.keys() == expected.keys()
    assert any("layers.2" in name or "layer.1" in name for name in found)
    for weight, gradient in expected.items():
        torch.testing.assert_close(found[weight], gradient, rtol=1e-3, atol=1e-6, msg=weight)


@pytest.mark.parametrize(("name", "loss"), [("llama", Loss.RANKING), ("bert", Loss.CLASSIFICATION)])
def test_a_packed_run_learns_what_a_padded_one_does(
    backbone: Callable[[str], str], tmp_path: Path, name: str, loss: Loss
) -> None:
    options = replace(QUICK, loss=loss, noise=Noise.REMOVE, single_share=0.5, epochs=3, accumulate=2)
    data = prepare(examples(45)[:80], examples(45)[80:], options)
    reports = {}
    for out, pack in (("padded", None), ("packed", 128)):
        reports[out] = train(backbone(name), data, tmp_path / out, replace(options, pack=pack))
    curves = {out: _losses(tmp_path / out) for out in reports}

    assert len(curves["padded"]) > 6
    assert curves["packed"] == pytest.approx(curves["padded"], abs=2e-3)
    assert reports["packed"].dev["loss"] == pytest.approx(reports["padded"].dev["loss"], abs=2e-3)


def _losses(out: Path) -> list[float]:
    with (out / "curves.csv").open(encoding="utf-8") as lines:
        return [float(row["loss"]) for row in csv.DictReader(lines)]


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.integers(1, 1000))
def test_rows_hold_every_prompt_once_and_are_as_full_as_each_other(lengths: list[int], tokens: int) -> None:
    rows = packed_rows(lengths, tokens)
    filled = [sum(lengths[index] for index in row) for row in rows]

    assert sorted(index for row in rows for index in row) == list(range(len(lengths)))
    assert max(filled) <= max(tokens, *lengths)
    assert min(filled) > 0
    # Otherwise the last prompt of the fullest row would have gone into the emptiest.
    assert max(filled) - min(filled) <= max(lengths)


def test_prompts_of_one_length_fill_rows_to_the_last_token() -> None:
    rows = packed_rows([10] * 12, 40)
    assert [len(row) for row in rows] == [4, 4, 4]


def test_every_token_goes_into_its_row_and_back() -> None:
    batch = Collator(pad=0)([questions(Loss.RANKING)])
    ids, mask = batch["input_ids"], batch["attention_mask"]
    layout = RowLayout.of(mask, PACKED)
    in_rows = ids.flatten()[layout.taken]

    assert in_rows.shape[1] == PACKED
    assert torch.equal(in_rows.flatten()[layout.returned] * mask, ids)
    inside = layout.prompts >= 0
    assert int(inside.sum()) == int(mask.sum())
    begins = (layout.positions == 0) & inside
    assert int(begins.sum()) == len(ids)
    assert sorted(in_rows[begins].tolist()) == sorted(ids[:, 0].tolist())


def _saved(model: Any, folder: Path) -> str:
    tiny_llama(folder)
    model.save_pretrained(folder)
    return str(folder)


def test_a_backbone_that_mixes_the_prompts_of_a_row_is_refused(tmp_path: Path) -> None:
    kinds = ["linear_attention", "full_attention", "linear_attention"]
    config = Qwen3_5TextConfig(
        vocab_size=30522, num_key_value_heads=1, head_dim=16, layer_types=kinds, **SHAPE
    )
    torch.manual_seed(0)
    folder = _saved(Qwen3_5TextModel(config), tmp_path)
    load_backbone(folder, QUICK)
    with pytest.raises(CRMError, match=r"does not keep the prompts of a row apart.*: leave out --pack"):
        load_backbone(folder, replace(QUICK, pack=PACKED))


def test_an_encoder_that_reads_in_windows_is_refused(tmp_path: Path) -> None:
    config = ModernBertConfig(vocab_size=30522, pad_token_id=0, **SHAPE)
    folder = _saved(ModernBertForSequenceClassification(config), tmp_path)
    with pytest.raises(CRMError, match="encoder that reads in windows: leave out --pack"):
        load_backbone(folder, replace(QUICK, pack=PACKED))
