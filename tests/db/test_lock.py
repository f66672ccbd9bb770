import threading

import pytest

from db import DatabaseBusyError
from db.engine import create_database_engine
from db.lock import exclusive


def test_a_second_holder_waits_and_gives_up(empty_url):
    first, second = create_database_engine(empty_url), create_database_engine(empty_url)
    with (
        exclusive(first),
        pytest.raises(DatabaseBusyError, match=r"^Another process has been setting up"),
        exclusive(second, wait=0.1),
    ):
        pass
    first.dispose()
    second.dispose()


def test_the_lock_is_freed_when_the_holder_fails(empty_url):
    engine = create_database_engine(empty_url)
    with pytest.raises(RuntimeError), exclusive(engine):
        raise RuntimeError
    with exclusive(engine, wait=0.5):
        pass
    engine.dispose()


def test_threads_hold_it_one_after_another(empty_url):
    engine = create_database_engine(empty_url)
    inside: list[int] = []
    most: list[int] = []

    def hold() -> None:
        with exclusive(engine):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]
    engine.dispose()
