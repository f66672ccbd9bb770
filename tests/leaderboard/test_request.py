"""A person's weights on the bundled benchmarks."""

from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from db.repositories import benchmarks
from leaderboard.errors import LeaderboardError
from leaderboard.result import Leaderboard
from leaderboard.robustness import assess_robustness
from leaderboard.selection import indices_of, selected_queries
from leaderboard.service import Service
from leaderboard.view import TopicWeight, View
from tests.db import samples

WARM = View("dailybench", criteria=CriteriaSet.of(["warm and encouraging"]))


def weighted(view: View = WARM, **weights: float) -> View:
    return replace(view, topic_weights=tuple(TopicWeight(*item) for item in weights.items()))


def assert_same_numbers(first: Leaderboard, second: Leaderboard) -> None:
    assert first.ranking.llms == second.ranking.llms
    for name in ("win_rate", "ci_low", "ci_high", "rank_low", "rank_high", "n_queries"):
        np.testing.assert_array_equal(getattr(first.ranking, name), getattr(second.ranking, name))


def test_a_weight_of_one_changes_nothing_and_one_of_zero_is_a_selection(service: Service) -> None:
    categories = [category.name for category in service.benchmark("dailybench").record.categories]
    rest = tuple(name for name in categories if name != "Puzzles & Logic")

    assert_same_numbers(service.leaderboard(weighted(Poetry=1)), service.leaderboard(WARM))
    without = service.leaderboard(weighted(**{"Puzzles & Logic": 0}))
    assert_same_numbers(without, service.leaderboard(replace(WARM, topics=rest)))
    assert "Puzzles & Logic" not in without.shown_categories
    assert without.n_queries < service.leaderboard(WARM).n_queries


def test_a_heavy_category_pulls_the_win_rates_to_its_own(service: Service) -> None:
    plain, heavy = (
        service.leaderboard(weighted(**{"Puzzles & Logic": weight})).ranking for weight in (1, 50)
    )
    column = plain.category_names.index("Puzzles & Logic")
    own = dict(zip(plain.llms, plain.category_win_rate[:, column], strict=True))
    before = dict(zip(plain.llms, plain.win_rate, strict=True))

    for llm, after in zip(heavy.llms, heavy.win_rate, strict=True):
        assert abs(after - own[llm]) <= abs(before[llm] - own[llm])


def test_a_topics_own_weight_goes_before_its_categorys(service: Service) -> None:
    kept = weighted(**{"Creative Writing & Literature": 0, "Poetry": 1})
    poems = replace(kept, topics=("Creative Writing & Literature",))

    assert_same_numbers(service.leaderboard(poems), service.leaderboard(replace(WARM, topics=("Poetry",))))


def test_the_comparison_with_the_crowd_is_weighted_too(service: Service) -> None:
    view = weighted(**{"Puzzles & Logic": 20})
    default = service.leaderboard(view).default
    assert default is not None
    crowd = service.leaderboard(replace(view, criteria=CriteriaSet()))

    np.testing.assert_array_equal(default.win_rate, crowd.ranking.win_rate)
    assert not np.array_equal(default.win_rate, service.leaderboard(View("dailybench")).ranking.win_rate)


def test_an_interest_makes_its_own_topics_count(service: Service) -> None:
    cooking = service.leaderboard(replace(WARM, interests=("planning family dinners and recipes",)))
    request = service.scored(cooking.view).request
    assert request.weighting.weights is not None
    heaviest = np.argsort(-request.weighting.weights)[:8]
    categories = {cooking.benchmark.queries[query].category for query in heaviest}

    assert "Lifestyle & Hobbies" in categories
    assert 20 < cooking.n_effective < 60
    assert cooking.n_judged == 522
    assert not cooking.narrow
    assert "of 522 questions effectively count" in cooking.weighted
    assert cooking.caveats == (
        f"Weighted by interest: {cooking.n_effective:.0f} of 522 questions effectively count",
    )


