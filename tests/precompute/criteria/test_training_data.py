"""Extracted criteria as training data, read back by what trains and evaluates CRMs."""

import json
from pathlib import Path

import pytest

from crm.data.pairs import read_labelled_pairs
from crm.training.classifier.examples import by_pair, read_examples
from db.repositories import preferences
from db.source_records import SideKey, Winner
from tests.precompute.criteria import samples
from tests.precompute.criteria.conftest import Lab
from tests.precompute.criteria.samples import criteria_of


@pytest.fixture
def written(lab: Lab) -> Path:
    lab.behave()
    lab.llms()
    path = lab.folder / "new" / "pairs.jsonl"
    code, out, _ = lab.run("--out", path)
    assert code == 0
    assert f"arena: 8 rows of training data in {path}." in out
    return path


def test_each_side_wins_by_its_own_criteria(written: Path) -> None:
    rows = [json.loads(line) for line in written.read_text().splitlines()]
    assert [(row["idx"], row["preference"]) for row in rows[:2]] == [("p0", "model_a"), ("p0", "model_b")]
    assert rows[1] == {
        "idx": "p0",
        "prompt": "Question 0.0: what about thing 0?",
        "model_a": [{"role": turn.role, "content": turn.content} for turn in samples.conversation(0, "warm")],
        "model_b": [
            {"role": turn.role, "content": turn.content} for turn in samples.conversation(0, "brief")
        ],
        "criteria": criteria_of("brief"),
        "preference": "model_b",
        "winner": "model_a",
    }


def test_it_is_read_by_what_evaluates_and_what_trains(written: Path, tmp_path: Path) -> None:
    judged = read_labelled_pairs(written, tmp_path, None)
    assert [one.label for one in judged] == [1.0, -1.0] * 4
    assert judged[0].question.pair.response_b == "In brief words, 0.0: so it is."
    examples = read_examples(written, tmp_path)
    assert [len(pair) for pair in by_pair(examples)] == [2, 2, 2, 2]
    for example in examples:
        manner = "warm" if example.label > 0 else "brief"
        other = "brief" if manner == "warm" else "warm"
        assert [item.text for item in example.criteria] == criteria_of(manner)
        assert [item.text for item in example.opposite] == criteria_of(other)


def test_the_persons_further_messages_stay_in_the_conversations(lab: Lab) -> None:
    with lab.database.session() as session:
        preferences.add_preferences(
            session,
            preferences.find_preference_set(session, samples.SLUG),
            100,
            [samples.preference(100, turns=2)],
        )
    lab.behave()
    lab.llms()
    path = lab.folder / "pairs.jsonl"
    lab.run("--out", path)
    judged = read_labelled_pairs(path, lab.folder, None)[-1]
    assert judged.id == "p100"
    pair = judged.question.pair
    assert pair.query == "Question 100.0: what about thing 100?"
    assert pair.response_a == "In warm words, 100.0: so it is.\n\nIn warm words, 100.1: so it is."
    assert [(turn.role, turn.content) for turn in pair.turns_a] == [
        ("assistant", "In warm words, 100.0: so it is."),
        ("user", "Question 100.1: what about thing 100?"),
        ("assistant", "In warm words, 100.1: so it is."),
    ]


def test_what_failed_is_left_out_and_the_rest_is_written(lab: Lab) -> None:
    lab.behave(
        lambda prompt, _: (
            samples.reply([]) if samples.number_of(prompt) == 0 else samples.well_behaved(prompt)
        )
    )
    lab.llms()
    path = lab.folder / "pairs.jsonl"
    code, _, _ = lab.run("--out", path)
    assert code == 2
    assert {json.loads(line)["idx"][:2] for line in path.read_text().splitlines()} == {"p1", "p3", "p4"}
    assert SideKey("p0", Winner.A) in lab.extracted()


def test_a_file_is_whole_or_not_there(lab: Lab) -> None:
    lab.behave(lambda *_: samples.reply([]))
    lab.llms()
    path = lab.folder / "pairs.jsonl"
    code, _, err = lab.run("--out", path)
    assert (code, err) == (2, "error: 8 lists of criteria failed: the same command asks for them again.\n")
    assert not path.exists()
    lab.behave()
    code, _, err = lab.run("--out", lab.folder / "llms.toml" / "pairs.jsonl")
    assert code == 2
    assert "cannot be written" in err
    assert sorted(found.name for found in lab.folder.glob("*.jsonl*")) == []
