from dataclasses import replace

import numpy as np
import pytest

from crm.errors import RepresentationMissingError, TextsMissingError
from crm.protocol import Pair, ScoreBlock
from db import BenchmarkInfo
from db.repositories import benchmarks, contents, texts
from leaderboard.contest import StoredContest
from leaderboard.errors import NothingToRankError
from leaderboard.judging.remaining import RemainingContest
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


def store_responses(service: Service, responses: dict[str, dict[str, str]]) -> StoredContest:
    """A benchmark of the samples' queries with only these responses."""
    with service.database.session() as session:
        benchmarks.upsert_benchmark(session, replace(samples.INFO, text_import_command=None))
        contents.upsert_llms(session, samples.SLUG, samples.LLMS)
        benchmarks.set_baseline(session, samples.SLUG, "base")
        contents.upsert_queries(session, samples.SLUG, samples.queries())
        for llm, given in responses.items():
            texts.set_responses(session, samples.SLUG, llm, given)
    return service.contest(samples.SLUG)


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ({"zeta": {"q1": "a"}}, "The responses of base in Tiny are not stored here: import them."),
        ({"base": {"q1": "a"}}, "The responses of zeta in Tiny are not stored here: import them."),
        ({}, "The texts of Tiny are not stored here: import them."),
        (
            {"base": {"q1": "a"}, "zeta": {"q2": "b"}},
            "zeta and the baseline base have answered no query of Tiny in common: "
            "import more of their responses.",
        ),
    ],
    ids=["baseline", "LLM", "all", "none in common"],
)
def test_what_leaves_nothing_to_judge_is_named(
    own_service: Service, responses: dict[str, dict[str, str]], message: str
) -> None:
    contest = store_responses(own_service, responses)

    assert not contest.answered.any()
    for ask in (lambda: contest.pairs("zeta"), contest.check_texts):
        with pytest.raises(TextsMissingError) as refused:
            ask()
        assert str(refused.value) == message


def test_one_llm_without_responses_keeps_nobody_from_judging_the_others(own_service: Service) -> None:
    contest = store_responses(own_service, {"base": {"q1": "a", "q2": "a"}, "zeta": {"q2": "b"}})

    contest.check_texts()
    assert contest.answered.tolist() == [[True, False, False], [False] * 3]


class TestRemaining:
    def test_only_what_is_still_to_be_judged_is_seen(self, contest: StoredContest) -> None:
        remaining = RemainingContest(contest, np.array([[True, False, False], [True, False, True]]))

        assert remaining.llms == ("zeta", "alpha")
        assert remaining.n_queries == 2
        assert remaining.topic_index.tolist() == [0, 2]
        assert remaining.pairs("zeta") == [contest.pairs("zeta")[0], None]
        assert remaining.pairs("alpha") == [contest.pairs("alpha")[0], contest.pairs("alpha")[2]]

    def test_llms_of_which_all_is_judged_are_left_out(self, contest: StoredContest) -> None:
        remaining = RemainingContest(contest, np.array([[False, False, False], [False, True, False]]))

        assert remaining.llms == ("alpha",)
        assert remaining.pairs("alpha") == [contest.pairs("alpha")[1]]
        stored = remaining.representation("style-1")["phi"]
        np.testing.assert_array_equal(stored[:, 0], contest.representation("style-1")["phi"][1:, 1])

    def test_a_block_of_it_lies_in_the_whole(self, contest: StoredContest) -> None:
        remaining = RemainingContest(contest, np.array([[False, False, False], [False, True, True]]))
        block = ScoreBlock(np.array([0]), np.array([1]), np.array([[0.5]], dtype=np.float32))
        whole = remaining.of_whole(block)

        assert (whole.llms.tolist(), whole.queries.tolist()) == ([1], [2])
        assert whole.prob is block.prob


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
