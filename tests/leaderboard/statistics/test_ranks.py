import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import stats

from leaderboard.statistics.ranks import as_t, competition_ranks, mid_ranks, normal_quantile, t_quantile

VALUES = arrays(
    np.float64,
    array_shapes(min_dims=1, max_dims=2, max_side=8),
    elements=st.sampled_from([-1.5, 0.0, 0.25, 0.5, 2.0, np.inf]),
)


@given(VALUES)
def test_ranks_are_those_of_scipy(values: np.ndarray) -> None:
    np.testing.assert_array_equal(competition_ranks(values), stats.rankdata(values, method="min", axis=-1))
    np.testing.assert_array_equal(mid_ranks(values), stats.rankdata(values, axis=-1))


@pytest.mark.parametrize("freedom", [1, 2, 19, 804])
def test_quantiles_are_those_of_scipy(freedom: int) -> None:
    assert normal_quantile(0.975) == stats.norm.ppf(0.975)
    assert t_quantile(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)
    assert as_t(2.8, freedom) == pytest.approx(stats.t.isf(stats.norm.sf(2.8), freedom), rel=1e-9)
