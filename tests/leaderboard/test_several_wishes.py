"""Lines with commas: which list several wishes, and which say one."""

import pytest

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from leaderboard.several_wishes import parts_of, split


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("short, friendly, no emojis", ["short", "friendly", "no emojis"]),
        ("Concise, warm, and to the point.", ["Concise", "warm", "to the point"]),
        ("short, but not curt", []),
        ("short, not curt", []),
        ("ein bisschen Humor, aber nicht zu viel", []),
        ("un peu d'humour, mais pas trop", []),
        ("plain words, I'm a beginner", []),
        ("short, pls", []),
        ("kürzer, bitte", []),
        ("plus court, s'il te plaît", []),
        ("explains its steps, so that a beginner can follow each of them", []),
        ("uses British spelling", []),
        ("numbers like 1,000", []),
        ("short,", []),
    ],
)
def test_a_list_of_wishes_is_told_from_a_clause(line: str, parts: list[str]) -> None:
    assert [part.text for part in parts_of(Criterion(line))] == parts


def test_parts_take_the_place_weight_and_polarity_of_their_line() -> None:
    listed = Criterion("emojis, lists", Weight.OPTIONAL, Polarity.AVOID)
    criteria = CriteriaSet((Criterion("warm"), listed, Criterion("formal")))

    found = list(split(criteria, listed))

    assert [item.text for item in found] == ["warm", "emojis", "lists", "formal"]
    assert found[1] == Criterion("emojis", Weight.OPTIONAL, Polarity.AVOID)
