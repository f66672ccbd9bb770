import json
import re
from pathlib import Path
from typing import Any

import pytest

from precompute.errors import PrecomputeError
from precompute.importers import ImportedQuery, read_arena_hard
from tests.precompute.samples import write_json_lines

BASELINE = "gemini-2.0-flash-001"
QUESTIONS = [
    {"uid": "u1", "category": "hard_prompt", "subcategory": "coding", "prompt": "Sort\u2028this."},
    {"uid": "u2", "category": "hard_prompt", "subcategory": "math", "prompt": "Add this."},
    {"uid": "u3", "category": "creative_writing", "subcategory": "creative_writing", "prompt": "Sing."},
]


def answer(uid: str, text: object) -> dict[str, Any]:
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]
    return {"uid": uid, "ans_id": f"a-{uid}", "model": "x", "messages": messages, "metadata": {}}


def write_answers(folder: Path, llm: str, answers: dict[str, object]) -> Path:
    records = [answer(uid, text) for uid, text in answers.items()]
    return write_json_lines(folder / "model_answer" / f"{llm}.jsonl", records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_json_lines(tmp_path / "question.jsonl", QUESTIONS)
    write_answers(tmp_path, BASELINE, {uid: {"answer": f"base {uid}"} for uid in ("u3", "u1", "u2")})
    write_answers(tmp_path, "thinker", {"u1": {"answer": "42", "thought": "hmm"}, "u2": {"answer": ""}})
    write_answers(tmp_path, "plain.v1", {"u2": "two", "u3": "la la"})
    return tmp_path


def test_questions_keep_their_uid_and_upstreams_categories(folder: Path) -> None:
    assert read_arena_hard(folder, "hard").queries == (
        ImportedQuery("Sort\u2028this.", "u1", "Hard prompt", "Coding"),
        ImportedQuery("Add this.", "u2", "Hard prompt", "Math"),
        ImportedQuery("Sing.", "u3", "Creative writing", "Creative writing"),
    )


def test_answers_are_joined_on_the_uid_without_what_the_llm_thought(folder: Path) -> None:
    read = read_arena_hard(folder, "hard")
    assert read.responses == {
        BASELINE: {2: "base u3", 0: "base u1", 1: "base u2"},
        "plain.v1": {1: "two", 2: "la la"},
        "thinker": {0: "42", 1: ""},
    }
    assert (read.baseline, read.notices) == (BASELINE, ())


def test_only_the_named_llms_and_the_baseline_are_read(folder: Path) -> None:
    (folder / "model_answer" / "broken.jsonl").write_text("{")
    told: list[tuple[int, int]] = []
    read = read_arena_hard(folder, "hard", ["thinker"], progress=lambda *so_far: told.append(so_far))
    assert list(read.responses) == [BASELINE, "thinker"]
    assert told == [(1, 2), (2, 2)]


def test_another_baseline_may_be_named_or_be_stored_already(folder: Path) -> None:
    assert read_arena_hard(folder, "hard", ["plain.v1"], baseline="thinker").baseline == "thinker"
    read = read_arena_hard(folder, "hard", ["plain.v1"], stored_baseline="elsewhere")
    assert (read.baseline, list(read.responses)) == ("elsewhere", ["plain.v1"])


def test_answers_to_other_questions_are_left_out_and_counted(folder: Path) -> None:
    write_answers(folder, "plain.v1", {"u1": "one", "u9": "nine", "u8": "eight"})
    read = read_arena_hard(folder, "hard", ["plain.v1"])
    assert read.responses["plain.v1"] == {0: "one"}
    assert "2 uids" in read.notices[0]


def test_a_question_without_category_is_left_to_be_placed(folder: Path) -> None:
    write_json_lines(folder / "question.jsonl", [{"uid": "u1", "prompt": "Sort."}])
    assert read_arena_hard(folder, "hard", []).queries == (ImportedQuery("Sort.", "u1"),)


def test_unknown_llms_and_an_absent_default_baseline_are_named(folder: Path) -> None:
    with pytest.raises(PrecomputeError, match="did you mean 'thinker'"):
        read_arena_hard(folder, "hard", ["Thinkre"])
    (folder / "model_answer" / f"{BASELINE}.jsonl").unlink()
    with pytest.raises(PrecomputeError, match=rf"{BASELINE}.*--baseline"):
        read_arena_hard(folder, "hard")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"uid": "u1"}, "'messages' does not end with a turn of the assistant"),
        ({"uid": "u1", "messages": []}, "'messages' does not end with a turn of the assistant"),
        ({"uid": "u1", "messages": [{"role": "user"}]}, "'messages' does not end with a turn of the assist"),
        (answer("u1", None), "the last turn of 'messages' has no answer that is a text"),
        (answer("u1", {"thought": "hmm"}), "the last turn of 'messages' has no answer"),
        (answer("u2", "again"), "the uid 'u2' occurs before"),
        ({"messages": []}, "the column 'uid' is missing"),
        ([1], "this is no JSON object"),
    ],
)
def test_a_malformed_answer_refuses_the_file(folder: Path, line: object, message: str) -> None:
    path = write_answers(folder, "thinker", {"u2": "two"})
    with path.open("a") as file:
        file.write(json.dumps(line))
    with pytest.raises(PrecomputeError, match=f"{re.escape(str(path))}, row 2: {message}"):
        read_arena_hard(folder, "hard")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "there are no questions"),
        ([QUESTIONS[0], QUESTIONS[0]], "row 2: the uid 'u1' occurs before"),
        ([{"uid": "u1"}], "row 1: the column 'prompt' is missing"),
        ([{"uid": "u1", "prompt": " "}], "row 1: 'prompt' is empty"),
        ([{"uid": "u1", "prompt": "x", "category": 3}], "row 1: 'category' is a number"),
        ([{"uid": "v1", "prompt": "x"}], "none of its uids is in question.jsonl"),
    ],
)
def test_malformed_questions_are_refused(folder: Path, records: list[object], message: str) -> None:
    write_json_lines(folder / "question.jsonl", records)
    with pytest.raises(PrecomputeError, match=message):
        read_arena_hard(folder, "hard")


def test_what_is_not_there_is_named(folder: Path) -> None:
    for path in (folder / "model_answer").iterdir():
        path.unlink()
    with pytest.raises(PrecomputeError, match=r"model_answer: it holds no <llm>\.jsonl"):
        read_arena_hard(folder, "hard")
    (folder / "model_answer").rmdir()
    with pytest.raises(PrecomputeError, match="model_answer: there is no such folder"):
        read_arena_hard(folder, "hard")
    (folder / "question.jsonl").unlink()
    with pytest.raises(PrecomputeError, match=r"question\.jsonl: there is no such file"):
        read_arena_hard(folder, "hard")
