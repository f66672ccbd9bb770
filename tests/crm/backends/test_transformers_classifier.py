import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, LlamaConfig, LlamaModel

from crm.criteria import CriteriaSet, Criterion, Weight
from crm.errors import ConfigError, CriterionError, CRMError, UnavailableError
from crm.llm.prompt import PromptTemplate
from crm.protocol import Pair, Question
from tests.checkpoints import (
    CHAT_TEMPLATE,
    PAIR,
    WINDOW,
    describe,
    make_checkpoint,
    make_tokenizer,
    save,
)
from tests.crm.backends.conftest import MakeJudge
from tests.crm.samples import TextBenchmark


def verdicts(judge: MakeJudge, questions: list[Question], **keys: object) -> list[float]:
    return [verdict.prob_a for verdict in judge("transformers", **keys).judge(questions)]


def test_label_0_is_that_a_is_preferred(
    checkpoints: Path, judge: MakeJudge, questions: list[Question]
) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(str(checkpoints / "pairs"))
    tokenizer = AutoTokenizer.from_pretrained(str(checkpoints / "pairs"))
    expected = []
    for question in questions:
        prompt = PromptTemplate(PAIR).fit(tokenizer, 1024).pair(question)
        with torch.inference_mode():
            logits = model(**tokenizer(prompt, return_tensors="pt")).logits
        expected.append(float(logits.softmax(dim=1)[0, 0]))

    assert verdicts(judge, questions, model="pairs") == pytest.approx(expected, abs=1e-4)
    assert np.ptp(expected) > 0.2


@pytest.mark.parametrize("model", ["pairs", "singles", "encoder"])
def test_how_pairs_are_batched_changes_nothing(
    judge: MakeJudge, questions: list[Question], model: str
) -> None:
    at_once = verdicts(judge, questions, model=model)
    one_by_one = verdicts(judge, questions, model=model, batch_tokens=1)

    assert at_once == pytest.approx(one_by_one, abs=1e-4)


def test_a_pointwise_checkpoint_scores_each_response_and_knows_no_position(
    judge: MakeJudge, questions: list[Question]
) -> None:
    mirrored = [
        replace(question, pair=Pair(question.pair.query, question.pair.response_b, question.pair.response_a))
        for question in questions
    ]
    forth, back = (np.array(verdicts(judge, asked, model="singles")) for asked in (questions, mirrored))

    np.testing.assert_allclose(forth + back, 1, atol=1e-5)
    assert np.ptp(forth) > 0.2


def test_both_orders_are_averaged_on_request(judge: MakeJudge, questions: list[Question]) -> None:
    pair = questions[0].pair
    mirrored = replace(questions[0], pair=Pair(pair.query, pair.response_b, pair.response_a))
    biased = verdicts(judge, [questions[0], mirrored], model="pairs")
    fair = verdicts(judge, [questions[0], mirrored], model="pairs", order_swap=True)

    assert abs(sum(biased) - 1) > 0.01
    assert sum(fair) == pytest.approx(1)


def test_a_response_that_is_too_long_is_shortened_and_criteria_never(judge: MakeJudge) -> None:
    wish = CriteriaSet.of(["concise"])
    long = Question(wish, Pair("How?", "word " * 3000, "x"))
    [verdict] = verdicts(judge, [long], model="pairs", max_length=128)
    assert 0 < verdict < 1

    many = CriteriaSet.of([f"criterion number {index}" for index in range(60)])
    with pytest.raises(CriterionError, match="write fewer or shorter criteria"):
        verdicts(judge, [replace(long, criteria=many)], model="pairs", max_length=128)


def test_a_response_cannot_write_the_tokens_of_the_tokenizer(judge: MakeJudge) -> None:
    def verdict(response: str) -> float:
        question = Question(CriteriaSet(), Pair("How?", response, "x"))
        return verdicts(judge, [question], model="pairs")[0]

    assert verdict("good <|end|> more") == verdict("good < |end|> more")


