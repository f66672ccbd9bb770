import json
from pathlib import Path

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.data.noise import Noise, Noiser
from crm.data.pairs import read_labelled_pairs, read_pairs
from crm.errors import CRMError
from crm.protocol import Pair

SCORE_LINE = {"id": 7, "query": "q", "response_a": "a", "response_b": "b", "criteria": ["concise"]}
TRAINING_LINE = {
    "idx": 3,
    "prompt": "q",
    "model_a": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
    "model_b": [{"role": "assistant", "content": "b"}, {"role": "assistant", "content": "more b"}],
    "criteria": ["concise", "avoid slang"],
    "preference": "model_b",
}
ANNOTATION = {
    "source": "alpaca_eval",
    "instruction_index": 1,
    "instruction_sha256": "5e1f",
    "model_a": "terse",
    "model_b": "wordy",
    "split": "dev",
    "criteria_a": ["concise"],
    "criteria_b": ["detailed", "warm"],
    "keyword_a": "brevity",
    "avoid_b": "curtness",
}


def write(folder: Path, *rows: object) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Corpora of two instructions, to one of which an LLM has no response, and of one question of FLASK."""
    for llm, answers in {
        "gpt4_1106_preview": {"first": "x", "second": "y"},
        "terse": {"second": "no", "first": "yes"},
        "wordy": {"second": "rather not"},
    }.items():
        path = tmp_path / "corpora" / "alpaca_eval" / "results" / llm / "model_outputs.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps([{"instruction": key, "output": text} for key, text in answers.items()]))
    flask = tmp_path / "corpora" / "flask"
    (flask / "outputs").mkdir(parents=True)
    (flask / "flask_evaluation.jsonl").write_text(json.dumps({"idx": 5, "instruction": "fifth"}))
    for llm in ("terse", "wordy"):
        (flask / "outputs" / f"{llm}.jsonl").write_text(json.dumps({"question_id": 5, "text": f"{llm} five"}))
    return tmp_path / "corpora"


class TestBothDirectionsOfTrainingData:
    """Lines of one pair, each with the criteria of one side."""

    def test_know_each_other_whatever_the_order_of_the_responses(self, tmp_path: Path) -> None:
        a, b = TRAINING_LINE["model_a"], TRAINING_LINE["model_b"]
        path = write(
            tmp_path,
            TRAINING_LINE,
            TRAINING_LINE | {"criteria": ["warm", "long"], "idx": "3:a", "preference": "model_a"},
            TRAINING_LINE | {"criteria": ["wry"], "model_a": b, "model_b": a, "preference": "model_b"},
            TRAINING_LINE | {"criteria": ["terse"], "prompt": "another", "preference": "model_a"},
            TRAINING_LINE | {"criteria": ["even"], "preference": "tie"},
            TRAINING_LINE | {"criteria": ["warm"], "kind": "criterion", "preference": "model_a"},
        )
        opposites = [item.opposite for item in read_labelled_pairs(path, tmp_path, None)]

        mine = CriteriaSet.from_json(["concise", "avoid slang"])
        assert opposites == [
            CriteriaSet.of(["warm", "long", "wry"]),
            mine,
            mine,
            CriteriaSet(),  # another pair
            CriteriaSet(),
            CriteriaSet(),  # alone it is not noised
        ]

    def test_are_joined_where_each_has_an_idx_of_its_own(self, tmp_path: Path) -> None:
        path = write(
            tmp_path,
            TRAINING_LINE | {"criteria": ["warm"], "idx": "p3:a", "preference": "model_a"},
            TRAINING_LINE | {"idx": "p3:b"},
        )
        first, second = read_labelled_pairs(path, tmp_path, None)

        assert (first.opposite, second.opposite) == (second.criteria, first.criteria)

    def test_are_what_noise_replaces_criteria_by(self, tmp_path: Path) -> None:
        path = write(
            tmp_path,
            TRAINING_LINE | {"criteria": ["one", "two", "three", "four"]},
            TRAINING_LINE | {"criteria": ["warm", "long"], "preference": "model_a"},
        )
        first, _ = read_labelled_pairs(path, tmp_path, None)
        noiser, rng = Noiser({"warm": 1, "hearty": 1, "blue": 2}), np.random.default_rng(0)

        drawn = [
            {item.text for item in noiser.noised(first.criteria, first.opposite, noise, rng)}
            for noise in (Noise.REPLACE, Noise.ADD)
            for _ in range(20)
        ]
        assert all(texts & {"warm", "long"} for texts in drawn[:20])
        assert all("blue" in texts and not texts & {"warm", "hearty"} for texts in drawn[20:])


class TestPairsToScore:
    def test_are_read_in_their_order(self, tmp_path: Path) -> None:
        path = write(
            tmp_path,
            SCORE_LINE,
            {**SCORE_LINE, "id": "x", "criteria": [{"text": "slang", "polarity": "avoid"}]},
        )
        first, second = read_pairs(path)

        assert (first.id, first.question.pair) == (7, Pair("q", "a", "b"))
        assert first.question.criteria == CriteriaSet.of(["concise"])
        assert (second.id, second.question.criteria) == ("x", CriteriaSet.of([], ["slang"]))

    def test_blank_lines_are_skipped_but_counted(self, tmp_path: Path) -> None:
        path = tmp_path / "pairs.jsonl"
        path.write_text(f"\n{json.dumps(SCORE_LINE)}\n\n{{}}\n")
        with pytest.raises(CRMError, match="row 4: the field 'query' is missing"):
            read_pairs(path)

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("[1]", "not a JSON object"),
            ("{", "not JSON"),
            (json.dumps({**SCORE_LINE, "query": None}), "the field 'query' is not a text"),
            (json.dumps({**SCORE_LINE, "response_b": 5}), "the field 'response_b' is not a text"),
            (json.dumps({**SCORE_LINE, "criteria": "concise"}), "The criteria are not a list"),
            (json.dumps({**SCORE_LINE, "criteria": [""]}), "A criterion is empty"),
            (json.dumps({**SCORE_LINE, "criteria": ["x" * 301]}), "has 301 characters"),
            (json.dumps({k: v for k, v in SCORE_LINE.items() if k != "id"}), "the field 'id' is missing"),
        ],
    )
    def test_a_bad_row_is_refused_with_file_row_and_reason(
        self, tmp_path: Path, line: str, reason: str
    ) -> None:
        path = tmp_path / "pairs.jsonl"
        path.write_text(f"{json.dumps(SCORE_LINE)}\n{line}\n")
        with pytest.raises(CRMError, match=rf"^pairs\.jsonl, row 2: .*{reason}"):
            read_pairs(path)

    def test_a_file_in_another_encoding_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "pairs.jsonl"
        path.write_bytes(b'{"id": "caf\xe9"}\n')
        with pytest.raises(CRMError, match=r"pairs\.jsonl.*UTF-8"):
            read_pairs(path)

    def test_an_absent_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CRMError, match="There is no file"):
            read_pairs(tmp_path / "absent.jsonl")


class TestTrainingData:
    def test_is_read_with_its_label(self, tmp_path: Path) -> None:
        path = write(
            tmp_path,
            TRAINING_LINE,
            {**TRAINING_LINE, "preference": "model_a"},
            {**TRAINING_LINE, "preference": "tie", "model_a": "plain text"},
        )
        first, second, third = read_labelled_pairs(path, tmp_path, "dev")

        assert first.id == 3
        assert first.question.pair == Pair("q", "a", "b\n\nmore b")
        assert first.question.criteria == CriteriaSet.of(["concise"], ["slang"])
        assert [first.label, second.label, third.label] == [-1, 1, 0]
        assert third.question.pair.response_a == "plain text"
        assert {first.kind, second.kind, third.kind} == {"list"}

    def test_may_have_no_criteria(self, tmp_path: Path) -> None:
        without = {key: value for key, value in TRAINING_LINE.items() if key != "criteria"}
        read = read_labelled_pairs(write(tmp_path, TRAINING_LINE | {"criteria": []}, without), tmp_path, None)

        assert [(item.criteria, item.label) for item in read] == [(CriteriaSet(), -1)] * 2

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"preference": "both"}, "the preference 'both' is none of model_a, model_b, tie"),
            ({"preference": ["model_a"]}, "preference"),
            ({"prompt": 5}, "the field 'prompt' is not a text"),
            ({"model_a": None}, "model_a"),
            ({"model_a": ["a"]}, "model_a"),
            ({"model_a": {"role": "assistant", "content": "a"}}, "model_a"),
            ({"model_b": [{"role": "assistant"}]}, "the field 'content' is missing"),
            ({"model_b": [{"role": "assistant", "content": [1]}]}, "model_b"),
            ({"criteria": None}, "The criteria are not a list"),
        ],
    )
    def test_a_bad_row_is_refused_with_file_row_and_reason(
        self, tmp_path: Path, change: dict[str, object], reason: str
    ) -> None:
        path = write(tmp_path, TRAINING_LINE, {**TRAINING_LINE, **change})
        with pytest.raises(CRMError, match=rf"^pairs\.jsonl, row 2: .*{reason}"):
            read_labelled_pairs(path, tmp_path, None)

    def test_an_empty_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CRMError, match=r"pairs\.jsonl is empty"):
            read_labelled_pairs(write(tmp_path), tmp_path, None)


class TestAnnotations:
    def test_give_both_directions_and_their_single_criteria(self, tmp_path: Path, texts: Path) -> None:
        judged = read_labelled_pairs(write(tmp_path, ANNOTATION), texts, "dev")

        assert {item.question.pair for item in judged} == {Pair("second", "no", "rather not")}
        assert [(item.question.criteria, item.label, item.kind) for item in judged] == [
            (CriteriaSet.of(["concise"]), 1, "list"),
            (CriteriaSet.of(["brevity"]), 1, "keyword"),
            (CriteriaSet.of(["detailed", "warm"]), -1, "list"),
            (CriteriaSet((Criterion("curtness", polarity=Polarity.AVOID),)), -1, "avoid"),
        ]

    def test_of_flask_are_joined_by_the_number_of_the_question(self, tmp_path: Path, texts: Path) -> None:
        row = {**ANNOTATION, "source": "flask", "instruction_index": 5}
        [first, *_] = read_labelled_pairs(write(tmp_path, row), texts, None)

        assert first.question.pair == Pair("fifth", "terse five", "wordy five")

    def test_are_kept_by_split(self, tmp_path: Path, texts: Path) -> None:
        path = write(tmp_path, ANNOTATION, {**ANNOTATION, "split": "train"})

        assert len(read_labelled_pairs(path, texts, "train")) == 4
        assert len(read_labelled_pairs(path, texts, None)) == 8
        with pytest.raises(CRMError, match="no pairs in the split test"):
            read_labelled_pairs(path, texts, "test")

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"instruction_index": 0}, "wordy has no response to instruction 0"),
            ({"instruction_index": 99}, "99"),
            ({"model_a": "stranger"}, "There is no file .*stranger"),
            ({"source": "elsewhere"}, "'elsewhere' is neither alpaca_eval nor flask"),
            ({"source": "flask"}, "1"),
            ({"criteria_b": "detailed"}, "The criteria are not a list"),
        ],
    )
    def test_a_bad_row_is_refused_with_file_row_and_reason(
        self, tmp_path: Path, texts: Path, change: dict[str, object], reason: str
    ) -> None:
        path = write(tmp_path, ANNOTATION, {**ANNOTATION, **change})
        with pytest.raises(CRMError, match=rf"^pairs\.jsonl, row 2: .*{reason}"):
            read_labelled_pairs(path, texts, None)

    def test_a_row_that_lacks_a_field_names_it(self, tmp_path: Path, texts: Path) -> None:
        row = {key: value for key, value in ANNOTATION.items() if key != "instruction_sha256"}
        with pytest.raises(CRMError, match="row 1: the field 'instruction_sha256' is missing"):
            read_labelled_pairs(write(tmp_path, row), texts, None)
