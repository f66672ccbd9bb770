import hmac
import logging
import pickle
import threading
from collections import Counter
from contextlib import suppress
from time import sleep

import pytest

from leaderboard.errors import AdminError, AdminThrottledError, AdminTokenError, AdminUnavailableError
from leaderboard.yours import admin
from leaderboard.yours.admin import OF_EVERYONE, TOKEN_VARIABLE, AdminGate
from tests.leaderboard.yours.test_throttle import Clock

TOKEN = "correct horse battery staple"


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
        assert isinstance(refused(gate, attempt, attempt), AdminTokenError)


def test_it_is_read_from_the_environment() -> None:
    AdminGate.from_environment({TOKEN_VARIABLE: f"{TOKEN}\n"}).admit("s", TOKEN)
    assert not AdminGate.from_environment({}).is_enabled


@pytest.mark.parametrize("token", [None, "", " \n"])
def test_without_a_token_nothing_opens_and_it_says_how_to_set_one(token: str | None) -> None:
    gate = AdminGate(token)
    assert not gate.is_enabled
    for attempt in ("", " \n", "anything"):
        error = refused(gate, attempt=attempt)
        assert isinstance(error, AdminUnavailableError)
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
        assert isinstance(refused(gate), AdminTokenError)
        error = refused(gate)
        if isinstance(error, AdminThrottledError):
            waits.append(error.seconds)
            clock.now += error.seconds
    assert waits == [1, 2, 4, 8, 16]


def test_the_token_is_not_looked_at_before_the_wait_is_over(gate: AdminGate, clock: Clock) -> None:
    for _ in range(3):
        refused(gate)
    assert str(refused(gate, attempt=TOKEN)) == "Too many wrong tokens: try again in 1 second."
    clock.now += 0.5
    assert isinstance(refused(gate, attempt=TOKEN), AdminThrottledError)
    clock.now += 0.5
    gate.admit("s", TOKEN)
    assert isinstance(refused(gate), AdminTokenError)  # a success ends what the session had to wait


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
        if isinstance(error, AdminThrottledError):
            clock.now += error.seconds
        else:
            n_guesses += 1
        if clock.now - start > 86_400:
            break
    assert OF_EVERYONE.free < n_guesses < 1460


def test_who_knows_the_token_is_not_locked_out_by_others_for_long(gate: AdminGate, clock: Clock) -> None:
    for session in range(500):
        error = refused(gate, f"session {session}")
        clock.now += error.seconds if isinstance(error, AdminThrottledError) else 0
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
        with suppress(AdminTokenError):
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
    outcomes: Counter[type] = Counter()
    lock = threading.Lock()

    def guess() -> None:
        start.wait()
        for _ in range(20):
            error = refused(gate, "one session")
            with lock:
                outcomes[type(error)] += 1

    threads = [threading.Thread(target=guess) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {AdminTokenError: 3, AdminThrottledError: 317}
