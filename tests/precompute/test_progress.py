"""Progress where standard error is no terminal: a line every few seconds."""

from time import sleep

import pytest

from leaderboard.scoring_jobs import progress
from precompute.progress import progress_bar, stage_line

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that a test makes pass."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "_CLOCK", progress._LogClock())
    monkeypatch.setattr(progress, "_LOG_SECONDS", 5.0)
    return now


def lines(capsys: Capture) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_line_is_written_every_few_seconds(seconds: list[float], capsys: Capture) -> None:
    with progress_bar("Embedding gpt") as update:
        for done in range(1, 13):
            seconds[0] += 1
            update(1000 * done, 12_000)
    assert lines(capsys) == ["Embedding gpt: 5,000 of 12,000", "Embedding gpt: 10,000 of 12,000"]


def test_short_jobs_in_a_row_are_told_of_as_one(seconds: list[float], capsys: Capture) -> None:
    for llm in range(1, 8):
        with progress_bar(f"Embedding llm-{llm}") as update:
            seconds[0] += 1
            update(9, 9)
    assert lines(capsys) == ["Embedding llm-5: 9 of 9"]


def test_what_is_over_at_once_says_nothing(seconds: list[float], capsys: Capture) -> None:
    for _ in range(3):
        with progress_bar("Storing responses") as update:
            update(1, 1)
        seconds[0] += 60
    assert lines(capsys) == []


def test_stages_without_an_amount_are_named(seconds: list[float], capsys: Capture) -> None:
    with stage_line() as update:
        seconds[0] += 6
        update("Finding topics", 0, 0)
    assert lines(capsys) == ["Finding topics"]


def test_the_line_is_repeated_while_nothing_changes(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(progress, "_LOG_SECONDS", 0.02)
    monkeypatch.setattr(progress, "_IDLE_SECONDS", 0.02)
    said: list[str] = []
    with stage_line() as update:
        update("Finding topics", 0, 0)
        for _ in range(500):
            sleep(0.02)
            said += lines(capsys)
            if len(said) > 2:
                break
    assert said[:3] == ["Finding topics"] * 3
