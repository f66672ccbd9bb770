"""Ratings foretold from how LLMs answer, where the truth is known."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from leaderboard.statistics.anchoring import FEWEST
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.foretelling import with_foretold

LLMS, QUERIES, FEATURES = 60, 200, 10
EVERYTHING = np.ones(QUERIES, dtype=np.bool_)
UNRATED = np.arange(LLMS) % 4 == 0
RANDOM = np.random.default_rng(2)
STYLE = RANDOM.normal(0, 6, (LLMS, FEATURES))
RATING = 1300 + STYLE @ RANDOM.normal(0, 2, FEATURES)
GIVEN = np.where(UNRATED, np.nan, RATING)
PRESENT = RANDOM.random((LLMS, QUERIES)) < 0.4
ANSWERS = np.clip(STYLE[:, None] + RANDOM.normal(0, 25, (LLMS, QUERIES, FEATURES)), -127, 127).astype(np.int8)


def margins(informed: float = 0.0) -> Margins:
    """Those of a judge that knows the ratings so well."""
    own = informed * (RATING - 1300)[:, None] / 60 + np.random.default_rng(4).normal(0, 1, (LLMS, QUERIES))
    return Margins(np.where(PRESENT, own, np.nan))


def foretold(given: NDArray[np.float64] = GIVEN, by_judge: Margins | None = None) -> NDArray[np.float64]:
    return with_foretold(given, ANSWERS, by_judge or margins(), EVERYTHING)


def agreement(found: NDArray[np.float64]) -> float:
    return float(spearmanr(found[UNRATED], RATING[UNRATED])[0])


def test_who_answers_alike_is_foretold_to_be_rated_alike() -> None:
    found = foretold()

    np.testing.assert_array_equal(found[~UNRATED], RATING[~UNRATED])
    assert agreement(found) > 0.8


def test_what_the_judge_knows_is_used_first() -> None:
    flat = np.zeros_like(ANSWERS)
    knowing, ignorant = (with_foretold(GIVEN, flat, margins(known), EVERYTHING) for known in (1.0, 0.0))

    assert agreement(knowing) > 0.9 > agreement(ignorant)


def test_what_is_known_of_llms_helps_those_of_whom_it_is_known() -> None:
    size = (RATING - 1300) / 7 + np.random.default_rng(5).normal(0, 0.3, LLMS)
    half = np.arange(LLMS) % 8 == 0
    everywhere = with_foretold(GIVEN, ANSWERS, margins(), EVERYTHING, size[:, None])
    partly = with_foretold(GIVEN, ANSWERS, margins(), EVERYTHING, np.where(half, np.nan, size)[:, None])
    missed = np.abs(partly - RATING)

    assert agreement(everywhere) > max(0.97, agreement(foretold()))
    assert missed[UNRATED & ~half].mean() < 0.5 * missed[half].mean()
    np.testing.assert_array_equal(everywhere[~UNRATED], RATING[~UNRATED])


def test_what_is_known_of_few_rated_llms_or_alike_of_all_is_not_looked_at() -> None:
    few = np.where(UNRATED | (np.cumsum(~UNRATED) < FEWEST), RATING, np.nan)
    known = np.stack([few, np.full(LLMS, 70.0), np.full(LLMS, np.nan)], axis=1)

    np.testing.assert_array_equal(with_foretold(GIVEN, ANSWERS, margins(), EVERYTHING, known), foretold())


def test_of_whom_nothing_is_known_the_mean_is_taken() -> None:
    size = np.where(UNRATED, np.nan, (RATING - 1300) / 7)
    mean = np.where(UNRATED, np.nanmean(size), size)
    unknown, typical = (
        with_foretold(GIVEN, ANSWERS, margins(), EVERYTHING, known[:, None]) for known in (size, mean)
    )

    np.testing.assert_allclose(unknown, typical)


@pytest.mark.parametrize("known", [None, (RATING - 1300)[:, None] / 7])
def test_a_judge_that_runs_against_is_not_believed_beside_facts(known: NDArray[np.float64] | None) -> None:
    against, silent = (
        with_foretold(GIVEN, ANSWERS, by_judge, EVERYTHING, known)
        for by_judge in (margins(-1.0), Margins(np.where(PRESENT, 0.0, np.nan)))
    )

    np.testing.assert_allclose(against, silent, rtol=1e-5)


def test_a_judge_that_runs_against_the_ratings_is_not_believed() -> None:
    against = foretold(by_judge=margins(-1.0))

    np.testing.assert_allclose(against, foretold(by_judge=Margins(np.where(PRESENT, 0.0, np.nan))))


def test_missing_responses_are_not_looked_at() -> None:
    filled = np.where(PRESENT[..., None], ANSWERS, np.int8(99))

    np.testing.assert_allclose(with_foretold(GIVEN, filled, margins(), EVERYTHING), foretold(), rtol=1e-6)


def test_only_the_queries_in_use_count() -> None:
    first = np.arange(QUERIES) < QUERIES // 2
    elsewhere = np.where(first[:, None], ANSWERS, -ANSWERS)
    found = with_foretold(GIVEN, elsewhere, margins(), first)

    np.testing.assert_allclose(found, with_foretold(GIVEN, ANSWERS, margins(), first), rtol=1e-6)


def test_nothing_is_foretold_outside_the_ratings_given() -> None:
    extreme = np.abs(RATING - RATING.mean()) > RATING.std()
    found = foretold(np.where(extreme, np.nan, RATING))

    assert found.min() == RATING[~extreme].min()
    assert found.max() == RATING[~extreme].max()


@pytest.mark.parametrize("n_rated", [0, FEWEST - 1])
def test_from_few_ratings_nothing_is_foretold(n_rated: int) -> None:
    few = np.where(np.arange(LLMS) < n_rated, RATING, np.nan)

    np.testing.assert_array_equal(foretold(few), few)


def test_who_shares_no_queries_with_rated_llms_stays_unknown() -> None:
    asked = np.where(np.arange(LLMS)[:, None] == 0, np.nan, margins().asked)
    found = foretold(by_judge=Margins(asked))

    assert np.isnan(found[0])
    assert np.isfinite(found[1:]).all()
