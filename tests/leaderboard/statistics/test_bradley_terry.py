from dataclasses import replace

import evalica
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import kendalltau, norm

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.bootstrap import UNRANKED, bootstrap_plan, bootstrap_win_rates
from leaderboard.statistics.bradley_terry import (
    BradleyTerry,
    bradley_terry,
    fit_bradley_terry,
    rank_by_duels,
    win_rates_of,
)
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.ranking import Ranking, estimate
from leaderboard.statistics.significance import pairwise_significance

NAN = np.nan
LLMS = [f"llm{number:02}" for number in range(30)]
Floats = NDArray[np.float64]


def drawn(strength: Floats, category: NDArray[np.intp], answered: Floats, seed: int = 0) -> Floats:
    """Margins [L, Q] with normal noise of LLMs with strengths [L] or [L, C] that answered so much of each.

    Args:
        answered: [L, C], shares.
    """
    random = np.random.default_rng(seed)
    levels = answered.shape[1]
    of_category = np.broadcast_to(strength.reshape(len(strength), -1), (len(strength), levels))
    margins = of_category[:, category] + random.normal(size=(len(strength), len(category)))
    return np.where(random.random(margins.shape) < answered[:, category], margins, NAN)


def strengths(seed: int, between: float, spread: float) -> Floats:
    """Of a dozen LLMs in three categories [12, 3]."""
    return np.linspace(-spread, spread, 12)[:, np.newaxis] + np.random.default_rng(seed).normal(
        0, between, (12, 3)
    )


def sparse(seed: int = 0, between: float = 0.0, spread: float = 1.0) -> tuple[Floats, NDArray[np.intp]]:
    """A dozen LLMs of which none answered all of three categories of 60 queries."""
    category = np.repeat([0, 1, 2], 60)
    answered = np.ones((12, 3))
    answered[np.arange(12), np.arange(12) % 3] = np.random.default_rng(seed + 1000).choice([0.0, 0.5], 12)
    return drawn(strengths(seed, between, spread), category, answered, seed), category


def fitted(asked: Floats, category: NDArray[np.intp], **options: object) -> BradleyTerry:
    every = {"used": np.ones(asked.shape[1], bool), "compared": np.ones(len(asked), bool)}
    return bradley_terry(Margins(asked), category, category, **(every | options))  # type: ignore[arg-type]


def ranked(asked: Floats, category: NDArray[np.intp], **options: object) -> Ranking:
    names = [f"category {number}" for number in range(category.max() + 1)]
    return rank_by_duels(LLMS[: len(asked)], Margins(asked), category, category, names, **options)  # type: ignore[arg-type]


