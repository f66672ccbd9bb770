import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.elicitation.choice_model import LAPSE, ChoiceOutcome, outcome_probabilities

FIRST, SECOND, BOTH, NEITHER = (outcome.row for outcome in ChoiceOutcome)
UTILITIES = st.floats(-20, 20, width=32)
NOISES = st.floats(0.25, 4, width=32)
TIES = st.floats(0.0625, 2, width=32)


def prob(first: float, second: float, noise: float = 1.0, tie: float = 0.5) -> np.ndarray:
    """Probabilities of the four answers of one person on one pair."""
    utilities = (np.array([[first]], dtype=np.float32), np.array([[second]], dtype=np.float32))
    each = np.array([noise], dtype=np.float32), np.array([tie], dtype=np.float32)
    return outcome_probabilities(*utilities, *each)[:, 0, 0]


@given(UTILITIES, UTILITIES, NOISES, TIES)
def test_the_four_answers_are_all_that_may_happen(a: float, b: float, noise: float, tie: float) -> None:
    found = prob(a, b, noise, tie)

    np.testing.assert_allclose(found.sum(), 1, rtol=1e-5)
    assert (found >= LAPSE / 4 - 1e-6).all()


@given(UTILITIES, UTILITIES, NOISES, TIES)
def test_sides_exchanged_exchange_the_answers(a: float, b: float, noise: float, tie: float) -> None:
    here, there = prob(a, b, noise, tie), prob(b, a, noise, tie)

    np.testing.assert_allclose(
        here[[FIRST, SECOND, BOTH, NEITHER]], there[[SECOND, FIRST, BOTH, NEITHER]], rtol=1e-4
    )


@given(UTILITIES, UTILITIES)
def test_the_better_response_is_taken_more_readily(a: float, b: float) -> None:
    found = prob(a, b)

    assert (found[FIRST] >= found[SECOND]) == (a >= b) or np.isclose(found[FIRST], found[SECOND])


def test_without_lapses_and_ties_it_is_a_logistic_regression() -> None:
    found = prob(1.2, 0.2, tie=1e-6)
    clean = (found[FIRST] - LAPSE / 4) / (1 - LAPSE)

    np.testing.assert_allclose(clean, 1 / (1 + np.exp(-1)), rtol=1e-4)


def test_two_good_responses_are_both_two_bad_ones_neither() -> None:
    assert prob(3, 3).argmax() == BOTH or prob(3, 3)[BOTH] > prob(3, 3)[NEITHER]
    assert prob(-3, -3)[NEITHER] > prob(-3, -3)[BOTH]
    np.testing.assert_allclose(prob(0, 0)[BOTH], prob(0, 0)[NEITHER], rtol=1e-5)


def test_a_noisy_person_tells_less() -> None:
    assert prob(1, 0, noise=0.5)[FIRST] > prob(1, 0, noise=1)[FIRST] > prob(1, 0, noise=2)[FIRST]
