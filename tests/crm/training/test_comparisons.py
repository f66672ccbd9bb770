import json
from pathlib import Path

import numpy as np
import pytest

from crm.embedded.counts import count_names
from crm.errors import CRMError
from crm.training.comparisons import (
    ALL_COMPARISONS,
    read_comparisons,
    read_style_comparisons,
)
from crm.training.concepts import Wish, read_concept_wishes

ROW = {
    "source": "s",
    "prompt_id": "p",
    "instruction_sha256": "0",
    "model_a": "one",
    "model_b": "two",
    "split": "train",
    "more_a": ["funny"],
    "more_b": ["formal", "poetic"],
}
WISHES = [
    *(
        Wish(text, concept)
        for text, concept in (("joke", "funny"), ("official", "formal"), ("verse", "poetic"))
    ),
    *(Wish(f"no {text}", concept, more=False) for text, concept in (("joke", "funny"), ("office", "formal"))),
    Wish("keine Verse", "poetic", more=False, foreign=True),
    Wish("no verse", "poetic", more=False),
]


def written(tmp_path: Path, *rows: dict[str, object]) -> Path:
    path = tmp_path / "comparisons.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_each_side_meets_the_wishes_for_what_it_has_more_of(two_answers: Path, tmp_path: Path) -> None:
    path = written(tmp_path, ROW, ROW | {"split": "dev"})
    met: dict[bool, set[str]] = {True: set(), False: set()}
    for seed in range(30):
        [(for_a, for_b)] = read_comparisons(two_answers, WISHES, seed=seed, path=path)
        assert (for_a.pair.response_a, for_a.pair.response_b) == ("Ha!", "Sir.")
        assert (for_a.label, for_b.label) == (1.0, -1.0)
        assert len(for_a.extra) + len(for_b.extra) == 3
        met[True] |= {criterion.text for criterion in for_a.extra}
        met[False] |= {criterion.text for criterion in for_b.extra}

    assert met == {True: {"joke", "no office", "no verse"}, False: {"no joke", "official", "verse"}}
    [(dev, _)] = read_comparisons(two_answers, WISHES, split="dev", path=path)
    assert dev.split == "dev"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_b": "three"}, "row 1: three has no response to p of s"),
        ({"more_b": ["jolly"]}, "row 1: no wish asks for (more|less) of 'jolly'"),
        ({"more_a": None}, "row 1: 'NoneType'"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused(
    two_answers: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(CRMError, match=message):
        read_comparisons(two_answers, WISHES, path=written(tmp_path, ROW | change))


def test_what_was_said_of_styles_is_read_from_several_files(two_answers: Path, tmp_path: Path) -> None:
    path = written(tmp_path, ROW, ROW | {"split": "dev"}, ROW | {"more_a": [], "more_b": ["funny"]})
    pairs, said = read_style_comparisons(
        two_answers, ("formal", "funny", "warm", "poetic"), paths=(path, path)
    )
    assert [(pair.response_a, pair.response_b) for pair in pairs] == [("Ha!", "Sir.")] * 4
    np.testing.assert_array_equal(said, [[-1, 1, 0, -1], [0, -1, 0, 0]] * 2)


def test_a_style_that_is_not_known_is_refused(two_answers: Path, tmp_path: Path) -> None:
    with pytest.raises(CRMError, match="row 1: 'poetic' is no known style"):
        read_style_comparisons(two_answers, ("formal", "funny"), paths=(written(tmp_path, ROW),))


def test_the_bundled_comparisons_name_known_styles_and_keep_instructions_apart() -> None:
    rows = [json.loads(line) for path in ALL_COMPARISONS for line in path.read_text("utf-8").splitlines()]
    styles = {wish.concept for wish in read_concept_wishes()} - {None, *count_names()}

    assert {concept for row in rows for side in ("more_a", "more_b") for concept in row[side]} <= styles
    assert not any(set(row["more_a"]) & set(row["more_b"]) for row in rows)
    instructions = {
        split: {row["instruction_sha256"] for row in rows if row["split"] == split}
        for split in ("train", "dev")
    }
    assert not instructions["train"] & instructions["dev"]
    assert len(instructions["dev"]) > 50
