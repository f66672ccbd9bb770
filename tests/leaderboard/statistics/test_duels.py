import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.duels import (
    MOST_UPWEIGHTED,
    NOBODY,
    Duels,
    Margins,
    components,
    coverage,
    duels,
)

NAN = np.nan


def drawn(llms: int, queries: int, seed: int = 0, answered: float = 1.0) -> NDArray[np.float64]:
    """Margins of which some are missing."""
    random = np.random.default_rng(seed)
    asked = random.normal(size=(llms, queries))
    return np.where(random.random(asked.shape) < answered, asked, NAN)


def fought(asked: NDArray[np.float64], category: list[int] | NDArray[np.intp], **options: object) -> Duels:
    """All queries in use."""
    every = np.ones(asked.shape[1], dtype=np.bool_)
    return duels(Margins(asked), np.asarray(category), used=every, **options)  # type: ignore[arg-type]


class TestDuels:
    def test_where_everybody_answered_a_response_wins_the_share_of_the_others_that_it_beats(self) -> None:
        found = fought(np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 1.0]]), [0, 0])

        np.testing.assert_allclose(found.fought, 1)
        np.testing.assert_allclose(found.won, [[1, 0], [0.5, 0.75], [0, 0.75]])
        np.testing.assert_allclose(found.outcome, found.won)
        np.testing.assert_allclose(found.pairs[0], 1 - np.eye(3))

    def test_soft_verdicts_are_probabilities(self) -> None:
        asked = drawn(5, 7) * 4
        ahead = expit(asked[:, np.newaxis] - asked)
        shares = (ahead.sum(axis=1) - 0.5) / 4

        np.testing.assert_allclose(fought(asked, [0] * 7, soft=True).outcome, shares, atol=1e-6)

    def test_huge_margins_are_sure_verdicts_and_no_overflow(self) -> None:
        asked = np.array([[5000.0], [-5000.0], [0.0]])

        np.testing.assert_allclose(fought(asked, [0], soft=True).outcome, [[1], [0], [0.5]], atol=1e-6)

    def test_responses_alike_in_what_is_asked_tie_unless_a_penalty_is_sure(self) -> None:
        asked = np.array([[1.0, 1.0, 1.0], [1.02, 1.02, 2.0]])
        penalty = np.array([[0.0, 0.0, 0.0], [3.0, 30.0, 3.0]])
        margins = Margins(asked, penalty, alike=0.04, surely=25.0)
        every = np.ones(3, dtype=np.bool_)

        hard, soft = (duels(margins, np.zeros(3, dtype=int), used=every, soft=soft) for soft in (False, True))

        np.testing.assert_allclose(hard.outcome, [[0.5, 1, 1], [0.5, 0, 0]])
        np.testing.assert_allclose(soft.outcome[0], [0.5, expit(29.98), expit(2.0)], atol=1e-6)

    def test_soft_verdicts_between_responses_that_are_alike_are_even(self) -> None:
        margins = Margins(np.array([[0.0], [0.03]]), alike=0.04)
        found = duels(margins, np.array([0]), used=np.array([True]), soft=True)

        np.testing.assert_array_equal(found.outcome, [[0.5], [0.5]])

    def test_a_query_with_one_answer_decides_nothing(self) -> None:
        found = fought(np.array([[1.0, 2.0], [NAN, 1.0]]), [0, 1])

        assert found.kept.tolist() == [False, True]
        assert found.won.tolist() == [[1], [0]]
        assert found.share.tolist() == [1]

    def test_a_response_counts_as_much_however_many_others_answered(self) -> None:
        """The first LLM wins the query that all answered and loses the one that only two did."""
        asked = np.full((11, 2), 0.0)
        asked[0] = 1, -1
        asked[2:, 1] = NAN

        found = fought(asked, [0, 1])

        assert found.won[0].sum() / found.fought[0].sum() == pytest.approx(0.5)

    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10_000))
    def test_a_category_counts_the_same_for_whoever_answered_it(self, seed: int) -> None:
        asked = drawn(9, 60, seed, answered=0.7)
        category = np.repeat([0, 1, 2], [10, 20, 30])
        weights = np.random.default_rng(seed).random(60) + 0.5
        asked[seed % 9, category == seed % 3] = NAN

        found = fought(asked, category, weights=weights)

        of_category = np.stack([found.fought[:, found.category == number].sum(axis=1) for number in range(3)])
        np.testing.assert_allclose(found.pairs.sum(axis=2), of_category)
        np.testing.assert_allclose(found.pairs, found.pairs.transpose(0, 2, 1))
        np.testing.assert_allclose(found.pairs.diagonal(axis1=1, axis2=2), 0)
        given = ~np.isnan(asked) * (weights / weights.max())
        answered = np.stack([given[:, category == number].sum(axis=1) for number in range(3)])
        full = found.share[:, np.newaxis] * found.weight.sum()
        np.testing.assert_allclose(of_category, np.minimum(full, MOST_UPWEIGHTED * answered), rtol=1e-6)

    def test_a_lone_answer_does_not_stand_for_a_category(self) -> None:
        asked = drawn(8, 40)
        asked[0, 1:] = NAN

        found = fought(asked, [0] * 40)

        assert found.fought[0].sum() == pytest.approx(MOST_UPWEIGHTED, rel=1e-3)
        np.testing.assert_allclose(found.fought[1:].sum(axis=1), 40, rtol=1e-3)

    def test_who_meets_whom_is_worked_out_once_whatever_is_asked(self) -> None:
        asked, category = drawn(6, 30, answered=0.7), np.arange(30) % 3
        fewer = np.where(np.arange(30) < 29, asked, NAN)

        one, other, less = (fought(answers, category) for answers in (asked, -asked, fewer))

        assert one.meetings is other.meetings
        assert one.meetings is not less.meetings
        assert not np.array_equal(one.won, other.won)
        np.testing.assert_allclose(one.won + other.won, one.fought, rtol=1e-5)
        with pytest.raises(ValueError, match="read-only"):
            one.meetings.balance[0] = 0

    def test_what_is_won_and_expected_is_what_duels_one_by_one_come_to(self) -> None:
        asked, category = drawn(5, 12, seed=3, answered=0.7), np.repeat([0, 1], 6)
        strength = np.array([0.4, -0.2, 0.1, 0.9, -1.0])
        found = fought(asked, category)
        balance, of_query, kept = found.meetings.balance, found.meetings.of_query, asked[:, found.kept]
        won, residual = np.zeros_like(kept), np.zeros_like(kept)
        for i, j, query in np.ndindex(5, 5, kept.shape[1]):
            if i != j and not np.isnan(kept[[i, j], query]).any():
                weight = of_query[query] * balance[i, query] * balance[j, query]
                verdict = float(kept[i, query] > kept[j, query])
                won[i, query] += weight * verdict
                residual[i, query] += weight * (verdict - expit(strength[i] - strength[j]))

        expected = expit(strength[:, np.newaxis] - strength)

        np.testing.assert_allclose(found.won, won, atol=1e-6)
        np.testing.assert_allclose(found.residual(expected), residual, atol=1e-6)

    @given(st.permutations(range(6)))
    def test_permuting_llms_permutes_what_they_won(self, order: list[int]) -> None:
        asked, category = drawn(6, 30, answered=0.6), np.arange(30) % 3

        one, other = fought(asked, category), fought(asked[order], category)

        np.testing.assert_allclose(other.won, one.won[order], atol=1e-6)

    def test_many_llms_are_compared_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = drawn(6, 30, answered=0.6)
        whole = fought(asked, [0] * 30).won
        monkeypatch.setattr("leaderboard.statistics.duels._BLOCK_CELLS", 40)

        np.testing.assert_allclose(fought(asked, [0] * 30).won, whole, atol=1e-6)

    def test_nothing_to_compare_is_refused(self) -> None:
        with pytest.raises(LeaderboardError, match="No query is selected"):
            duels(Margins(drawn(3, 2)), np.zeros(2, dtype=int), used=np.zeros(2, dtype=np.bool_))


