import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.errors import LeaderboardError
from leaderboard.statistics import bootstrap
from leaderboard.statistics.bootstrap import (
    UNRANKED,
    bootstrap_plan,
    bootstrap_win_rates,
    percentile_interval,
    rank_interval,
    win_rate_interval,
)
from leaderboard.statistics.win_rate import win_rates

NAN = np.nan


def coin_flips(llms: int, queries: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (llms, queries)).astype(float)


def width(won: np.ndarray, strata: np.ndarray) -> np.ndarray:
    low, high = percentile_interval(bootstrap_win_rates(won, strata))
    return high - low


class TestPlan:
    def test_every_resample_draws_as_many_queries_of_a_topic_as_it_has(self) -> None:
        strata = np.array([7, 3, 7, 3, 7])
        counts = bootstrap_plan(strata, resamples=200).counts

        assert counts.shape == (200, 5)
        assert np.all(counts[:, strata == 7].sum(axis=1) == 3)
        assert np.all(counts[:, strata == 3].sum(axis=1) == 2)

    def test_within_a_topic_every_query_is_drawn_equally_often(self) -> None:
        counts = bootstrap_plan(np.array([0, 1, 0, 1, 0]), resamples=20_000).counts

        np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.03)

    def test_a_seed_fixes_the_resamples(self) -> None:
        strata = np.arange(40) // 4
        first = bootstrap_plan(strata, seed=1).counts

        bootstrap._cached_plan.cache_clear()
        np.testing.assert_array_equal(bootstrap_plan(strata, seed=1).counts, first)
        assert np.any(bootstrap_plan(strata, seed=2).counts != first)

    def test_topics_may_be_numbered_anyhow(self) -> None:
        plan = bootstrap_plan(np.array([0, 0, 1, 1]))

        assert bootstrap_plan(np.array([-5, -5, 90, 90])) is plan

    def test_lone_queries_of_several_topics_are_drawn_for_each_other(self) -> None:
        counts = bootstrap_plan(np.array([0, 0, 0, 1, 2])).counts

        assert np.all(counts[:, 3:].sum(axis=1) == 2)
        assert counts[:, 3].max() == 2

    def test_the_only_lone_query_joins_the_smallest_topic(self) -> None:
        counts = bootstrap_plan(np.array([0, 0, 0, 1, 1, 2])).counts

        assert np.all(counts[:, :3].sum(axis=1) == 3)
        assert np.all(counts[:, 3:].sum(axis=1) == 3)
        assert counts[:, 5].max() > 1

    def test_a_large_benchmark_is_drawn_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bootstrap, "_BLOCK_CELLS", 50)
        counts = bootstrap_plan(np.zeros(12, dtype=int), resamples=9, seed=5).counts

        assert np.all(counts.sum(axis=1) == 12)
        assert len(np.unique(counts, axis=0)) > 1

    def test_nothing_to_draw_and_senseless_options_are_refused(self) -> None:
        with pytest.raises(LeaderboardError, match="No query is selected"):
            bootstrap_plan(np.array([], dtype=int))
        with pytest.raises(LeaderboardError, match="at least 1 resample"):
            bootstrap_plan(np.array([0, 0]), resamples=0)
        with pytest.raises(LeaderboardError, match="must not be negative"):
            bootstrap_plan(np.array([0, 0]), seed=-1)


