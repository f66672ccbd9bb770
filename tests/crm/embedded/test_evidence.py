"""Marked is what is counted, where it is counted."""

from itertools import pairwise

import pytest

from crm.embedded.counts import countables, exact_counts
from crm.embedded.evidence import Evidence, can_be_marked, counted_in

BY_NAME = {item.name: item for item in countables()}


def marked(name: str, text: str) -> list[str]:
    return [text[start:end] for start, end in Evidence.of([BY_NAME[name]]).spans(text)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("emojis", "Well done 🎉, go on 👍🏽!", ["🎉", "👍🏽"]),
        ("exclamations", "Hello! How nice!! But a != b.", ["!", "!"]),
        ("questions", "Why? Tell me.", ["?"]),
        ("numbers", "It took 12 days and $3.50.", ["12", "$3.50."]),
        ("hedges", "Perhaps it may rain.", ["Perhaps", "may"]),
        ("semicolons", "One; two", [";"]),
    ],
)
def test_words_and_marks_are_found_where_they_stand(name: str, text: str, expected: list[str]) -> None:
    assert marked(name, text) == expected


@pytest.mark.parametrize("name", [name for name, item in BY_NAME.items() if item.pattern])
def test_a_pattern_finds_as_many_as_are_counted(name: str) -> None:
    text = (
        "I'm sorry, I can't say. Perhaps you might pay $20 (about 5 % of it) in May 2024; we think so … "
        "Very well: “take 3 cups of it”, e.g. HTTPS://WWW.EXAMPLE.ORG. Is it first or finally? "
    )
    counts = dict(zip(BY_NAME, exact_counts([text])[0].tolist(), strict=True))
    pattern = BY_NAME[name].pattern
    assert pattern is not None
    assert len(pattern.findall(text)) == counts[name]


def test_measures_of_the_whole_answer_cannot_be_marked() -> None:
    assert not can_be_marked(BY_NAME["words"])
    assert not can_be_marked(BY_NAME["sentence_length"])
    assert can_be_marked(BY_NAME["bold"])
    assert can_be_marked(BY_NAME["emojis"])


def test_what_overlaps_is_marked_once() -> None:
    text = "It was in May 2024."
    evidence = Evidence.of([BY_NAME["numbers"], BY_NAME["years"]])
    spans = evidence.spans(text)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert spans


def test_every_unit_names_one_property() -> None:
    assert [counted_in(item.unit_of_mean) for item in countables()] == list(countables())
    assert counted_in("wishes an answer") is None
