import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from leaderboard.elicitation.acquisition import (
    READABLE,
    CandidatePairs,
    explained_variance,
    gains,
    next_pair,
    random_pair,
    standardised_ranks,
)
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.elicitation.posterior import ObservedChoices, PreferencePosterior
from leaderboard.errors import LeaderboardError
from leaderboard.statistics.win_rate import outcomes, win_rates
from tests.leaderboard.elicitation.samples import (
    CRITERIA,
    QUERIES,
    RESPONDERS,
    small_candidates,
    small_margins,
)

UNKNOWN = PreferencePosterior.prior(CRITERIA)
EVERYWHERE = np.ones(QUERIES, dtype=bool)


class TestNextPair:
    def test_is_the_same_for_the_same_choices(self) -> None:
        assert next_pair(UNKNOWN, small_candidates()) == next_pair(UNKNOWN, small_candidates())

    def test_shows_two_different_responses(self) -> None:
        pair = next_pair(UNKNOWN, small_candidates())

        assert pair.first != pair.second

    def test_shows_every_query_once_before_one_comes_again(self) -> None:
        candidates, seen = small_candidates(), set[int]()
        for _ in range(QUERIES):
            seen.add(next_pair(UNKNOWN, candidates, frozenset(seen)).query)

        assert len(seen) == QUERIES
        assert next_pair(UNKNOWN, candidates, frozenset(seen)).query in seen

    def test_teaches_more_than_a_random_pair(self) -> None:
        candidates = small_candidates()
        rows = [random_pair(candidates, frozenset(), seed) for seed in range(50)]
        best = next_pair(UNKNOWN, candidates)
        pairs = np.array([(pair.query, pair.first, pair.second) for pair in (best, *rows)])

        gain = gains(UNKNOWN.sample(500), candidates, pairs)

        assert gain[0] > np.quantile(gain[1:], 0.9)

    def test_is_at_least_as_good_as_the_best_of_all_pairs_of_its_query(self) -> None:
        candidates, draws = small_candidates(), UNKNOWN.sample(1500)
        pair = next_pair(UNKNOWN, candidates)
        every = np.array([(pair.query, a, b) for a in range(RESPONDERS) for b in range(RESPONDERS) if a != b])
        own = gains(draws, candidates, np.array([[pair.query, pair.first, pair.second]]))[0]

        assert own >= 0.97 * gains(draws, candidates, every).max()

    def test_asks_no_more_about_what_is_known(self) -> None:
        candidates = small_candidates()
        posterior, gain = UNKNOWN, []
        for _ in range(10):
            pair = next_pair(posterior, candidates)
            gain.append(
                gains(posterior.sample(500), candidates, np.array([[pair.query, pair.first, pair.second]]))[0]
            )
            margins = candidates.margins.relative[:, pair.query, 0]
            answer = (
                ChoiceOutcome.FIRST if margins[pair.first] > margins[pair.second] else ChoiceOutcome.SECOND
            )
            posterior = posterior.after(ObservedChoices.of([Choice(pair, answer)], candidates.margins))

        assert posterior.followed[0] == pytest.approx(posterior.followed.max())


class TestNeighbours:
    def test_share_the_query_and_one_response(self) -> None:
        found = small_candidates().neighbours(np.array([[4, 0, 1], [7, 2, 5]]))

        assert len(found) == 2 * 2 * (RESPONDERS - 2)
        assert len(np.unique(found, axis=0)) == len(found)
        for query, first, second in found:
            old = (0, 1) if query == 4 else (2, 5)
            assert (first == old[0]) != (second == old[1])
            assert first != second

    def test_hold_only_what_may_be_shown(self) -> None:
        allowed = np.ones((RESPONDERS, QUERIES), dtype=bool)
        allowed[3, 4] = False
        found = CandidatePairs(small_margins(), allowed, EVERYWHERE).neighbours(np.array([[4, 0, 1]]))

        assert set(found[:, 1:].ravel().tolist()) == {0, 1, 2, 4, 5}


