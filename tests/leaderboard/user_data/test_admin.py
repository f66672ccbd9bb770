"""Benchmarks of one's own, imported and deleted as the browser does it."""

import hmac
import logging
import os
import pickle
import sys
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.errors import NotFoundError
from leaderboard.errors import AdminError, LeaderboardError
from leaderboard.service import Service
from leaderboard.user_data import admin
from leaderboard.user_data.admin import (
    OF_EVERYONE,
    TOKEN_VARIABLE,
    WRONG_TOKEN,
    AdminGate,
    Backoff,
    Throttle,
    delete_benchmark,
    import_table,
    own_benchmarks,
)
from leaderboard.view import View

TOKEN = "correct horse battery staple"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(clock: Clock) -> AdminGate:
    return AdminGate(TOKEN, clock=clock)


def refused(gate: AdminGate, session: str = "s", attempt: str = "wrong") -> AdminError:
    with pytest.raises(AdminError) as raised:
        gate.admit(session, attempt)
    return raised.value


def test_whoever_knows_the_token_is_admitted_and_nobody_else(gate: AdminGate) -> None:
    gate.admit("s", TOKEN)
    gate.admit("s", f" {TOKEN}\n")
    for attempt in ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\x00", "half \ud83d", "ä" * 10_000):
        assert str(refused(gate, attempt, attempt)) == WRONG_TOKEN


def test_it_is_read_from_the_environment() -> None:
    AdminGate.from_environment({TOKEN_VARIABLE: f"{TOKEN}\n"}).admit("s", TOKEN)
    assert not AdminGate.from_environment({}).is_enabled


@pytest.mark.parametrize("token", [None, "", " \n"])
def test_without_a_token_nothing_opens_and_it_says_how_to_set_one(token: str | None) -> None:
    gate = AdminGate(token)
    assert not gate.is_enabled
    for attempt in ("", " \n", "anything"):
        error = refused(gate, attempt=attempt)
        assert TOKEN_VARIABLE in str(error)
        assert str(error) == gate.unavailable


def test_a_token_that_could_be_guessed_is_as_good_as_none() -> None:
    gate = AdminGate("short secret")
    error = refused(gate, attempt="short secret")
    assert "too short" in str(error)
    assert "short secret" not in str(error)
    assert AdminGate("sixteen letters.").is_enabled


def test_a_session_waits_twice_as_long_each_time(gate: AdminGate, clock: Clock) -> None:
    waits = []
    for _ in range(6):
        assert str(refused(gate)) == WRONG_TOKEN
        error = refused(gate)
        if error.seconds:
            waits.append(error.seconds)
            clock.now += error.seconds
    assert waits == [1, 2, 4, 8, 16]


def test_the_token_is_not_looked_at_before_the_wait_is_over(gate: AdminGate, clock: Clock) -> None:
    for _ in range(3):
        refused(gate)
    assert str(refused(gate, attempt=TOKEN)) == "Too many wrong tokens: try again in 1 second."
    clock.now += 0.5
    assert "Too many wrong tokens" in str(refused(gate, attempt=TOKEN))
    clock.now += 0.5
    gate.admit("s", TOKEN)
    assert str(refused(gate)) == WRONG_TOKEN  # a success ends what the session had to wait


def test_attempts_while_waiting_do_not_make_it_longer(gate: AdminGate, clock: Clock) -> None:
    for _ in range(3):
        refused(gate)
    for _ in range(100):
        refused(gate)
    clock.now += 1
    gate.admit("s", TOKEN)


def test_a_new_session_for_every_guess_does_not_help(gate: AdminGate, clock: Clock) -> None:
    """A day of guesses in new sessions: a few at once, then one a minute."""
    n_guesses, start = 0, clock.now
    for session in range(20_000):
        error = refused(gate, f"session {session}")
        if error.seconds:
            clock.now += error.seconds
        else:
            n_guesses += 1
        if clock.now - start > 86_400:
            break
    assert OF_EVERYONE.free < n_guesses < 1460


def test_who_knows_the_token_is_not_locked_out_by_others_for_long(gate: AdminGate, clock: Clock) -> None:
    for session in range(500):
        error = refused(gate, f"session {session}")
        clock.now += error.seconds
    refused(gate, "another")
    clock.now += OF_EVERYONE.longest
    gate.admit("administrator", TOKEN)


