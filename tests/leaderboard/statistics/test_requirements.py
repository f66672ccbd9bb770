import numpy as np
import pytest
from scipy.special import expit

from leaderboard.statistics.duels import Margins
from leaderboard.statistics.ranking import Ranking, rank_llms
from leaderboard.statistics.requirements import misses, seldom_kept, under_floor

LLMS = list("abcdefg")
TOPIC = np.zeros(40, dtype=int)
NAN = np.nan


def ranking(n_wins: list[int], **options: object) -> Ranking:
    """LLMs named from a on that win so many of 40 queries; a negative number is no response at all."""
    won = np.arange(40) < np.array(n_wins)[:, np.newaxis]
    prob = np.where(np.array(n_wins)[:, np.newaxis] < 0, np.nan, np.where(won, 0.9, 0.1))
    return rank_llms(LLMS[: len(n_wins)], prob, TOPIC, TOPIC, ["all"], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n_wins", "floor", "below"),
    [
        ([40, 30, 20, 10], 0.5, "cd"),
        ([10, 20, 30, 40, 5], 0.5, "ae"),
        ([40, 30, 20, 10], 0.0, ""),
        ([40, 30, 20, 10], 0.99, "bcd"),
        ([40, 20, 20, 10], 0.5, "d"),
        ([20, 20, 20, 20], 0.75, ""),
        ([40, 30, -1, 10], 0.34, "d"),
        ([40, 30, -1, 10], 0.3, ""),
    ],
)
def test_the_lowest_share_is_under_the_floor(n_wins: list[int], floor: float, below: str) -> None:
    mask = under_floor(ranking(n_wins), LLMS[: len(n_wins)], floor)

    assert "".join(np.array(LLMS[: len(n_wins)])[mask]) == below


def test_a_share_that_is_a_whole_number_is_not_rounded_down() -> None:
    names = [f"{place:03}" for place in range(100)]
    prob = np.where(np.arange(100) < np.arange(100)[:, np.newaxis], 0.9, 0.1)
    topic = np.zeros(100, dtype=int)
    default = rank_llms(names, prob, topic, topic, ["all"], resamples=2)

    assert under_floor(default, names, 0.29).sum() == 29


def test_places_and_their_intervals_are_among_those_above_the_floor() -> None:
    n_wins = [22, 21, 20, 19, 18]
    below = np.array([True, False, True, False, False])
    shown, alone = ranking(n_wins, under_floor=below), ranking(n_wins)

    assert shown.llms == ("b", "d", "e")
    assert shown.rank.tolist() == [1, 2, 3]
    assert shown.rank_high.max() <= 3
    assert shown.under_floor == ("a", "c")
    assert shown.without_floor is not None
    assert shown.without_floor.ranks == alone.ranks
    kept = [alone.llms.index(llm) for llm in shown.llms]
    for name in ("win_rate", "ci_low", "ci_high", "n_queries", "category_win_rate"):
        np.testing.assert_array_equal(getattr(shown, name), getattr(alone, name)[kept])


def test_with_nobody_below_the_ranking_is_the_plain_one() -> None:
    plain = ranking([3, 2, 1], under_floor=np.zeros(3, dtype=bool))

    assert (plain.without_floor, plain.under_floor) == (None, ())


def test_who_misses_fewer_comes_first_whatever_the_win_rates() -> None:
    missed = np.array([1, 0, 2, 0, 0])
    found = ranking([40, 10, 39, 9, -1], missed=missed)

    assert found.llms == ("b", "d", "a", "c", "e")
    assert found.rank.tolist() == [1, 2, 3, 4, 0]
    assert (found.rank_low <= found.rank).all()
    assert (found.rank <= found.rank_high).all()
    assert found.rank_low.tolist()[2:] == [3, 4, 0]
    assert found.rank_high.tolist()[2:] == [3, 4, 0]
    assert found.rank_high[:2].max() <= 2
    below = ranking([40, 10, 39, 9, 5], missed=missed, under_floor=np.arange(5) == 1)
    assert below.llms == ("d", "e", "a", "c")
    assert below.rank.tolist() == [1, 2, 3, 4]
    assert below.without_floor is not None
    assert below.without_floor.ranks == {"b": 1, "d": 2, "e": 3, "a": 4, "c": 5}


def test_missing_nothing_changes_nothing() -> None:
    plain, other = ranking([20, 30, 30, 10]), ranking([20, 30, 30, 10], missed=np.ones(4, dtype=int))

    assert plain.llms == other.llms
    for name in ("rank", "rank_low", "rank_high", "ci_low"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(other, name))


def test_a_criterion_is_missed_by_who_is_worse_than_the_typical_llm_on_most_queries() -> None:
    prob = np.array([[0.9, 0.9, 0.1, 0.9], [0.5, 0.5, 0.5, 0.5], [0.2, 0.2, 0.9, 0.2], [NAN] * 4])

    assert misses(prob).tolist() == [False, False, True, False]
    assert misses(prob, np.array([1, 1, 9, 1])).tolist() == [True, False, False, False]


def test_neither_the_baseline_nor_equal_answers_make_anybody_miss() -> None:
    easy = np.array([[0.97, 0.99], [0.98, 0.98], [0.99, 0.97]])

    assert misses(easy).tolist() == misses(easy - 0.95).tolist() == [False, False, False]
    assert not misses(np.full((5, 3), 0.01)).any()
    assert not misses(np.full((2, 3), NAN)).any()


@pytest.mark.parametrize(
    ("shares", "missing"),
    [
        ([0.03, 0.96, NAN, 0.5], [True, False, False, False]),
        ([0.03, 0.4, NAN, 0.49], [False] * 4),
    ],
)
def test_a_limit_is_missed_by_who_seldom_keeps_to_it_where_others_mostly_do(
    shares: list[float], missing: list[bool]
) -> None:
    assert seldom_kept(np.array(shares)).tolist() == missing


def test_of_margins_of_single_responses_the_same_llms_miss_a_criterion() -> None:
    random = np.random.default_rng(3)
    asked = np.where(
        random.random((9, 60)) < 0.7, random.normal(np.linspace(-1, 1, 9)[:, np.newaxis], 1), NAN
    )
    weights = random.random(60)

    missing = misses(Margins(asked), weights)

    assert 2 < missing.sum() < 7
    odd = np.sum(~np.isnan(asked), axis=0) % 2 == 1  # of an even number the median is a mean
    np.testing.assert_array_equal(
        misses(Margins(asked[:, odd]), weights[odd]), misses(expit(asked[:, odd]), weights[odd])
    )
