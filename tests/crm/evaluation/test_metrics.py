import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import binom, pearsonr

from crm.evaluation.metrics import (
    Numbers,
    ReliabilityBin,
    expected_gap,
    gap_by_chance,
    length_bias,
    position_bias,
    reliability,
)

probabilities = arrays.arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1))


def drawn(seed: int, n: int = 400) -> tuple[Numbers, Numbers, Numbers]:
    """Labels of ±1 and two lengths in characters."""
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, 1.0], n), rng.lognormal(6, 1, n), rng.lognormal(6, 1, n)


class TestGapByChance:
    @pytest.mark.parametrize(("n", "prob"), [(1, 0.5), (7, 0.3), (40, 0.98), (5, 0.0), (5, 1.0), (3, 1 / 3)])
    def test_of_a_bin_is_the_mean_deviation_of_a_binomial_share(self, n: int, prob: float) -> None:
        counts = np.arange(n + 1)
        expected = (binom.pmf(counts, n, prob) * np.abs(counts / n - prob)).sum()

        assert gap_by_chance([ReliabilityBin(n, prob, 0.0)]) == pytest.approx(expected)

    def test_weighs_bins_by_their_size(self) -> None:
        large, small = ReliabilityBin(90, 0.5, 0.4), ReliabilityBin(10, 0.9, 0.9)
        expected = 0.9 * gap_by_chance([large]) + 0.1 * gap_by_chance([small])

        assert gap_by_chance([large, small]) == pytest.approx(expected)
        assert np.isnan(gap_by_chance([]))


class TestReliability:
    def test_bins_hold_the_verdicts_that_are_about_equally_sure(self) -> None:
        bins = reliability(np.array([0.05, 0.91, 0.97, 1.0]), np.array([False, True, True, False]))

        assert [(item.n, item.share) for item in bins] == [(1, 0.0), (3, pytest.approx(2 / 3))]
        assert bins[1].mean_prob == pytest.approx(0.96)

    @given(probabilities, st.integers(0, 99))
    def test_no_verdict_is_lost_and_the_gap_is_a_fraction(self, prob: Numbers, seed: int) -> None:
        won = np.random.default_rng(seed).random(len(prob)) < 0.5
        bins = reliability(prob, won)

        assert sum(item.n for item in bins) == len(prob)
        assert 0 <= expected_gap(bins) <= 1


class TestPositionBias:
    @given(probabilities)
    def test_a_judge_whose_verdict_mirrors_has_none(self, prob: Numbers) -> None:
        bias = position_bias(prob, 1 - prob)

        assert bias.mean_gap == pytest.approx(0, abs=1e-12)
        assert bias.flipped == 0
        assert bias.first_place == pytest.approx(0.5)

    def test_a_judge_that_always_takes_the_first(self) -> None:
        bias = position_bias(np.full(4, 0.9), np.full(4, 0.9))

        assert (bias.n, bias.flipped, bias.first_place) == (4, 1.0, 1.0)
        assert bias.mean_gap == pytest.approx(0.8)

    def test_a_shift_that_changes_no_winner_is_a_gap_but_no_flip(self) -> None:
        bias = position_bias(np.array([0.8, 0.3]), np.array([0.4, 0.9]))

        assert bias.mean_gap == pytest.approx(0.2)
        assert bias.flipped == 0

    def test_undecided_verdicts_flip_nothing_and_count_half(self) -> None:
        bias = position_bias(np.array([0.5, 0.5]), np.array([0.5, 0.9]))

        assert bias.flipped == 0
        assert bias.first_place == 0.625


class TestLengthBias:
    def test_is_nothing_for_a_judge_that_follows_the_label(self) -> None:
        label, length_a, length_b = drawn(0)
        prob = np.clip(0.5 + 0.3 * label + np.random.default_rng(9).normal(0, 0.05, len(label)), 0, 1)
        bias = length_bias(prob, label, length_a, length_b)

        assert bias is not None
        assert bias.low < 0 < bias.high
        assert abs(bias.correlation) < 0.1

    def test_is_one_for_a_judge_that_follows_the_length(self) -> None:
        label, length_a, length_b = drawn(1)
        bias = length_bias(np.log((length_a + 1) / (length_b + 1)), label, length_a, length_b)

        assert bias is not None
        assert bias.correlation == pytest.approx(1, abs=1e-6)

    def test_length_that_the_label_asks_for_is_no_bias(self) -> None:
        label, length_a, length_b = drawn(2, 2000)
        shorter, longer = np.minimum(length_a, length_b), np.maximum(length_a, length_b)
        length_a, length_b = np.where(label > 0, longer, shorter), np.where(label > 0, shorter, longer)
        prob = np.clip(0.5 + 0.3 * label + np.random.default_rng(8).normal(0, 0.1, len(label)), 0, 1)
        ratio = np.log((length_a + 1) / (length_b + 1))
        bias = length_bias(prob, label, length_a, length_b)

        assert pearsonr(prob, ratio).statistic > 0.5
        assert bias is not None
        assert abs(bias.correlation) < 0.08

    def test_is_the_correlation_of_what_the_label_leaves_unexplained(self) -> None:
        label, length_a, length_b = drawn(3, 50)
        prob = np.random.default_rng(4).random(50)
        ratio = np.log((length_a + 1) / (length_b + 1))
        known = np.stack([np.ones(50), label], axis=1)
        left = [values - known @ np.linalg.lstsq(known, values, rcond=None)[0] for values in (prob, ratio)]
        bias = length_bias(prob, label, length_a, length_b)

        assert bias is not None
        assert bias.correlation == pytest.approx(pearsonr(*left).statistic)

    def test_changes_sign_with_the_places_of_the_responses(self) -> None:
        label, length_a, length_b = drawn(5, 60)
        prob = np.random.default_rng(6).random(60)
        one = length_bias(prob, label, length_a, length_b)
        other = length_bias(prob, label, length_b, length_a)

        assert one is not None
        assert other is not None
        assert other.correlation == pytest.approx(-one.correlation)
        assert (other.low, other.high) == (pytest.approx(-one.high), pytest.approx(-one.low))

    def test_is_unknown_where_nothing_varies_or_little_is_known(self) -> None:
        label, length_a, length_b = drawn(7, 20)

        assert length_bias(np.full(20, 0.5), label, length_a, length_b) is None
        assert length_bias(label * 0.4 + 0.5, label, length_a, length_b) is None
        assert length_bias(np.arange(4) / 4, label[:4], length_a[:4], length_b[:4]) is None
