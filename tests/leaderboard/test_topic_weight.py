import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import InterestError, TopicWeightError
from leaderboard.interests import LONGEST_INTEREST, MOST_INTERESTS, read_interests
from leaderboard.topic_weight import HEAVIEST, TopicWeight, read_topic_weights

names = st.text(min_size=1, max_size=20).filter(str.strip)


@given(names, st.floats(0, HEAVIEST))
def test_a_weight_is_read_as_it_was_written(name: str, weight: float) -> None:
    item = TopicWeight(name, weight)

    assert TopicWeight.parse(str(item)) == item


def test_a_weight_is_written_without_needless_digits() -> None:
    assert str(TopicWeight("Arts & Culture", 2.0)) == "Arts & Culture=2"
    assert TopicWeight.parse("a=b=0.5") == TopicWeight("a=b", 0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Poetry", "'Poetry' cannot be read: write NAME=NUMBER"),
        ("=2", "cannot be read"),
        ("Poetry=much", "cannot be read"),
        ("Poetry=nan", "cannot be read"),
        ("Poetry=-1", "a number from 0 to 100, not -1"),
        ("Poetry=inf", "a number from 0 to 100, not inf"),
    ],
)
def test_what_is_no_weight_is_refused(text: str, message: str) -> None:
    with pytest.raises(TopicWeightError, match=message):
        TopicWeight.parse(text)


def test_of_a_name_given_twice_the_last_weight_counts() -> None:
    assert read_topic_weights(["a=1", "b=2", "a=0"]) == (TopicWeight("a", 0), TopicWeight("b", 2))


def test_interests_are_lines_without_blanks_and_repetitions() -> None:
    assert read_interests([" emails \n\n emails", "short   stories"]) == ("emails", "short stories")


def test_too_many_or_too_long_interests_are_refused() -> None:
    with pytest.raises(InterestError, match=f"{LONGEST_INTEREST + 1} characters"):
        read_interests(["x" * (LONGEST_INTEREST + 1)])
    with pytest.raises(InterestError, match=f"keep the {MOST_INTERESTS}"):
        read_interests(map(str, range(MOST_INTERESTS + 1)))
