import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from leaderboard.statistics import kendall
from leaderboard.statistics.correlation import spearman_rho
from leaderboard.statistics.kendall import tau_b

sizes = st.integers(2, 80)
with_ties = sizes.flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(1, n), min_size=n, max_size=n).map(np.array)] * 2)
).filter(lambda both: all(np.ptp(ranks) for ranks in both))
without_ties = sizes.flatmap(lambda n: st.tuples(*[st.permutations(range(n)).map(np.array)] * 2))


def assert_as_scipy(first: np.ndarray, second: np.ndarray) -> None:
    expected = kendalltau(first, second)
    tau, p_value = tau_b(first.astype(np.float64), second.astype(np.float64))
    assert tau == pytest.approx(expected.statistic, abs=1e-12)
    assert p_value == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-12)


@given(with_ties | without_ties)
def test_it_is_what_scipy_finds(both: tuple[np.ndarray, np.ndarray]) -> None:
    assert_as_scipy(*both)
    first, second = (ranks.astype(np.float64) for ranks in both)
    assert spearman_rho(first, second) == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 33, 34, 170, 171, 172, 500])
@pytest.mark.parametrize("swaps", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_it_is_what_scipy_finds_of_rankings_nearly_alike(n: int, swaps: int, sign: int) -> None:
    order = np.arange(n)
    swapped = order.copy()
    for place in range(0, 2 * min(swaps, n // 2), 2):
        swapped[[place, place + 1]] = swapped[[place + 1, place]]
    assert_as_scipy(order, sign * swapped)


def test_pairs_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kendall, "_BLOCK_CELLS", 150)
    rng = np.random.default_rng(0)
    assert_as_scipy(rng.integers(0, 30, 70), rng.integers(0, 30, 70))
