from dataclasses import replace

import numpy as np
import pytest

from crm.embedded.representation import NAME
from crm.errors import CRMError, RepresentationMissingError
from crm.protocol import Pair, ScoreBlock
from db.records import BenchmarkInfo, LLMRecord
from db.repositories import benchmarks, contents
from db.repositories.benchmarks import find_benchmark
from db.repositories.representations import get_representation, put_representation
from leaderboard.benchmark import LoadedBenchmark, style_counts
from leaderboard.errors import LeaderboardError
from leaderboard.scoring_jobs.task import RemainingBenchmark
from leaderboard.service import Service
from tests.db import samples


@pytest.fixture
def benchmark(own_service: Service) -> LoadedBenchmark:
    """The small benchmark of the database's tests, texts included."""
    with own_service.database.session() as session:
        samples.store(session)
    return own_service.benchmark(samples.SLUG)


def test_the_baseline_is_no_contender(benchmark: LoadedBenchmark) -> None:
    assert benchmark.baseline == "base"
    assert benchmark.llms == ("zeta", "alpha")
    assert benchmark.n_queries == 3


def test_queries_are_indexed_by_topic_and_by_category_in_display_order(benchmark: LoadedBenchmark) -> None:
    assert [query.topic for query in benchmark.record.queries] == ["Cooking", "Mail", "Garden"]
    assert benchmark.topic_index.tolist() == [0, 1, 2]
    assert benchmark.category_names == ("Home", "Work")
    assert benchmark.category_index.tolist() == [0, 1, 0]


def test_pairs_set_the_llm_against_the_baseline(benchmark: LoadedBenchmark) -> None:
    pairs = benchmark.pairs("alpha")

    assert pairs[0] == Pair("How do I boil an egg?", "alpha answers q2", "base answers q2")
    assert len(pairs) == 3


def test_a_representation_has_the_baseline_in_its_last_row_and_is_read_once(
    benchmark: LoadedBenchmark,
) -> None:
    stored = benchmark.representation("style-1")

    assert stored["phi"].shape == (3, 3, 4)
    for row, place_in_samples in enumerate((1, 2, 0)):
        np.testing.assert_array_equal(stored["phi"][row], samples.arrays(place_in_samples)["phi"])
    assert benchmark.representation("style-1") is stored


def test_an_absent_representation_is_refused_with_the_command_that_makes_it(
    benchmark: LoadedBenchmark,
) -> None:
    with pytest.raises(RepresentationMissingError, match=r"“python -m precompute embed --benchmark tiny”"):
        benchmark.representation("style-2")


def test_absent_texts_are_refused_with_the_command_that_imports_them(service: Service) -> None:
    benchmark = service.benchmark("alpaca-eval")
    with pytest.raises(CRMError) as refused:
        benchmark.pairs(benchmark.llms[0])

    assert "AlpacaEval, LLMs of 2023 and 2024" in str(refused.value)
    assert str(benchmark.record.info.text_import_command) in str(refused.value)
    assert "python -m precompute import alpaca-eval" in str(refused.value)


def store_responses(service: Service, responses: dict[str, dict[str, str]]) -> LoadedBenchmark:
    """A benchmark of the samples' queries with only these responses."""
    with service.database.session() as session:
        benchmark = benchmarks.upsert_benchmark(session, replace(samples.INFO, text_import_command=None))
        contents.upsert_llms(session, benchmark, samples.LLMS)
        benchmarks.set_baseline(session, benchmark, "base")
        contents.upsert_queries(session, benchmark, samples.queries())
        for llm, given in responses.items():
            contents.set_responses(session, benchmark, llm, given)
    return service.benchmark(samples.SLUG)


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
    benchmark = store_responses(own_service, responses)

    assert not benchmark.answered.any()
    for ask in (lambda: benchmark.pairs("zeta"), benchmark.check_texts):
        with pytest.raises(CRMError) as refused:
            ask()
        assert str(refused.value) == message


def test_one_llm_without_responses_keeps_nobody_from_judging_the_others(own_service: Service) -> None:
    benchmark = store_responses(own_service, {"base": {"q1": "a", "q2": "a"}, "zeta": {"q2": "b"}})

    benchmark.check_texts()
    assert benchmark.answered.tolist() == [[True, False, False], [False] * 3]


class TestRemaining:
    def test_only_what_is_still_to_be_judged_is_seen(self, benchmark: LoadedBenchmark) -> None:
        remaining = RemainingBenchmark(benchmark, np.array([[True, False, False], [True, False, True]]))

        assert remaining.llms == ("zeta", "alpha")
        assert remaining.n_queries == 2
        assert remaining.topic_index.tolist() == [0, 2]
        assert remaining.pairs("zeta") == [benchmark.pairs("zeta")[0], None]
        assert remaining.pairs("alpha") == [benchmark.pairs("alpha")[0], benchmark.pairs("alpha")[2]]

    def test_llms_of_which_all_is_judged_are_left_out(self, benchmark: LoadedBenchmark) -> None:
        remaining = RemainingBenchmark(benchmark, np.array([[False, False, False], [False, True, False]]))

        assert remaining.llms == ("alpha",)
        assert remaining.pairs("alpha") == [benchmark.pairs("alpha")[1]]
        stored = remaining.representation("style-1")["phi"]
        np.testing.assert_array_equal(stored[:, 0], benchmark.representation("style-1")["phi"][1:, 1])

    def test_a_block_of_it_lies_in_the_whole(self, benchmark: LoadedBenchmark) -> None:
        remaining = RemainingBenchmark(benchmark, np.array([[False, False, False], [False, True, True]]))
        block = ScoreBlock(np.array([0]), np.array([1]), np.array([[0.5]], dtype=np.float32))
        whole = remaining.of_whole(block)

        assert (whole.llms.tolist(), whole.queries.tolist()) == ([1], [2])
        assert whole.prob is block.prob