class TestBootstrapWinRates:
    def test_each_sample_is_the_win_rate_of_its_resample(self) -> None:
        won = np.array([[1.0, 0.0, NAN, 0.5], [0.0, 1.0, 1.0, NAN]])
        strata, weights = np.array([0, 0, 1, 1]), np.array([1.0, 0.3, 0.7, 1.0])
        counts = bootstrap_plan(strata, resamples=50).counts
        by_hand = [win_rates(won, count * weights) for count in counts]

        samples = bootstrap_win_rates(won, strata, weights=weights, resamples=50)

        np.testing.assert_allclose(samples, by_hand, rtol=1e-5)

    def test_without_missing_responses_too(self) -> None:
        won, strata = coin_flips(3, 10), np.arange(10) % 2
        counts = bootstrap_plan(strata, resamples=50).counts

        samples = bootstrap_win_rates(won, strata, resamples=50)

        np.testing.assert_allclose(
            samples, [win_rates(won, count.astype(float)) for count in counts], rtol=1e-6
        )

    def test_blocks_do_not_change_the_samples(self, monkeypatch: pytest.MonkeyPatch) -> None:
        won, strata = coin_flips(3, 10), np.arange(10) % 2
        whole = bootstrap_win_rates(won, strata)
        monkeypatch.setattr(bootstrap, "_BLOCK_CELLS", 64)

        np.testing.assert_array_equal(bootstrap_win_rates(won, strata), whole)

    def test_a_query_of_weight_zero_counts_as_not_selected(self) -> None:
        won, strata = coin_flips(3, 10), np.arange(10) % 2
        weights = np.array([1.0] * 8 + [0.0] * 2)

        np.testing.assert_array_equal(
            bootstrap_win_rates(won, strata, weights=weights), bootstrap_win_rates(won[:, :8], strata[:8])
        )

    def test_a_resample_without_any_response_of_an_llm_says_nothing_of_it(self) -> None:
        samples = bootstrap_win_rates(np.array([[1.0, NAN, NAN], [1.0, 0.0, 1.0]]), np.zeros(3, dtype=int))

        assert np.all(np.isin(samples[~np.isnan(samples[:, 0]), 0], 1.0))
        assert 0 < np.isnan(samples[:, 0]).sum() < len(samples)
        assert not np.isnan(samples[:, 1]).any()

    def test_topics_and_weights_must_fit_the_queries(self) -> None:
        with pytest.raises(LeaderboardError, match="one topic for each"):
            bootstrap_win_rates(np.ones((2, 3)), np.zeros(4, dtype=int))
        with pytest.raises(LeaderboardError, match="All query weights are zero"):
            bootstrap_win_rates(np.ones((2, 3)), np.zeros(3, dtype=int), weights=np.zeros(3))

    @given(st.permutations(range(5)), st.integers(0, 99))
    def test_permuting_llms_permutes_the_samples(self, order: list[int], seed: int) -> None:
        won, strata = coin_flips(5, 12, seed), np.arange(12) % 3

        np.testing.assert_array_equal(
            bootstrap_win_rates(won[order], strata), bootstrap_win_rates(won, strata)[:, order]
        )

    def test_permuting_queries_within_a_topic_changes_no_more_than_another_seed_does(self) -> None:
        won, strata = coin_flips(2, 60), np.arange(60) // 30
        order = np.concatenate([np.random.default_rng(1).permutation(30), 30 + np.arange(30)])

        before = percentile_interval(bootstrap_win_rates(won, strata, resamples=4000))
        after = percentile_interval(bootstrap_win_rates(won[:, order], strata, resamples=4000))

        np.testing.assert_allclose(after, before, atol=0.02)


class TestPercentileInterval:
    def test_leaves_out_the_tails_and_what_is_missing(self) -> None:
        samples = np.column_stack([np.arange(101.0), np.full(101, NAN)])
        samples[100, 0] = NAN

        low, high = percentile_interval(samples, level=0.9)

        np.testing.assert_allclose(low, [0.05 * 99, NAN])
        np.testing.assert_allclose(high, [0.95 * 99, NAN])

    def test_agrees_with_numpy(self) -> None:
        samples = np.random.default_rng(0).random((77, 4))

        np.testing.assert_allclose(percentile_interval(samples), np.percentile(samples, [2.5, 97.5], axis=0))

    @pytest.mark.parametrize("level", [0.0, 1.0, -1.0, NAN])
    def test_a_level_outside_0_to_1_is_refused(self, level: float) -> None:
        with pytest.raises(LeaderboardError, match="level of an interval"):
            percentile_interval(np.ones((2, 2)), level)

    def test_has_the_width_the_normal_approximation_predicts(self) -> None:
        won = np.tile([0.0, 1.0], 200)[np.newaxis]

        np.testing.assert_allclose(width(won, np.zeros(400, dtype=int)), 2 * 1.96 * 0.5 / 20, rtol=0.06)

    def test_narrows_as_the_root_of_the_number_of_queries(self) -> None:
        few, many = (np.tile([0.0, 1.0], n)[np.newaxis] for n in (50, 450))

        ratio = width(few, np.zeros(100, dtype=int)) / width(many, np.zeros(900, dtype=int))

        np.testing.assert_allclose(ratio, 3, rtol=0.1)

    def test_topics_that_explain_the_outcome_leave_no_uncertainty(self) -> None:
        won = np.repeat([0.0, 1.0], 20)[np.newaxis]

        assert width(won, np.repeat([0, 1], 20)) == 0
        assert width(won, np.zeros(40, dtype=int)) > 0.2

    def test_lone_queries_keep_their_variance(self) -> None:
        assert width(np.array([[0.0, 1.0, 0.0, 1.0]]), np.arange(4)) > 0.5


