"""Arrays that are passed on an LLM at a time are those that would be held."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.embedded.representation import MISSING, NAME
from crm.errors import RepresentationMissingError
from crm.protocol import ReadByLLM
from db.records import LLMRecord
from db.repositories.benchmarks import find_benchmark
from db.repositories.contents import upsert_llms
from db.repositories.representations import get_representation, put_representation
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.service import Service
from leaderboard.stored_arrays import PassedOnArrays, Stack, StackedArrays
from leaderboard.view import Against, View
from tests.db import samples

NAMES = ["counts", "digest", "features", "passages", "style"]


@pytest.fixture(scope="module")
def once(bundled_file: Path) -> Iterator[Service]:
    """The bundled benchmarks, only to be read, for a process that ranks once."""
    opened = Service.open(f"sqlite:///{bundled_file}", ranks_once=True)
    yield opened
    opened.close()


def passed_on(benchmark: LoadedBenchmark) -> PassedOnArrays:
    """The benchmark's arrays, of which nothing is read yet."""
    stored = benchmark._read_representation(NAME)
    assert isinstance(stored, PassedOnArrays)
    return stored


def passed(stored: ReadByLLM, *names: str) -> dict[int, Mapping[str, NDArray[Any]]]:
    found: dict[int, Mapping[str, NDArray[Any]]] = {}
    stored.each(names, found.__setitem__)
    return found


def test_only_a_process_that_ranks_once_has_arrays_passed_on(once: Service, service: Service) -> None:
    assert isinstance(once.benchmark("dailybench").representation(NAME), ReadByLLM)
    held = service.benchmark("dailybench").representation(NAME)
    assert isinstance(held, StackedArrays)
    assert not isinstance(held, ReadByLLM)


def test_each_llm_has_the_rows_that_would_be_held(once: Service, service: Service) -> None:
    stored, held = (
        passed_on(once.benchmark("dailybench")),
        service.benchmark("dailybench").representation(NAME),
    )
    found = passed(stored, "features", "counts", "passages")

    assert stored.shape == held["digest"].shape
    assert sorted(found) == [*range(stored.shape[0])]
    for row, arrays in found.items():
        assert sorted(arrays) == ["counts", "digest", "features", "passages"]
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, held[name][row])
    assert list(stored) == list(held) == NAMES
    for name in NAMES:
        np.testing.assert_array_equal(stored[name], held[name])


def test_what_is_small_is_kept_and_not_read_again(once: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[frozenset[str]] = []
    read_each = LoadedBenchmark._read_each

    def noting(self: LoadedBenchmark, name: str, keys: frozenset[str], take: Any) -> None:
        read.append(keys)
        read_each(self, name, keys, take)

    monkeypatch.setattr(LoadedBenchmark, "_read_each", noting)
    stored = passed_on(once.benchmark("dailybench"))
    passed(stored, "features", "counts")
    passed(stored, "features", "counts")
    assert stored["counts"].any()
    assert (stored["digest"] != MISSING).any()
    passed(stored, "counts")
    assert read == [frozenset(("features", "counts", "digest")), frozenset(("features", "digest"))]


def test_rows_that_were_computed_again_meanwhile_are_as_if_they_were_not_there(own_service: Service) -> None:
    benchmark = LoadedBenchmark(
        own_service.database, own_service.benchmark("dailybench").record, ranks_once=True
    )
    stored, llm = passed_on(benchmark), benchmark.llms[1]
    assert stored["digest"].any()
    with own_service.database.session() as session:
        found = find_benchmark(session, "dailybench")
        arrays = get_representation(session, found, llm, NAME)
        assert arrays is not None
        arrays["digest"][3] += np.uint64(1)
        put_representation(session, found, llm, NAME, arrays)
    row = passed(stored, "features", "counts")[1]
    for name in ("features", "counts"):
        assert (row[name][3] == 0).all()
        np.testing.assert_array_equal(row[name][4], arrays[name][4])
    assert (stored["counts"][1, 3] == 0).all()


def test_llms_without_arrays_are_left_out_and_missing_queries_are_zero(own_service: Service) -> None:
    with own_service.database.session() as session:
        found = find_benchmark(session, "dailybench")
        upsert_llms(session, found, [LLMRecord("unread", "Unread"), LLMRecord("short", "Short")])
        arrays = get_representation(session, found, own_service.benchmark("dailybench").llms[0], NAME)
        assert arrays is not None
        put_representation(session, found, "short", NAME, {key: array[:9] for key, array in arrays.items()})
    benchmark = LoadedBenchmark(
        own_service.database, own_service.benchmark("dailybench").record, ranks_once=True
    )
    rows = passed(stored := passed_on(benchmark), "features")

    assert benchmark.llms.index("unread") not in rows
    assert (stored["digest"][benchmark.llms.index("unread")] == MISSING).all()
    short = rows[benchmark.llms.index("short")]
    np.testing.assert_array_equal(short["features"][:9], arrays["features"][:9])
    assert short["features"].shape == arrays["features"].shape
    assert not short["features"][9:].any()
    assert (short["digest"][9:] == MISSING).all()


def test_nothing_stored_is_told_with_the_command_that_makes_it(own_service: Service) -> None:
    with own_service.database.session() as session:
        samples.store(session)
    benchmark = LoadedBenchmark(
        own_service.database, own_service.benchmark(samples.SLUG).record, ranks_once=True
    )
    assert not isinstance(benchmark.representation("style-1"), ReadByLLM)  # without digests
    with pytest.raises(RepresentationMissingError, match="precompute embed --benchmark tiny"):
        benchmark.representation(NAME)


@pytest.mark.parametrize("against", Against)
@pytest.mark.parametrize(
    "criteria",
    [[], ["concise and direct"], ["names specific landmarks"], ["no emojis", "warm", "tells a story"]],
)
def test_rankings_are_the_same(
    once: Service, service: Service, criteria: list[str], against: Against
) -> None:
    view = View("dailybench", criteria=CriteriaSet.of(criteria), keep_unjudged=True, against=against)
    found, expected = (one.leaderboard(view) for one in (once, service))

    assert found.ranking.llms == expected.ranking.llms
    for name in ("rank", "rank_low", "rank_high", "n_queries"):
        np.testing.assert_array_equal(getattr(found.ranking, name), getattr(expected.ranking, name))
    for name in ("win_rate", "ci_low", "ci_high", "category_win_rate"):
        np.testing.assert_allclose(getattr(found.ranking, name), getattr(expected.ranking, name), atol=1e-6)
    assert [amount.by_llm for amount in found.amounts] == [amount.by_llm for amount in expected.amounts]
    np.testing.assert_array_equal(found.changes, expected.changes)


def test_rows_of_a_stack_that_nobody_fills_are_zero() -> None:
    stack = Stack((2, 3))
    stack.put(1, {"phi": np.ones((2, 4), np.int8)})
    assert stack.arrays["phi"].tolist() == [[[0] * 4] * 3, [[1] * 4, [1] * 4, [0] * 4]]