def test_it_fills_a_score_matrix(judge: MakeJudge) -> None:
    benchmark = TextBenchmark({"one": [None, Pair("q", "aa", "b")], "two": [Pair("q", "a", "b"), None]})
    matrix = np.full((2, 2), -1.0)
    for block in judge("transformers", model="pairs").score(CriteriaSet.of(["concise"]), benchmark):
        matrix[np.ix_(block.llms, block.queries)] = block.prob

    assert np.isnan(matrix).tolist() == [[True, False], [False, True]]
    assert np.nanmin(matrix) >= 0


def test_another_prompt_or_model_is_another_version(
    checkpoints: Path, judge: MakeJudge, tmp_path: Path
) -> None:
    def version(**keys: object) -> str:
        return judge("transformers", **({"model": str(tmp_path / "copy")} | keys)).version

    shutil.copytree(checkpoints / "pairs", tmp_path / "copy")
    other_prompt = tmp_path / "other.txt"
    other_prompt.write_text(f"{PAIR}!")
    first = version()

    assert version(device="cpu", batch_tokens=1) == first
    assert version(model=str(checkpoints / "pairs")) == first
    assert len({first, version(order_swap=True), version(prompt=str(other_prompt)), version(chat=True)}) == 4
    make_checkpoint(tmp_path / "copy", seed=1)
    assert version() != first


def test_a_checkpoint_from_elsewhere_needs_a_prompt(
    tmp_path: Path, judge: MakeJudge, questions: list[Question], wishes: list[Question]
) -> None:
    make_checkpoint(tmp_path / "foreign", described=False)
    with pytest.raises(UnavailableError, match=r"has no prompt\.txt: name the template of its training"):
        verdicts(judge, questions, model=str(tmp_path / "foreign"))

    (tmp_path / "prompt.txt").write_text(PAIR)
    assert len(verdicts(judge, wishes, model=str(tmp_path / "foreign"), prompt=str(tmp_path / "prompt.txt")))


def test_a_checkpoint_from_elsewhere_knows_only_wishes_unless_it_says_more(
    tmp_path: Path, judge: MakeJudge, questions: list[Question]
) -> None:
    folder = make_checkpoint(tmp_path / "foreign", described=False)
    (folder / "prompt.txt").write_text(PAIR)
    mixed = CriteriaSet((Criterion("concise"), Criterion("long words", Weight.OPTIONAL)))
    weighed = [replace(question, criteria=mixed) for question in questions]
    alike = [replace(question, criteria=CriteriaSet.of(["concise", "long words"])) for question in questions]

    assert verdicts(judge, weighed, model=str(folder)) == verdicts(judge, alike, model=str(folder))
    with pytest.raises(CriterionError, match=r'“Avoid: long words”: .* write "avoid_in_words": true'):
        verdicts(judge, questions, model=str(folder))

    says = {"format": 1, "loss": "classification", "avoid_in_words": True, "weights_in_words": True}
    (folder / "crm.json").write_text(json.dumps(says))
    assert verdicts(judge, questions, model=str(folder)) == verdicts(judge, questions, model="pairs")
    assert verdicts(judge, weighed, model=str(folder)) != verdicts(judge, alike, model=str(folder))


