"""The wishes by which the reading is measured, and what counts as read."""

import re
from pathlib import Path

import pytest

from benchmarks.wish_readings import READINGS, MeantWish, outcomes, read_meant_wishes
from crm.embedded.concepts import concept_classifier
from crm.errors import CRMError
from crm.training.concepts import read_concept_wishes


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def test_no_judge_is_trained_on_them() -> None:
    wishes = read_meant_wishes(READINGS)

    assert len(wishes) > 900
    assert not {_plain(wish.text) for wish in wishes} & {_plain(wish.text) for wish in read_concept_wishes()}


def test_each_is_of_a_known_concept() -> None:
    named = {wish.concept for wish in read_meant_wishes(READINGS)} - {None}

    assert named <= set(concept_classifier().names)


def test_a_wish_is_right_turned_round_or_of_another_concept() -> None:
    said = [("emojis", False), ("emojis", True), ("tables", False), (None, True)]
    wishes = [MeantWish(concept, more, "no emojis please", "natural") for concept, more in said]
    exact, reversed_ = outcomes(concept_classifier(), wishes)

    assert exact.tolist() == [True, False, False, False]
    assert reversed_.tolist() == [False, True, False, False]


def test_a_malformed_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "wishes.tsv"
    file.write_text("emojis\t+\tlots of emojis\tnatural\nemojis\tmore\tlots\tnatural\n", encoding="utf-8")

    with pytest.raises(CRMError, match=r"wishes\.tsv, row 2: write concept, sign, wish and kind"):
        read_meant_wishes(file)
