"""Ratings of LLMs as targets of the default ranking ∅: duels on the queries that both answered."""

from dataclasses import replace

import numpy as np
import pytest

from crm.protocol import Floats
from crm.training.duels import ELO, Duels
from crm.training.general import GeneralData, GeneralOptions, fit_general, leave_duels_out

LLMS, QUERIES, SIZE = 12, 60, 6
TASTE = np.array([1.0, -0.5, 0.0, 0.0, 0.0, 0.0], dtype=np.float32)
OWN = np.random.default_rng(1).normal(size=(LLMS, SIZE)) * 0.7
RATING = OWN @ TASTE / ELO + 1300


@pytest.fixture(scope="module")
def duels() -> Duels:
    """LLMs whose responses differ by what people like, each of whom answered two thirds of the queries."""
    rng = np.random.default_rng(0)
    present = rng.random((LLMS, QUERIES)) < 2 / 3
    llm, query = np.nonzero(present)
    features = (OWN[llm] + rng.normal(size=(len(llm), SIZE)) * 0.3).astype(np.float32)
    return Duels.between(features, llm, query, np.zeros(QUERIES, dtype=np.int64), RATING[:, None])


def data_of(duels: Duels | None) -> GeneralData:
    """Nothing but duels."""
    none = np.empty(0, dtype=np.float32)
    return GeneralData((), none.reshape(0, SIZE), none.astype(np.intp), none, none, none, duels=duels)


def foretold(duels: Duels, direction: Floats) -> Floats:
    return np.array([duels.foretold(direction, llm, RATING) for llm in range(LLMS)])


def cosine(direction: Floats) -> float:
    return float(direction @ TASTE / np.linalg.norm(direction) / np.linalg.norm(TASTE))


def test_a_pair_has_the_responses_to_the_queries_that_both_answered() -> None:
    features = np.arange(44, dtype=np.float32).reshape(22, 2)
    llm = np.repeat([0, 1, 2], [10, 9, 3])
    query = np.concatenate([np.arange(10), np.arange(9), np.arange(3)])
    kind = np.zeros(10, dtype=np.int64)
    found = Duels.between(features, llm, query, kind, np.array([[1400.0], [1300.0], [1200.0]]))

    assert found.llms.tolist() == [[0, 1]]
    assert (found.first.tolist(), found.second.tolist()) == (list(range(9)), list(range(10, 19)))
    assert found.target == pytest.approx([1 / (1 + 10 ** (-100 / 400))])


def test_an_llm_that_is_not_rated_on_a_kind_has_no_pairs_there() -> None:
    llm, query = (np.tile(np.arange(n), m) for n, m in ((2, 20), (20, 2)))
    llm = np.repeat([0, 1], 20)
    kind = np.repeat([0, 1], 10)
    rating = np.array([[1400.0, 1300.0], [np.nan, 1200.0]])
    found = Duels.between(np.zeros((40, 2), dtype=np.float32), llm, query, kind, rating)

    assert found.apart.tolist() == [100.0]
    assert found.first.tolist() == list(range(10, 20))


def test_ratings_alone_teach_the_direction(duels: Duels) -> None:
    fitted = fit_general(data_of(duels), GeneralOptions(penalty=1e-3))

    assert cosine(fitted) > 0.95
    assert foretold(duels, fitted) == pytest.approx(RATING, abs=25)


def test_a_rating_that_is_left_out_teaches_nothing_and_is_foretold(duels: Duels) -> None:
    off = replace(duels, apart=np.where((duels.llms == 3).any(axis=1), 900.0, duels.apart))

    np.testing.assert_allclose(
        fit_general(data_of(off.without(3))), fit_general(data_of(duels.without(3))), atol=1e-6
    )
    found = leave_duels_out(data_of(duels), RATING, GeneralOptions(penalty=1e-2))
    assert np.abs(found - RATING).mean() < 0.5 * np.abs(foretold(duels, 0 * TASTE) - RATING).mean()
    own_is_not_looked_at = np.where(np.arange(LLMS) == 3, np.nan, RATING)
    assert duels.foretold(TASTE, 3, own_is_not_looked_at) == duels.foretold(TASTE, 3, RATING)


def test_without_duels_nothing_is_foretold() -> None:
    assert np.isnan(leave_duels_out(data_of(None), RATING)).all()
