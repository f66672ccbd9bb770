"""Reading past choices out of files that nobody vouches for."""

import io
import json
import zipfile

import pytest

from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history import chatgpt, read
from leaderboard.elicitation.history.choices import EMPTY, LONG, MAX_CHOICES, SAME, TOO_MANY
from leaderboard.elicitation.history.read import read_history
from leaderboard.errors import UploadError

CHOICE = {"query": "Which soup?", "chosen": "Tomato.", "rejected": "There are many soups."}


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", ".").replace("_", "-"), content)
    return packed.getvalue()


def test_csv_json_lines_and_json_say_the_same() -> None:
    csv = b"query,chosen,rejected,model\nWhich soup?,Tomato.,There are many soups.,x\n"
    for content, file in (
        (csv, "a.csv"),
        (lines(CHOICE), "a.jsonl"),
        (json.dumps([CHOICE]).encode(), "A.JSON"),
    ):
        [choice] = read_history(content, file).choices
        assert (choice.query, choice.first, choice.second) == tuple(CHOICE.values())
        assert choice.outcome is ChoiceOutcome.FIRST


@pytest.mark.parametrize(
    ("winner", "answer"),
    [
        ("model_a", ChoiceOutcome.FIRST),
        ("model_b", ChoiceOutcome.SECOND),
        ("tie", ChoiceOutcome.BOTH),
        ("tie (bothbad)", ChoiceOutcome.NEITHER),
        ("both_bad", ChoiceOutcome.NEITHER),
        (" Model_A ", ChoiceOutcome.FIRST),
    ],
)
def test_votes_of_lmarena(winner: str, answer: ChoiceOutcome) -> None:
    row = {
        "prompt": "Soup?",
        "response_a": "Tomato.",
        "response_b": "Leek.",
        "winner": winner,
        "model_a": "gpt",
    }
    [choice] = read_history(lines(row), "votes.jsonl").choices
    assert (choice.query, choice.first, choice.second, choice.outcome) == (
        "Soup?",
        "Tomato.",
        "Leek.",
        answer,
    )


def test_of_a_conversation_the_last_turn_counts() -> None:
    start = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
    parts = [{"type": "text", "text": "Soup?"}, {"type": "image", "image": "…"}]
    sides = {
        f"conversation_{side}": [
            *start,
            {"role": "user", "content": parts},
            {"role": "assistant", "content": soup},
        ]
        for side, soup in (("a", "Tomato."), ("b", "Leek."))
    }
    for row in (sides, {name: json.dumps(value) for name, value in sides.items()}):
        found = read_history(lines({**row, "winner": "model_b"}), "votes.jsonl")
        [choice] = found.choices
        assert (choice.query, choice.first, choice.second, choice.turns) == ("Soup?", "Tomato.", "Leek.", 2)
        assert found.n_multi_turn == 1


def test_choices_that_tell_nothing_are_left_out_and_counted() -> None:
    rows = [
        CHOICE,
        {**CHOICE, "rejected": " Tomato. "},
        {**CHOICE, "rejected": ""},
        {**CHOICE, "chosen": "long " * 5000},
    ]
    found = read_history(lines(*rows), "a.jsonl")
    assert len(found.choices) == 1
    assert dict(found.left_out) == {SAME: 1, EMPTY: 1, LONG: 1}
    assert found.n_found == 4
    with pytest.raises(UploadError, match=r"nothing can be learnt from its choices: .*same.* \(1\)"):
        read_history(lines(rows[1]), "a.jsonl")


def test_of_many_choices_some_are_used_from_the_first_to_the_last() -> None:
    rows = [{**CHOICE, "query": str(number)} for number in range(3 * MAX_CHOICES)]
    found = read_history(lines(*rows), "a.jsonl")
    queries = [int(choice.query) for choice in found.choices]
    assert len(queries) == MAX_CHOICES
    assert (queries[0], queries[-1]) == (0, len(rows) - 1)
    assert queries == sorted(set(queries))
    assert dict(found.left_out) == {TOO_MANY: 2 * MAX_CHOICES}


