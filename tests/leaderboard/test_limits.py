"""What a visitor, and all of them, may make the server do."""

import threading
from dataclasses import fields

import pytest

from leaderboard.errors import BusyError, LeaderboardError
from leaderboard.limits import HourlyAllowance, Limits, Line, in_time, variable
from tests.judges import wait_until


def test_every_limit_is_a_variable_of_its_name() -> None:
    given = {variable(field.name): str(number) for number, field in enumerate(fields(Limits), start=1)}
    assert "USL_UPLOAD_LLMS" in given
    limits = Limits.from_environment(given)
    assert [getattr(limits, field.name) for field in fields(limits)] == list(range(1, len(given) + 1))
    assert Limits.from_environment({}) == Limits()
    assert Limits.from_environment(dict.fromkeys(given, " ")) == Limits()


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "٣", "9" * 5_000])
def test_a_limit_that_is_no_number_is_named(text: str) -> None:
    with pytest.raises(LeaderboardError, match=r"USL_CRITIQUES is '.*': give a whole number from 1 up"):
        Limits.from_environment({"USL_CRITIQUES": text})


def test_a_line_serves_one_at_a_time_in_order_and_tells_the_others_their_place() -> None:
    line, served, places = Line(), [], {"second": [], "third": []}

    def come(name: str) -> None:
        with line.turn(9, places[name].append):
            served.append(name)

    with line.turn(9):
        waiting = []
        for name, told in places.items():
            waiting.append(threading.Thread(target=come, args=(name,), daemon=True))
            waiting[-1].start()
            wait_until(told.copy)
        assert (places["second"][0], places["third"][0], served) == (1, 2, [])
    for thread in waiting:
        thread.join(20)
    assert served == ["second", "third"]


def test_whoever_leaves_a_line_makes_room_and_a_full_one_takes_nobody() -> None:
    line = Line()

    def leave(_: int) -> None:
        raise KeyError("the page was closed")

    with line.turn(1):
        with pytest.raises(KeyError), line.turn(1, leave):
            pass
        blocked = threading.Thread(target=lambda: line.turn(1).__enter__(), daemon=True)
        blocked.start()
        wait_until(lambda: line._waiting)
        with pytest.raises(BusyError, match="1 files wait"), line.turn(1):
            pass
    blocked.join(20)
    assert not blocked.is_alive()


def test_one_who_fails_in_their_turn_does_not_hold_up_the_line() -> None:
    line = Line()
    with pytest.raises(KeyError), line.turn(1):
        raise KeyError
    with line.turn(1):
        pass


def test_an_hour_allows_so_many_requests_and_the_next_hour_again() -> None:
    now = 0.0
    allowance = HourlyAllowance(lambda: now)
    allowance.take(2)
    now = 1_800.0
    allowance.take(2)
    with pytest.raises(BusyError, match="try again in 31 minutes"):
        allowance.take(2)
    now = 3_600.0
    allowance.take(2)
    with pytest.raises(BusyError):
        allowance.take(2)


def test_reading_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USL_READING_MINUTES", "2")
    now, told = 0.0, []
    tell = in_time(lambda done, total: told.append((done, total)), lambda: now)
    now = 120.0
    tell(1, 9)
    now = 120.1
    with pytest.raises(LeaderboardError, match="more than 2 minutes and was stopped at 2 of 9 texts"):
        tell(2, 9)
    assert told == [(1, 9)]
