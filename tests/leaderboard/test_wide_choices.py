"""Topics chosen of a benchmark whose LLMs answered different ones: the bundled one of current LLMs."""

import numpy as np
import pytest

from leaderboard.selection import chosen_parts
from leaderboard.sentences import NOBODY_COMPLETE
from leaderboard.service import Service
from leaderboard.view import View

SLUG = "modern"
STORIES, RIDDLES = "Stories: everyday and open", "Riddles with a twist"


@pytest.fixture(scope="module")
def topics(service: Service) -> dict[str, tuple[str, ...]]:
    """Those of each category."""
    record = service.benchmark(SLUG).record
    return {category.name: tuple(topic.name for topic in category.topics) for category in record.categories}


def test_a_category_all_of_whose_topics_are_chosen_is_one_part(
    service: Service, topics: dict[str, tuple[str, ...]]
) -> None:
    record = service.benchmark(SLUG).record
    first = topics[RIDDLES][0]

    assert list(chosen_parts(record, (*topics[STORIES], first))) == [STORIES, first]
    assert list(chosen_parts(record, (STORIES,))) == [STORIES]
    assert list(chosen_parts(record, (STORIES, topics[STORIES][0]))) == [STORIES]
    [queries] = chosen_parts(record, topics[STORIES]).values()
    assert queries.tolist() == [query.category == STORIES for query in record.queries]


def test_no_choice_and_the_choice_of_everything_have_no_parts(
    service: Service, topics: dict[str, tuple[str, ...]]
) -> None:
    record = service.benchmark(SLUG).record

    assert chosen_parts(record, ()) == {}
    assert chosen_parts(record, sum(topics.values(), ())) == {}
    assert chosen_parts(record, tuple(topics)) == {}


def test_all_topics_rank_as_none(service: Service, topics: dict[str, tuple[str, ...]]) -> None:
    none, everything = (service.leaderboard(View(SLUG, chosen)) for chosen in ((), sum(topics.values(), ())))

    assert len(none.ranking.ranks) == 64
    assert everything.ranking.ranks == none.ranking.ranks
    np.testing.assert_array_equal(everything.ranking.win_rate, none.ranking.win_rate)


def test_a_choice_that_nobody_answered_whole_ranks_by_parts_and_says_so(
    service: Service, topics: dict[str, tuple[str, ...]]
) -> None:
    wide = service.leaderboard(View(SLUG, sum(topics.values(), ())[:-1]))

    assert wide.nobody_complete
    assert NOBODY_COMPLETE in wide.caveats
    assert len(wide.ranking.ranks) > 60


def test_who_lacks_a_part_is_listed_apart_and_ranked_on_demand(
    service: Service, topics: dict[str, tuple[str, ...]]
) -> None:
    view = View(SLUG, topics[STORIES] + topics[RIDDLES])
    apart = service.leaderboard(view)
    together = service.leaderboard(View(SLUG, view.topics, keep_partial=True))

    assert not apart.nobody_complete
    assert set(apart.not_compared.values()) >= {
        f"answered nothing on “{STORIES}”",
        f"answered nothing on “{RIDDLES}”",
    }
    assert set(together.ranking.ranks) == set(apart.ranking.ranks) | set(apart.too_few)
    assert len(together.ranking.ranks) > 3 * len(apart.ranking.ranks)


def test_one_topic_is_asked_of_everybody(service: Service, topics: dict[str, tuple[str, ...]]) -> None:
    shown = service.leaderboard(View(SLUG, topics[RIDDLES][:1]))

    assert not shown.nobody_complete
    assert f"answered nothing on “{topics[RIDDLES][0]}”" in shown.not_compared.values()
