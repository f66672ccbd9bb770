import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.errors import LeaderboardError
from leaderboard.export import read_ranking_csv
from leaderboard.statistics.correlation import (
    Measure,
    correlate,
    highest_rbo,
    kendall_tau,
    kernel,
    ndcg,
    p_value,
    rank_agreement,
    rank_biased_overlap,
    spearman_rho,
    weighted_tau,
    weighted_taus,
)

GOLDEN = Path(__file__).parents[1] / "golden"

ranks_with_ties = st.integers(2, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(1, n), min_size=n, max_size=n).map(np.array)] * 2)
)
orders = st.integers(2, 12).flatmap(lambda n: st.permutations([f"llm{i}" for i in range(n)]))


def golden(name: str) -> dict[str, float]:
    return read_ranking_csv(GOLDEN / f"{name}.csv")


@pytest.mark.parametrize("n", [2, 3, 5, 34, 64, 200])
def test_the_same_order_has_the_p_value_that_scipy_computes(n: int) -> None:
    ranks = np.random.default_rng(n).permutation(n).astype(float)
    expected = scipy.stats.kendalltau(ranks, ranks)

    assert kendall_tau(ranks, 2 * ranks + 1) == pytest.approx(
        (expected.statistic, expected.pvalue), rel=1e-12
    )
    assert spearman_rho(ranks, 2 * ranks + 1) == 1.0


class TestPublishedNumbers:
    def test_a_wish_for_depth_agrees_in_part_with_the_crowd(self) -> None:
        result = correlate(golden("usl_table4_c1"), golden("usl_table4_default"))

        assert round(result.tau, 2) == 0.43
        # USL prints p < 0.05. τ-b on the printed ranks, which tie two pairs of LLMs, gives slightly more.
        assert result.p_value == pytest.approx(0.0537, abs=5e-5)

    def test_depth_and_brevity_nearly_reverse_each_other(self) -> None:
        result = correlate(golden("usl_table4_c1"), golden("usl_table4_c2"))

        assert round(result.tau, 2) == -0.83
        assert result.p_value < 0.001

    @pytest.mark.parametrize(
        ("downstream", "table3"),
        [("best_of_n", (0.9180, 0.5732, 0.3409, 0.2571)), ("ppo", (0.9265, 0.5732, 0.4793, 0.3714))],
    )
    def test_personalized_rewardbench_table_3(self, downstream: str, table3: tuple[float, ...]) -> None:
        result = correlate(
            golden("personalized_rewardbench_accuracy"), golden(f"personalized_rewardbench_{downstream}")
        )

        computed = (result.ndcg, result.rbo, result.weighted_tau, result.spearman)
        assert tuple(round(value, 4) for value in computed) == table3
        assert result.n == 6


class TestByHand:
    def test_swapping_the_top_two_of_four(self) -> None:
        result = correlate(list("bacd"), list("abcd"))

        pairs = 1 / 3 + 1 / 4 + 1 / 5 + 1 / 5 + 1 / 6 + 1 / 7
        assert result.tau == pytest.approx(4 / 6)
        assert result.weighted_tau == pytest.approx((pairs - 2 / 3) / pairs)
        assert result.spearman == pytest.approx(0.8)
        assert result.rbo == pytest.approx(0.2 * (0 + 0.8 + 0.8**2 + 0.8**3))
        ideal = np.array([15, 7, 3, 1]) @ (1 / np.log2([2, 3, 4, 5]))
        assert result.ndcg == pytest.approx(np.array([7, 15, 3, 1]) @ (1 / np.log2([2, 3, 4, 5])) / ideal)

    def test_swapping_the_top_costs_more_than_swapping_the_bottom(self) -> None:
        top, bottom = correlate(list("bacd"), list("abcd")), correlate(list("abdc"), list("abcd"))

        assert top.tau == pytest.approx(bottom.tau)
        assert top.weighted_tau < bottom.weighted_tau
        assert top.ndcg < bottom.ndcg
        assert top.rbo < bottom.rbo

    def test_only_llms_in_both_rankings_are_compared(self) -> None:
        result = correlate({"a": 3, "x": 1, "b": 9}, ["b", "y", "z", "a"])

        assert result.n == 2
        assert result.tau == -1