class TestWhatMayBeShown:
    def test_no_response_that_is_missing_or_held_back_as_gaming(self) -> None:
        whole = small_margins()
        margins, answered = whole.values.copy(), whole.present.copy()
        margins[0, :, -1] = -2
        answered[1] = False
        candidates = CandidatePairs.of(CriterionMargins(margins, answered), EVERYWHERE)

        assert not candidates.allowed[:2].any()
        assert {0, 1}.isdisjoint(candidates.draw(400, frozenset(), np.random.default_rng(0))[:, 1:].ravel())

    def test_only_selected_queries(self) -> None:
        selected = np.arange(QUERIES) < 4

        assert next_pair(UNKNOWN, CandidatePairs.of(small_margins(), selected)).query < 4

    def test_long_responses_only_where_there_are_too_few_others(self) -> None:
        words = np.full((RESPONDERS, QUERIES), READABLE)
        words[0] = READABLE + 1

        assert not CandidatePairs.of(small_margins(), EVERYWHERE, words).allowed[0].any()
        assert CandidatePairs.of(small_margins(), EVERYWHERE, words + 1).allowed[0].all()

    def test_without_two_responses_it_says_so(self) -> None:
        answered = np.zeros((RESPONDERS, QUERIES), dtype=bool)
        answered[0] = True

        with pytest.raises(LeaderboardError, match="pick other topics"):
            CandidatePairs.of(CriterionMargins(small_margins().values, answered), EVERYWHERE)


class TestPlaces:
    def test_scores_are_the_win_rates_of_the_leaderboard(self) -> None:
        candidates = small_candidates()
        draws = UNKNOWN.sample(20)
        margins = candidates.margins.values
        expected = [
            win_rates(outcomes(expit((margins[:-1] - margins[-1]) @ coefficients)))
            for coefficients in draws.coefficients
        ]

        found = candidates.scores(draws)

        # Equal win rates are told apart by less than the smallest difference between two.
        assert ((found - expected >= 0) & (found - expected < 1 / QUERIES)).all()

    def test_a_response_that_is_missing_counts_neither_way(self) -> None:
        whole = small_margins()
        answered = whole.present.copy()
        answered[0, 10:] = False
        part = CandidatePairs.of(CriterionMargins(whole.values, answered), EVERYWHERE)
        first = CandidatePairs.of(whole, np.arange(QUERIES) < 10)
        draws = UNKNOWN.sample(20)

        np.testing.assert_allclose(part.scores(draws)[:, 0], first.scores(draws)[:, 0], atol=0.1)

    def test_are_centred_and_their_variance_sums_to_one(self) -> None:
        places = standardised_ranks(UNKNOWN.sample(300), small_candidates())

        np.testing.assert_allclose(places.mean(axis=0), 0, atol=1e-6)
        assert places.var(axis=0).sum() == pytest.approx(1, rel=1e-5)

    def test_are_zeros_where_all_agree(self) -> None:
        one = UNKNOWN.draws.at(np.zeros(10, dtype=np.intp))

        assert not standardised_ranks(one, small_candidates()).any()


class TestVarianceTaken:
    PLACES = standardised_ranks(UNKNOWN.sample(200), small_candidates())

    @settings(max_examples=30)
    @given(st.integers(0, 1000))
    def test_is_between_nothing_and_all(self, seed: int) -> None:
        prob = np.random.default_rng(seed).dirichlet(np.ones(4), size=(200, 3)).transpose(2, 0, 1)

        taken = explained_variance(prob.astype(np.float32), self.PLACES)

        assert ((taken >= 0) & (taken <= 1 + 1e-6)).all()

    def test_is_nothing_where_the_answer_hangs_not_on_the_person(self) -> None:
        same = np.full((4, 200, 1), 0.25, dtype=np.float32)

        np.testing.assert_allclose(explained_variance(same, self.PLACES), 0, atol=1e-6)
