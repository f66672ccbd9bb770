from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from leaderboard.errors import ProbabilityError, ShapeError, WeightsError
from leaderboard.statistics.win_rate import outcomes, win_rates

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
    with pytest.raises(WeightsError):
        win_rates(np.ones((1, 2)), np.array(weights))


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError):
        win_rates(np.ones((1, 2)), np.ones(3))
    with pytest.raises(ShapeError):
        outcomes(np.array([0.5]))


@pytest.mark.parametrize("score", [-0.1, 1.1, np.inf])
def test_scores_that_are_no_probabilities_are_refused(score: float) -> None:
    with pytest.raises(ProbabilityError):
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