class TestTies:
    def test_ndcg_is_the_mean_over_all_ways_to_break_the_ties_of_the_prediction(self) -> None:
        reference = np.array([1, 2, 3, 4])
        broken = [ndcg(np.array([1, *rest]), reference) for rest in permutations([2, 3, 4])]

        assert ndcg(np.array([1, 2, 2, 2]), reference) == pytest.approx(np.mean(broken))

    def test_rbo_counts_a_tie_across_the_depth_in_part(self) -> None:
        tied, strict = np.array([1, 1]), np.array([1, 2])

        at_depth_one = 0.5 / np.sqrt(2 * 0.5**2)
        assert rank_biased_overlap(tied, strict) == pytest.approx(0.2 * (at_depth_one + 0.8))

    def test_weighted_tau_leaves_tied_pairs_out_as_tau_b_does(self) -> None:
        predicted, reference = np.array([1, 1, 3]), np.array([1, 2, 3])

        tied_pair, other_pairs = 1 / 3, 2 / (0.5 + 2 + 2)
        expected = other_pairs / np.sqrt(other_pairs * (other_pairs + tied_pair))
        assert weighted_tau(predicted, reference) == pytest.approx(expected)

    def test_all_tied_in_both_rankings_is_the_same_ranking(self) -> None:
        result = correlate({"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 2})

        assert (result.tau, result.p_value, result.weighted_tau, result.spearman) == (1, 1, 1, 1)
        assert result.ndcg == pytest.approx(1)
        assert result.rbo == pytest.approx(highest_rbo(3))

    def test_all_tied_in_one_ranking_says_nothing_of_the_other(self) -> None:
        for result in (correlate({"a": 1, "b": 1}, ["a", "b"]), correlate(["a", "b"], {"a": 1, "b": 1})):
            assert (result.tau, result.p_value, result.weighted_tau, result.spearman) == (0, 1, 0, 0)
            assert 0 < result.rbo < highest_rbo(2)


def test_one_llm_agrees_with_itself() -> None:
    result = correlate({"a": 1}, {"a": 7, "b": 1})

    assert (result.tau, result.p_value, result.ndcg, result.weighted_tau, result.spearman) == (1, 1, 1, 1, 1)
    assert result.rbo == pytest.approx(highest_rbo(1))
    assert result.n == 1


def test_thousands_of_llms_do_not_overflow() -> None:
    order = [str(i) for i in range(3000)]

    result = correlate(order[::-1], order)

    assert result.tau == pytest.approx(-1)
    assert result.weighted_tau == pytest.approx(-1)
    assert 0 < result.ndcg < 0.2
    assert result.rbo == pytest.approx(0, abs=1e-12)


def test_rankings_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(LeaderboardError, match="share no LLM"):
        correlate({"a": 1}, {"b": 1})
    with pytest.raises(LeaderboardError, match="“a” is listed twice"):
        correlate(["a", "b", "a"], ["a", "b"])
    with pytest.raises(LeaderboardError, match="The rank of “b” is nan"):
        correlate({"a": 1, "b": float("nan")}, ["a", "b"])
    with pytest.raises(LeaderboardError, match="persistence of RBO"):
        rank_biased_overlap(np.array([1, 2]), np.array([1, 2]), persistence=1)


@given(orders)
def test_identical_rankings_agree_fully(order: list[str]) -> None:
    result = correlate(order, order)

    assert [result.tau, result.ndcg, result.weighted_tau, result.spearman] == pytest.approx([1, 1, 1, 1])
    assert result.rbo == pytest.approx(highest_rbo(len(order)))


@given(ranks_with_ties)
def test_reversing_one_ranking_reverses_the_sign(ranks: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = ranks
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return
    assert kendall_tau(first, -second)[0] == pytest.approx(-kendall_tau(first, second)[0])
    assert spearman_rho(first, -second) == pytest.approx(-spearman_rho(first, second))
    assert weighted_tau(first, -second) == pytest.approx(-weighted_tau(first, second))


@given(ranks_with_ties)
def test_tau_rho_and_rbo_are_symmetric(ranks: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = ranks

    assert kendall_tau(first, second) == pytest.approx(kendall_tau(second, first))
    assert spearman_rho(first, second) == pytest.approx(spearman_rho(second, first))
    assert rank_biased_overlap(first, second) == pytest.approx(rank_biased_overlap(second, first))


@given(ranks_with_ties)
def test_coefficients_stay_within_their_range(ranks: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = ranks

    assert 0 < ndcg(first, second) <= 1
    assert 0 <= rank_biased_overlap(first, second) <= highest_rbo(len(first)) + 1e-12
    for coefficient in (
        kendall_tau(first, second)[0],
        weighted_tau(first, second),
        spearman_rho(first, second),
    ):
        assert abs(coefficient) <= 1 + 1e-12


@given(ranks_with_ties)
def test_a_ranking_with_ties_agrees_with_itself(ranks: tuple[np.ndarray, np.ndarray]) -> None:
    ranking, _ = ranks

    assert ndcg(ranking, ranking) == 1
    assert weighted_tau(ranking, ranking) == pytest.approx(1)
    assert rank_biased_overlap(ranking, ranking) == pytest.approx(highest_rbo(len(ranking)))


@given(ranks_with_ties, st.data())
def test_neither_names_nor_their_order_nor_the_scale_of_ranks_matter(
    ranks: tuple[np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    first, second = ranks
    moved = np.array(data.draw(st.permutations(range(len(first)))))

    for coefficient in (ndcg, rank_biased_overlap, weighted_tau, spearman_rho):
        assert coefficient(10.0 * first[moved] - 3, second[moved] ** 3) == pytest.approx(
            coefficient(first, second)
        )


DRAWN = [measure for measure in Measure if measure is not Measure.KENDALL]
SUMS = [Measure.NDCG, Measure.RBO, Measure.SPEARMAN]
ranks = st.lists(st.integers(1, 12), min_size=2, max_size=12).map(lambda found: np.array(found, dtype=float))


def shuffled(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).permutation(values)


@pytest.mark.parametrize("measure", SUMS)
@settings(max_examples=40)
@given(values=ranks, seed=st.integers(0, 1000))
def test_a_kernel_sums_up_to_the_measure(measure: Measure, values: NDArray[np.float64], seed: int) -> None:
    other = shuffled(values, seed)
    if np.ptp(values) == 0:
        return

    assert np.trace(kernel(measure, values, other)) == pytest.approx(rank_agreement(measure, values, other))


@settings(max_examples=40)
@given(values=ranks, seed=st.integers(0, 1000))
def test_many_weighted_taus_are_those_of_one_at_a_time(values: NDArray[np.float64], seed: int) -> None:
    other = shuffled(np.arange(len(values), dtype=float), seed)
    if np.ptp(values) == 0:
        return
    orders = np.stack([np.random.default_rng(draw).permutation(len(values)) for draw in range(3)])

    np.testing.assert_allclose(
        weighted_taus(values, other, orders),
        [rank_agreement(Measure.WEIGHTED_TAU, values, other[order]) for order in orders],
        atol=1e-12,
    )


@pytest.mark.parametrize("measure", DRAWN)
def test_the_p_value_is_close_to_that_of_all_orders(measure: Measure) -> None:
    first, second = np.arange(1.0, 7.0), np.array([2.0, 1, 3, 5, 4, 6])
    found = rank_agreement(measure, first, second)
    every = np.array([rank_agreement(measure, first, np.array(order)) for order in permutations(second)])
    extreme = np.abs(every) >= abs(found) - 1e-9 if measure.is_signed else every >= found - 1e-9

    assert len(every) == math.factorial(6)
    assert p_value(measure, first, second) == pytest.approx(extreme.mean(), abs=0.02)


@pytest.mark.parametrize("measure", Measure)
def test_by_chance_one_in_ten_is_below_a_tenth(measure: Measure) -> None:
    first = np.arange(1.0, 16.0)
    found = [p_value(measure, first, shuffled(first, seed)) for seed in range(300)]

    assert np.mean(np.array(found) <= 0.1) == pytest.approx(0.1, abs=0.045)


@pytest.mark.parametrize("measure", Measure)
def test_what_says_nothing_is_never_significant(measure: Measure) -> None:
    assert p_value(measure, np.ones(5), np.arange(5.0)) == 1.0


@pytest.mark.parametrize("measure", Measure)
def test_the_same_order_of_many_is_no_chance(measure: Measure) -> None:
    assert p_value(measure, np.arange(20.0), np.arange(20.0)) <= 0.001


def test_the_papers_table_4_is_as_significant_as_it_says() -> None:
    """τ(∅, c1) = 0.43 with p < 0.05 and τ(c1, c2) = −0.83 with p < 0.001 (Jia et al. 2025, section 6.5)."""
    default, first, second = (
        read_ranking_csv(GOLDEN / f"usl_table4_{name}.csv") for name in ("default", "c1", "c2")
    )

    def vector(found: dict[str, float]) -> NDArray[np.float64]:
        return np.array([found[llm] for llm in default])

    pairs = (vector(default), vector(first)), (vector(first), vector(second))
    assert rank_agreement(Measure.KENDALL, *pairs[0]) == pytest.approx(0.43, abs=0.005)
    assert rank_agreement(Measure.KENDALL, *pairs[1]) == pytest.approx(-0.83, abs=0.005)
    assert 0.01 < p_value(Measure.KENDALL, *pairs[0]) < 0.06
    assert p_value(Measure.KENDALL, *pairs[1]) < 0.001
    assert p_value(Measure.SPEARMAN, *pairs[1]) < 0.002
    assert p_value(Measure.RBO, *pairs[1]) > 0.5
