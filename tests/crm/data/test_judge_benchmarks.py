from pathlib import Path
from typing import Any

import pytest

from crm.criteria import MAX_LENGTH
from crm.data.judge_benchmarks import is_judge_benchmark, read_candidates, read_judge_benchmark
from crm.errors import CRMError
from tests.crm.evaluation.benchmark_samples import (
    personalized,
    personalized_folder,
    reward_bench_2,
    rubric_bench,
    write_json_lines,
    write_parquet,
)

WRITERS = pytest.mark.parametrize(
    ("write", "name"), [(write_json_lines, "test.jsonl"), (write_parquet, "test.parquet")]
)


@WRITERS
def test_reward_bench_2_has_several_responses_by_subset(tmp_path: Path, write: Any, name: str) -> None:
    rows = [
        reward_bench_2("7", "Math", ["4"], ["5", "6", "7"]),
        reward_bench_2("tied:0", "Ties", ["red", "blue"], ["loud"]),
    ]
    benchmark = read_judge_benchmark(write(tmp_path / name, rows))
    math, ties = benchmark.prompts

    assert benchmark.name == "RewardBench 2"
    assert (math.id, math.query, math.domain) == ("7", "Prompt 7?", "Math")
    assert (math.chosen, math.rejected) == (("4",), ("5", "6", "7"))
    assert (ties.chosen, ties.domain) == (("red", "blue"), "Ties")
    assert not benchmark.has_rubrics


@WRITERS
def test_aspects_of_personalized_reward_bench_are_criteria(tmp_path: Path, write: Any, name: str) -> None:
    row = personalized("a", ["Communication with Supervisor", "A middle ground"], "talk", "brood")
    benchmark = read_judge_benchmark(write(tmp_path / name, [row]))
    [prompt] = benchmark.prompts

    assert benchmark.name == "Personalized RewardBench"
    assert [one.text for one in prompt.criteria] == ["Communication with Supervisor", "A middle ground"]
    assert (prompt.chosen, prompt.rejected) == (("talk",), ("brood",))
    assert prompt.domain == "Art and Entertainment"
    assert benchmark.has_rubrics


def test_its_domains_are_its_folders(tmp_path: Path) -> None:
    prompts = read_judge_benchmark(personalized_folder(tmp_path)).prompts

    assert [prompt.domain for prompt in prompts] == ["Art and Entertainment"] * 3 + [
        "Society and Culture"
    ] * 2


@WRITERS
def test_the_label_of_rubric_bench_says_which_is_preferred(tmp_path: Path, write: Any, name: str) -> None:
    rows = [rubric_bench("c1", "Chat", "good", "bad"), rubric_bench("c2", "STEM", "good", "bad", label=1)]
    prompts = read_judge_benchmark(write(tmp_path / name, rows)).prompts

    assert [(prompt.chosen, prompt.rejected) for prompt in prompts] == [(("good",), ("bad",))] * 2
    assert [prompt.domain for prompt in prompts] == ["Chat", "STEM"]
    assert [one.text for one in prompts[0].criteria] == [
        "The answer is concise, in a few words.",
        "The answer has at most two sentences.",
    ]


def test_an_aspect_that_is_too_long_for_a_criterion_ends_early(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "b.jsonl", [personalized("a", ["word " * 100], "x", "y")])
    [prompt] = read_judge_benchmark(path).prompts
    [criterion] = prompt.criteria

    assert len(criterion.text) <= MAX_LENGTH
    assert criterion.text.endswith("word…")


def test_other_files_are_no_benchmark(tmp_path: Path) -> None:
    pairs = write_json_lines(tmp_path / "pairs.jsonl", [{"idx": 1, "prompt": "q", "preference": "model_a"}])

    assert not is_judge_benchmark(pairs)
    assert not is_judge_benchmark(tmp_path / "absent.jsonl")
    assert is_judge_benchmark(personalized_folder(tmp_path / "cloned"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (reward_bench_2("1", "Math", [], ["x"]), "row 1: the field 'chosen' is no list of one or more texts"),
        (personalized("1", [" "], "x", "y"), "row 1: the rubric is empty"),
        (personalized("1", ["a"], "x", "y", rubric_aspects=["a"]), "row 1: the field 'rubric_aspects' is no"),
        ({**rubric_bench("1", "Chat", "x", "y"), "label": 2}, "row 1: the label 2 is neither 0"),
        (
            {"id": "1", "text": "x"},
            "has the fields of no known benchmark of judges .RewardBench 2: chosen, id",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(CRMError, match=message):
        read_judge_benchmark(write_json_lines(tmp_path / "b.jsonl", [row]))


def test_files_of_different_benchmarks_do_not_go_together(tmp_path: Path) -> None:
    write_json_lines(tmp_path / "a.jsonl", [reward_bench_2("1", "Math", ["x"], ["y"])])
    write_json_lines(tmp_path / "b.jsonl", [rubric_bench("1", "Chat", "x", "y")])
    with pytest.raises(CRMError, match=r"b.jsonl, row 1: the field 'id' is missing"):
        read_judge_benchmark(tmp_path)


def test_an_id_occurs_once(tmp_path: Path) -> None:
    rows = [reward_bench_2("1", "Math", ["x"], ["y"])] * 2
    with pytest.raises(CRMError, match="row 2: the id '1' occurs twice"):
        read_judge_benchmark(write_json_lines(tmp_path / "b.jsonl", rows))


def test_a_damaged_file_and_an_empty_folder_are_said(tmp_path: Path) -> None:
    with pytest.raises(CRMError, match="There is no benchmark in"):
        read_judge_benchmark(tmp_path)
    (tmp_path / "b.parquet").write_text("no Parquet")
    with pytest.raises(CRMError, match=r"b.parquet is no readable Parquet file"):
        read_judge_benchmark(tmp_path)


class TestCandidates:
    @WRITERS
    def test_belong_to_prompts(self, tmp_path: Path, write: Any, name: str) -> None:
        benchmark = read_judge_benchmark(personalized_folder(tmp_path / "b"))
        path = write(tmp_path / name, [{"id": "a1", "candidates": ["one", "two"]}])

        assert read_candidates(path, benchmark) == {"a1": ("one", "two")}

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([{"id": "zz", "candidates": ["x"]}], "the id 'zz' is none of Personalized RewardBench"),
            ([{"id": "a1", "candidates": ["x"]}] * 2, "row 2: the id 'a1' occurs twice"),
            ([{"id": "a1", "candidates": "x"}], "the field 'candidates' is no list"),
            ([{"id": "a1"}], "the field 'candidates' is missing"),
            ([], "is empty"),
        ],
    )
    def test_that_fit_no_prompt_are_refused(self, tmp_path: Path, rows: Any, message: str) -> None:
        benchmark = read_judge_benchmark(personalized_folder(tmp_path / "b"))
        with pytest.raises(CRMError, match=message):
            read_candidates(write_json_lines(tmp_path / "c.jsonl", rows), benchmark)
