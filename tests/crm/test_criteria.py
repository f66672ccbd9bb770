"""Lists of criteria sets: the bundled one, and files of the same form."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

from crm.criteria import (
    MAX_CRITERIA,
    MAX_LENGTH,
    CriteriaSet,
    Criterion,
    Polarity,
    Weight,
    criteria_list,
    normalise,
    popular_criteria,
    read_criteria_list,
)
from crm.embedded.model import embedded_crm
from crm.errors import CriterionError
from tests.crm.samples import ArrayBenchmark, random_features

texts = st.text(max_size=80).filter(lambda text: any(map(str.isprintable, normalise(text))))
criteria = st.builds(Criterion, texts, st.sampled_from(Weight), st.sampled_from(Polarity))
criteria_sets = st.lists(criteria, max_size=8).map(lambda listed: CriteriaSet(tuple(listed)))


class TestOneTypedLine:
    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ("concise", "concise"),
            ("  concise\tand   direct \n", "concise and direct"),
            ("- concise", "concise"),
            ("* concise", "concise"),
            ("• concise", "concise"),
            ("1. concise", "concise"),
            ("12) concise", "concise"),
            ("2024. was a good year", "2024. was a good year"),
            ("-5 degrees or colder", "-5 degrees or colder"),
            ("**bold** and <b>loud</b> & proud", "**bold** and <b>loud</b> & proud"),
            ("# headings | tables", "# headings | tables"),
            ("簡潔で分かりやすい", "簡潔で分かりやすい"),
            ("إجابات قصيرة", "إجابات قصيرة"),
            ("like a friend 👩‍👩‍👧 🎉", "like a friend 👩‍👩‍👧 🎉"),
            ("con\x00cise\x1b", "concise"),
            ("cafe\u0301", "café"),
        ],
    )
    def test_becomes_a_wanted_essential_criterion(self, line: str, text: str) -> None:
        assert Criterion.parse(line) == Criterion(text, Weight.ESSENTIAL, Polarity.WANT)

    @pytest.mark.parametrize(
        "line",
        [
            "avoid long lists",
            "Avoid: long lists",
            "AVOID  long lists",
            "- avoid long lists",
            "Avoid : long lists",
        ],
    )
    def test_that_begins_with_avoid_is_to_be_avoided(self, line: str) -> None:
        assert Criterion.parse(line) == Criterion("long lists", polarity=Polarity.AVOID)

    @pytest.mark.parametrize("line", ["avoidance of doubt", "Avoiding jargon", "never avoid numbers"])
    def test_in_which_avoid_is_no_instruction_stays_wanted(self, line: str) -> None:
        assert Criterion.parse(line) == Criterion(line)

    @pytest.mark.parametrize("line", ["", "  \t", "\x00\x07", "\u200b\ufeff", "- ", "Avoid:", "* avoid "])
    def test_that_wishes_for_nothing_is_refused(self, line: str) -> None:
        with pytest.raises(CriterionError, match="A criterion is empty"):
            Criterion.parse(line)

    def test_may_be_as_long_as_the_encoder_reads(self) -> None:
        assert len(Criterion.parse("x" * MAX_LENGTH).text) == MAX_LENGTH
        with pytest.raises(CriterionError, match=r"“x{40}…” has 301 characters: shorten it to 300"):
            Criterion.parse("x" * (MAX_LENGTH + 1))

    def test_keeps_the_weight_it_is_given(self) -> None:
        assert Criterion.parse("avoid slang", Weight.OPTIONAL).signed_weight == -0.3
        assert [Criterion("x", weight).signed_weight for weight in Weight] == [1.0, 0.7, 0.3]

    @given(texts)
    def test_is_normalised_once_and_for_all(self, text: str) -> None:
        assert normalise(normalise(text)) == normalise(text)

    def test_is_composed_after_control_characters_are_gone(self) -> None:
        assert normalise("cafe\x00\u0301") == "café"


class TestJSON:
    @given(criteria)
    def test_a_criterion_survives_the_round_trip(self, criterion: Criterion) -> None:
        assert Criterion.from_json(criterion.to_json()) == criterion

    @given(criteria_sets)
    def test_so_does_a_set(self, criteria: CriteriaSet) -> None:
        assert CriteriaSet.from_json([criterion.to_json() for criterion in criteria]) == criteria

    def test_a_text_is_read_like_a_typed_line(self) -> None:
        read = CriteriaSet.from_json(
            ["avoid slang", {"text": "avoid slang"}, {"text": "x", "weight": "optional"}]
        )

        assert list(read) == [
            Criterion("slang", polarity=Polarity.AVOID),
            Criterion("avoid slang"),
            Criterion("x", Weight.OPTIONAL),
        ]

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("concise", "not a list"),
            ({"text": "concise"}, "not a list"),
            (None, "not a list"),
            ([5], "a text or an object"),
            ([{"weight": "Essential"}], "a text or an object"),
            ([{"text": 5}], "a text or an object"),
            (
                [{"text": "x", "weight": "huge"}],
                "weight 'huge' is unknown: choose one of Essential, Important, Optional",
            ),
            ([{"text": "x", "weight": 1}], "weight 1 is unknown"),
            ([{"text": "x", "polarity": "hate"}], "polarity 'hate' is unknown: choose one of want, avoid"),
            ([""], "empty"),
        ],
    )
    def test_anything_else_is_refused_with_the_reason(self, value: object, reason: str) -> None:
        with pytest.raises(CriterionError, match=reason):
            CriteriaSet.from_json(value)


class TestManyCriteria:
    def test_a_text_box_gives_one_criterion_a_line(self) -> None:
        read = CriteriaSet.from_lines("1. concise\n\n   \n2. avoid slang\r\nwarm\n")

        assert str(read) == "concise; Avoid: slang; warm"

    def test_no_line_means_the_default_ranking(self) -> None:
        assert not CriteriaSet.from_lines(" \n ")
        assert str(CriteriaSet()) == "∅"

    def test_texts_may_carry_what_people_type_in_front_of_them(self) -> None:
        given_texts = CriteriaSet.of(["- concise"], ["slang", " avoid: slang", "- slang"])

        assert given_texts == CriteriaSet.from_lines("concise\navoid slang")

    def test_a_criterion_written_twice_counts_once_with_its_last_weight(self) -> None:
        repeated = CriteriaSet(
            (Criterion("warm"), Criterion("concise"), Criterion(" warm ", Weight.OPTIONAL))
        )

        assert list(repeated) == [Criterion("warm", Weight.OPTIONAL), Criterion("concise")]

    def test_to_want_and_to_avoid_the_same_is_a_contradiction_that_is_kept(self) -> None:
        assert len(CriteriaSet.of(["slang"], ["slang"])) == 2

    def test_up_to_200_are_kept_however_often_they_are_repeated(self) -> None:
        lines = [f"wish {number}" for number in range(MAX_CRITERIA)]

        assert len(CriteriaSet.of(lines + lines)) == MAX_CRITERIA
        with pytest.raises(CriterionError, match="There are 201 criteria: keep the 200"):
            CriteriaSet.of([*lines, "one more"])

    @given(criteria_sets, st.randoms())
    def test_equal_wishes_in_any_order_have_equal_keys(self, criteria: CriteriaSet, draw: object) -> None:
        shuffled = list(criteria)
        draw.shuffle(shuffled)  # type: ignore[attr-defined]

        assert CriteriaSet((*shuffled, *shuffled)).key == criteria.key

    def test_other_wishes_have_other_keys(self) -> None:
        others = [
            CriteriaSet(),
            CriteriaSet.of(["concise"]),
            CriteriaSet.of(["Concise"]),
            CriteriaSet.of([], ["concise"]),
            CriteriaSet((Criterion("concise", Weight.OPTIONAL),)),
            CriteriaSet.of(["concise", "warm"]),
        ]

        assert len({criteria.key for criteria in others}) == len(others)
        assert len(CriteriaSet().key) == 64


GOOD = """
[[criteria_set]]
label = "Brief"
criteria = ["short", { text = "lists", weight = "Optional", polarity = "avoid" }]

