import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from leaderboard.errors import NoPairsError
from leaderboard.personal.choice import Answer, Choice
from leaderboard.personal.material import Material
from leaderboard.personal.pairs import (
    READABLE,
    Shown,
    gains,
    next_pair,
    random_pair,
    standardised_places,
    variance_taken,
)
from leaderboard.personal.person import Observed, Person
from leaderboard.statistics.win_rate import outcomes, win_rates
from tests.leaderboard.personal.samples import CRITERIA, QUERIES, RESPONDERS, small_material, small_shown

UNKNOWN = Person.unknown(CRITERIA)
EVERYWHERE = np.ones(QUERIES, dtype=bool)


class TestNextPair:
    def test_is_the_same_for_the_same_choices(self) -> None:
        assert next_pair(UNKNOWN, small_shown()) == next_pair(UNKNOWN, small_shown())

    def test_shows_two_different_responses(self) -> None:
        pair = next_pair(UNKNOWN, small_shown())

        assert pair.first != pair.second

    def test_shows_every_query_once_before_one_comes_again(self) -> None:
        shown, seen = small_shown(), set[int]()
        for _ in range(QUERIES):
            seen.add(next_pair(UNKNOWN, shown, frozenset(seen)).query)

        assert len(seen) == QUERIES
        assert next_pair(UNKNOWN, shown, frozenset(seen)).query in seen

    def test_teaches_more_than_a_random_pair(self) -> None:
        shown = small_shown()
        rows = [random_pair(shown, frozenset(), seed) for seed in range(50)]
        best = next_pair(UNKNOWN, shown)
        candidates = np.array([(pair.query, pair.first, pair.second) for pair in (best, *rows)])

        gain = gains(UNKNOWN.sample(500), shown, candidates)

        assert gain[0] > np.quantile(gain[1:], 0.9)

    def test_is_at_least_as_good_as_the_best_of_all_pairs_of_its_query(self) -> None:
        shown, draws = small_shown(), UNKNOWN.sample(1500)
        pair = next_pair(UNKNOWN, shown)
        every = np.array([(pair.query, a, b) for a in range(RESPONDERS) for b in range(RESPONDERS) if a != b])
        own = gains(draws, shown, np.array([[pair.query, pair.first, pair.second]]))[0]

        assert own >= 0.97 * gains(draws, shown, every).max()

    def test_asks_no_more_about_what_is_known(self) -> None:
        shown = small_shown()
        person, gain = UNKNOWN, []
        for _ in range(10):
            pair = next_pair(person, shown)
            gain.append(
                gains(person.sample(500), shown, np.array([[pair.query, pair.first, pair.second]]))[0]
            )
            margins = shown.material.relative[:, pair.query, 0]
            answer = Answer.FIRST if margins[pair.first] > margins[pair.second] else Answer.SECOND
            person = person.after(Observed.of(Choice(pair, answer), shown.material))

        assert person.followed[0] == pytest.approx(person.followed.max())


class TestNeighbours:
    def test_share_the_query_and_one_response(self) -> None:
        found = small_shown().neighbours(np.array([[4, 0, 1], [7, 2, 5]]))

        assert len(found) == 2 * 2 * (RESPONDERS - 2)
        assert len(np.unique(found, axis=0)) == len(found)
        for query, first, second in found:
            old = (0, 1) if query == 4 else (2, 5)
            assert (first == old[0]) != (second == old[1])
            assert first != second

    def test_hold_only_what_may_be_shown(self) -> None:
        allowed = np.ones((RESPONDERS, QUERIES), dtype=bool)
        allowed[3, 4] = False
        found = Shown(small_material(), allowed, EVERYWHERE).neighbours(np.array([[4, 0, 1]]))

        assert set(found[:, 1:].ravel().tolist()) == {0, 1, 2, 4, 5}


class TestWhatMayBeShown:
    def test_no_response_that_is_missing_or_held_back_as_gaming(self) -> None:
        whole = small_material()
        margins, answered = whole.margins.copy(), whole.answered.copy()
        margins[0, :, -1] = -2
        answered[1] = False
        shown = Shown.of(Material(margins, answered), EVERYWHERE)

        assert not shown.allowed[:2].any()
        assert {0, 1}.isdisjoint(shown.candidates(400, frozenset(), np.random.default_rng(0))[:, 1:].ravel())

    def test_only_selected_queries(self) -> None:
        selected = np.arange(QUERIES) < 4

        assert next_pair(UNKNOWN, Shown.of(small_material(), selected)).query < 4

    def test_long_responses_only_where_there_are_too_few_others(self) -> None:
        words = np.full((RESPONDERS, QUERIES), READABLE)
        words[0] = READABLE + 1

        assert not Shown.of(small_material(), EVERYWHERE, words).allowed[0].any()
        assert Shown.of(small_material(), EVERYWHERE, words + 1).allowed[0].all()

    def test_without_two_responses_it_says_so(self) -> None:
        answered = np.zeros((RESPONDERS, QUERIES), dtype=bool)
        answered[0] = True

        with pytest.raises(NoPairsError, match="pick other topics"):
            Shown.of(Material(small_material().margins, answered), EVERYWHERE)


class TestPlaces:
    def test_scores_are_the_win_rates_of_the_leaderboard(self) -> None:
        shown = small_shown()
        draws = UNKNOWN.sample(20)
        margins = shown.material.margins
        expected = [
            win_rates(outcomes(expit((margins[:-1] - margins[-1]) @ person))) for person in draws.folded
        ]

        found = shown.scores(draws)

        # Equal win rates are told apart by less than the smallest difference between two.
        assert ((found - expected >= 0) & (found - expected < 1 / QUERIES)).all()

    def test_a_response_that_is_missing_counts_neither_way(self) -> None:
        whole = small_material()
        answered = whole.answered.copy()
        answered[0, 10:] = False
        part = Shown.of(Material(whole.margins, answered), EVERYWHERE)
        first = Shown.of(whole, np.arange(QUERIES) < 10)
        draws = UNKNOWN.sample(20)

        np.testing.assert_allclose(part.scores(draws)[:, 0], first.scores(draws)[:, 0], atol=0.1)

    def test_are_centred_and_their_variance_sums_to_one(self) -> None:
        places = standardised_places(UNKNOWN.sample(300), small_shown())

        np.testing.assert_allclose(places.mean(axis=0), 0, atol=1e-6)
        assert places.var(axis=0).sum() == pytest.approx(1, rel=1e-5)

    def test_are_zeros_where_all_agree(self) -> None:
        one = UNKNOWN.draws.at(np.zeros(10, dtype=np.intp))

        assert not standardised_places(one, small_shown()).any()


class TestVarianceTaken:
    PLACES = standardised_places(UNKNOWN.sample(200), small_shown())

    @settings(max_examples=30)
    @given(st.integers(0, 1000))
    def test_is_between_nothing_and_all(self, seed: int) -> None:
        prob = np.random.default_rng(seed).dirichlet(np.ones(4), size=(200, 3)).transpose(2, 0, 1)

        taken = variance_taken(prob.astype(np.float32), self.PLACES)

        assert ((taken >= 0) & (taken <= 1 + 1e-6)).all()

    def test_is_nothing_where_the_answer_hangs_not_on_the_person(self) -> None:
        same = np.full((4, 200, 1), 0.25, dtype=np.float32)

        np.testing.assert_allclose(variance_taken(same, self.PLACES), 0, atol=1e-6)