class TestMarginsOfSingleResponses:
    def test_shares_won_are_those_of_the_duels_where_everybody_answered(self) -> None:
        margins = Margins(drawn(6, 20), penalty=np.random.default_rng(1).choice([0.0, 2.0], (6, 20)))
        for soft in (False, True):
            found = duels(margins, np.zeros(20, dtype=int), used=np.ones(20, np.bool_), soft=soft)

            np.testing.assert_allclose(margins.share_won(3, soft=soft), found.outcome[3], atol=1e-6)

    def test_they_are_over_the_others_who_answered(self) -> None:
        margins = Margins(np.array([[1.0, 1.0, NAN, 1.0], [0.0, NAN, 0.0, 2.0], [3.0, NAN, 1.0, NAN]]))

        np.testing.assert_array_equal(margins.share_won(0, soft=False), [0.5, NAN, NAN, 0.0])

    def test_the_best_other_answer_is_not_ones_own_and_pays_its_penalty(self) -> None:
        margins = Margins(
            np.array([[3.0, 1.0], [2.0, NAN], [2.5, NAN]]), np.array([[0, 0], [0, 0], [1.0, 0]])
        )

        assert [margins.best_other(row, 0) for row in range(3)] == [1, 0, 0]
        assert margins.best_other(0, 1) is None

    def test_the_share_of_duels_that_are_decided_leaves_out_ties_in_queries_in_use(self) -> None:
        asked = np.round(drawn(7, 40, answered=0.8))
        margins, used = Margins(asked, alike=0.5), np.arange(40) % 3 > 0
        shares = []
        for row in range(7):
            verdict = np.delete(margins.between(row, soft=False), row, axis=0)[:, used]
            shares.append(np.mean(verdict[~np.isnan(verdict)] != 0.5))

        np.testing.assert_allclose(margins.share_decided(used), shares)
        assert 0.2 < np.mean(shares) < 0.9
        assert Margins(np.array([[1.0, NAN], [2.0, NAN], [NAN, 1.0]])).share_decided(
            np.ones(2, dtype=np.bool_)
        ).tolist() == [1, 1, 1]

    def test_the_typical_response_is_the_median_of_who_answered(self) -> None:
        margins = Margins(np.array([[1.0, NAN, 1.0], [2.0, NAN, 1.02], [9.0, NAN, NAN]]), alike=0.04)

        np.testing.assert_array_equal(margins.over_typical(), [[0, NAN, 0.5], [0.5, NAN, 0.5], [1, NAN, NAN]])


