import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.statistics.ranking import Ranking, rank_changes, rank_llms

NAN = np.nan


def rank(prob: list[list[float]], llms: str = "abcdefgh", **options: object) -> Ranking:
    """Rank on one topic and no category, with LLMs named by single letters."""
    matrix = np.array(prob)
    one_topic = np.zeros(matrix.shape[1], dtype=int)
    return rank_llms(list(llms[: len(matrix)]), matrix, one_topic, one_topic - 1, [], **options)  # type: ignore[arg-type]


def test_the_llm_that_beats_the_baseline_most_often_comes_first() -> None:
    ranking = rank([[0.9, 0.1, 0.2], [0.9, 0.9, 0.2], [0.6, 0.6, 0.6]])

    assert ranking.llms == ("c", "b", "a")
    assert ranking.rank.tolist() == [1, 2, 3]
    assert ranking.ranks == {"c": 1, "b": 2, "a": 3}
    np.testing.assert_allclose(ranking.win_rate, [1, 2 / 3, 1 / 3])
    assert ranking.n_queries.tolist() == [3, 3, 3]


def test_equal_win_rates_share_the_best_rank() -> None:
    ranking = rank([[0.9, 0.9], [0.9, 0.1], [0.1, 0.9], [0.1, 0.1]])

    assert ranking.rank.tolist() == [1, 2, 2, 4]


def test_ties_are_listed_by_mean_probability_then_by_name() -> None:
    assert rank([[0.6, 0.4], [0.9, 0.4], [0.6, 0.4]], "zyx").llms == ("y", "x", "z")


def test_win_rates_that_differ_by_rounding_only_are_tied() -> None:
    weights = np.array([0.1, 0.2, 0.3, 1.0])
    ranking = rank([[0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.9, 0.1]], weights=weights)

    assert ranking.win_rate[0] != ranking.win_rate[1]
    assert ranking.rank.tolist() == [1, 1]


def test_soft_win_rates_are_mean_probabilities_and_can_order_llms_otherwise() -> None:
    prob = [[0.51, 0.51, 0.1], [0.99, 0.4, 0.4]]

    assert rank(prob).llms == ("a", "b")
    assert rank(prob, soft=True).llms == ("b", "a")
    np.testing.assert_allclose(rank(prob, soft=True).win_rate, [1.79 / 3, 1.12 / 3])


def test_only_selected_queries_of_positive_weight_count() -> None:
    prob = [[0.9, 0.1, 0.1, 0.9], [0.1, 0.9, 0.9, 0.9]]
    selected = np.array([True, True, True, False])

    ranking = rank(prob, selected=selected, weights=np.array([1.0, 1.0, 0.0, 5.0]))

    assert ranking.llms == ("a", "b")
    assert ranking.n_queries.tolist() == [2, 2]
    np.testing.assert_allclose(ranking.win_rate, [0.5, 0.5])


def test_an_llm_without_responses_comes_last_unranked() -> None:
    ranking = rank(
        [[NAN, NAN, 0.9], [0.1, 0.2, 0.9], [0.9, NAN, 0.9]], selected=np.array([True, True, False])
    )

    assert ranking.llms == ("c", "b", "a")
    assert ranking.rank.tolist() == [1, 2, UNRANKED]
    assert ranking.rank_low.tolist()[2] == ranking.rank_high.tolist()[2] == UNRANKED
    assert np.isnan([ranking.win_rate[2], ranking.ci_low[2], ranking.ci_high[2]]).all()
    assert ranking.n_queries.tolist() == [1, 2, 0]
    assert "a" not in ranking.ranks


def test_all_missing_is_a_ranking_of_nobody() -> None:
    ranking = rank([[NAN, NAN], [NAN, NAN]], "ba")

    assert ranking.llms == ("a", "b")
    assert ranking.ranks == {}
    assert np.isnan(ranking.win_rate).all()


def test_one_query_leaves_win_rates_and_ranks_open() -> None:
    ranking = rank([[0.9], [0.1], [0.6], [NAN]])

    assert ranking.ci_low[:3].tolist() == [0, 0, 0]
    assert ranking.ci_high[:3].tolist() == [1, 1, 1]
    assert ranking.rank_low.tolist() == [1, 1, 1, UNRANKED]
    assert ranking.rank_high.tolist() == [3, 3, 3, UNRANKED]


def test_one_llm_is_first() -> None:
    ranking = rank([[0.1, 0.2, 0.9]])

    assert ranking.ranks == {"a": 1}
    assert (ranking.rank_low[0], ranking.rank_high[0]) == (1, 1)


def test_all_tied_share_the_first_rank() -> None:
    ranking = rank([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])

    assert ranking.rank.tolist() == [1, 1, 1]
    assert ranking.win_rate.tolist() == [0.5, 0.5, 0.5]
    assert ranking.rank_high.tolist() == [1, 1, 1]


def test_each_category_has_its_own_win_rates() -> None:
    prob = np.array([[0.9, 0.9, 0.1, 0.1, 0.9], [0.1, 0.9, NAN, NAN, 0.9]])
    ranking = rank_llms(
        ["a", "b"],
        prob,
        np.zeros(5, dtype=int),
        np.array([0, 0, 1, 1, -1]),
        ["writing", "travel", "cooking"],
        weights=np.array([3.0, 1.0, 1.0, 1.0, 1.0]),
    )

    assert ranking.llms == ("a", "b")
    assert ranking.category_names == ("writing", "travel", "cooking")
    np.testing.assert_allclose(ranking.category_win_rate, [[1, 0, NAN], [0.25, NAN, NAN]])


