import csv
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer, TrainerCallback

from crm.criteria import CriteriaSet
from crm.data.noise import Noise, NoiseReach, Strength
from crm.data.pairs import LabelledPair
from crm.data.taxonomy import criterion_clusters
from crm.errors import CriterionError, CRMError, UnavailableError
from crm.llm.prompt import PromptTemplate
from crm.protocol import Pair, Question
from crm.training.classifier.examples import TrainingExamples, prepare
from crm.training.classifier.options import Loss, Optimizer, Options, Precision, Schedule, Weights
from crm.training.classifier.run import noiser_for, train
from crm.training.classifier.trainer import SimilarLengths
from tests.crm.training.classifier.samples import (
    QUICK,
    cat_examples,
    examples,
    tiny_bert,
    tiny_llama,
    without_criteria,
)

BACKBONES = {"bert": tiny_bert, "llama": tiny_llama}


class PowerCutError(Exception):
    pass


class StopAt(TrainerCallback):
    """Ends a run as a power cut would."""

    def __init__(self, step: int) -> None:
        self._step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self._step:
            raise PowerCutError


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    made: dict[str, str] = {}

    def make(name: str) -> str:
        if name not in made:
            made[name] = str(BACKBONES[name](tmp_path_factory.mktemp(name)))
        return made[name]

    return make


def _data(options: Options = QUICK, dev: int = 0) -> TrainingExamples:
    every = examples(40 + dev)
    return prepare(every[: 2 * 40], every[2 * 40 :], options)


def _readers(file: Path) -> int:
    return file.stat().st_mode & 0o777