class TestStrengths:
    @settings(max_examples=20, deadline=None)
    @given(st.integers(0, 10_000))
    def test_agree_with_evalica(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        pairs = np.triu(random.integers(0, 300, (9, 9)), 1).astype(float)
        pairs[0, :] += 40  # connects all
        pairs = np.triu(pairs, 1) + np.triu(pairs, 1).T
        true = random.normal(0, 0.8, 9)
        won = np.round(pairs * expit(true[:, np.newaxis] - true + random.normal(0, 0.1, (9, 9)))) + 0.5
        np.fill_diagonal(won, 0.0)
        winners, losers = np.nonzero(won)
        theirs = evalica.bradley_terry(
            winners, losers, [evalica.Winner.X] * len(winners), weights=won[winners, losers], tolerance=1e-12
        ).scores.sort_index()
        in_log_odds = np.log(theirs.to_numpy())

        ours = fit_bradley_terry(won.sum(axis=1), won + won.T)

        np.testing.assert_allclose(ours, in_log_odds - in_log_odds.mean(), atol=2e-3)

    def test_of_two_llms_are_the_log_odds_of_their_record(self) -> None:
        found = fit_bradley_terry(np.array([300.0, 100.0]), np.array([[0.0, 400.0], [400.0, 0.0]]))

        np.testing.assert_allclose(found[0] - found[1], np.log(3), atol=1e-3)

    def test_stay_finite_for_an_llm_that_wins_every_duel(self) -> None:
        found = fit_bradley_terry(np.array([200.0, 50.0, 50.0]), 100 * (1 - np.eye(3)))

        assert 4 < found[0] - found[1] < 20
        assert found[1] == pytest.approx(found[2])

    def test_come_to_the_mean_of_expected_wins(self) -> None:
        rates = win_rates_of(np.array([np.log(4), 0.0, NAN, 0.0]))

        np.testing.assert_allclose(rates, [0.8, (0.2 + 0.5) / 2, NAN, 0.35], atol=1e-6)
        assert win_rates_of(np.array([1.0])).tolist() == [0.5]


class TestWhereEverybodyAnsweredEverything:
    asked = drawn(np.linspace(-1, 1, 7), np.arange(90) // 30, np.ones((7, 3)))
    category = np.arange(90) // 30

    @pytest.mark.parametrize("soft", [False, True])
    def test_the_win_rate_is_the_plain_share_of_duels_won(self, soft: bool) -> None:
        ahead = self.asked[:, np.newaxis] - self.asked
        verdict = expit(ahead) if soft else (np.sign(ahead) + 1) / 2
        shares = (verdict.sum(axis=1) - 0.5).mean(axis=1) / 6

        found = fitted(self.asked, self.category, soft=soft)

        np.testing.assert_allclose(found.win_rate, shares, atol=2e-4)

    def test_so_are_the_resamples(self) -> None:
        found = fitted(self.asked, self.category)

        plain = bootstrap_win_rates(found.duels.outcome, self.category)

        np.testing.assert_allclose(found.drawn(), plain, atol=2e-4)

    def test_no_category_is_lacking_so_no_error_is_drawn_for_it(self) -> None:
        found = fitted(self.asked, self.category)

        np.testing.assert_allclose(found.samples(), found.drawn(), atol=1e-5)


class TestWhereLLMsAnsweredDifferentQueries:
    def test_an_llm_is_not_lower_for_having_met_only_the_strong(self) -> None:
        strength = np.array([0.4, 1.0, 1.4, 1.6, -1.6, -1.4, -1.0, -0.4])
        category = np.repeat([0, 1], 200)
        answered = np.repeat([[1.0, 0.0], [0.0, 1.0]], 4, axis=0)
        answered[[1, 6]] = 1.0  # two that both halves met
        found = fitted(drawn(strength, category, answered), category)
        share = np.nanmean(found.duels.outcome, axis=1)

        assert share[0] < share[7]
        assert found.win_rate[0] > found.win_rate[7]
        assert kendalltau(found.win_rate, strength)[0] > 0.9

    def test_a_category_counts_the_same_if_an_llm_answered_half_of_it(self) -> None:
        """The first LLM wins all of one category and loses all of the other."""
        category = np.repeat([0, 1], 40)
        asked = drawn(np.zeros(10), category, np.ones((10, 2)))
        asked[0] = np.where(category == 0, 9.0, -9.0)
        half = asked.copy()
        half[0, 60:] = NAN

        whole, found = fitted(asked, category), fitted(half, category)

        assert np.nanmean(found.duels.outcome[0]) == pytest.approx(2 / 3)
        assert found.win_rate[0] == pytest.approx(whole.win_rate[0], abs=0.002)

    def test_a_resample_moves_win_rates_as_fitting_it_anew_does(self) -> None:
        asked, category = sparse()
        found = fitted(asked, category)
        samples = found.drawn(resamples=60)
        counts = bootstrap_plan(category, resamples=60).counts
        anew = []
        for count in counts:
            times = np.repeat(np.arange(len(category)), count)
            anew.append(fitted(asked[:, times], category[times]).win_rate)

        np.testing.assert_allclose(samples, anew, atol=0.02)
        assert np.mean(np.abs(samples - np.array(anew))) < 0.003
        np.testing.assert_allclose(samples.std(axis=0), np.std(anew, axis=0), rtol=0.1)

    def test_how_far_strengths_differ_between_categories_is_found(self) -> None:
        """The noise is normal, so a difference of 1 comes to 1.6 / √2 in log-odds."""
        found = [
            np.mean([fitted(*sparse(seed, between)).between_categories for seed in range(12)])
            for between in (0.0, 0.5)
        ]

        assert found[0] < 0.1
        assert found[1] == pytest.approx(0.5 * 1.6 / np.sqrt(2), abs=0.12)

    def test_who_lacks_a_category_is_less_sure_the_more_they_differ(self) -> None:
        asked, category = sparse(between=0.6)
        asked[0] = np.where(category == 1, np.nan_to_num(asked[0], nan=0.0), NAN)
        found = fitted(asked, category)
        drawn_alone, with_error = found.drawn().std(axis=0), found.samples().std(axis=0)

        assert found.between_categories > 0.2
        assert with_error[0] > 1.5 * drawn_alone[0]
        assert with_error[0] > 1.3 * with_error[1:].mean()

    @pytest.mark.parametrize("between", [0.0, 0.5])
    def test_intervals_hold_the_truth(self, between: float) -> None:
        """Twelve LLMs, sixty times: 95 % asked, and some room for chance and for the model."""
        held = []
        for seed in range(60):
            rates = _true_win_rates(strengths(seed, between, spread=0.3))
            ranking = ranked(*sparse(seed, between, spread=0.3))
            order = [LLMS.index(llm) for llm in ranking.llms]
            rank = 1 + np.sum(rates[order, np.newaxis] < rates, axis=1)
            held.append((ranking.rank_low <= rank) & (rank <= ranking.rank_high))

        assert 0.9 <= np.mean(held) <= 0.99

    def test_the_judges_error_widens_the_intervals(self) -> None:
        asked, category = sparse()
        found = fitted(asked, category)

        wide = replace(found, judge_error=0.5)

        assert np.all(wide.samples().std(axis=0) > 1.5 * found.samples().std(axis=0))
        np.testing.assert_array_equal(wide.drawn(), found.drawn())

    def test_who_is_judged_worse_has_the_wider_interval(self) -> None:
        asked, category = sparse()
        found = fitted(asked, category)
        errors = np.where(np.arange(len(found.strength)) == 3, 0.8, 0.0)
        widened = replace(found, judge_error=errors).samples().std(axis=0) / found.samples().std(axis=0)

        assert widened[3] > 1.5
        assert np.delete(widened, 3).max() < 1.2

    def test_a_judge_mistakes_a_duel_of_two_as_much_as_one_with_a_baseline(self) -> None:
        asked, category = (
            drawn(np.array([0.3, 0.0]), np.zeros(4000, dtype=int), np.ones((2, 1))),
            np.zeros(4000),
        )
        found = fitted(asked, category.astype(int), judge_error=0.5)
        estimated = estimate(
            expit(asked[:1] - asked[1:]), category.astype(int), used=np.ones(4000, bool), judge_error=0.5
        )

        of_duels, of_win_rates = (logit(one.mistaken(one.drawn())[:, 0]) for one in (found, estimated))

        assert of_duels.std() == pytest.approx(of_win_rates.std(), rel=0.06)

    def test_of_many_llms_each_win_rate_errs_less_as_the_others_errors_even_out(self) -> None:
        asked = drawn(np.linspace(-0.5, 0.5, 30), np.zeros(400, dtype=int), np.ones((30, 1)))
        found = fitted(asked, np.zeros(400, dtype=int), judge_error=0.5)

        error = logit(found.mistaken(np.tile(found.win_rate, (1000, 1)).astype(np.float32)))

        np.testing.assert_allclose(error.std(axis=0), 0.5 / np.sqrt(2), rtol=0.15)
        assert np.std(error[:, 0] - error[:, 1]) == pytest.approx(0.5, rel=0.1)

    def test_it_can_be_said_who_is_told_apart(self) -> None:
        asked, category = sparse()

        found = pairwise_significance(fitted(asked, category), LLMS[:12])

        assert found.llms[0] in LLMS[9:12]
        assert found.apart[0, -1]
        assert found.compare(LLMS[11], LLMS[0]).apart
        np.testing.assert_allclose(found.first.sum(), 1)


class TestRanking:
    def test_is_of_the_same_kind_as_that_against_a_baseline(self) -> None:
        asked, category = sparse()
        ranking = ranked(asked, category)

        assert ranking.rank.tolist() == list(range(1, 13))
        assert np.all(np.diff(ranking.win_rate) < 0)
        assert np.all((ranking.ci_low <= ranking.win_rate) & (ranking.win_rate <= ranking.ci_high))
        assert np.all((ranking.rank_low <= ranking.rank) & (ranking.rank <= ranking.rank_high))
        rows = [LLMS.index(llm) for llm in ranking.llms]
        np.testing.assert_array_equal(ranking.n_queries, np.sum(~np.isnan(asked), axis=1)[rows])

    def test_columns_of_categories_are_among_those_who_answered_in_it(self) -> None:
        asked, category = sparse()
        asked[3, category == 2] = NAN
        ranking = ranked(asked, category)
        alone = fitted(np.where(category == 2, asked, NAN), category)

        columns = dict(zip(ranking.llms, ranking.category_win_rate, strict=True))

        np.testing.assert_allclose([columns[llm][2] for llm in LLMS[:12]], alone.win_rate, atol=1e-5)
        assert np.isnan(columns["llm03"][2])

    def test_an_llm_that_lacks_a_chosen_topic_is_not_ranked(self) -> None:
        asked, category = sparse()
        asked[5, category == 2] = NAN
        chosen = np.stack([category == 0, category == 2])

        ranking = ranked(asked, category, selected=chosen.any(axis=0), chosen=chosen)

        assert dict(zip(ranking.llms, ranking.rank, strict=True))["llm05"] == UNRANKED
        assert "llm05" not in ranking.ranks
        lacking = np.stack([np.isnan(asked[:, rows]).all(axis=1) for rows in chosen]).any(axis=0)
        assert len(ranking.ranks) == 12 - lacking.sum()

    def test_llms_that_nothing_connects_with_the_others_are_not_ranked(self) -> None:
        asked, category = sparse()
        apart = np.full((14, 181), NAN)
        apart[:12, :180] = asked
        apart[12:, 180] = 1.0, 2.0

        ranking = ranked(apart, np.append(category, 0))

        assert ranking.llms[12:] == ("llm12", "llm13")
        assert ranking.rank[12:].tolist() == [UNRANKED, UNRANKED]
        assert np.isnan(ranking.win_rate[12:]).all()
        assert (ranking.rank[:12] > 0).all()

    def test_a_query_of_weight_zero_counts_as_not_selected(self) -> None:
        asked, category = sparse()
        half = np.arange(180) % 2 == 0

        weighed, selected = (
            ranked(asked, category, weights=1.0 * half),
            ranked(asked, category, selected=half),
        )

        assert weighed.llms == selected.llms
        np.testing.assert_allclose(weighed.win_rate, selected.win_rate)

    def test_llms_that_miss_fewer_musts_come_first_and_a_floor_leaves_out(self) -> None:
        asked, category = sparse()
        missed = (np.arange(12) == 11).astype(int)

        ranking = ranked(asked, category, missed=missed, under_floor=np.arange(12) < 4)

        assert ranking.llms[-1] == "llm11"
        assert ranking.under_floor == tuple(llm for llm in ranking.under_floor if llm in LLMS[:4])
        assert len(ranking.llms) == 8

    @settings(max_examples=10, deadline=None)
    @given(st.permutations(range(12)))
    def test_the_order_in_which_llms_come_in_does_not_matter(self, order: list[int]) -> None:
        asked, category = sparse()
        names = [f"category {number}" for number in range(3)]

        one = ranked(asked, category)
        other = rank_by_duels([LLMS[row] for row in order], Margins(asked[order]), category, category, names)

        assert one.llms == other.llms
        np.testing.assert_allclose(one.win_rate, other.win_rate, atol=2e-6)

    def test_equal_llms_share_a_rank(self) -> None:
        asked = np.tile(drawn(np.zeros(1), np.zeros(30, dtype=int), np.ones((1, 1))), (3, 1))

        ranking = ranked(asked, np.zeros(30, dtype=int))

        assert ranking.rank.tolist() == [1, 1, 1]
        np.testing.assert_allclose(ranking.win_rate, 0.5)

    def test_nobody_to_compare_leaves_everybody_without_a_rank(self) -> None:
        ranking = ranked(np.array([[1.0, NAN], [NAN, 1.0]]), np.zeros(2, dtype=int))

        assert ranking.rank.tolist() == [UNRANKED, UNRANKED]

    def test_what_does_not_match_is_refused(self) -> None:
        asked, category = sparse()
        with pytest.raises(LeaderboardError, match="12 LLMs × 180 queries"):
            ranked(asked[:, :100], category)
        with pytest.raises(LeaderboardError, match="only 1 categories"):
            rank_by_duels(LLMS[:12], Margins(asked), category, category, ["one"])
        with pytest.raises(LeaderboardError, match="listed twice"):
            rank_by_duels(["a"] * 12, Margins(asked), category, category, list("abc"))


def _true_win_rates(strength: Floats) -> Floats:
    """[L], of strengths [L, C] with normal noise of 1, categories alike."""
    ahead = norm.cdf((strength[:, np.newaxis] - strength) / np.sqrt(2)).mean(axis=2)
    return (ahead.sum(axis=1) - 0.5) / (len(strength) - 1)