def test_a_category_without_a_selected_query_is_unknown() -> None:
    ranking = rank_llms(
        ["a"],
        np.array([[0.9, 0.9]]),
        np.array([0, 1]),
        np.array([0, 1]),
        ["writing", "travel"],
        selected=np.array([True, False]),
    )

    np.testing.assert_array_equal(ranking.category_win_rate, [[1.0, NAN]])


def test_input_that_does_not_fit_is_refused() -> None:
    topics = np.zeros(2, dtype=int)
    prob = np.full((2, 2), 0.5)
    with pytest.raises(LeaderboardError, match="“a” is listed twice"):
        rank_llms(["a", "a"], prob, topics, topics, ["x"])
    with pytest.raises(LeaderboardError, match="2 LLMs × 3 queries"):
        rank_llms(["a", "b"], prob, np.zeros(3, dtype=int), topics, ["x"])
    with pytest.raises(LeaderboardError, match="categories"):
        rank_llms(["a", "b"], prob, topics, np.zeros(3, dtype=int), ["x"])
    with pytest.raises(LeaderboardError, match="only 1 categories"):
        rank_llms(["a", "b"], prob, topics, topics + 1, ["x"])
    with pytest.raises(LeaderboardError, match="selected"):
        rank_llms(["a", "b"], prob, topics, topics, ["x"], selected=np.array([True]))


def test_nothing_to_rank_on_is_refused() -> None:
    with pytest.raises(LeaderboardError, match="No query is selected"):
        rank([[0.5, 0.6]], selected=np.array([False, False]))
    with pytest.raises(LeaderboardError, match="No query is selected"):
        rank([[0.5, 0.6]], selected=np.array([True, False]), weights=np.array([0.0, 1.0]))
    with pytest.raises(LeaderboardError, match="All query weights are zero"):
        rank([[0.5, 0.6]], weights=np.zeros(2))


def test_changes_count_the_places_climbed() -> None:
    before = rank([[0.9, 0.9, 0.9], [0.9, 0.9, 0.1], [0.9, 0.1, 0.1]], "abc")
    after = rank([[0.1, 0.1, 0.9], [0.9, 0.9, 0.9], [0.9, 0.9, 0.1], [0.1, 0.1, 0.1], [NAN] * 3], "acbxy")

    assert after.llms == ("c", "b", "a", "x", "y")
    np.testing.assert_array_equal(rank_changes(after, before), [2, 0, -2, NAN, NAN])


def test_rank_intervals_reach_a_shared_rank_that_resamples_hardly_ever_give() -> None:
    wins = np.array([np.random.default_rng(seed).permutation(40) < 20 for seed in range(60)])
    names = [f"llm{number}" for number in range(60)]
    one_topic = np.zeros(40, dtype=int)

    ranking = rank_llms(names, wins.astype(float), one_topic, one_topic, ["x"])

    assert ranking.rank.tolist() == ranking.rank_low.tolist() == [1] * 60


def test_rank_intervals_reach_a_rank_lost_by_less_than_resamples_can_tell() -> None:
    ranking = rank([[0.600001, 0.6], [0.6, 0.6]], soft=True)

    assert ranking.rank.tolist() == [1, 2]
    assert ranking.rank_high.tolist() == [1, 2]


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    queries = int(rng.integers(1, 25))
    prob = rng.integers(0, 5, (6, queries)) / 4
    return (
        np.where(rng.random(prob.shape) < 0.15, NAN, prob),
        rng.integers(0, 4, queries),
        rng.integers(0, 2, queries),
    )


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.permutations(range(6)))
def test_the_order_in_which_llms_come_in_does_not_matter(seed: int, order: list[int]) -> None:
    prob, topics, categories = random_case(seed)
    llms = np.array(list("abcdef"))
    one = rank_llms(llms.tolist(), prob, topics, categories, ["x", "y"], resamples=50)
    other = rank_llms(llms[order].tolist(), prob[order], topics, categories, ["x", "y"], resamples=50)

    for field in dataclasses.fields(Ranking):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if left is None or isinstance(left, tuple):
            assert left == right
        elif isinstance(left, dict):
            assert left.keys() == right.keys()
            for key, values in left.items():
                np.testing.assert_allclose(values, right[key], err_msg=key, atol=1e-6)
        else:
            np.testing.assert_allclose(left, right, err_msg=field.name, atol=1e-6)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.booleans())
def test_intervals_contain_what_they_are_about(seed: int, soft: bool) -> None:
    prob, topics, categories = random_case(seed)
    ranking = rank_llms(list("abcdef"), prob, topics, categories, ["x", "y"], resamples=50, soft=soft)

    known = ~np.isnan(ranking.win_rate)
    assert np.all(ranking.ci_low[known] <= ranking.win_rate[known])
    assert np.all(ranking.win_rate[known] <= ranking.ci_high[known])
    assert np.all((ranking.rank_low <= ranking.rank) & (ranking.rank <= ranking.rank_high))
    assert np.all(ranking.rank_high <= known.sum())


def test_the_seed_fixes_the_intervals() -> None:
    prob = np.random.default_rng(0).random((3, 40)).tolist()

    np.testing.assert_array_equal(rank(prob, seed=3).ci_low, rank(prob, seed=3).ci_low)
    assert np.any(rank(prob, seed=3, soft=True).ci_low != rank(prob, seed=4, soft=True).ci_low)