def test_a_prompt_may_be_a_turn_of_a_conversation(
    checkpoints: Path, tmp_path: Path, judge: MakeJudge, questions: list[Question]
) -> None:
    shutil.copytree(checkpoints / "pairs", tmp_path / "chat")
    model = str(tmp_path / "chat")
    with pytest.raises(UnavailableError, match="has no chat template"):
        verdicts(judge, questions, model=model, chat=True)

    (tmp_path / "chat" / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    assert verdicts(judge, questions, model=model, chat=True) != verdicts(judge, questions, model=model)


class TestCheckpointsThatCannotJudge:
    """Each is one sentence that says how to fix it."""

    def test_no_folder(self, judge: MakeJudge) -> None:
        with pytest.raises(
            ConfigError, match=r"^crms.toml, judge 'mine': the key 'model' names a folder that"
        ):
            judge("transformers", model="./nowhere")

    def test_no_model_of_that_name(self, judge: MakeJudge, questions: list[Question]) -> None:
        with pytest.raises(UnavailableError, match="There is no folder some/name, and no model of that name"):
            verdicts(judge, questions, model="some/name")

    def test_an_empty_folder(self, tmp_path: Path, judge: MakeJudge, questions: list[Question]) -> None:
        with pytest.raises(UnavailableError, match=f"The folder {tmp_path} holds no model"):
            verdicts(judge, questions, model=str(tmp_path))

    @pytest.mark.parametrize("damaged", ["config.json", "model.safetensors", "tokenizer.json"])
    def test_a_damaged_file(
        self, checkpoints: Path, tmp_path: Path, judge: MakeJudge, questions: list[Question], damaged: str
    ) -> None:
        folder = Path(shutil.copytree(checkpoints / "pairs", tmp_path / "damaged"))
        content = (folder / damaged).read_bytes()
        (folder / damaged).write_bytes(content[: len(content) // 2])
        with pytest.raises(
            UnavailableError, match=r"cannot be loaded \(.*\): copy or train it again\.$"
        ) as said:
            verdicts(judge, questions, model=str(folder))
        assert "\n" not in str(said.value)

    def test_a_backbone_without_a_head(
        self, checkpoints: Path, tmp_path: Path, judge: MakeJudge, questions: list[Question]
    ) -> None:
        config = LlamaConfig.from_pretrained(str(checkpoints / "pairs"))
        tokenizer = AutoTokenizer.from_pretrained(str(checkpoints / "pairs"))
        save(tmp_path, LlamaModel(config), tokenizer)
        with pytest.raises(
            UnavailableError, match=r"no trained classification head \(score.weight is missing\)"
        ):
            verdicts(judge, questions, model=str(tmp_path))

    def test_code_of_its_own(
        self, checkpoints: Path, tmp_path: Path, judge: MakeJudge, questions: list[Question]
    ) -> None:
        folder = Path(shutil.copytree(checkpoints / "pairs", tmp_path / "own"))
        config = json.loads((folder / "config.json").read_text())
        classes = {"AutoConfig": "own.C", "AutoModelForSequenceClassification": "own.M"}
        (folder / "config.json").write_text(json.dumps(config | {"model_type": "own", "auto_map": classes}))
        (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
        with pytest.raises(UnavailableError, match="cannot be loaded"):
            verdicts(judge, questions, model=str(folder))
        assert not (tmp_path / "ran").exists()

    def test_three_labels(self, tmp_path: Path, judge: MakeJudge, questions: list[Question]) -> None:
        make_checkpoint(tmp_path, labels=3, described=False)
        with pytest.raises(UnavailableError, match="has 3 labels: a judge of pairs has two"):
            verdicts(judge, questions, model=str(tmp_path))

    def test_labels_for_another_loss(
        self, tmp_path: Path, judge: MakeJudge, questions: list[Question]
    ) -> None:
        make_checkpoint(tmp_path)
        describe(tmp_path, loss="ranking")
        with pytest.raises(UnavailableError, match="has 2 labels, but 1 is expected"):
            verdicts(judge, questions, model=str(tmp_path))

    def test_a_prompt_for_another_loss(
        self, tmp_path: Path, judge: MakeJudge, questions: list[Question]
    ) -> None:
        make_checkpoint(tmp_path, labels=1)
        (tmp_path / "prompt.txt").write_text(PAIR)
        with pytest.raises(CRMError, match="shows two of the responses, but the model reads one"):
            verdicts(judge, questions, model=str(tmp_path))

    def test_no_pad_token(self, tmp_path: Path, judge: MakeJudge, questions: list[Question]) -> None:
        make_checkpoint(tmp_path, pad_token=False)
        with pytest.raises(UnavailableError, match=r"The tokenizer of .* has no pad token: set pad_token"):
            verdicts(judge, questions, model=str(tmp_path))

    @pytest.mark.parametrize("content", ["{", '{"format": 9}', '{"format": 1, "loss": "other"}', "[]"])
    def test_a_damaged_description(
        self, tmp_path: Path, judge: MakeJudge, questions: list[Question], content: str
    ) -> None:
        make_checkpoint(tmp_path)
        (tmp_path / "crm.json").write_text(content)
        with pytest.raises(UnavailableError, match=r"The file crm\.json of the checkpoint .* cannot be used"):
            verdicts(judge, questions, model=str(tmp_path))

    def test_weights_that_are_no_numbers(
        self, checkpoints: Path, tmp_path: Path, judge: MakeJudge, questions: list[Question]
    ) -> None:
        model = AutoModelForSequenceClassification.from_pretrained(str(checkpoints / "pairs"))
        with torch.no_grad():
            model.score.weight.fill_(float("nan"))
        save(tmp_path, model, AutoTokenizer.from_pretrained(str(checkpoints / "pairs")))
        (tmp_path / "prompt.txt").write_text(PAIR)
        describe(tmp_path)
        with pytest.raises(UnavailableError, match="answers with values that are no numbers"):
            verdicts(judge, questions, model=str(tmp_path))

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
    def test_a_device_that_is_not_there(self, judge: MakeJudge, questions: list[Question]) -> None:
        with pytest.raises(UnavailableError, match="The device 'cuda' cannot be used here"):
            verdicts(judge, questions, model="pairs", device="cuda")


def test_the_window_is_the_least_of_all_limits(checkpoints: Path, tmp_path: Path, judge: MakeJudge) -> None:
    shutil.copytree(checkpoints / "pairs", tmp_path / "short")
    describe(tmp_path / "short", max_length=64)
    many = CriteriaSet.of([f"criterion number {index}" for index in range(20)])
    asked = [Question(many, Pair("How?", "a", "b"))]

    assert len(verdicts(judge, asked, model="pairs")) == 1
    with pytest.raises(CriterionError, match="window of 64 tokens"):
        verdicts(judge, asked, model=str(tmp_path / "short"))
    assert json.loads((tmp_path / "short" / "crm.json").read_text())["max_length"] == 64


def _described(folder: Path, **keys: object) -> str:
    """A checkpoint of two labels in the layout of the USL paper's authors, trained on 560 tokens at most."""
    tokenizer = make_tokenizer()
    tokenizer.chat_template = CHAT_TEMPLATE
    make_checkpoint(folder, tokenizer=tokenizer)
    describe(folder, prompt="usl-pair", max_length=560, **keys)
    return str(folder)


def test_a_prompt_longer_than_in_training_stays_whole_where_nothing_is_to_be_truncated(
    judge: MakeJudge, tmp_path: Path
) -> None:
    ends = ("The last word.", "The very end.")
    pair = Pair("How?", f"{'tea ' * 30}{ends[0]}", f"{'milk ' * 20}{ends[1]}")
    asked = Question(CriteriaSet.of(["concise"]), pair)
    workings, verdict = {}, {}
    for truncate in (True, False):
        made = judge("transformers", model=_described(tmp_path / str(truncate), truncate=truncate))
        workings[truncate], verdict[truncate] = made.workings(asked), made.judge([asked])[0].prob_a

    cut, whole = workings[True].prompts[0], workings[False].prompts[0]
    assert whole.tokens == whole.needed == cut.needed
    assert cut.tokens <= workings[True].window == 560 < whole.tokens <= workings[False].window == WINDOW
    assert not any(end in cut.text for end in ends)
    assert all(end in whole.text for end in ends)
    # What is judged is what is shown: the same weights read more.
    assert verdict[True] != pytest.approx(verdict[False], abs=1e-4)


def test_an_answer_is_opened_unless_the_checkpoint_says_otherwise(judge: MakeJudge, tmp_path: Path) -> None:
    asked = Question(CriteriaSet.of(["concise"]), Pair("How?", "So.", "Thus."))
    opened, closed = (
        judge("transformers", model=_described(tmp_path / str(opens), generation_prompt=opens))
        for opens in (True, False)
    )

    shown = closed.workings(asked).prompts[0].text
    assert shown.endswith("<|end|>\n")
    assert opened.workings(asked).prompts[0].text == f"{shown}<|turn|>assistant\n"
    assert opened.judge([asked])[0].prob_a != pytest.approx(closed.judge([asked])[0].prob_a, abs=1e-4)
