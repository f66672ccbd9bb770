"""Margins moved so that LLMs come out as people rate them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from leaderboard.statistics.anchoring import ELO, FEWEST, anchored
from leaderboard.statistics.bradley_terry import bradley_terry
from leaderboard.statistics.duels import Margins

LLMS, QUERIES, CATEGORIES = 24, 240, 4
CATEGORY = np.repeat(np.arange(CATEGORIES), QUERIES // CATEGORIES)
RATING = np.random.default_rng(5).normal(1300, 70, LLMS)


@pytest.fixture(scope="module")
def margins() -> Margins:
    """Those of a judge that knows little of the ratings; half of the responses are missing."""
    random = np.random.default_rng(3)
    own = random.normal(0, 0.5, (LLMS, 1)) + 0.3 * (RATING[:, None] - 1300) * ELO
    asked = own + random.normal(0, 1, (LLMS, QUERIES))
    return Margins(np.where(random.random(asked.shape) < 0.5, asked, np.nan).astype(np.float32))


def strengths(margins: Margins) -> NDArray[np.float64]:
    everything = np.ones(QUERIES, dtype=np.bool_)
    compared = margins.present.any(axis=1)
    return bradley_terry(margins, CATEGORY, CATEGORY, used=everything, compared=compared, soft=True).strength


def moved(margins: Margins, rating: NDArray[np.float64]) -> Margins:
    return anchored(margins, CATEGORY, CATEGORY, CATEGORIES, rating)


def test_strengths_come_out_as_rated(margins: Margins) -> None:
    found = strengths(moved(margins, RATING))

    assert found == pytest.approx((RATING - RATING.mean()) * ELO, abs=0.02)


def test_an_llm_is_moved_on_all_queries_alike(margins: Margins) -> None:
    shift = moved(margins, RATING).asked - margins.asked

    np.testing.assert_allclose(np.nanmax(shift, axis=1), np.nanmin(shift, axis=1), atol=1e-5)
    assert np.array_equal(np.isnan(shift), np.isnan(margins.asked))


def test_only_margins_on_the_queries_asked_for_are_moved(margins: Margins) -> None:
    first = CATEGORY < 2
    found = anchored(margins, CATEGORY, CATEGORY, CATEGORIES, RATING, used=first)

    np.testing.assert_array_equal(found.asked[:, ~first], margins.asked[:, ~first])
    strength = bradley_terry(
        found, CATEGORY, CATEGORY, used=first, compared=found.present.any(axis=1), soft=True
    ).strength
    assert strength == pytest.approx((RATING - RATING.mean()) * ELO, abs=0.02)


def test_an_llm_without_a_rating_is_placed_by_the_judge_as_far_as_the_judge_knows(margins: Margins) -> None:
    unrated = np.arange(LLMS) % 6 == 0
    by_judge, found = strengths(margins), strengths(moved(margins, np.where(unrated, np.nan, RATING)))

    assert np.ptp(found[unrated]) < np.ptp(by_judge[unrated])
    assert list(np.argsort(found[unrated])) == list(np.argsort(by_judge[unrated]))
    assert found[~unrated].min() - 0.02 <= found[unrated].min()


def test_a_judge_that_runs_against_the_ratings_says_nothing_of_who_is_not_rated(margins: Margins) -> None:
    against = replace(margins, asked=-margins.asked - 2 * np.float32(ELO) * (RATING[:, None] - 1300))
    unrated = np.arange(LLMS) % 6 == 0
    found = strengths(moved(against, np.where(unrated, np.nan, RATING)))

    assert np.ptp(found[unrated]) < 0.03


def test_few_ratings_move_nothing(margins: Margins) -> None:
    few = np.where(np.arange(LLMS) < FEWEST - 1, RATING, np.nan)

    assert moved(margins, few) is margins


def test_who_cannot_be_compared_stays(margins: Margins) -> None:
    asked = margins.asked.copy()
    asked[2] = np.nan
    found = moved(replace(margins, asked=asked), RATING)

    assert np.isnan(found.asked[2]).all()
    assert np.isfinite(strengths(found)[np.arange(LLMS) != 2]).all()