def test_an_interest_that_no_query_fits_is_named(service: Service) -> None:
    view = replace(WARM, interests=("debugging Python code", "short stories and poems"))
    shown = service.leaderboard(view)

    assert shown.distant == ("debugging Python code",)
    assert "No question here fits “debugging Python code”" in shown.weighted
    assert service.leaderboard(replace(view, benchmark="alpaca-eval")).distant == ()


@pytest.mark.parametrize(
    "view",
    [
        replace(WARM, topics=("Poetry",)),
        replace(weighted(Poetry=100), topics=("Creative Writing & Literature",)),
    ],
)
def test_a_selection_too_narrow_to_rank_says_so(service: Service, view: View) -> None:
    shown = service.leaderboard(view)

    assert shown.n_effective < 10
    assert shown.narrow.startswith("This selection is too narrow to rank")
    assert "Too narrow to rank" in shown.caveats


def test_certainty_counts_what_the_queries_are_worth(service: Service) -> None:
    sure = assess_robustness(service, replace(WARM, interests=("planning family dinners and recipes",)))

    assert sure is not None
    assert sure.significance.n_queries.max() < 60


def test_topics_and_queries_of_an_llm_follow_the_weights(service: Service) -> None:
    view = weighted(**{"Puzzles & Logic": 0})

    assert all(score.category != "Puzzles & Logic" for score in service.topic_scores(view, "lumen"))
    assert all(score.category != "Puzzles & Logic" for score in service.query_scores(view, "lumen"))
    one = replace(WARM, topics=("Puzzles & Logic",), interests=("riddles",))
    ranking = service.leaderboard(one).ranking
    by_topic = {score.topic: score for score in service.topic_scores(one, "lumen")}
    weights = service.scored(one).request.weighting.weights
    assert weights is not None
    records = service.benchmark("dailybench").record.queries
    total = sum(
        weight * by_topic[query.topic].win_rate
        for query, weight in zip(records, weights, strict=True)
        if query.category == "Puzzles & Logic"
    )
    share = sum(
        weight for query, weight in zip(records, weights, strict=True) if query.category == "Puzzles & Logic"
    )
    assert total / share == pytest.approx(ranking.win_rate[ranking.llms.index("lumen")])


def test_what_cannot_be_weighted_is_refused(service: Service, own_service: Service) -> None:
    with pytest.raises(LeaderboardError, match="did you mean 'Poetry'"):
        service.leaderboard(weighted(Poetri=2))
    with pytest.raises(LeaderboardError, match="All chosen topics have weight 0"):
        service.leaderboard(replace(weighted(Poetry=0), topics=("Poetry",)))
    with own_service.database.session() as session:
        samples.store(session)
        assert benchmarks.get_benchmark(session, benchmarks.find_benchmark(session, samples.SLUG)).queries
    with pytest.raises(LeaderboardError, match="precompute embed --benchmark"):
        own_service.leaderboard(View(samples.SLUG, crm="longer", interests=("gardening",)), subscriber=None)


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
    with pytest.raises(LeaderboardError) as refused:
        selected_queries(["Home", topic], CATEGORIES, TOPICS)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("topic", "near"),
    [
        ("Gamin", "'Gaming & Virtual Worlds'"),
        ("virtual world", "'Gaming & Virtual Worlds' or 'Virtual worlds'"),
        ("game", "'Video games'"),
    ],
)
def test_a_name_of_several_words_is_near_each_of_them(topic: str, near: str) -> None:
    with pytest.raises(LeaderboardError) as refused:
        selected_queries(
            [topic], ["Gaming & Virtual Worlds"] * 3, ["Virtual worlds", "Video games", "Garden"]
        )

    assert str(refused.value) == f"There is no topic {topic!r}: did you mean {near}?"


def test_names_are_numbered_in_order_of_appearance() -> None:
    index, distinct = indices_of(["b", "a", "b", "c"])

    assert index.tolist() == [0, 1, 0, 2]
    assert distinct == ("b", "a", "c")
