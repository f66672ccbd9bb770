"""P-CHECK's saliency by hand, and its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leaderboard.personal.saliency import met, saliency, saliency_weights, with_contrast


def test_the_formula_by_hand() -> None:
    # Chosen: 8, 4, 6, of 18. Negative: 2, 4, 6, of 12; 12 / 18 = 2 / 3.
    found = saliency(np.array([[8.0, 4.0, 6.0]]), np.array([[2.0, 4.0, 6.0]]))
    assert found == pytest.approx([10 / 10 - 2 / 3, 8 / 14 - 2 / 3, 6 / 12 - 2 / 3], abs=1e-6)
    assert saliency_weights(found) == pytest.approx([1, 0, 0])


def test_two_choices_count_alike() -> None:
    chosen, negative = np.array([[8.0, 4.0], [5.0, 9.0]]), np.array([[2.0, 4.0], [5.0, 3.0]])
    each = [saliency(chosen[[row]], negative[[row]]) for row in (0, 1)]
    assert saliency(chosen, negative) == pytest.approx((each[0] + each[1]) / 2)


def test_f_is_on_the_scale_from_1_to_10_and_5_and_a_half_where_nothing_differs() -> None:
    assert met(np.array([-99.0, 0.0, 99.0])) == pytest.approx([1, 5.5, 10])


def test_a_negative_is_half_the_rejected_and_half_all_that_were_rejected() -> None:
    assert with_contrast(np.array([[2.0], [6.0]])) == pytest.approx(np.array([[3.0], [5.0]]))


def test_one_line_alone_has_no_saliency() -> None:
    assert saliency_weights(saliency(np.array([[9.0]]), np.array([[2.0]]))) == pytest.approx([0])


scores = arrays(np.float64, (4, 3), elements=st.floats(1, 10))


@given(scores, scores)
def test_weights_are_shares_and_go_with_the_order_of_lines(chosen: np.ndarray, negative: np.ndarray) -> None:
    weight = saliency_weights(saliency(chosen, negative))
    assert (weight >= 0).all()
    assert weight.sum() == pytest.approx(1) or not weight.any()
    turned = saliency_weights(saliency(chosen[:, ::-1], negative[:, ::-1]))
    assert turned[::-1] == pytest.approx(weight, abs=1e-9)


@given(scores)
def test_what_keeps_nothing_apart_is_not_salient(scores: np.ndarray) -> None:
    assert np.abs(saliency(scores, scores)).max() < 1e-5