[[criteria_set]]
label = "Long"
criteria = ["Avoid brevity"]
"""


def test_a_file_is_read_in_its_order(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    brief, long = criteria_list(str(file))
    assert (brief.label, long.label) == ("Brief", "Long")
    assert brief.criteria == CriteriaSet(
        (Criterion("short"), Criterion("lists", Weight.OPTIONAL, Polarity.AVOID))
    )
    assert long.criteria == CriteriaSet.of(avoided=["brevity"])


def test_json_lines_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"label": "Brief", "criteria": ["short"]}\n\n{"label": "Long", "criteria": ["long"]}\n')
    assert [(item.label, str(item.criteria)) for item in read_criteria_list(file)] == [
        ("Brief", "short"),
        ("Long", "long"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("mine.csv", "", "ends in .toml or .jsonl"),
        ("mine.toml", "", "lists no criteria"),
        ("mine.toml", "[[criteria_set", "is not valid TOML"),
        ("mine.toml", '[other]\nlabel = "x"', r"write \[\[criteria_set\]\]"),
        ("mine.toml", '[[criteria_set]]\nlabel = "x"', "set 1: give it a “label” and “criteria”"),
        ("mine.toml", '[[criteria_set]]\nlabel = ""\ncriteria = ["a"]', "set 1: the label is empty"),
        ("mine.toml", '[[criteria_set]]\nlabel = "x"\ncriteria = []', "'x' has no criterion"),
        ("mine.toml", '[[criteria_set]]\nlabel = "x"\ncriteria = [" "]', "set 1: A criterion is empty"),
        ("mine.toml", GOOD + GOOD, "the label 'Brief' occurs twice"),
        (
            "mine.toml",
            GOOD + GOOD.replace('"Brief"', '"B"').replace('"Long"', '"L"'),
            "are the same criteria",
        ),
        ("mine.jsonl", "{}\n", "line 1: give it a “label”"),
        ("mine.jsonl", "[\n", "line 1 is not valid JSON"),
        ("mine.jsonl", '{"label": "x", "criteria": [{"text": "a", "weight": "Huge"}]}', "The weight 'Huge'"),
    ],
)
def test_a_malformed_file_is_one_sentence(tmp_path: Path, name: str, text: str, message: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(CriterionError, match=message) as caught:
        read_criteria_list(file)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(CriterionError, match=r"absent.toml cannot be read \(No such file or directory\)"):
        criteria_list("absent.toml")


def test_the_popular_sets_are_forty_short_and_distinct() -> None:
    popular = popular_criteria()
    assert len(popular) == 40
    assert all(len(item.label) <= 24 and 1 <= len(item.criteria) <= 3 for item in popular)


def test_no_two_popular_sets_ask_the_embedded_judge_the_same() -> None:
    crm = embedded_crm()
    benchmark = ArrayBenchmark(random_features(2, 300))
    margins = np.stack(
        [next(iter(crm.score(item.criteria, benchmark))).prob[0] for item in popular_criteria()]
    )
    assert np.triu(np.corrcoef(logit(np.clip(margins, 1e-6, 1 - 1e-6))), 1).max() < 0.98


def test_the_embedded_judge_can_judge_every_popular_set() -> None:
    assert [item.label for item in popular_criteria() if embedded_crm().warnings(item.criteria)] == []