class TestWinRateInterval:
    def test_one_query_says_nothing_of_the_spread(self) -> None:
        won = np.array([[1.0], [0.0]])
        samples = bootstrap_win_rates(won, np.array([0]))

        low, high = win_rate_interval(samples, win_rates(won), np.array([1, 1]))

        np.testing.assert_array_equal([low, high], [[0, 0], [1, 1]])

    def test_is_wilsons_where_every_query_is_won_or_none(self) -> None:
        won = np.array([[1.0] * 20, [0.0] * 20, [1.0] * 20])
        samples = bootstrap_win_rates(won, np.zeros(20, dtype=int))

        low, high = win_rate_interval(
            samples, win_rates(won), np.full(3, 20), n_effective=np.array([20.0, 20.0, 5.0])
        )

        # 20 of 20: 0.8389 (Wilson 1927, as in statsmodels' proportion_confint).
        np.testing.assert_allclose(low, [0.8389, 0.0, 0.5655], atol=1e-4)
        np.testing.assert_allclose(high, [1.0, 0.1611, 1.0], atol=1e-4)

    def test_is_widened_to_a_win_rate_that_the_percentiles_miss(self) -> None:
        samples = np.array([[0.4, 0.4], [0.5, 0.5]])

        low, high = win_rate_interval(samples, np.array([0.3, 0.6]), np.array([9, 9]))

        np.testing.assert_allclose([low[0], high[1]], [0.3, 0.6])

    def test_is_unknown_where_the_win_rate_is(self) -> None:
        low, high = win_rate_interval(np.full((3, 1), NAN), np.array([NAN]), np.array([0]))

        assert np.isnan(low).all()
        assert np.isnan(high).all()

    @settings(max_examples=50)
    @given(st.integers(1, 30), st.integers(0, 10_000))
    def test_contains_the_win_rate_and_lies_within_0_to_1(self, queries: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        won = np.where(rng.random((4, queries)) < 0.2, NAN, rng.integers(0, 3, (4, queries)) / 2)
        rate = win_rates(won)
        samples = bootstrap_win_rates(won, rng.integers(0, 4, queries), resamples=40, seed=seed)

        low, high = win_rate_interval(samples, rate, np.sum(~np.isnan(won), axis=1))

        known = ~np.isnan(rate)
        assert np.all((low[known] >= 0) & (low[known] <= rate[known]))
        assert np.all((high[known] >= rate[known]) & (high[known] <= 1))


class TestRankInterval:
    def test_spans_the_ranks_of_the_resamples(self) -> None:
        samples = np.array([[0.9, 0.5, 0.1], [0.5, 0.9, 0.1]] * 50)

        low, high = rank_interval(samples)

        assert low.tolist() == [1, 1, 3]
        assert high.tolist() == [2, 2, 3]

    def test_ties_share_the_best_rank(self) -> None:
        low, high = rank_interval(np.tile([0.5, 0.7, 0.5, 0.1], (10, 1)))

        assert low.tolist() == high.tolist() == [2, 1, 2, 4]

    def test_equal_up_to_float32_rounding_is_a_tie(self) -> None:
        low, high = rank_interval(np.tile(np.array([0.3, 0.3 + 1e-7], dtype=np.float32), (10, 1)))

        assert low.tolist() == high.tolist() == [1, 1]

    def test_a_missing_llm_takes_no_rank_from_the_others(self) -> None:
        low, high = rank_interval(np.tile([NAN, 0.7, 0.5], (10, 1)))

        assert low.tolist() == high.tolist() == [UNRANKED, 1, 2]