def _rows(out: Path) -> list[dict[str, str]]:
    with (out / "curves.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@torch.inference_mode()
def _prob_a(out: Path, question: Question) -> float:
    """What a program that knows only the folder makes of a question."""
    described = json.loads((out / "crm.json").read_text(encoding="utf-8"))
    assert _readers(out / "model.safetensors") == _readers(out / "crm.json")
    template = PromptTemplate.load(out / "prompt.txt")
    tokenizer = AutoTokenizer.from_pretrained(out)
    model = AutoModelForSequenceClassification.from_pretrained(out).eval()
    fitted = template.fit(tokenizer, described["max_length"])
    if described["loss"] == "classification":
        logits = model(**tokenizer(fitted.pair(question), return_tensors="pt")).logits[0]
        return float(logits.softmax(0)[0])
    scores = [
        model(
            **tokenizer(fitted.single(question.criteria, question.pair.query, text), return_tensors="pt")
        ).logits
        for text in (question.pair.response_a, question.pair.response_b)
    ]
    return float(torch.sigmoid(scores[0] - scores[1]))


@pytest.mark.parametrize(
    ("name", "loss", "lora"),
    [
        ("bert", Loss.RANKING, None),
        ("llama", Loss.RANKING, 8),
        ("llama", Loss.CLASSIFICATION, None),
    ],
)
def test_training_learns_and_leaves_a_judge_that_others_can_use(
    backbone: Callable[[str], str], tmp_path: Path, name: str, loss: Loss, lora: int | None
) -> None:
    options = replace(QUICK, loss=loss, lora=lora, lr=1e-2 if lora else 3e-3)
    made, out = cat_examples(45), tmp_path / "tiny-judge"
    report = train(backbone(name), prepare(made[:40], made[40:], options), out, options, version="7")

    losses = [float(row["loss"]) for row in _rows(out) if row["part"] == "trained on"]
    assert losses[-1] < 0.5 * losses[0]
    assert report.held_out["accuracy_list"] > 0.9
    assert report.dev["accuracy_list"] > 0.9
    assert report.dev["questions"] == 5 * (1 + 2 + 2)
    assert json.loads((out / "crm.json").read_text(encoding="utf-8")) == {
        "loss": loss.value, "max_length": 96, "name": "tiny-judge", "version": "7", "format": 1,
        "avoid_in_words": True, "weights_in_words": True, "generation_prompt": True,
    }  # fmt: skip
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert not (out / "steps").exists()
    for item in made[-5:]:
        prob, mirrored = (
            _prob_a(out, Question(item.criteria, pair)) for pair in (item.pair, item.pair.swapped())
        )
        assert (prob > 0.5) == (item.label > 0)
        assert (mirrored > 0.5) != (item.label > 0)
        if loss is Loss.RANKING:
            assert abs(prob + mirrored - 1) < 1e-5


def test_layers_computed_twice_give_the_same_weights(backbone: Callable[[str], str], tmp_path: Path) -> None:
    options = replace(QUICK, epochs=1)
    for name, checkpointing in (("kept", False), ("twice", True)):
        chosen = replace(options, gradient_checkpointing=checkpointing)
        train(backbone("llama"), _data(), tmp_path / name, chosen)

    kept, twice = (load_file(tmp_path / name / "model.safetensors") for name in ("kept", "twice"))
    assert kept.keys() == twice.keys()
    for name, weights in kept.items():
        torch.testing.assert_close(twice[name], weights, rtol=0, atol=1e-6)


def test_adapters_learn_beside_weights_in_bfloat16(backbone: Callable[[str], str], tmp_path: Path) -> None:
    options = replace(
        QUICK, loss=Loss.RANKING, lora=8, lr=1e-2, weights=Weights.BF16, schedule=Schedule.COSINE,
        gradient_checkpointing=True,
    )  # fmt: skip
    made = cat_examples(45)
    report = train(backbone("llama"), prepare(made[:40], made[40:], options), tmp_path / "judge", options)

    assert report.dev["accuracy_list"] > 0.9
    weights = load_file(tmp_path / "judge" / "model.safetensors")
    assert {one.dtype for one in weights.values()} == {torch.bfloat16}
    rates = [float(row["learning_rate"]) for row in _rows(tmp_path / "judge") if row["learning_rate"]]
    assert len(rates) > 3
    assert np.all(np.diff(rates) < 0)
    # A line would fall by equal parts; the cosine falls most in the middle.
    assert rates[0] - rates[1] < rates[len(rates) // 2 - 1] - rates[len(rates) // 2]


def test_moments_in_8_bits_need_a_package_that_is_named(
    backbone: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(UnavailableError, match=r"pip install -r requirements-8bit\.txt"):
        train(backbone("bert"), _data(), tmp_path / "judge", replace(QUICK, optimizer=Optimizer.PAGED_8BIT))


def test_items_of_similar_length_share_a_batch_in_an_order_that_seed_and_epoch_decide() -> None:
    lengths = np.random.default_rng(0).integers(10, 4000, 203)
    drawn = SimilarLengths(list(lengths), 4, seed=1)
    first, again = list(drawn), list(drawn)
    drawn.set_epoch(1)
    second = list(drawn)

    assert first == again
    assert first != second
    for order in (first, second):
        assert sorted(order) == list(range(203))
        spread = [np.ptp(lengths[order[start : start + 4]]) for start in range(0, 200, 4)]
        assert np.mean(spread) < 0.1 * np.ptp(lengths)
        # Batches themselves are not sorted: every part of an epoch sees short and long ones.
        halves = [lengths[order[:100]].mean(), lengths[order[100:]].mean()]
        assert abs(halves[0] - halves[1]) < 0.3 * lengths.mean()


def test_the_saved_judge_is_the_best_one_that_was_measured(
    backbone: Callable[[str], str], tmp_path: Path
) -> None:
    options = replace(QUICK, loss=Loss.RANKING)
    data = _data(options, dev=5)
    out = tmp_path / "judge"
    report = train(backbone("bert"), data, out, options)
    questions = [Question(item.criteria, item.pair) for item in data.dev]
    right = [
        (_prob_a(out, one) > 0.5) == (item.label > 0) for one, item in zip(questions, data.dev, strict=True)
    ]
    assert sum(right) / len(right) == report.dev["accuracy_list"]
    least = min(float(row["loss"]) for row in _rows(out) if row["part"] == "held out")
    assert abs(least - report.held_out["loss"]) < 1e-3


@pytest.mark.parametrize(("at", "grouped"), [(9, False), (17, True)])
def test_a_run_that_was_stopped_and_resumed_ends_like_one_that_was_not(
    backbone: Callable[[str], str], tmp_path: Path, at: int, grouped: bool
) -> None:
    options = replace(
        QUICK, noise=Noise.REMOVE, single_share=0.5, epochs=3, patience=5, evaluations=6,
        group_by_length=grouped,
    )  # fmt: skip
    data = _data(options)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(backbone("bert"), data, whole, options, name="same")
    with pytest.raises(PowerCutError):
        train(backbone("bert"), data, broken, options, name="same", callbacks=[StopAt(at)])
    assert not (broken / "crm.json").exists()
    train(backbone("bert"), data, broken, options, name="same", resume=True)

    assert (broken / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert [row["loss"] for row in _rows(broken)] == [row["loss"] for row in _rows(whole)]
    with pytest.raises(CRMError, match="is finished: there is nothing to resume"):
        train(backbone("bert"), data, broken, options, resume=True)


def test_a_run_of_an_earlier_version_is_resumed_with_the_defaults_of_todays_options(
    backbone: Callable[[str], str], tmp_path: Path
) -> None:
    out, data = tmp_path / "judge", _data()
    with pytest.raises(PowerCutError):
        train(backbone("bert"), data, out, QUICK, callbacks=[StopAt(2)])
    described = json.loads((out / "options.json").read_text())
    del described["noise_strength"], described["skip_criteria"]
    (out / "options.json").write_text(json.dumps(described))

    paper = replace(QUICK, noise_strength=Strength.PAPER)
    with pytest.raises(CRMError, match="started with another noise_strength"):
        train(backbone("bert"), data, out, paper, resume=True)
    assert train(backbone("bert"), data, out, QUICK, resume=True).steps > 2


@pytest.mark.parametrize("loss", Loss)
def test_preferences_without_criteria_teach_average_taste(
    backbone: Callable[[str], str], tmp_path: Path, loss: Loss
) -> None:
    options = replace(QUICK, loss=loss, noise=Noise.RANDOM, single_share=0.3, epochs=4)
    report = train(backbone("llama"), prepare(without_criteria(), [], options), tmp_path / "judge", options)

    assert report.held_out["accuracy_list"] > 0.9
    assert _prob_a(tmp_path / "judge", Question(CriteriaSet(), without_criteria(1)[0].pair)) > 0.5


def test_a_run_says_how_many_lists_noise_cannot_be_applied_to(
    backbone: Callable[[str], str], tmp_path: Path
) -> None:
    options = replace(QUICK, noise=Noise.REMOVE, noise_strength=Strength.STRICT_MAJORITY, epochs=1)
    data, heard = _data(options), list[NoiseReach]()
    report = train(backbone("bert"), data, tmp_path / "judge", options, on_noise=heard.append)

    assert len(data.train) == 64
    assert heard == [NoiseReach(Strength.STRICT_MAJORITY, 64, 0, {Noise.REMOVE: 64})]
    assert report.unnoised == {"remove": 64}
    assert json.loads((tmp_path / "judge" / "results.json").read_text())["unnoised"] == {"remove": 64}


def test_addition_shuns_the_clusters_of_the_other_side_where_only_one_side_is_trained_on() -> None:
    shunned, near = criterion_clusters().clusters[0].criteria[:2]
    far = criterion_clusters().clusters[1].criteria[0]
    criteria, opposite = CriteriaSet.of(["wish one", "wish two", near, far]), CriteriaSet.of([shunned])
    example = LabelledPair(
        Pair("q", "a", "b"), CriteriaSet.of(["wish one", "wish two"]), 1.0, opposite=opposite
    )
    noiser = noiser_for([example, replace(example, criteria=criteria)], replace(QUICK, noise=Noise.ADD))

    added = {
        item.text
        for seed in range(20)
        for item in noiser.noised(example.criteria, opposite, Noise.ADD, np.random.default_rng(seed))
    }
    assert added == {"wish one", "wish two", far}


def test_training_stops_when_the_held_out_loss_no_longer_falls(
    backbone: Callable[[str], str], tmp_path: Path
) -> None:
    options = replace(QUICK, lr=0.0, evaluations=12, patience=2)
    report = train(backbone("bert"), _data(options), tmp_path / "judge", options)
    assert report.steps < 0.5 * options.epochs * 32 / options.batch


@pytest.mark.skipif(
    not torch.cpu.get_capabilities().get("avx512_bf16"), reason="no bfloat16 on this processor"
)
def test_in_bfloat16_training_learns_as_well(backbone: Callable[[str], str], tmp_path: Path) -> None:
    options = replace(QUICK, loss=Loss.RANKING, precision=Precision.BF16, accumulate=2)
    assert (
        train(backbone("bert"), _data(options), tmp_path / "judge", options).held_out["accuracy_list"] > 0.9
    )


def test_a_prompt_in_a_chat_template_becomes_the_judges_prompt(
    backbone: Callable[[str], str], tmp_path: Path
) -> None:
    options = replace(QUICK, chat=True, epochs=1)
    out = tmp_path / "judge"
    train(backbone("llama"), _data(options), out, options)
    item = examples(1)[0]
    prompt = PromptTemplate.load(out / "prompt.txt").pair(Question(item.criteria, item.pair))
    plain = PromptTemplate.bundled("pair").pair(Question(item.criteria, item.pair))
    assert prompt == f"[user] {plain} [assistant]"


def test_a_tokenizer_without_chat_template_is_one_clear_sentence(
    backbone: Callable[[str], str], tmp_path: Path
) -> None:
    options = replace(QUICK, chat=True)
    with pytest.raises(CRMError, match="has no chat template: train it without --chat"):
        train(backbone("bert"), _data(options), tmp_path / "judge", options)


def test_a_window_too_small_for_the_criteria_is_one_clear_sentence(
    backbone: Callable[[str], str], tmp_path: Path
) -> None:
    options = replace(QUICK, max_length=50)
    with pytest.raises(
        CriterionError, match=r"prompt of 50 tokens has no room .* choose a greater max-length"
    ):
        train(backbone("bert"), _data(options), tmp_path / "judge", options)
    assert not (tmp_path / "judge").exists()


def test_a_folder_is_never_overwritten(backbone: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(CRMError, match="exists already: name a new folder, or go on with --resume"):
        train(backbone("bert"), _data(), tmp_path, QUICK)
    with pytest.raises(CRMError, match="There is no run in"):
        train(backbone("bert"), _data(), tmp_path, QUICK, resume=True)


def test_a_run_is_resumed_with_the_options_it_was_started_with(
    backbone: Callable[[str], str], tmp_path: Path
) -> None:
    with pytest.raises(PowerCutError):
        train(backbone("bert"), _data(), tmp_path / "judge", QUICK, callbacks=[StopAt(2)])
    with pytest.raises(CRMError, match="started with another lr, seed: resume it with the same"):
        train(backbone("bert"), _data(), tmp_path / "judge", replace(QUICK, lr=1.0, seed=9), resume=True)


def test_a_precision_that_the_computer_lacks_is_one_clear_sentence(
    backbone: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(CRMError, match="does not calculate in fp16: choose --precision fp32"):
        train(backbone("bert"), _data(), tmp_path / "judge", replace(QUICK, precision=Precision.FP16))


def test_a_batch_is_computed_in_equal_parts() -> None:
    with pytest.raises(CRMError, match="cannot be computed in 3 equal parts"):
        replace(QUICK, accumulate=3)
