"""The long wishes by which the reading is measured, and what counts as read."""

import re
from pathlib import Path

import pytest

from benchmarks.long_wishes import (
    CONTRARY,
    LEFT_OUT,
    PARTLY,
    READ,
    UNREAD,
    WISHES,
    LongWish,
    outcome,
    read_long_wishes,
)
from crm.embedded.concepts import concept_classifier
from crm.errors import CRMError
from crm.training.concepts import read_concept_wishes
from crm.training.safeguards import read_wishes


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def test_nothing_is_trained_on_them() -> None:
    trained = {_plain(wish.text) for wish in read_concept_wishes()} | set(map(_plain, read_wishes()[0]))
    long = [wish for wish in read_long_wishes(WISHES) if len(wish.text.split()) > 3]

    assert len(long) > 250
    assert not {_plain(wish.text) for wish in long} & trained


def test_each_part_names_known_concepts() -> None:
    named = {name for wish in read_long_wishes(WISHES) for part in wish.parts for name, _ in part}

    assert named <= set(concept_classifier().names)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"warm": 0.7, "lists": -0.5}, READ),
        ({"friend": 0.7, "lists": -0.5}, READ),
        ({"warm": 0.7, "lists": 0.0}, PARTLY),
        ({"warm": 0.7, "lists": 0.5}, CONTRARY),
        ({"warm": 0.1, "lists": 0.0}, UNREAD),
    ],
)
def test_a_wish_is_read_in_all_parts_in_some_or_the_wrong_way_round(
    wanted: dict[str, float], found: str
) -> None:
    wish = LongWish(
        "",
        "warm, no lists",
        (frozenset({("warm", True), ("friend", True)}), frozenset({("lists", False)})),
        True,
    )
    whole = {"warm": 0.0, "friend": 0.0, "lists": 0.0} | wanted

    assert outcome(wish, whole, left_out=False) == found
    assert outcome(wish, whole, left_out=True) == LEFT_OUT


@pytest.mark.parametrize("row", ["a\tb", "a\tb\twarm", "a\tb\t+warm\td", "a\tb\t+warm; "])
def test_a_malformed_line_is_named(tmp_path: Path, row: str) -> None:
    path = tmp_path / "wishes.tsv"
    path.write_text(f"a\tb\t+warm\n{row}\n", "utf-8")

    with pytest.raises(CRMError, match=re.escape("wishes.tsv, row 2:")):
        read_long_wishes(path)
