"""Whole topics that are held out, and evaluation sets whose “+” is what people chose."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from crm.cli import main
from crm.criteria import CriteriaSet
from crm.data.pairs import Directions, both_directions, joined_directions, read_labelled_pairs
from crm.data.topics import topics_of_queries, with_topics_held_out
from crm.errors import CRMError
from crm.evaluation.sets import TRAIN_FILE, Subset, read_manifest, read_sets
from crm.protocol import Pair
from tests.conftest import Run

TOPICS = ("cooking", "travel", "verse", "law")


def pair(number: int) -> Directions:
    return both_directions(
        Pair(f"About {TOPICS[number % 4]}, {number}?", f"first {number}", f"second {number}"),
        (CriteriaSet.of(["brief"]), CriteriaSet.of(["detailed"])),
        split="",
        instruction=str(number),
    )


PAIRS = [pair(number) for number in range(40)]
GIVEN = [TOPICS[number % 4] for number in range(40)]


def test_a_topic_is_held_out_whole() -> None:
    divided = with_topics_held_out(PAIRS, GIVEN, 0.3)
    splits = {(one.topic, one.split) for both in divided for one in both}
    assert len(splits) == len(TOPICS)
    assert Counter(one.split for one, _ in divided) == {"dev": 20, "train": 20}
    assert with_topics_held_out(PAIRS, GIVEN, 0.3) == divided
    assert len({str(with_topics_held_out(PAIRS, GIVEN, 0.2, seed)) for seed in range(8)}) > 1


def test_one_topic_alone_cannot_be_held_out() -> None:
    with pytest.raises(CRMError, match="All pairs are of one topic"):
        with_topics_held_out(PAIRS, ["all"] * 40, 0.1)


def test_too_few_queries_have_no_topics() -> None:
    with pytest.raises(CRMError, match="No topics are found among 40 different queries"):
        topics_of_queries(PAIRS)


def line(number: int, side: str, **changed: Any) -> dict[str, Any]:
    first, second = [f"{number}. A word or two."], [f"{number}. A long report on all of it, with details."]
    return {
        "idx": number,
        "prompt": f"About {TOPICS[number % 4]}, {number}?",
        "model_a": first[0],
        "model_b": second[0],
        "criteria": ["concise", "short"] if side == "model_a" else ["thorough", "detailed", "in depth"],
        "preference": side,
        "winner": "model_a" if number % 3 else "model_b",
        "topic": TOPICS[number % 4],
    } | changed


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return path


def test_both_directions_are_joined_whatever_the_order_of_responses(tmp_path: Path) -> None:
    turned = line(1, "model_b")
    turned |= {"model_a": turned["model_b"], "model_b": turned["model_a"], "preference": "model_a"}
    turned |= {"winner": "model_b"}
    path = write(tmp_path / "x.jsonl", line(1, "model_a"), turned, line(2, "model_a"))
    [(one, other)] = joined_directions(read_labelled_pairs(path, tmp_path, None))
    assert (one.label, other.label) == (1.0, -1.0)
    assert one.pair == other.pair
    assert one.chosen == other.chosen == 1.0
    assert one.opposite == other.criteria


@pytest.fixture
def data(tmp_path: Path) -> Path:
    sides = ("model_a", "model_b")
    tie = [line(40, side, winner="tie") for side in sides]
    return write(tmp_path / "x.jsonl", *(line(number, side) for number in range(40) for side in sides), *tie)


def test_plus_is_what_people_chose_in_topics_that_nothing_is_trained_on(
    run_main: Run, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sets"
    code, _, err = run_main(main, "evaluation-sets", data, "--out", folder, "--hold-out-topics", "0.2")
    assert code == 0
    assert "1 of 4 topics are held out: train on the others" in err
    assert "1 of 41 pairs are left out: nobody chose one of the responses." in err
    assert read_manifest(folder).general == "people's choice"
    sets = read_sets(folder).sets
    for subset, sign in ((Subset.TOPIC_PLUS, 1), (Subset.TOPIC_MINUS, -1)):
        assert len(sets[subset]) == 10
        assert all(item.label * item.chosen == sign for item in sets[subset])
    [held_out] = {item.topic for item in sets[Subset.TOPIC_PLUS]}
    learnt = read_labelled_pairs(folder / TRAIN_FILE, tmp_path, None)
    assert {item.topic for item in learnt} == set(TOPICS) - {held_out}
    assert len(learnt) >= 60


def test_a_judge_may_decide_instead(run_main: Run, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    code, _, err = run_main(main, "evaluation-sets", data, "--out", folder, "--general", "longer")
    assert (code, "nobody chose" in err) == (0, False)
    assert read_manifest(folder).general == "longer 1"
    assert all("long report" in prefers(item) for item in read_sets(folder).sets[Subset.TOPIC_PLUS])


def prefers(item: Any) -> str:
    return str(item.pair.response_a if item.label > 0 else item.pair.response_b)


def test_one_sided_data_is_refused(run_main: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", line(1, "model_a"))
    code, _, err = run_main(main, "evaluation-sets", path, "--out", tmp_path / "sets")
    assert (code, err.count("\n")) == (2, 1)
    assert "x.jsonl has no pair with criteria for either response" in err
