"""Wishes that can be counted: what is recognised in them, and what the counts say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.embedded.countable import countable_properties, recognise
from crm.embedded.style import style_sheet


def read(criterion: str) -> list[tuple[str, int, float | None, float | None]]:
    return [(wish.property.name, wish.sign, wish.low, wish.high) for wish in recognise(criterion).wishes]


def counts(*texts: str) -> np.ndarray:
    return style_sheet().count(texts)


@pytest.mark.parametrize(
    ("criterion", "name", "sign"),
    [
        ("uses tables", "table rows", 1),
        ("Put it in a table, please.", "table rows", 1),
        ("no emojis", "emojis", -1),
        ("Don’t use emoji!!", "emojis", -1),
        ("emoji-free", "emojis", -1),
        ("lots of smileys 😊", "emojis", 1),
        ("never refuses", "refusals", -1),
        ("ends with a question", "questions at the end", 1),
        ("doesn't end with a question", "questions at the end", -1),
        ("short sentences", "words a sentence", -1),
        ("short, simple sentences", "words a sentence", -1),
        ("keep it brief", "words", -1),
        ("important words in bold", "bold passages", 1),
        ("bullets are avoided", "bullet points", -1),
        ("uses contractions like don't and it's", "contractions", 1),
    ],
)
def test_a_countable_wish_names_a_property_and_a_direction(criterion: str, name: str, sign: int) -> None:
    assert read(criterion) == [(name, sign, None, None)]
    assert recognise(criterion).certainty == 1.0


@pytest.mark.parametrize(
    ("criterion", "name", "low", "high"),
    [
        ("at most two sentences", "sentences", None, 2),
        ("under 100 words", "words", None, 100),
        ("in 50 words or less", "words", None, 50),
        ("no more than 3 bullet points", "bullet points", None, 3),
        ("at least several paragraphs", "paragraphs", 3, None),
        ("three hundred words or more", "words", 300, None),
        ("exactly two emojis", "emojis", 2, 2),
        ("a two-sentence answer", "sentences", 2, 2),
        ("about 100 words", "words", 85, 115),
    ],
)
def test_a_limit_is_read(criterion: str, name: str, low: float | None, high: float | None) -> None:
    assert read(criterion) == [(name, 1, low, high)]


def test_several_wishes_are_read_one_by_one() -> None:
    assert read("bullets instead of paragraphs") == [
        ("bullet points", 1, None, None),
        ("paragraphs", -1, None, None),
    ]
    assert read("no headings or lists, but lots of emojis") == [
        ("headings", -1, None, None),
        ("list items", -1, None, None),
        ("emojis", 1, None, None),
    ]


@pytest.mark.parametrize(
    "criterion", ["", "funny", "explains why", "warm and kind", "?!", "mentions gear and players"]
)
def test_what_names_nothing_countable_is_left_to_the_learnt_judge(criterion: str) -> None:
    assert (recognise(criterion).wishes, recognise(criterion).certainty) == ((), 0.0)


def test_the_more_was_not_understood_the_less_the_count_decides() -> None:
    certainty = [
        recognise(wish).certainty
        for wish in (
            "uses tables",
            "shows comparisons as a table",
            "explains the periodic table",
            "tables chairs lamps dogs cats",
        )
    ]

    assert certainty == sorted(certainty, reverse=True)
    assert certainty[0] == 1.0
    assert certainty[-1] == 0.0


def test_margins_follow_the_counts() -> None:
    few, many = counts("One 😊.", "Two 😊 and 😀 and 😎.")

    assert recognise("lots of emojis").margins(many) > recognise("lots of emojis").margins(few)
    assert recognise("no emojis").margins(many) < recognise("no emojis").margins(few)
    assert recognise("no emojis").margins(many) == -recognise("lots of emojis").margins(many)


def test_within_a_limit_all_are_alike_and_beyond_it_the_nearest_is_best() -> None:
    short, allowed, long, longer = (
        float(recognise("at most two sentences").margins(style))
        for style in counts("One.", "One. Two.", "One. Two. Three.", "One. Two. Three. Four. Five.")
    )

    assert short == allowed == 0.0
    assert 0.0 > long > longer


@given(criterion=st.text(max_size=60), texts=st.lists(st.text(max_size=80), min_size=1, max_size=4))
def test_any_text_is_read_and_counted(criterion: str, texts: list[str]) -> None:
    found = recognise(criterion)

    assert 0.0 <= found.certainty <= 1.0
    assert np.isfinite(found.margins(counts(*texts))).all()


def test_every_property_can_be_asked_for_by_its_names() -> None:
    names = [counted.name for counted in countable_properties()]

    assert len(set(names)) == len(names) > 30
