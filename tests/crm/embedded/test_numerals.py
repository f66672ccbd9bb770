"""Numbers in wishes, in digits and in words of four languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.embedded.numerals import numerals


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("two hundred words", [200]),
        ("a hundred and fifty words", [150]),
        ("twenty-five or thirty", [25, 30]),
        ("half a dozen bullets", [6]),
        ("une demi-douzaine de puces", [6]),
        ("une vingtaine de mots", [20]),
        ("zwei oder drei Sätze", [2, 3]),
        ("1,000 words, not 1.500", [1000, 1500]),
        ("5-7 bullets", [5, 7]),
        ("5ish examples", [5]),
        ("GPT-4o since v2.5", []),
        ("someone, nobody, often", []),
    ],
)
def test_each_number_is_found_once(text: str, values: list[float]) -> None:
    assert [number.value for number in numerals(text)] == values


def test_ordinals_are_told_from_others() -> None:
    assert [number.is_ordinal for number in numerals("three, third, 3rd, dritten")] == [
        False,
        True,
        True,
        True,
    ]


@given(st.text(max_size=60))
def test_numbers_stand_where_they_say(text: str) -> None:
    for number in numerals(text):
        assert 0 <= number.start < number.end <= len(text)
        assert number.value >= 0
