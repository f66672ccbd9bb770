"""Work beside other work."""

import threading

import pytest

from crm.processors import beside


def test_one_at_a_time_has_another_thread_and_the_others_work_when_they_are_waited_for() -> None:
    here = threading.get_ident()
    with beside() as start, beside() as start_too:
        first, second = start(threading.get_ident), start_too(threading.get_ident)
        assert first() != here
        assert second() == here
    with beside() as start:
        assert start(threading.get_ident)() != here


def test_its_errors_are_raised_where_it_is_waited_for() -> None:
    def fail() -> int:
        raise ValueError("no")

    with beside() as start, beside() as start_too:
        for waits in (start(fail), start_too(fail)):
            with pytest.raises(ValueError, match="no"):
                waits()
    with beside() as start:
        assert start(threading.get_ident)() != threading.get_ident()
