import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.ranking import Estimate, estimate
from leaderboard.statistics.significance import (
    PairwiseSignificance,
    apart_from_first,
    distinguishable,
    groups,
    pairwise_significance,
)


def estimated(wins: NDArray[np.float64]) -> Estimate:
    """Of outcomes [L, Q] on queries of one topic."""
    queries = wins.shape[1]
    return estimate(wins, np.zeros(queries, dtype=int), used=np.ones(queries, dtype=bool))


def judged(wins: NDArray[np.float64]) -> PairwiseSignificance:
    return pairwise_significance(estimated(wins), list("abcdefghijklmnop")[: len(wins)])


def drawn(strengths: list[float], queries: int, seed: int = 0) -> NDArray[np.float64]:
    """Independent wins with these chances."""
    rng = np.random.default_rng(seed)
    return (rng.random((len(strengths), queries)) < np.array(strengths)[:, np.newaxis]).astype(float)


def test_llms_far_apart_are_told_apart_and_equal_ones_are_not() -> None:
    found = judged(drawn([0.9, 0.88, 0.5, 0.48, 0.1], 400))

    assert found.llms[0] in "ab"
    assert found.group.tolist() == [0, 0, 1, 1, 2]
    assert found.members(1) in {("c", "d"), ("d", "c")}
    assert not found.apart[0, 1]
    assert found.apart[0, 2]


def test_of_equal_llms_hardly_ever_a_pair_is_told_apart_however_many_there_are() -> None:
    """Twelve equal LLMs have 66 pairs: each at 5 % by itself, hardly a draw would be without an error."""
    wrong = [judged(drawn([0.5] * 12, 400, seed)).apart.any() for seed in range(150)]

    assert np.mean(wrong) <= 0.09


def test_llms_that_win_and_lose_together_are_told_apart_sooner() -> None:
    together = np.stack([np.arange(200) < 120, np.arange(200) < 108]).astype(float)
    separately = np.stack([np.random.default_rng(0).permutation(together[0]), together[1]])

    assert judged(together).apart[0, 1]
    assert not judged(separately).apart[0, 1]


def test_shares_of_first_places_add_up_and_ties_share() -> None:
    wins = np.tile(drawn([0.5], 60), (3, 1))
    wins[2] = 0.0

    np.testing.assert_allclose(judged(wins).first, [0.5, 0.5, 0])
    np.testing.assert_allclose(judged(drawn([0.6, 0.55, 0.5], 90)).first.sum(), 1)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_what_is_told_apart_is_symmetric_and_groups_hold_no_such_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = judged(drawn(rng.random(8).tolist(), int(rng.integers(2, 120)), seed))

    assert np.array_equal(found.apart, found.apart.T)
    assert not found.apart.diagonal().any()
    assert np.all(np.diff(found.group) >= 0)
    assert np.all(np.diff(found.group) <= 1)
    same = found.group[:, np.newaxis] == found.group
    assert not (found.apart & same).any()
    for start in np.flatnonzero(np.diff(found.group)) + 1:
        above = found.group == found.group[start] - 1
        assert found.apart[start, above].any()


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.permutations(range(6)))
def test_the_order_in_which_llms_come_in_does_not_matter(seed: int, order: list[int]) -> None:
    samples = np.random.default_rng(seed).normal(size=(200, 6)) * 0.05 + np.arange(6) * 0.03
    win_rate, n = np.arange(6) * 0.03, np.full(6, 100)
    one = distinguishable(win_rate, samples, n)

    assert np.array_equal(one[np.ix_(order, order)], distinguishable(win_rate[order], samples[:, order], n))


def test_groups_open_where_somebody_above_is_told_apart() -> None:
    apart = np.zeros((4, 4), dtype=bool)
    apart[0, 2] = apart[2, 0] = True

    assert groups(apart).tolist() == [0, 0, 1, 1]
    assert groups(np.ones((3, 3), dtype=bool)).tolist() == [0, 1, 2]


def test_one_query_tells_nobody_apart() -> None:
    found = judged(np.array([[1.0], [0.0]]))

    assert not found.apart.any()
    assert found.compare("a", "b").more_queries is None


def test_an_llm_without_responses_is_left_out() -> None:
    wins = drawn([0.7, 0.5, 0.3], 50)
    wins[1] = np.nan

    assert judged(wins).llms == ("a", "c")