def test_every_attempt_is_compared_whole_in_constant_time(
    gate: AdminGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []
    really = hmac.compare_digest

    def compare_digest(left: bytes, right: bytes) -> bool:
        compared.append((len(left), len(right)))
        return really(left, right)

    monkeypatch.setattr(admin.hmac, "compare_digest", compare_digest)
    attempts = ("", "x", TOKEN[:5], TOKEN, TOKEN * 1000)
    for attempt in attempts:
        with suppress(AdminError):
            gate.admit(attempt, attempt)
    assert compared == [(32, 32)] * len(attempts)


def test_the_token_is_neither_kept_shown_nor_logged(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    gate = AdminGate(TOKEN)
    gate.admit("s", TOKEN)
    errors = [refused(gate, attempt="a wrong secret") for _ in range(4)]
    kept = [getattr(gate, name) for name in AdminGate.__slots__]
    seen = " ".join(map(repr, [gate, *kept, *errors])) + " ".join(map(str, errors)) + caplog.text
    seen += "".join(capsys.readouterr())
    assert TOKEN not in seen
    assert "a wrong secret" not in seen
    with pytest.raises(TypeError):
        pickle.dumps(gate)


def test_of_guesses_at_once_no_more_are_looked_at_than_one_after_another(
    gate: AdminGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compare_slowly(left: bytes, right: bytes) -> bool:
        sleep(0.01)  # the other threads' moment
        return left == right

    monkeypatch.setattr(admin.hmac, "compare_digest", compare_slowly)
    start = threading.Barrier(16)
    outcomes: Counter[bool] = Counter()
    lock = threading.Lock()

    def guess() -> None:
        start.wait()
        for _ in range(20):
            error = refused(gate, "one session")
            with lock:
                outcomes[error.seconds > 0] += 1

    threads = [threading.Thread(target=guess) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {False: 3, True: 317}


BACKOFF = Backoff(free=2, first=1.0, longest=60.0, forget=600.0)


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


TABLE = """query,topic,llm,response
Which soup?,Soup,alpha,Tomato soup.
Which soup?,Soup,beta,"Onion soup, hot and brown, with bread."
Which bread?,Bread,alpha,Rye.
Which bread?,Bread,beta,A sourdough loaf that was baked this morning.
"""


def test_a_table_becomes_a_benchmark_that_is_ready_to_rank_and_can_be_deleted(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USL_ADMIN_TOKEN", "a token that nobody guesses")
    database = own_service.database
    said = import_table(
        database, TABLE.encode(), "answers.csv", "mine", baseline="beta", title="--mine, it is"
    )

    assert said.startswith("mine: 2 queries, 2 LLMs, baseline beta; responses: 4 imported")
    assert own_benchmarks(database) == {"mine": "--mine, it is"}
    assert own_service.leaderboard(View("mine")).ranking.llms == ("alpha",)

    delete_benchmark(database, "mine")
    assert own_benchmarks(database) == {}
    with pytest.raises(NotFoundError, match="no benchmark 'mine'"):
        delete_benchmark(database, "mine")


@pytest.mark.parametrize(
    ("content", "file", "slug", "message"),
    [
        (TABLE, "answers.exe", "mine", "none of the files that can be imported: csv, jsonl, parquet"),
        ("query,llm\nx,y\n", "answers.csv", "mine", "^answers.csv, row 1: the column 'topic' is missing"),
        (TABLE, "answers.csv", "not a slug", "not a slug"),
        (TABLE, "answers.csv", "--help", "--help"),
    ],
)
def test_what_cannot_be_imported_is_refused_in_the_words_of_the_command(
    own_service: Service, content: str, file: str, slug: str, message: str
) -> None:
    with pytest.raises(LeaderboardError, match=message) as raised:
        import_table(own_service.database, content.encode(), file, slug)
    assert "/" not in str(raised.value)
    assert own_benchmarks(own_service.database) == {}


TELLING = """import sys, time
print("done")
for line in ("Storing responses: 1 of 2", "Embedding alpha: 3 of 9"):
    print(line, file=sys.stderr, flush=True)
time.sleep({seconds})
"""


def test_what_an_import_says_is_told_while_it_runs(tmp_path: Path) -> None:
    told: list[str] = []
    output = tmp_path / "output.txt"
    status, said = admin._run([sys.executable, "-c", TELLING.format(seconds=0)], {}, output, told.append)
    assert status == 0
    assert told == said == ["Storing responses: 1 of 2", "Embedding alpha: 3 of 9"]
    assert output.read_text() == "done\n"


def test_what_a_killed_server_left_of_an_import_is_removed_after_a_while(
    own_service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    left, recent, other = (temporary / name for name in ("usl-import-left", "usl-import-recent", "other"))
    for folder in (left, recent, other):
        folder.mkdir(parents=True)
        (folder / "table.csv").write_text("query,llm,response", encoding="utf-8")
    for folder in (left, other):
        os.utime(folder, (time() - 8000,) * 2)

    with pytest.raises(LeaderboardError):
        import_table(own_service.database, b"query,llm", "t.csv", "mine")

    assert sorted(folder.name for folder in temporary.iterdir()) == ["other", "usl-import-recent"]


def test_an_import_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    def leave(_: str) -> None:
        raise KeyboardInterrupt

    begun = monotonic()
    with pytest.raises(KeyboardInterrupt):
        admin._run([sys.executable, "-c", TELLING.format(seconds=300)], {}, tmp_path / "output.txt", leave)
    assert monotonic() - begun < 200


def test_an_import_that_is_left_while_it_embeds_leaves_nothing(own_service: Service) -> None:
    rows = [
        f"Question {number}?,Mine,{llm},Answer {number} of {llm}: {'a few words ' * 20}\n"
        for llm in ("alpha", "beta")
        for number in range(1000)
    ]
    content = "query,topic,llm,response\n" + "".join(rows)

    def leave(said: str) -> None:
        if said.startswith("Embedding"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_table(own_service.database, content.encode(), "t.csv", "mine", on_progress=leave)
    assert own_benchmarks(own_service.database) == {}


def test_an_import_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "_MAX_IMPORT", 0.2)
    command = [sys.executable, "-c", TELLING.format(seconds=300)]
    with pytest.raises(LeaderboardError, match="more than an hour and was stopped"):
        admin._run(command, {}, tmp_path / "output.txt", lambda _: None)


def test_a_bundled_benchmark_is_not_deleted(own_service: Service) -> None:
    with pytest.raises(LeaderboardError, match="'dailybench' is bundled"):
        delete_benchmark(own_service.database, "dailybench")
    assert len(own_service.benchmark("dailybench").record.queries) == 522
