"""Limits that a criterion names in words or digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.embedded.limits import Limit, read_limit


@pytest.mark.parametrize(
    ("criterion", "low", "high"),
    [
        ("at most two sentences", None, 2),
        ("2 sentences max", None, 2),
        ("no more than 3 bullet points", None, 3),
        ("in 50 words or less", None, 50),
        ("under 100 words", None, 100),
        ("fewer than four headings", None, 3),
        ("keep it to a hundred words", None, 100),
        ("three hundred words or more", 300, None),
        ("at least 5 examples", 5, None),
        ("more than two questions", 3, None),
        ("exactly one table", 1, 1),
        ("three bullets", 3, 3),
        ("5-7 bullet points", 5, 7),
        ("between two and four paragraphs", 2, 4),
        ("about 200 words", 170, 230),
        ("one emoji, not more", None, 1),
        ("one sentence just isn't enough", 2, None),
        ("three examples are never enough", 4, None),
        ("not just one table", 2, None),
        ("two examples are enough", None, 2),
        ("no more than one emoji", None, 1),
        ("in one sentence", 1, 1),
        ("a couple of sentences will do", 2, 2),
        ("never more than a single sentence", None, 1),
        ("a 100-word summary", 85, 115),
    ],
)
def test_a_limit_is_read(criterion: str, low: float | None, high: float | None) -> None:
    assert read_limit(criterion) == Limit(low, high)


@pytest.mark.parametrize(
    "criterion",
    [
        *("no emojis", "short", "", "someone said", "v2.5 of it", "1, 2, 3 style", "1. 2. 3."),
        *("not a single smiley face", "the shorter word whenever there is one", "which one is better"),
        *(
            "without a single formula",
            "don't tie it to one place",
            "explain like I'm five",
            "I hate one-liners",
        ),
        *("single-sentence replies annoy me", "never reply with a lone sentence", "say 72%, not most people"),
        *(
            "spare me (Smith et al., 2019)",
            "I have thirty seconds, not ten minutes",
            "one thing after another",
        ),
        *("a ten-dollar word", "why only one sentence?", "sums like $500"),
    ],
)
def test_without_a_number_there_is_none(criterion: str) -> None:
    assert read_limit(criterion) is None


@pytest.mark.parametrize(
    ("criterion", "low", "high"),
    [
        ("anything beyond 250 words and I lose the thread", None, 250),
        ("past six bullets my eyes glaze over", None, 6),
        ("not more then 4 sentances", None, 4),
        ("one table won't do", 2, None),
        ("höchstens vier Absätze bitte", None, 4),
        ("au moins deux liens", 2, None),
        ("no más de 80 palabras", None, 80),
        ("more than 2 and fewer than 6 headings", 3, 5),
        ("at least 3 but no more than 5 tips", 3, 5),
        ("anything over 40 words is too much", None, 40),
    ],
)
def test_so_is_one_that_is_said_in_other_words(criterion: str, low: float | None, high: float | None) -> None:
    assert read_limit(criterion) == Limit(low, high)


@pytest.mark.parametrize(
    "criterion",
    [
        "half of the addresses lead to a 404, so leave them out",
        "machines that talk like HAL 9000 give me the creeps",
        "I'm 68 and those long paragraphs swim before my eyes",
        "last time there were 14 links and most of them dead, drop them",
        "I have told you a hundred times, no emojis",
        "24/7 I stare at spreadsheets, so a good table is welcome",
    ],
)
def test_a_number_that_is_no_amount_limits_nothing(criterion: str) -> None:
    assert read_limit(criterion) is None


@pytest.mark.parametrize(
    ("criterion", "low", "high"),
    [
        ("at least fifty words and at most 150", 50, 150),
        ("at most 150 words and at least fifty", 50, 150),
        ("minimum 100 words, maximum 300", 100, 300),
        ("100 words minimum, 300 maximum", 100, 300),
        ("3 bullets min, 6 max", 3, 6),
        ("at least 2 paragraphs, at most 4", 2, 4),
        ("no more than 5 bullets, no less than 2", 2, 5),
        ("more than two sentences, fewer than seven", 3, 6),
        ("mindestens 50 und höchstens 150 Wörter", 50, 150),
    ],
)
def test_both_ends_of_an_amount_are_read(criterion: str, low: float, high: float) -> None:
    assert read_limit(criterion) == Limit(low, high)


@pytest.mark.parametrize(
    "criterion",
    [
        "at least 3 bullets, at most 20 words each",
        "at least 2 sources and at most 150 words",
        "at least 200 words, at most 100",
    ],
)
def test_limits_of_two_things_and_contradictions_are_no_range(criterion: str) -> None:
    limit = read_limit(criterion)

    assert limit is not None
    assert limit.low is None or limit.high is None


def test_a_limit_has_the_unit_behind_its_number() -> None:
    units = [
        limit.unit
        for limit in map(read_limit, ("at most 15 words", "two short paragraphs", "3 jokes max"))
        if limit is not None
    ]
    assert units == ["word", "paragraph", ""]


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 1000))
def test_amounts_within_are_not_missed_and_others_are(low: int, room: int, amount: int) -> None:
    missed = float(Limit(low, low + room).missed_by(np.array(float(amount))))

    assert (missed > 1e-4) == (not low <= amount <= low + room)


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    read_limit(text)
