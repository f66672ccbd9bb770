"""Results kept in memory: computed once for all who want the same, and bounded."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Barrier, Event

import numpy as np
import pytest
from numpy.typing import NDArray

from leaderboard.cache import SharedCache, bytes_of

MANY = 8


def test_who_wants_what_another_one_computes_waits_for_it() -> None:
    kept: SharedCache[object] = SharedCache(4)
    begun, together, computed = Event(), Barrier(MANY), []

    def compute() -> object:
        computed.append(1)
        begun.wait(5)
        return object()

    def ask() -> object:
        together.wait(5)
        return kept.get("key", compute)

    with ThreadPoolExecutor(MANY) as pool:
        asked = [pool.submit(ask) for _ in range(MANY)]
        begun.set()
        found = {id(one.result(5)) for one in asked}

    assert len(found) == len(computed) == 1
    figures = kept.figures()
    assert (figures.hits, figures.misses, figures.kept) == (MANY - 1, 1, 1)


def test_after_a_failure_the_next_one_computes_it() -> None:
    kept: SharedCache[int] = SharedCache(4)
    failed, together = Event(), Barrier(2)

    def fail() -> int:
        together.wait(5)
        failed.wait(5)
        raise ValueError("no")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.get, "key", fail)
        together.wait(5)
        second = pool.submit(kept.get, "key", lambda: 7)
        failed.set()
        with pytest.raises(ValueError, match="no"):
            first.result(5)
        assert second.result(5) == 7


def test_large_results_are_bounded_by_their_bytes() -> None:
    kept: SharedCache[NDArray[np.uint8]] = SharedCache(1000, bytes_of)
    for number in range(10):
        kept.get(number, lambda: np.zeros(300, dtype=np.uint8))
    assert kept.figures().kept == 3
    assert 9 in kept
    assert 0 not in kept

    assert kept.get("larger than all", lambda: np.zeros(2000, dtype=np.uint8)).nbytes == 2000
    assert "larger than all" not in kept
    assert kept.figures().kept == 3


def test_a_few_are_kept_however_large_they_are() -> None:
    kept: SharedCache[NDArray[np.uint8]] = SharedCache(1000, bytes_of, least=2)
    for number in range(5):
        kept.get(number, lambda: np.zeros(5000, dtype=np.uint8))
    assert [number in kept for number in range(5)] == [False, False, False, True, True]


def test_what_grows_while_it_is_used_is_measured_anew() -> None:
    kept: SharedCache[list[NDArray[np.uint8]]] = SharedCache(1000, bytes_of, grows=True)
    first, second = ([np.zeros(300, dtype=np.uint8)] for _ in range(2))
    for name, value in (("first", first), ("second", second)):
        kept.get(name, lambda value=value: value)
    assert kept.figures().size == 600

    second.append(np.zeros(600, dtype=np.uint8))
    assert kept.get("second", list) is second
    assert ("first" in kept, "second" in kept, kept.figures().size) == (False, True, 900)
    second.append(np.zeros(600, dtype=np.uint8))
    assert kept.get("second", list) is second
    assert kept.figures().kept == 0  # it has become larger than all that may be kept


def test_what_has_grown_is_noticed_when_others_come() -> None:
    kept: SharedCache[list[NDArray[np.uint8]]] = SharedCache(1000, bytes_of, grows=True)
    values = [[np.zeros(100, dtype=np.uint8)] for _ in range(4)]
    for number, value in enumerate(values[:3]):
        kept.get(number, lambda value=value: value)
    values[1].append(np.zeros(700, dtype=np.uint8))
    kept.get(3, lambda: values[3])

    assert [number in kept for number in range(4)] == [False, True, True, True]
    assert kept.figures().size == 1000


def test_figures_tell_the_true_size_of_what_is_kept_however_large() -> None:
    kept: SharedCache[NDArray[np.uint8]] = SharedCache(1000, bytes_of, least=1, grows=True)
    kept.get("large", lambda: np.zeros(5000, dtype=np.uint8))
    assert kept.get("large", lambda: np.zeros(1, dtype=np.uint8)).nbytes == kept.figures().size == 5000


def test_bytes_are_those_of_all_arrays_in_it() -> None:
    @dataclass
    class Holds:
        one: NDArray[np.float64]
        others: dict[str, NDArray[np.uint8]]
        name: str = "name"

    one, other = np.zeros(3), np.zeros(5, dtype=np.uint8)
    assert bytes_of((Holds(one, {"a": other, "b": other}), [other], None)) == 24 + 15


def test_bytes_are_also_those_of_what_was_worked_out() -> None:
    @dataclass(frozen=True)
    class WorksOut:
        one: NDArray[np.float64]

        @cached_property
        def twice(self) -> NDArray[np.float64]:
            return np.concatenate([self.one, self.one])

    value = WorksOut(np.zeros(3))
    assert bytes_of(value) == 24
    assert len(value.twice) == 6
    assert bytes_of(value) == 24 + 48