class TestTwoLLMs:
    def test_are_compared_with_an_interval_around_their_difference(self) -> None:
        found = judged(drawn([0.7, 0.4], 300)).compare("a", "b")

        assert found.low <= found.difference <= found.high
        assert found.apart
        assert found.more_queries == 0
        assert found.ahead > 0.99

    def test_exchanged_mirror_each_other(self) -> None:
        both = judged(drawn([0.55, 0.5], 300))
        one, other = both.compare("a", "b"), both.compare("b", "a")

        assert one.difference == -other.difference
        assert one.ahead == pytest.approx(1 - other.ahead)
        assert one.more_queries == other.more_queries

    def test_equal_ones_are_never_separated(self) -> None:
        wins = np.tile(drawn([0.5], 60), (2, 1))

        assert judged(wins).compare("a", "b").more_queries is None

    def test_so_many_more_queries_do_separate_them_four_times_in_five(self) -> None:
        pilot = np.zeros((2, 100))
        pilot[0, :56] = pilot[1, 20:66] = 1.0  # 10 % more wins; on 30 of 100 queries one of them wins alone
        found = judged(pilot).compare("a", "b")
        assert found.more_queries is not None
        total = 100 + found.more_queries
        rng = np.random.default_rng(0)
        separated = []
        for _ in range(400):
            again = pilot[:, rng.integers(100, size=total)]
            gap = again[0] - again[1]
            separated.append(gap.mean() > 1.96 * gap.std() / np.sqrt(total))

        assert np.mean(separated) == pytest.approx(0.8, abs=0.07)

    def test_that_the_judges_error_leaves_alike_are_not_separated_by_queries(self) -> None:
        wins = drawn([0.55, 0.5], 300)
        none, small, large = (
            pairwise_significance(replace(estimated(wins), judge_error=error), list("ab")).compare("a", "b")
            for error in (0.0, 0.02, 0.5)
        )

        assert none.more_queries is not None and small.more_queries is not None
        assert none.more_queries < small.more_queries < math.inf
        assert large.more_queries == math.inf

    def test_of_which_one_is_not_ranked_are_refused(self) -> None:
        with pytest.raises(LeaderboardError, match="'z' is not ranked here"):
            judged(drawn([0.5, 0.4], 20)).compare("a", "z")


def test_all_at_once_the_first_is_compared_with_each_as_by_itself() -> None:
    found = judged(drawn([0.7, 0.66, 0.6, 0.5, 0.2], 120))
    alone = [llm != "a" and found.compare(found.llms[0], llm).apart for llm in found.llms]

    assert apart_from_first(found.win_rate, found.samples, found.n_queries).tolist() == alone
    assert found.like_first() == tuple(
        llm for llm, is_apart in zip(found.llms, alone, strict=True) if not is_apart
    )
    assert alone[0] is False
    assert any(alone)
    assert not all(alone[1:])


class TestTheJudgesError:
    def test_leaves_far_apart_who_comes_first_in_every_draw(self) -> None:
        """It makes 85 % uncertain by 20 points, and 99 % by hardly one: that is no reason to take them for
        alike."""
        wins = np.stack([np.arange(500) < 495, np.arange(500) < 425, np.arange(500) < 415]).astype(float)
        found = pairwise_significance(replace(estimated(wins), judge_error=0.6), list("abc"))

        assert found.first[0] > 0.995
        assert found.like_first() == ("a",)
        assert found.compare("a", "b").apart
        assert found.apart[0, 1]
        assert not found.compare("b", "c").apart

    @pytest.mark.parametrize(("strength", "error"), [(0.0, 0.6), (0.0, 1.2), (1.7, 0.6)])
    def test_tells_apart_hardly_ever_who_is_equal(self, strength: float, error: float) -> None:
        """Five LLMs of one strength, each mistaken by as much as the judge may; in win rates a pair would be
        told apart in every eighth to sixth set around 50 %."""
        rng = np.random.default_rng(0)
        wrong = []
        for seed in range(150):
            odds = strength + rng.normal(0.0, error, size=5)
            wins = drawn((1 / (1 + np.exp(-odds))).tolist(), 300, seed)
            found = pairwise_significance(replace(estimated(wins), judge_error=error), list("abcde"))
            wrong.append(found.apart.any())

        assert np.mean(wrong) <= 0.09

    def test_is_of_what_was_decided(self) -> None:
        """Where only one in ten answers differs in what is asked, the judge mistakes one in ten at most."""
        wins = np.full((2, 200), 0.5)
        wins[0, :20] = 1.0
        found = estimate(wins, np.zeros(200, dtype=int), used=np.ones(200, dtype=bool), judge_error=0.5)

        np.testing.assert_allclose(found.judge_error, [0.05, 0.0])
        assert pairwise_significance(found, list("ab")).compare("a", "b").apart
