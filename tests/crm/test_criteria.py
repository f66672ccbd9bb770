import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.criteria import MAX_CRITERIA, MAX_LENGTH, CriteriaSet, Criterion, Polarity, Weight, normalise
from crm.errors import CriterionError

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
