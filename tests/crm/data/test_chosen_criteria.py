import json
import random
from itertools import product
from pathlib import Path

import pytest

from crm.cli import main
from crm.data.chosen_criteria import SidedCriterion, read_sided_criteria, separation
from crm.data.pairs import MODERN_ANNOTATIONS
from crm.errors import CRMError
from tests.conftest import Run

_SHORT = ("short answers", "keep it brief", "as few words as possible", "a concise reply")
_WARM = ("a warm tone", "be kind and caring", "friendly and comforting words", "shows sympathy")


def sided(agreed: bool) -> list[SidedCriterion]:
    """Return criteria of 200 queries; everybody chooses short answers, or each by lot."""
    lot = random.Random(0)
    found = []
    for number in range(200):
        short_chosen = agreed or lot.random() < 0.5
        for texts, chosen in ((_SHORT, short_chosen), (_WARM, not short_chosen)):
            for text in lot.sample(texts, 2):
                found.append(SidedCriterion(text, f"query {number}", f"pair {number}", chosen))
    return found


def test_where_people_agree_their_criteria_are_apart() -> None:
    found = separation(sided(agreed=True))

    assert found.rand_index == found.told == 1.0
    assert found.by_chance[1] < 0.1
    assert (found.n_chosen, found.n_rejected, found.n_pairs) == (400, 400, 200)


def test_where_each_has_a_taste_of_their_own_they_are_not() -> None:
    found = separation(sided(agreed=False))

    assert found.by_chance[0] <= found.rand_index <= found.by_chance[1]
    assert 0.4 < found.told < 0.6
    assert found == separation(sided(agreed=False))


def line(number: int, preference: str, winner: str | None, criterion: str) -> dict[str, object]:
    row: dict[str, object] = {
        "idx": number,
        "prompt": f"What is {number}?",
        "model_a": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "One."}],
        "model_b": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Two."}],
        "criteria": [criterion],
        "preference": preference,
    }
    return row if winner is None else row | {"winner": winner}


def test_training_data_is_read_with_its_winner_and_ties_left_out(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [
        line(1, "model_a", "model_a", "short"),
        line(1, "model_b", "model_a", "warm"),
        line(2, "model_a", "tie", "formal"),
        line(3, "model_b", "model_b", "funny"),
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    read = read_sided_criteria(path)

    assert [(item.text, item.chosen) for item in read] == [("short", True), ("warm", False), ("funny", True)]
    assert [item.query for item in read] == ["What is 1?", "What is 1?", "What is 3?"]


def test_annotations_say_what_is_typical() -> None:
    read = read_sided_criteria(MODERN_ANNOTATIONS)
    rows = [json.loads(text) for text in MODERN_ANNOTATIONS.read_text(encoding="utf-8").splitlines()]
    chosen = [text for row in rows if row["typical"] in "ab" for text in row[f"criteria_{row['typical']}"]]

    assert sum(item.chosen for item in read) == len(chosen)
    assert len({item.pair for item in read}) == sum(row["typical"] in "ab" for row in rows)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([line(1, "model_a", None, "short")], "does not say which responses people chose"),
        ([{"query": "What?"}], "row 1: neither an annotation nor CRM training data"),
        (
            [line(n, s, "model_a", "short") for n, s in product(range(3), ("model_a", "model_b"))],
            "of 3 queries",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, rows: list[dict[str, object]], said: str
) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    with pytest.raises(CRMError, match=said):
        separation(read_sided_criteria(path))


def test_nobody_s_criteria_are_not_compared() -> None:
    with pytest.raises(CRMError, match="0 and 0, of 0 queries"):
        separation([])


def test_the_command_prints_a_row_a_file(run_main: Run, tmp_path: Path) -> None:
    rows = [
        line(number, side, "model_a", ("short" if side == "model_a" else "warm") + " words")
        for number, side in product(range(8), ("model_a", "model_b"))
    ]
    files = [tmp_path / f"{name}.jsonl" for name in ("one", "two")]
    for file in files:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    status, printed, _ = run_main(main, "chosen-criteria", *files)

    assert status == 0
    assert "one.jsonl" in printed and "two.jsonl" in printed
    assert printed.count("100.0%") == 6
