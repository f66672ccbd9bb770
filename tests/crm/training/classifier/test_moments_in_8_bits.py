"""AdamW with moments in 8 bits, by the package that makes it; on a GPU they are paged, too."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback

from crm.training.classifier.backbone import load_backbone
from crm.training.classifier.examples import prepare
from crm.training.classifier.options import Loss, Optimizer
from crm.training.classifier.run import train
from crm.training.classifier.trainer import make_optimizer, margins, preference_loss
from tests.crm.training.classifier.samples import QUICK, cat_examples, tiny_llama

pytest.importorskip("bitsandbytes", reason="needs requirements-8bit.txt")
IN_8_BITS = replace(QUICK, loss=Loss.RANKING, optimizer=Optimizer.PAGED_8BIT)


class PowerCutError(Exception):
    pass


class StopAt(TrainerCallback):
    """Ends a run as a power cut would."""

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 9:
            raise PowerCutError


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_llama(tmp_path_factory.mktemp("llama")))


def test_moments_of_all_but_small_weights_are_bytes(backbone: str) -> None:
    model = load_backbone(backbone, IN_8_BITS).model
    optimizer = make_optimizer(model, IN_8_BITS)
    ids = torch.arange(40).reshape(4, 10)
    scores = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    preference_loss(margins(scores, Loss.RANKING), torch.tensor([1.0, -1.0])).backward()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    optimizer.step()

    kinds = {}
    for name, weight in model.named_parameters():
        assert not torch.equal(weight, before[name]), name
        moments = [each for each in optimizer.state[weight].values() if torch.is_tensor(each)]
        kinds[name] = {each.dtype for each in moments if each.shape == weight.shape}
    assert kinds["model.embed_tokens.weight"] == {torch.uint8}
    assert kinds["model.norm.weight"] == {torch.float32}


def test_the_optimizer_that_pages_is_the_one_that_steps_on_a_processor_too(
    backbone: str, recwarn: pytest.WarningsRecorder
) -> None:
    from bitsandbytes.optim import AdamW8bit, PagedAdamW8bit

    moved = []
    for unpaged in (False, True):
        torch.manual_seed(0)  # draws the new head
        model = load_backbone(backbone, IN_8_BITS).model
        optimizer = make_optimizer(model, IN_8_BITS)
        assert isinstance(optimizer, PagedAdamW8bit)
        if unpaged:
            optimizer = AdamW8bit(optimizer.param_groups)
        rng = torch.Generator().manual_seed(0)
        for _ in range(3):
            for weight in model.parameters():
                weight.grad = torch.randn(weight.shape, generator=rng)
            optimizer.step()
        moved.append(model.state_dict())
    for name, weight in moved[0].items():
        torch.testing.assert_close(weight, moved[1][name], rtol=0, atol=1e-6, msg=name)
    assert not [each for each in recwarn if "aged" in str(each.message)]


def test_a_run_learns_as_much_and_goes_on_where_it_was_stopped(backbone: str, tmp_path: Path) -> None:
    made = cat_examples(45)
    data = prepare(made[:40], made[40:], IN_8_BITS)
    plain = train(backbone, data, tmp_path / "plain", replace(IN_8_BITS, optimizer=Optimizer.ADAMW))
    whole = train(backbone, data, tmp_path / "whole", IN_8_BITS, name="same")
    with pytest.raises(PowerCutError):
        train(backbone, data, tmp_path / "broken", IN_8_BITS, name="same", callbacks=[StopAt()])
    train(backbone, data, tmp_path / "broken", IN_8_BITS, name="same", resume=True)

    assert whole.dev["accuracy_list"] > 0.9
    assert whole.dev["loss"] == pytest.approx(plain.dev["loss"], abs=0.05)
    weights, resumed = (load_file(tmp_path / out / "model.safetensors") for out in ("whole", "broken"))
    for name, weight in weights.items():
        torch.testing.assert_close(resumed[name], weight, rtol=0, atol=1e-6, msg=name)
