import numpy as np
import pytest

from crm.errors import RepresentationMissingError, TextsMissingError
from crm.protocol import Pair
from db import BenchmarkInfo
from db.repositories import benchmarks
from leaderboard.contest import StoredContest
from leaderboard.errors import NothingToRankError
from leaderboard.service import Service
from tests.db import samples


@pytest.fixture
def contest(own_service: Service) -> StoredContest:
    """The small benchmark of the database's tests, texts included."""
    with own_service.database.session() as session:
        samples.store(session)
    return own_service.contest(samples.SLUG)


def test_the_baseline_is_no_contender(contest: StoredContest) -> None:
    assert contest.baseline == "base"
    assert contest.llms == ("zeta", "alpha")
    assert contest.n_queries == 3


def test_queries_are_indexed_by_topic_and_by_category_in_display_order(contest: StoredContest) -> None:
    assert [query.topic for query in contest.record.queries] == ["Cooking", "Mail", "Garden"]
    assert contest.topic_index.tolist() == [0, 1, 2]
    assert contest.category_names == ("Home", "Work")
    assert contest.category_index.tolist() == [0, 1, 0]


def test_pairs_set_the_llm_against_the_baseline(contest: StoredContest) -> None:
    pairs = contest.pairs("alpha")

    assert pairs[0] == Pair("How do I boil an egg?", "alpha answers q2", "base answers q2")
    assert len(pairs) == 3


def test_a_representation_has_the_baseline_in_its_last_row_and_is_read_once(contest: StoredContest) -> None:
    stored = contest.representation("style-1")

    assert stored["phi"].shape == (3, 3, 4)
    for row, place_in_samples in enumerate((1, 2, 0)):
        np.testing.assert_array_equal(stored["phi"][row], samples.arrays(place_in_samples)["phi"])
    assert contest.representation("style-1") is stored


def test_an_absent_representation_is_refused_with_the_command_that_makes_it(contest: StoredContest) -> None:
    with pytest.raises(RepresentationMissingError, match=r"“python -m precompute embed --benchmark tiny”"):
        contest.representation("style-2")


def test_absent_texts_are_refused_with_the_command_that_imports_them(service: Service) -> None:
    contest = service.contest("alpaca-eval")
    with pytest.raises(TextsMissingError) as refused:
        contest.pairs(contest.llms[0])

    assert "AlpacaEval, real LLMs" in str(refused.value)
    assert str(contest.record.info.text_import_command) in str(refused.value)
    assert "python -m precompute import alpaca-eval" in str(refused.value)


def test_a_benchmark_without_a_baseline_has_nothing_to_rank(own_service: Service) -> None:
    with own_service.database.session() as session:
        samples.store(session)
        benchmarks.set_baseline(session, samples.SLUG, None)
    with pytest.raises(NothingToRankError, match="'tiny' has no baseline"):
        own_service.contest(samples.SLUG).pairs("alpha")


def test_an_empty_benchmark_has_nothing_to_rank(own_service: Service) -> None:
    with own_service.database.session() as session:
        benchmarks.upsert_benchmark(session, BenchmarkInfo("empty", "Empty"))
    with pytest.raises(NothingToRankError, match="'empty' has no LLM beside its baseline"):
        own_service.contest("empty").llms  # noqa: B018
