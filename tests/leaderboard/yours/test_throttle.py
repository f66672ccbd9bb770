import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.yours.throttle import Backoff, Throttle

BACKOFF = Backoff(free=2, first=1.0, longest=60.0, forget=600.0)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def throttle(clock: Clock) -> Throttle:
    return Throttle(BACKOFF, clock)


def fail(throttle: Throttle, times: int, key: str = "me") -> None:
    for _ in range(times):
        throttle.fail(key)


def test_the_first_failures_are_free_and_each_further_one_doubles_the_wait(throttle: Throttle) -> None:
    waits = []
    for _ in range(10):
        throttle.fail("me")
        waits.append(throttle.wait("me"))
    assert waits == [0, 0, 1, 2, 4, 8, 16, 32, 60, 60]


def test_the_wait_passes(throttle: Throttle, clock: Clock) -> None:
    fail(throttle, 5)
    clock.now += 1.5
    assert throttle.wait("me") == 2.5
    clock.now += 2.5
    assert throttle.wait("me") == 0


def test_keys_do_not_wait_for_each_other(throttle: Throttle) -> None:
    fail(throttle, 5)
    assert throttle.wait("you") == 0


def test_a_success_or_a_long_time_forgets(throttle: Throttle, clock: Clock) -> None:
    fail(throttle, 9)
    throttle.succeed("me")
    assert throttle.wait("me") == 0
    fail(throttle, 2, "you")
    clock.now += 599
    throttle.fail("you")
    assert throttle.wait("you") == 1
    clock.now += 600
    throttle.fail("you")
    assert throttle.wait("you") == 0


def test_keys_that_never_come_again_take_no_memory(throttle: Throttle, clock: Clock) -> None:
    for session in range(1000):
        clock.now += 10
        throttle.fail(session)
    assert len(throttle) <= 60


@given(st.integers(0, 10_000))
def test_waits_grow_and_end(failures: int) -> None:
    assert 0 <= BACKOFF.wait(failures) <= BACKOFF.wait(failures + 1) <= BACKOFF.longest
