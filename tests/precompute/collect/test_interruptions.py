"""Processes that are killed, and processes that do the same at the same time."""

import random
import time
from collections.abc import Iterator

import pytest

from crm.embedded.representation import NAME
from db import Database
from db.repositories import contents, representations
from db.repositories.benchmarks import find_benchmark
from tests.crm.backends.scripted_server import Answer
from tests.db.conftest import empty_url, postgres
from tests.precompute.collect import samples
from tests.precompute.collect.conftest import Lab, Start

__all__ = ["empty_url", "postgres"]  # fixtures

N_QUERIES = 40
LLMS = ("alpha", "beta")
CONCURRENCY = 3
KILLS = {"sqlite": 3, "postgresql": 2}


@pytest.fixture
def opened(empty_url: str) -> Iterator[Database]:
    database = Database.open(empty_url)
    samples.store(database, N_QUERIES)
    yield database
    database.close()


def slow_and_moody(asked: str, model: str, before: int) -> Answer:
    """Answers after a while; now and then only at the second time, or not to the end."""
    number = samples.number_of(asked)
    if number % 10 == 3 and before == 0:
        return Answer("oops", 500, delay=0.03)
    finish = "length" if number % 10 == 7 else "stop"
    content = f"<think>{number}</think>{model} on: {asked}"
    return Answer(samples.completion(content, finish=finish), delay=0.05)


def contents_of(database: Database) -> dict[str, object]:
    """Everything that the collection stored, but for when, how long it took, and in which order."""
    found: dict[str, object] = {}
    for llm in LLMS:
        records = samples.collected(database, llm)
        # An attempt before the kill may have failed in place of one after it.
        found[llm] = {name: (r.status, r.text, r.reasoning, r.settings_digest) for name, r in records.items()}
        with database.session() as session:
            benchmark = find_benchmark(session, samples.SLUG)
            found[f"texts of {llm}"] = contents.response_texts(session, benchmark, llm)
            arrays = representations.get_representation(session, benchmark, llm, NAME)
        assert arrays is not None
        found[f"arrays of {llm}"] = {name: array.tobytes() for name, array in arrays.items()}
    return found


def test_a_killed_collection_goes_on_where_it_was(bare: Lab, opened: Database, start: Start) -> None:
    script = bare.behave(slow_and_moody)
    llms = bare.llms(*LLMS, concurrency=CONCURRENCY)
    url = opened.engine.url.render_as_string(hide_password=False)
    chance = random.Random(4)
    kills = KILLS[opened.engine.dialect.name]
    for kill in range(kills):
        process = start(url, llms)
        moment = len(script.asked) + chance.randint(1, len(LLMS) * N_QUERIES // kills)
        while len(script.asked) < moment and process.poll() is None:
            time.sleep(0.01)
        assert process.poll() is None, f"ended before kill {kill}: {process.communicate()}"
        process.kill()
        process.wait()
    last = start(url, llms)
    out, err = last.communicate(timeout=60)
    assert (last.returncode, err) == (0, ""), out
    n_asked = len(script.asked)

    samples.store(bare.database, N_QUERIES)
    bare.behave(slow_and_moody)
    assert bare.run()[0] == 0
    assert contents_of(opened) == contents_of(bare.database)
    assert all(len(samples.collected(opened, llm)) == N_QUERIES for llm in LLMS)
    # Asked again is only what was under way, or came in during the last moment before a kill.
    retries = len(LLMS) * N_QUERIES // 10
    unstored = 0.5 / 0.05 * CONCURRENCY + 3 * CONCURRENCY
    assert n_asked <= len(LLMS) * N_QUERIES + retries + kills * unstored


def test_two_at_once_do_not_ask_twice(bare: Lab, opened: Database, start: Start) -> None:
    script = bare.behave(slow_and_moody)
    llms = bare.llms(*LLMS, concurrency=CONCURRENCY)
    url = opened.engine.url.render_as_string(hide_password=False)
    both = [start(url, llms), start(url, llms)]
    ends = [(process.communicate(timeout=60), process.returncode) for process in both]
    [first, second] = sorted(ends, key=lambda end: end[1])
    assert first[1] == 0, first
    if second[1] != 0:  # else the second began when the first had ended
        assert second == (
            (
                "",
                "error: Another process is collecting responses of alpha for 'mine'; "
                "run the command again when it is done.\n",
            ),
            2,
        )
    answered = [asked for asked in script.asked if samples.number_of(asked[0]) % 10 != 3]
    assert len(answered) == len(set(answered)) == len(LLMS) * N_QUERIES * 9 // 10
    assert all(len(samples.collected(opened, llm)) == N_QUERIES for llm in LLMS)


def test_an_interruption_keeps_what_came_in(bare: Lab, opened: Database, start: Start) -> None:
    import signal

    if opened.engine.dialect.name != "sqlite":
        pytest.skip("the same on every database")
    script = bare.behave(slow_and_moody)
    llms = bare.llms(*LLMS, concurrency=CONCURRENCY)
    process = start(opened.engine.url.render_as_string(hide_password=False), llms)
    while len(script.asked) < 20 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    stored = sum(len(samples.collected(opened, llm)) for llm in LLMS)
    assert (process.returncode, out) == (2, "")
    assert (
        err
        == f"error: Stopped after {stored:,} responses, which are kept: the same command continues there.\n"
    )
    assert stored > 10