def test_formulas_and_scripts_are_texts() -> None:
    row = {"query": "=1+1", "chosen": "<script>alert(1)</script>", "rejected": '=HYPERLINK("x")\0\ud800'}
    [choice] = read_history(lines(row), "a.jsonl").choices
    assert choice.first == "<script>alert(1)</script>"
    choice.second.encode()


@pytest.mark.parametrize(
    ("content", "file", "message"),
    [
        (b"x", "a.txt", "its name must end in .csv, .jsonl, .json, .parquet, .zip"),
        (b"x", "a.parquet", "this is no Parquet file that can be read"),
        (b"", "a.csv", "there are no rows"),
        (b"query,chosen,rejected\n", "a.csv", "there are no rows"),
        (
            b"query,answer\na,b\n",
            "a.csv",
            r"row 1: no choice can be read from its columns \('answer', 'query'\)",
        ),
        (lines({"response_a": "a", "response_b": "b"}), "a.jsonl", "row 1: no choice can be read"),
        (lines(CHOICE, [1]), "a.jsonl", "row 2: this is no JSON object"),
        (lines({**CHOICE, "chosen": 7}), "a.jsonl", "row 1: 'chosen' is neither a text nor a list of"),
        (
            lines({**CHOICE, "chosen": [{"role": "user", "content": "a"}]}),
            "a.jsonl",
            "'chosen' does not end with",
        ),
        (lines({**CHOICE, "query": ["a"]}), "a.jsonl", "row 1: 'query' is not a text"),
        (
            lines({"response_a": "a", "response_b": "b", "winner": "gpt-4" * 99}),
            "a.jsonl",
            "row 1: 'winner' is .{1,60}, not model_a, model_b, tie or both_bad",
        ),
        (b"{}", "a.json", "it is not a list of objects"),
        (b"[" * 100_000, "a.json", "nested too deeply"),
        (b"\x89PNG", "a.json", "it is a picture"),
        (b"query,chosen,rejected\na,b\n", "a.csv", "row 2: there are 2 fields under 3 columns"),
        (b"nothing", "a.zip", "this is no ZIP archive that can be read"),
        (zipped(user__json=b"[]"), "a.zip", "there is no conversations.json in it"),
        (zipped(conversations__json=b"{"), "a.zip", "this is not valid JSON"),
        (zipped(conversations__json=b"[]"), "a.zip", "was made again and gone on with"),
        (zipped(conversations__json=b" " * 10**6), "a.zip", "packed suspiciously well"),
    ],
)
def test_what_holds_no_choices_is_refused_in_one_sentence(content: bytes, file: str, message: str) -> None:
    with pytest.raises(UploadError, match=message) as refused:
        read_history(content, file)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(file)


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "UPLOADED", read.ReadingLimits(read.MAX_MEGABYTES, rows=2))
    with pytest.raises(UploadError, match="it has more than 2 rows"):
        read_history(lines(CHOICE, CHOICE, CHOICE), "a.jsonl")
    monkeypatch.setattr(chatgpt, "MAX_UNPACKED_MEGABYTES", 0)
    with pytest.raises(UploadError, match="it unpacks to more than 0 MB"):
        read_history(zipped(conversations__json=b"[]"), "a.zip")
    monkeypatch.setattr(chatgpt, "MAX_MEMBERS", 1)
    with pytest.raises(UploadError, match="it holds more than 1 files"):
        read_history(zipped(conversations__json=b"[]", user__json=b"[]"), "a.zip")
    monkeypatch.setattr(read, "UPLOADED", read.ReadingLimits(megabytes=0, rows=2))
    with pytest.raises(UploadError, match="it is larger than 0 MB"):
        read_history(lines(CHOICE), "a.jsonl")


def test_an_archive_that_lies_about_its_sizes_or_is_locked_is_refused() -> None:
    packed = bytearray(zipped(conversations__json=b"[]"))
    header = packed.index(b"PK\x01\x02")
    packed[header + 8] |= 1
    with pytest.raises(UploadError, match="it is locked with a password"):
        read_history(bytes(packed), "a.zip")
    packed = bytearray(zipped(conversations__json=b"[]"))
    packed[packed.index(b"PK\x01\x02") + 24] = 1
    with pytest.raises(UploadError, match="this is no ZIP archive that can be read"):
        read_history(bytes(packed), "a.zip")