def test_without_a_baseline_there_is_nothing_to_pair_with(own_service: Service) -> None:
    with own_service.database.session() as session:
        samples.store(session)
        benchmarks.set_baseline(session, benchmarks.find_benchmark(session, samples.SLUG), None)
    with pytest.raises(LeaderboardError, match="'tiny' has no baseline"):
        own_service.benchmark(samples.SLUG).pairs("alpha")


def test_an_empty_benchmark_has_nothing_to_rank(own_service: Service) -> None:
    with own_service.database.session() as session:
        benchmarks.upsert_benchmark(session, BenchmarkInfo("empty", "Empty"))
    with pytest.raises(LeaderboardError, match="'empty' has no LLM to rank"):
        own_service.benchmark("empty").llms  # noqa: B018


TEXT = "# Soup\n\n1. **Cut** onions\n2. Fry\n- salt\n\n**Serve** hot"


def test_representations_hold_the_counts_and_the_baseline_comes_last(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    counts = style_counts(benchmark)
    mean = dict(zip((*benchmark.llms, benchmark.baseline), counts.length.mean(axis=1), strict=True))
    lists = dict(zip((*benchmark.llms, benchmark.baseline), counts.lists.mean(axis=1), strict=True))

    assert counts.present.all()
    assert counts.length.shape == (8, 522)
    assert min(mean, key=mean.__getitem__) == "brevia"
    assert max(mean, key=mean.__getitem__) == "scholia"
    assert max(lists, key=lists.__getitem__) == "stepwise"


def test_texts_are_counted_where_no_representation_is_stored(own_service: Service) -> None:
    with own_service.database.session() as session:
        samples.store(session)
        stored = benchmarks.find_benchmark(session, samples.SLUG)
        contents.set_responses(session, stored, "zeta", {"q1": TEXT})
        contents.upsert_llms(session, stored, [LLMRecord("silent", "Silent")])
    benchmark = own_service.benchmark(samples.SLUG)
    counts = style_counts(benchmark)
    zeta, silent = benchmark.llms.index("zeta"), benchmark.llms.index("silent")
    q1 = [query.external_id for query in benchmark.record.queries].index("q1")

    assert (counts.length[zeta, q1], counts.lists[zeta, q1]) == (9, 3)
    assert (counts.headings[zeta, q1], counts.bold[zeta, q1]) == (1, 2)
    assert counts.length[-1, q1] == len(["base", "answers", "q1"])
    assert counts.present[zeta].all()
    assert not counts.present[silent].any()


def test_where_neither_is_stored_the_message_says_what_to_do(own_service: Service) -> None:
    with own_service.database.session() as session:
        benchmark = benchmarks.upsert_benchmark(session, samples.INFO)
        contents.upsert_categories(session, benchmark, samples.TREE)
        contents.upsert_llms(session, benchmark, samples.LLMS)
        benchmarks.set_baseline(session, benchmark, "base")
        contents.upsert_queries(session, benchmark, samples.queries(with_text=False))

    with pytest.raises(LeaderboardError, match="precompute embed --benchmark tiny"):
        style_counts(own_service.benchmark(samples.SLUG))


def test_what_not_every_ranking_needs_is_read_when_it_is_asked_for(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = own_service.benchmark("dailybench")
    read: list[frozenset[str]] = []
    stacked = LoadedBenchmark._stacked

    def noting(self: LoadedBenchmark, name: str, keys: frozenset[str]) -> object:
        read.append(keys)
        return stacked(self, name, keys)

    monkeypatch.setattr(LoadedBenchmark, "_stacked", noting)
    stored = benchmark.representation(NAME)
    assert read == [frozenset(("features", "digest"))]
    assert sorted(stored) == ["counts", "digest", "features", "passages", "style"]

    style = stored["style"]
    assert stored["style"] is style
    assert read[1:] == [frozenset(("style", "digest"))]
    with own_service.database.session() as session:
        whole = get_representation(session, find_benchmark(session, "dailybench"), benchmark.llms[2], NAME)
    assert whole is not None
    for key, array in whole.items():
        np.testing.assert_array_equal(stored[key][2], array)
    with pytest.raises(KeyError):
        stored["nothing"]


def test_rows_that_were_computed_again_meanwhile_are_as_if_they_were_not_there(own_service: Service) -> None:
    benchmark = own_service.benchmark("dailybench")
    stored, llm = benchmark.representation(NAME), benchmark.llms[1]
    with own_service.database.session() as session:
        found = find_benchmark(session, "dailybench")
        arrays = get_representation(session, found, llm, NAME)
        assert arrays is not None
        arrays["digest"][3] += np.uint64(1)
        arrays["counts"][3] += 1
        put_representation(session, found, llm, NAME, arrays)
    assert (stored["counts"][1, 3] == 0).all()
    np.testing.assert_array_equal(stored["counts"][1, 4], arrays["counts"][4])