class TestCoverage:
    asked = np.array([[1, 1, 1, NAN], [1, 1, NAN, NAN], [NAN, 1, 1, 1.0]])
    every = np.ones(4, dtype=np.bool_)

    def test_counts_answers_that_can_be_compared(self) -> None:
        found = coverage(self.asked, np.array([0, 0, 1, 1]), 2, used=self.every)

        assert found.answered.tolist() == [[2, 1], [2, 0], [1, 1]]
        assert found.queries.tolist() == [2, 2]
        np.testing.assert_allclose(found.share, [0.75, 0.5, 0.5])
        assert found.comparable.all()

    def test_who_lacks_a_chosen_topic_is_not_compared(self) -> None:
        chosen = np.array([[False, False, True, True]])

        found = coverage(self.asked, np.zeros(4, dtype=int), 1, used=self.every, chosen=chosen)

        assert found.lacks.tolist() == [[False], [True], [False]]
        assert found.comparable.tolist() == [True, False, True]
        assert found.component.tolist() == [0, NOBODY, 0]

    def test_llms_without_a_chain_of_shared_queries_are_apart(self) -> None:
        asked = np.full((6, 5), NAN)
        asked[[0, 1], 0] = asked[[1, 2], 1] = asked[[3, 4], 2] = asked[5, 3] = 1.0

        found = coverage(asked, np.zeros(5, dtype=int), 1, used=np.ones(5, dtype=np.bool_))

        assert found.component.tolist() == [0, 0, 0, 1, 1, NOBODY]
        assert [members.tolist() for members in found.components] == [[0, 1, 2], [3, 4]]

    def test_only_queries_in_use_connect(self) -> None:
        used = np.array([True, False, False, False])

        found = coverage(self.asked, np.zeros(4, dtype=int), 1, used=used)

        assert found.component.tolist() == [0, 0, NOBODY]
        assert found.queries.tolist() == [1]

    def test_without_a_duel_there_is_no_group(self) -> None:
        assert components(np.zeros((3, 3))).tolist() == [NOBODY] * 3
