import numpy as np
import pytest

from leaderboard.errors import UnknownTopicError
from leaderboard.selection import indices_of, selected_queries

CATEGORIES = ["Home", "Home", "Work", "Travel"]
TOPICS = ["Soup", "Garden", "Mail", "Soup"]


@pytest.mark.parametrize(
    ("topics", "selected"),
    [
        ([], [1, 1, 1, 1]),
        (["Home"], [1, 1, 0, 0]),
        (["Garden"], [0, 1, 0, 0]),
        (["Soup"], [1, 0, 0, 1]),
        (["Work", "Garden"], [0, 1, 1, 0]),
        (["Home", "Soup", "Home"], [1, 1, 0, 1]),
    ],
)
def test_queries_are_selected_by_category_or_topic(topics: list[str], selected: list[int]) -> None:
    mask = selected_queries(topics, CATEGORIES, TOPICS)

    assert mask.dtype == np.bool_
    assert mask.astype(int).tolist() == selected


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("soup", "There is no topic 'soup': did you mean 'Soup'?"),
        ("Gardening", "There is no topic 'Gardening': did you mean 'Garden'?"),
        ("quantum physics", "There is no topic 'quantum physics': the categories are Home, Travel, Work."),
        ("", "There is no topic '': the categories are Home, Travel, Work."),
    ],
)
def test_an_unknown_name_is_refused_with_what_is_near(topic: str, message: str) -> None:
    with pytest.raises(UnknownTopicError) as refused:
        selected_queries(["Home", topic], CATEGORIES, TOPICS)

    assert str(refused.value) == message


def test_names_are_numbered_in_order_of_appearance() -> None:
    index, distinct = indices_of(["b", "a", "b", "c"])

    assert index.tolist() == [0, 1, 0, 2]
    assert distinct == ("b", "a", "c")
