"""Pages are drawn in turn."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic

import pytest

from pages._ui.turns import Turns

PATIENCE = 10.0


@dataclass
class Run:
    """A run of a page that ends when it is told to."""

    begun: threading.Event
    told_to_end: threading.Event

    def end(self) -> None:
        self.told_to_end.set()


def start(turns: Turns, pool: ThreadPoolExecutor) -> Run:
    """Have a run wait for its turn; it has come into the line when this returns."""
    run = Run(threading.Event(), threading.Event())

    def go() -> None:
        with turns.turn():
            run.begun.set()
            assert run.told_to_end.wait(PATIENCE)

    before = turns.n_waiting
    pool.submit(go)
    until = monotonic() + PATIENCE
    while turns.n_waiting == before and not run.begun.wait(0.001):
        assert monotonic() < until
    return run


@pytest.fixture
def pool():
    with ThreadPoolExecutor(8) as threads:
        yield threads


def test_runs_begin_as_they_came_so_many_at_a_time(pool):
    turns = Turns(at_once=2, longest=PATIENCE)
    runs = [start(turns, pool) for _ in range(5)]
    for number, run in enumerate(runs):
        assert run.begun.wait(PATIENCE)
        assert not any(later.begun.is_set() for later in runs[number + 2 :])
        run.end()


def test_a_run_that_takes_long_lets_the_next_one_begin_beside_it(pool):
    turns = Turns(at_once=1, longest=0.05)
    long, *others = [start(turns, pool) for _ in range(3)]
    assert all(other.begun.wait(PATIENCE) for other in others)
    assert not long.told_to_end.is_set()
    for run in (long, *others):
        run.end()


def test_a_run_that_fails_gives_its_turn_back():
    turns = Turns(at_once=1, longest=PATIENCE)
    with pytest.raises(RuntimeError, match="stopped"), turns.turn():
        raise RuntimeError("stopped")
    with turns.turn() as waited:
        assert waited < PATIENCE


def test_one_hears_how_long_one_has_waited(pool):
    now = 100.0
    turns = Turns(at_once=1, longest=PATIENCE, clock=lambda: now)
    first = start(turns, pool)
    heard = []

    def go() -> None:
        with turns.turn() as waited:
            heard.append(waited)

    second = pool.submit(go)
    until = monotonic() + PATIENCE
    while not turns.n_waiting:
        assert monotonic() < until
    now = 101.5
    first.end()
    second.result(PATIENCE)
    assert heard == [1.5]
