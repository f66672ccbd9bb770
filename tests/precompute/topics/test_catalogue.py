import numpy as np
import pytest

from leaderboard.topics.actions import MAX_NAME, MAX_SUMMARY, check_name
from precompute.embed import embed_texts
from precompute.topics.catalogue import Catalogue, catalogue


@pytest.fixture(scope="module")
def listed() -> Catalogue:
    return catalogue()


def test_every_topic_has_one_name_a_summary_and_wordings(listed: Catalogue) -> None:
    names = [topic.name.casefold() for topic in listed.topics]
    assert 280 <= len(names) == len(set(names)) <= 320
    for topic in listed.topics:
        check_name(topic.name, topic.name)
        check_name(topic.category, topic.category)
        assert topic.summary.endswith(".")
        assert len(topic.wordings) == len(set(topic.wordings)) >= 3
    # Two names with “ / ” between them, and their summaries, are still allowed.
    assert 2 * max(map(len, names)) + 3 <= MAX_NAME
    assert 2 * max(len(topic.summary) for topic in listed.topics) < MAX_SUMMARY


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("how do i get my sourdough to rise", "Baking & desserts"),
        ("Write a haiku about the first snow", "Poetry"),
        ("select the ten newest rows of a table", "SQL queries"),
        ("my dog barks whenever the bell rings", "Pets"),
        ("What are my rights when a shop refuses a refund?", "Everyday law & rights"),
        ("who are you and who made you?", "About the assistant"),
    ],
)
def test_a_query_is_most_of_all_about_its_topic(listed: Catalogue, query: str, name: str) -> None:
    shares = listed.fit(embed_texts([query, "How tall is it?", "Write a function", "Tell me a story"]))
    assert np.allclose(shares.sum(axis=1), 1)
    best = np.argsort(-shares[0])[:3]
    assert name in {listed.topics[place].name for place in best}
