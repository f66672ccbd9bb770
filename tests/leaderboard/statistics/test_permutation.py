import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.export import read_ranking_csv
from leaderboard.statistics.permutation import Measure, kernel, likeness, p_value, weighted_taus

GOLDEN = Path(__file__).parents[1] / "golden"
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

    assert np.trace(kernel(measure, values, other)) == pytest.approx(likeness(measure, values, other))


@settings(max_examples=40)
@given(values=ranks, seed=st.integers(0, 1000))
def test_many_weighted_taus_are_those_of_one_at_a_time(values: NDArray[np.float64], seed: int) -> None:
    other = shuffled(np.arange(len(values), dtype=float), seed)
    if np.ptp(values) == 0:
        return
    orders = np.stack([np.random.default_rng(draw).permutation(len(values)) for draw in range(3)])

    np.testing.assert_allclose(
        weighted_taus(values, other, orders),
        [likeness(Measure.WEIGHTED_TAU, values, other[order]) for order in orders],
        atol=1e-12,
    )


@pytest.mark.parametrize("measure", DRAWN)
def test_the_p_value_is_close_to_that_of_all_orders(measure: Measure) -> None:
    first, second = np.arange(1.0, 7.0), np.array([2.0, 1, 3, 5, 4, 6])
    found = likeness(measure, first, second)
    every = np.array([likeness(measure, first, np.array(order)) for order in permutations(second)])
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
    assert likeness(Measure.KENDALL, *pairs[0]) == pytest.approx(0.43, abs=0.005)
    assert likeness(Measure.KENDALL, *pairs[1]) == pytest.approx(-0.83, abs=0.005)
    assert 0.01 < p_value(Measure.KENDALL, *pairs[0]) < 0.06
    assert p_value(Measure.KENDALL, *pairs[1]) < 0.001
    assert p_value(Measure.SPEARMAN, *pairs[1]) < 0.002
    assert p_value(Measure.RBO, *pairs[1]) > 0.5
