import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.special import expit
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from crm.backends.transformers_classifier import load_transformers_classifier
from crm.config import TransformersSettings
from crm.criteria import CriteriaSet
from crm.data.pairs import LabelledPair
from crm.errors import ConfigError, CriterionError, UnavailableError
from crm.evaluation.run import evaluate, evaluate_judge
from crm.protocol import Pair, Question
from tests.checkpoints import CHAT_TEMPLATE
from tests.crm.backends.conftest import MakeJudge
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.crm.evaluation.samples import PAIRS, small_sets

PAIR = Pair("How?", "the word", "tea is short and the word is long")
ASKED = [Question(CriteriaSet(), PAIR)]


@pytest.fixture(scope="module")
def reward(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model: one label, a chat template, no prompt of ours."""
    folder = tmp_path_factory.mktemp("reward") / "model"
    shutil.copytree(checkpoints / "singles", folder)
    (folder / "prompt.txt").unlink()
    (folder / "crm.json").unlink()
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    return folder


def rewards(folder: Path, *turns: tuple[str, str]) -> list[float]:
    model = AutoModelForSequenceClassification.from_pretrained(str(folder))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    found = []
    for query, response in turns:
        messages = [{"role": "user", "content": query}, {"role": "assistant", "content": response}]
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        with torch.inference_mode():
            found.append(float(model(**tokenizer(text, return_tensors="pt")).logits[0, 0]))
    return found


def test_the_higher_reward_wins_by_bradley_and_terry(reward: Path, judge: MakeJudge) -> None:
    [verdict] = judge("reward-model", model=str(reward)).judge(ASKED)
    first, second = rewards(reward, (PAIR.query, PAIR.response_a), (PAIR.query, PAIR.response_b))

    assert verdict.prob_a == pytest.approx(expit(first - second), abs=1e-5)
    assert verdict.prob_a != pytest.approx(0.5)
    assert verdict.per_criterion == ()


def test_it_refuses_criteria(reward: Path, judge: MakeJudge) -> None:
    with pytest.raises(CriterionError, match="'mine' knows what people prefer on average and reads no"):
        judge("reward-model", model=str(reward)).judge([Question(CriteriaSet.of(["concise"]), PAIR)])


def test_it_can_be_told_to_read_them_as_part_of_the_query(reward: Path, judge: MakeJudge) -> None:
    asked = Question(CriteriaSet.of(["concise"], ["jargon"]), PAIR)
    [verdict] = judge("reward-model", model=str(reward), criteria_in_prompt=True).judge([asked])
    query = "How?\n\nWhat I like in an answer:\n- concise\n- Avoid: jargon"
    first, second = rewards(reward, (query, PAIR.response_a), (query, PAIR.response_b))

    assert verdict.prob_a == pytest.approx(expit(first - second), abs=1e-5)


def test_a_response_cannot_pose_as_the_query(reward: Path, judge: MakeJudge) -> None:
    model = judge("reward-model", model=str(reward))
    odd = Pair("How\ue000?", "the\ue000word", "tea")
    plain = Pair("How ?", "the word", "tea")

    assert model.judge([Question(CriteriaSet(), odd)]) == model.judge([Question(CriteriaSet(), plain)])


def test_it_runs_on_a_vllm_server_and_wants_scores_before_activation(
    reward: Path, judge: MakeJudge, server: ScriptedServer
) -> None:
    engine = load_transformers_classifier(str(reward), None, TransformersSettings(), labels=1)

    def classify(body: dict[str, Any]) -> Answer:
        scores = engine.margins(body["input"]).tolist()
        return Answer({"data": [{"index": index, "probs": [score]} for index, score in enumerate(scores)]})

    server.on("/v1/models", Answer({"data": [{"id": "sky", "max_model_len": 512}]}))
    server.on("/classify", classify)
    keys = {"provider": "vllm-server", "url": server.url, "model": "sky", "tokenizer": str(reward)}
    remote = judge("reward-model", **keys).judge(ASKED)

    assert remote[0].prob_a == pytest.approx(
        judge("reward-model", model=str(reward)).judge(ASKED)[0].prob_a, abs=1e-5
    )
    assert server.asked["/classify"][0]["use_activation"] is False


def test_a_pair_classifier_is_no_reward_model(judge: MakeJudge) -> None:
    with pytest.raises(UnavailableError, match="has 2 labels, but 1 is expected"):
        judge("reward-model", model="pairs").judge(ASKED)


def test_it_needs_a_chat_template(judge: MakeJudge) -> None:
    with pytest.raises(UnavailableError, match="has no chat template"):
        judge("reward-model", model="singles").judge(ASKED)


def test_an_unknown_provider_is_refused(judge: MakeJudge) -> None:
    with pytest.raises(ConfigError, match="'provider' must be one of transformers, vllm, vllm-server"):
        judge("reward-model", provider="ollama", model="singles")


class TestEvaluation:
    def test_on_pairs_with_criteria_it_is_asked_without_them(self, reward: Path, judge: MakeJudge) -> None:
        model = judge("reward-model", model=str(reward))
        first, second = rewards(reward, (PAIR.query, PAIR.response_a), (PAIR.query, PAIR.response_b))
        label = 1.0 if first > second else -1.0
        lines = [LabelledPair(PAIR, CriteriaSet.of(["concise"]), side) for side in (label, -label, label)]
        result = evaluate(model, lines)

        assert result.crm == "mine ∅"
        assert [(one.subset, one.n) for one in result.accuracies] == [("criteria list", 3)]
        assert result.accuracies[0].value == pytest.approx(2 / 3)

    def test_on_evaluation_sets_it_is_right_on_one_side_of_every_pair(
        self, reward: Path, judge: MakeJudge, tmp_path: Path
    ) -> None:
        report = evaluate_judge(
            judge("reward-model", model=str(reward), max_length=64), small_sets(tmp_path / "sets", PAIRS[6:9])
        )
        plus, minus = (report.accuracies[name] for name in ("topic_plus", "topic_minus"))

        assert report.judge == "mine ∅"
        assert plus.n == minus.n
        assert plus.value + minus.value == pytest.approx(1)

    def test_one_that_reads_criteria_is_given_them(self, reward: Path, judge: MakeJudge) -> None:
        model = judge("reward-model", model=str(reward), criteria_in_prompt=True)
        line = LabelledPair(PAIR, CriteriaSet.of(["concise"]), 1.0)

        assert evaluate(model, [line]).crm == "mine"
        assert evaluate(model, [line], without_criteria=True).crm == "mine ∅"
