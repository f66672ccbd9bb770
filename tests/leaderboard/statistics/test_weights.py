"""Weights as numbers: what they do to win rates and intervals, and what they leave of the queries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.statistics.interval import UNRANKED
from leaderboard.statistics.ranking import Ranking, rank_llms
from leaderboard.statistics.weights import TEMPERATURE, effective_number, interest_weights

LLMS, QUERIES = 4, 24
seeds = st.integers(0, 10_000)


TERMS = np.tanh(np.random.default_rng(0).normal(size=(LLMS, QUERIES, 2)))
"""What the responses are controlled for, where they are."""
controlled = st.sampled_from([None, TERMS])


def rank(
    prob: np.ndarray,
    weights: np.ndarray | None = None,
    kept: np.ndarray | None = None,
    terms: np.ndarray | None = None,
) -> Ranking:
    """A ranking on queries of six topics in two categories."""
    chosen = np.ones(QUERIES, dtype=bool) if kept is None else kept
    topics = np.arange(QUERIES) // 4
    return rank_llms(
        [f"llm {index}" for index in range(LLMS)],
        prob[:, chosen],
        topics[chosen],
        topics[chosen] // 3,
        ["home", "work"],
        weights=weights,
        terms=None if terms is None else terms[:, chosen],
        resamples=60,
    )


def scores(seed: int) -> np.ndarray:
    """Probabilities with some responses missing."""
    rng = np.random.default_rng(seed)
    prob = rng.random((LLMS, QUERIES))
    return np.where(rng.random(prob.shape) < 0.1, np.nan, prob)


def assert_same(first: Ranking, second: Ranking) -> None:
    assert first.llms == second.llms
    for name in ("rank", "win_rate", "ci_low", "ci_high", "rank_low", "rank_high", "n_queries"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    np.testing.assert_array_equal(first.n_effective, second.n_effective)


@given(seeds, st.floats(1e-9, 1e9), controlled)
def test_equal_weights_are_no_weights_to_the_bit(seed: int, weight: float, terms: np.ndarray | None) -> None:
    prob = scores(seed)

    assert_same(rank(prob, np.full(QUERIES, weight), terms=terms), rank(prob, terms=terms))


@given(seeds, st.sets(st.integers(0, QUERIES - 1), max_size=QUERIES - 1), controlled)
def test_a_weight_of_zero_leaves_a_query_out(seed: int, left_out: set[int], terms: np.ndarray | None) -> None:
    prob = scores(seed)
    kept = np.array([query not in left_out for query in range(QUERIES)])

    assert_same(rank(prob, kept.astype(float), terms=terms), rank(prob, kept=kept, terms=terms))


@given(seeds, st.floats(0.01, 100), controlled)
def test_only_ratios_of_weights_matter(seed: int, factor: float, terms: np.ndarray | None) -> None:
    prob, weights = scores(seed), np.random.default_rng(seed).random(QUERIES) + 0.1
    first, second = rank(prob, weights, terms=terms), rank(prob, factor * weights, terms=terms)

    np.testing.assert_allclose(first.win_rate, second.win_rate)
    np.testing.assert_allclose(first.ci_low, second.ci_low, rtol=1e-5)


@given(seeds)
def test_a_win_rate_lies_between_those_of_its_parts(seed: int) -> None:
    prob = np.random.default_rng(seed).random((LLMS, QUERIES))
    weights = np.where(np.arange(QUERIES) < QUERIES // 2, 5.0, 1.0)
    ranking = rank(prob, weights)

    expected = ranking.category_win_rate @ np.array([5.0, 1.0]) / 6.0
    np.testing.assert_allclose(ranking.win_rate, expected)


def test_uneven_weights_widen_intervals_as_the_effective_number_says() -> None:
    prob = np.tile([0.9, 0.1], (LLMS, 200))
    weights = np.where(np.arange(400) % 20 < 2, 1.0, 0.01)
    strata = np.zeros(400, dtype=int)

    def width(given: np.ndarray | None) -> float:
        ranking = rank_llms(list("abcd"), prob, strata, strata, ["all"], weights=given, resamples=2000)
        return float(ranking.ci_high[0] - ranking.ci_low[0])

    worth = float(effective_number(weights))
    assert 40 < worth < 50
    assert width(weights) / width(None) == pytest.approx(np.sqrt(400 / worth), rel=0.1)


class TestEffectiveNumber:
    @given(st.integers(1, 50), st.floats(1e-200, 1e200))
    def test_of_equal_weights_is_their_number(self, n: int, weight: float) -> None:
        assert effective_number(np.full(n, weight)) == n

    @given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
    def test_lies_between_one_and_the_number_of_positive_weights(self, weights: list[float]) -> None:
        number = effective_number(np.array(weights))

        positive = sum(weight > 0 for weight in weights)
        assert min(positive, 1) <= number <= positive + 1e-9 or number == pytest.approx(1)

    def test_is_kishs(self) -> None:
        assert effective_number(np.array([1.0, 2.0, 3.0])) == pytest.approx(36 / 14)
        np.testing.assert_allclose(effective_number(np.array([[1, 1, 0], [0, 0, 0]])), [2, 0])


class TestInterestWeights:
    def test_a_query_that_is_one_temperature_further_away_counts_a_third(self) -> None:
        weights = interest_weights(np.array([[0.5, 0.5 - TEMPERATURE]]))

        assert weights[1] / weights[0] == pytest.approx(np.exp(-1))

    def test_every_interest_gets_the_same_share_however_many_queries_fit_it(self) -> None:
        many_fit, one_fits = [0.6, 0.6, 0.6, -0.9], [-0.9, -0.9, -0.9, 0.6]
        weights = interest_weights(np.array([many_fit, one_fits]))

        assert weights.sum() == pytest.approx(2)
        assert weights[3] == pytest.approx(1, abs=1e-4)

    def test_without_interests_all_count_alike(self) -> None:
        assert interest_weights(np.empty((0, 3))).tolist() == [1, 1, 1]


def test_an_llm_without_responses_is_worth_no_query() -> None:
    prob = scores(0)
    prob[2] = np.nan
    ranking = rank(prob, np.arange(1.0, QUERIES + 1))

    assert ranking.rank[-1] == UNRANKED
    assert ranking.n_effective[-1] == 0
