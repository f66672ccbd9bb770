"""Weights as numbers: what they do to win rates and intervals, and what they leave of the queries."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.statistics.ranking import Ranking, rank_llms
from leaderboard.statistics.win_rate import (
    TEMPERATURE,
    effective_number,
    interest_weights,
    outcomes,
    weighted_means,
    win_rates,
)

NAN = np.nan

probabilities = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.one_of(st.just(NAN), st.integers(0, 20).map(lambda step: step / 20)),
)


def test_a_win_counts_one_a_tie_half_and_a_missing_response_nothing() -> None:
    prob = np.array([[0.9, 0.5, 0.2, NAN]])

    np.testing.assert_array_equal(outcomes(prob), [[1.0, 0.5, 0.0, NAN]])
    np.testing.assert_allclose(win_rates(outcomes(prob)), [0.5])


def test_means_of_any_values_are_weighed_and_missing_ones_left_out() -> None:
    values = np.array([[10.0, -2.0, NAN], [NAN, NAN, 5.0]])

    np.testing.assert_allclose(weighted_means(values, np.array([1.0, 3.0, 0.0])), [1.0, NAN])
    np.testing.assert_allclose(weighted_means(values), [4.0, 5.0])


@pytest.mark.parametrize(
    ("prob", "outcome"),
    [(0.5 + 1e-7, 0.5), (0.5 - 1e-7, 0.5), (0.5 + 1e-4, 1.0), (0.5 - 1e-4, 0.0), (0.0, 0.0), (1.0, 1.0)],
)
def test_only_rounding_makes_a_tie(prob: float, outcome: float) -> None:
    assert outcomes(np.array([[prob]])) == outcome


def test_a_float32_sigmoid_of_zero_up_to_rounding_is_a_tie() -> None:
    prob = 1 / (1 + np.exp(np.array([[1e-7, -1e-7]], dtype=np.float32)))

    np.testing.assert_array_equal(outcomes(prob), [[0.5, 0.5]])


def test_soft_outcomes_are_the_probabilities_in_an_array_of_their_own() -> None:
    prob = np.array([[0.3, NAN]])
    soft = outcomes(prob, soft=True)
    soft[0, 0] = 1.0

    np.testing.assert_array_equal(prob, [[0.3, NAN]])
    np.testing.assert_array_equal(outcomes(prob, soft=True), prob)


def test_weights_say_how_much_a_query_counts() -> None:
    won = np.array([[1.0, 0.0, 0.0], [1.0, NAN, 0.0]])

    np.testing.assert_allclose(win_rates(won, np.array([2.0, 1.0, 1.0])), [0.5, 2 / 3])


def test_an_llm_without_a_present_query_has_no_win_rate() -> None:
    won = np.array([[NAN, NAN], [NAN, 1.0], [1.0, 1.0]])

    np.testing.assert_array_equal(win_rates(won), [NAN, 1.0, 1.0])
    np.testing.assert_array_equal(win_rates(won, np.array([1.0, 0.0])), [NAN, NAN, 1.0])


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -1.0], [1.0, NAN], [1.0, np.inf]])
def test_weights_that_weigh_nothing_sensible_are_refused(weights: list[float]) -> None:
    with pytest.raises(LeaderboardError, match=r"[Qq]uery weights"):
        win_rates(np.ones((1, 2)), np.array(weights))


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(LeaderboardError, match="one weight for each"):
        win_rates(np.ones((1, 2)), np.ones(3))
    with pytest.raises(LeaderboardError, match="LLMs × queries matrix"):
        outcomes(np.array([0.5]))


@pytest.mark.parametrize("score", [-0.1, 1.1, np.inf])
def test_scores_that_are_no_probabilities_are_refused(score: float) -> None:
    with pytest.raises(LeaderboardError, match="lie outside 0 to 1"):
        outcomes(np.array([[0.5, score]]))


@given(probabilities, st.booleans())
def test_swapping_llm_and_baseline_mirrors_the_win_rate(prob: np.ndarray, soft: bool) -> None:
    mirrored = win_rates(outcomes(1 - prob, soft=soft))

    np.testing.assert_allclose(mirrored, 1 - win_rates(outcomes(prob, soft=soft)), atol=1e-12)


@given(probabilities, st.randoms())
def test_permuting_llms_permutes_win_rates(prob: np.ndarray, random: Random) -> None:
    order = list(range(len(prob)))
    random.shuffle(order)

    np.testing.assert_allclose(win_rates(outcomes(prob[order])), win_rates(outcomes(prob))[order])


@given(probabilities)
def test_hard_outcomes_are_soft_outcomes_rounded_to_halves(prob: np.ndarray) -> None:
    hard, soft = outcomes(prob), outcomes(prob, soft=True)

    np.testing.assert_array_equal(np.sign(hard - 0.5), np.sign(soft - 0.5))
    assert np.all(np.isin(hard[~np.isnan(prob)], [0.0, 0.5, 1.0]))


@given(probabilities, st.floats(0.01, 100))
def test_win_rates_are_fractions_and_do_not_depend_on_the_scale_of_weights(
    prob: np.ndarray, scale: float
) -> None:
    weights = np.arange(1.0, prob.shape[1] + 1)
    rates = win_rates(outcomes(prob), weights)

    assert np.all((rates >= 0) & (rates <= 1) | np.isnan(rates))
    np.testing.assert_allclose(win_rates(outcomes(prob), weights * scale), rates)


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
