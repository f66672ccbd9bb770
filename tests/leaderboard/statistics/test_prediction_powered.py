"""Win rates corrected by votes: unbiased whatever the judge is worth, and never surely wrong at any time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import LeaderboardError
from leaderboard.statistics.prediction_powered import (
    DuelVotes,
    corrected_mean,
    corrected_win_rates,
    n_agreeing,
    trust_before_votes,
)

LLMS, STRATA = 4, 2
LIKES = np.random.default_rng(5).random((STRATA, LLMS, LLMS))
LIKES = (LIKES + 1 - LIKES.transpose(0, 2, 1)) / 2
"""How likely somebody prefers one LLM's answer to another's, on two kinds of questions."""
DRAWN, COUNTS = np.array([0.8, 0.2]), np.array([0.4, 0.6])
"""How often each kind is drawn, and how much it counts."""
OFF = ~np.eye(LLMS, dtype=bool)


def shares(likes: np.ndarray) -> np.ndarray:
    """The share of duels that each LLM wins, as kinds of questions count."""
    won = np.where(OFF, likes, 0).sum(axis=2) / (LLMS - 1)
    return np.asarray(COUNTS @ won)


TRUTH = shares(LIKES)


def voted(seed: int, n_votes: int) -> DuelVotes:
    """Votes of one person, whose judge learns from each vote what the next one is foretold by."""
    random = np.random.default_rng(seed)
    judge = np.full((STRATA, LLMS, LLMS), 0.5)
    pair = np.zeros((n_votes, 2), dtype=np.intp)
    outcome, forecast, ratio = np.zeros(n_votes), np.zeros(n_votes), np.zeros((n_votes, 2))
    expected = np.zeros((n_votes, LLMS))
    for vote in range(n_votes):
        kind = random.choice(STRATA, p=DRAWN)
        first, second = pair[vote] = random.permutation(LLMS)[:2]
        expected[vote], forecast[vote] = shares(judge), judge[kind, first, second]
        outcome[vote] = random.random() < LIKES[kind, first, second]
        ratio[vote] = COUNTS[kind] / DRAWN[kind]
        judge[kind, first, second] += (outcome[vote] - judge[kind, first, second]) / 2
        judge[kind, second, first] = 1 - judge[kind, first, second]
    return DuelVotes(pair, outcome, forecast, expected, ratio, np.full(LLMS, (COUNTS / DRAWN).max()))


PEOPLE = [voted(seed, 60) for seed in range(250)]


def mean_error(people: list[DuelVotes]) -> tuple[np.ndarray, np.ndarray]:
    """The mean error of the unbiased estimates, and its standard error, of each LLM."""
    errors = np.array([corrected_win_rates(votes, TRUTH).unbiased - TRUTH for votes in people])
    return errors.mean(axis=0), errors.std(axis=0) / np.sqrt(len(people))


def test_the_votes_are_unbiased_though_the_judge_learns_from_them() -> None:
    mean, error = mean_error(PEOPLE)

    assert (np.abs(mean) < 3 * error).all()
    assert error.max() < 0.015


def test_with_wrong_weights_they_are_not() -> None:
    mean, error = mean_error([replace(votes, ratio=np.ones_like(votes.ratio)) for votes in PEOPLE])

    assert (np.abs(mean) > 3 * error).any()


def covered(people: list[DuelVotes], n_votes: int) -> float:
    """The share of intervals that hold the truth after some votes."""
    inside = []
    for votes in people:
        found = corrected_win_rates(first_of(votes, n_votes), TRUTH)
        inside.append((found.low <= TRUTH) & (found.high >= TRUTH))
    return float(np.mean(inside))


def first_of(votes: DuelVotes, n_votes: int) -> DuelVotes:
    parts = {
        name: getattr(votes, name)[:n_votes] for name in ("pair", "outcome", "forecast", "expected", "ratio")
    }
    return replace(votes, **parts)


@pytest.mark.parametrize("n_votes", [12, 25, 50])
def test_intervals_hold_the_truth(n_votes: int) -> None:
    assert covered(PEOPLE[:80], n_votes) >= 0.95


STOPPERS = [
    (random.random(60) < 0.5).astype(float) for random in (np.random.default_rng(seed) for seed in range(300))
]


def test_they_do_so_for_somebody_who_stops_when_convinced() -> None:
    """The last interval holds all that were ever refuted outside it: its ends only close in."""
    held = []
    for outcome in STOPPERS:
        half = np.full(60, 0.5)
        trust = trust_before_votes(outcome, half)[:-1]
        found = corrected_mean(outcome, half, half, trust)
        held.append(found.low <= 0.5 <= found.high)

    assert np.mean(held) >= 0.95


def test_an_interval_for_one_number_of_votes_would_not() -> None:
    counts = np.arange(1, 61)
    held = []
    for outcome in STOPPERS:
        mean = np.cumsum(outcome) / counts
        error = np.sqrt(mean * (1 - mean) / counts)
        held.append((np.abs(mean - 0.5) <= 1.96 * error)[10:].all())

    assert np.mean(held) < 0.9


def test_a_judge_that_knows_makes_intervals_narrower_than_votes_alone() -> None:
    random = np.random.default_rng(0)
    outcome = (random.random(100) < 0.5).astype(float)
    forecast = np.where(random.random(100) < 0.95, outcome, 1 - outcome)
    half = np.full(100, 0.5)
    trust = trust_before_votes(outcome, forecast)[:-1]
    both, alone = (corrected_mean(outcome, forecast, half, each) for each in (trust, 0 * trust))

    assert both.high - both.low < 0.75 * (alone.high - alone.low)


def test_a_judge_that_is_wrong_is_not_trusted_and_costs_little() -> None:
    random = np.random.default_rng(1)
    outcome = (random.random(50) < 0.7).astype(float)
    wrong = 1 - outcome
    trust = trust_before_votes(outcome, wrong)
    misled, alone = (
        corrected_mean(outcome, wrong, np.full(50, 0.3), each) for each in (trust[:-1], np.zeros(50))
    )

    assert trust[-1] == 0
    assert misled.high - misled.low < 1.1 * (alone.high - alone.low)


def test_without_votes_nothing_is_known_and_the_judge_stands() -> None:
    nothing = first_of(PEOPLE[0], 0)
    judged = np.array([0.9, 0.6, 0.3, 0.2])
    found = corrected_win_rates(nothing, judged)

    assert found.low.tolist() == [0] * LLMS
    assert found.high.tolist() == [1] * LLMS
    assert np.argsort(-found.win_rate).tolist() == [0, 1, 2, 3]
    assert not found.apart


def test_votes_that_go_as_expected_change_no_place() -> None:
    votes = PEOPLE[0]
    judged = np.array([0.9, 0.6, 0.3, 0.2])
    ahead = judged[votes.pair[:, 0]] > judged[votes.pair[:, 1]]
    as_expected = replace(
        votes,
        outcome=ahead.astype(float),
        forecast=ahead.astype(float),
        expected=np.tile([1, 2 / 3, 1 / 3, 0], (60, 1)),
        ratio=np.ones((60, 2)),
        reach=np.ones(LLMS),
    )
    found = corrected_win_rates(as_expected, judged)

    assert np.argsort(-found.win_rate).tolist() == [0, 1, 2, 3]
    assert found.trust > 0.95
    assert n_agreeing(as_expected.outcome, as_expected.forecast) == 60


def test_many_votes_against_the_judge_turn_the_ranking() -> None:
    votes = PEOPLE[0]
    judged = np.array([0.9, 0.6, 0.3, 0.2])
    behind = (judged[votes.pair[:, 0]] < judged[votes.pair[:, 1]]).astype(float)
    against = replace(
        votes,
        outcome=behind,
        forecast=1 - behind,
        expected=np.tile([1, 2 / 3, 1 / 3, 0], (60, 1)),
        ratio=np.ones((60, 2)),
        reach=np.ones(LLMS),
    )
    found = corrected_win_rates(against, judged)

    assert np.argsort(-found.win_rate).tolist() == [3, 2, 1, 0]
    assert found.apart
    assert ((found.low <= found.win_rate) & (found.win_rate <= found.high)).all()


@given(
    st.lists(st.tuples(st.sampled_from([0, 0.5, 1]), st.floats(0, 1), st.floats(0, 1)), max_size=12),
)
def test_the_other_side_of_the_same_votes_is_the_mirror(rows: list[tuple[float, float, float]]) -> None:
    outcome, forecast, expected = np.array(rows, dtype=float).reshape(-1, 3).T
    trust = trust_before_votes(outcome, forecast)[:-1]
    here = corrected_mean(outcome, forecast, expected, trust)
    there = corrected_mean(1 - outcome, 1 - forecast, 1 - expected, trust)

    np.testing.assert_allclose(trust, trust_before_votes(1 - outcome, 1 - forecast)[:-1], rtol=0, atol=1e-12)
    assert (here.low, here.high) == pytest.approx((1 - there.high, 1 - there.low))
    assert np.isnan(here.estimate) if not rows else here.estimate == pytest.approx(1 - there.estimate)


def test_a_vote_that_counts_more_than_any_could_is_refused() -> None:
    one = np.ones(1)
    with pytest.raises(LeaderboardError, match="probability with which its pair was drawn"):
        corrected_mean(one, one, one, one, ratio=3 * one, reach=2.0)
