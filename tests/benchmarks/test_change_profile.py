"""What py-spy saw is counted for the part of the app that was at work."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.change_profile import (
    ANSWER,
    FOR_CALLER,
    MODELS,
    ORDER,
    OTHER,
    PAGE,
    PARTS,
    SCORING,
    STATISTICS,
    STREAMLIT,
    TABLE,
    TIMES_COLLECTIONS,
    Profile,
)
from benchmarks.first_paint import PROJECT_ROOT

_LIBRARIES = f"{PROJECT_ROOT}/.venv/lib/python3.11/site-packages"
_APP = f"Page.run ({_LIBRARIES}/streamlit/navigation/page.py:9);main ({PROJECT_ROOT}/pages/leaderboard.py:3)"
_ANSWER = f"{_APP};complete ({PROJECT_ROOT}/pages/_ui/answer.py:5)"
_CACHE = f"get ({PROJECT_ROOT}/leaderboard/cache.py:1)"


_COLLECTS = """
import gc, os, struct
gc.disable()
def taken():
    with open(os.environ["COLLECTED_SECONDS_FILE"], "rb") as file:
        return struct.unpack("d", file.read())[0]
print(taken(), [[] for _ in range(100_000)] and taken())
gc.collect()
print(taken())
"""


def _own(file: str, function: str = "made") -> str:
    return f"{function} ({PROJECT_ROOT}/{file}:7)"


@pytest.mark.parametrize(
    ("stack", "part", "file"),
    [
        (f"{_ANSWER};{_own('crm/embedded/minilm.py')}", MODELS, "crm/embedded/minilm.py"),
        (f"{_ANSWER};{_own('crm/embedded/model.py')};{_own('crm/embedded/projection.py')}", SCORING, None),
        (
            f"{_ANSWER};{_own('leaderboard/statistics/duels.py')};_sum (/x/numpy/_methods.py:1)",
            STATISTICS,
            None,
        ),
        (f"{_ANSWER};{_CACHE}", ANSWER, "pages/_ui/answer.py"),
        (
            f"{_APP};{_own('leaderboard/render/tables.py')};{_own('leaderboard/render/html.py')};"
            f"root ({_LIBRARIES}/jinja2/environment.py:1)",
            TABLE,
            "leaderboard/render/tables.py",
        ),
        (
            f"{_ANSWER};html ({_LIBRARIES}/streamlit/elements/html.py:2)",
            STREAMLIT,
            "streamlit/elements/html.py",
        ),
        ("run (/usr/lib/python3.11/asyncio/events.py:80)", OTHER, "asyncio/events.py"),
    ],
)
def test_the_innermost_part_is_at_work(stack: str, part: str, file: str | None) -> None:
    profile = Profile.of([f"{stack} 3\n", f"{stack} 2"])

    assert profile.looks == 5
    assert list(profile.parts) == [part]
    assert file is None or profile.parts[part] == {file: 5}


def test_who_calls_is_reached_too_and_once() -> None:
    twice = f"{_ANSWER};{_own('leaderboard/answer.py')};{_own('leaderboard/statistics/duels.py')}"
    profile = Profile.of([f"{twice} 4"])

    assert profile.reached == {STREAMLIT: 4, PAGE: 4, ANSWER: 4, STATISTICS: 4}


def test_threads_that_wait_are_left_out() -> None:
    library = "/usr/lib/python3.11"
    turn = f"{_APP};Turns.turn ({PROJECT_ROOT}/pages/_ui/turns.py:4)"
    waits = (
        f"{turn};Condition.wait ({library}/threading.py:3) 9",
        f"run ({library}/asyncio/base_events.py:1);EpollSelector.select ({library}/selectors.py:4) 9",
        f"_worker ({library}/concurrent/futures/thread.py:81) 9",
    )
    assert Profile.of([*waits, f"{_ANSWER} 1"]).looks == 1


def test_rows_are_shares_of_a_changes_time() -> None:
    rows = list(Profile.of([f"{_ANSWER} 1", f"{_ANSWER};{_own('crm/embedded/minilm.py')} 3"]).rows(0.4))

    assert [row[0] for row in rows] == list(ORDER)
    assert rows[0][1:] == ("75.0 %", "300 ms", "75.0 %", "crm/embedded/minilm.py 75.0 %")
    assert rows[ORDER.index(ANSWER)][1:4] == ("25.0 %", "100 ms", "100.0 %")


def test_parts_are_of_files_that_there_are() -> None:
    begins = [begin for names in PARTS.values() for begin in names]
    assert [begin for begin in (*begins, *FOR_CALLER) if not any(PROJECT_ROOT.glob(f"{begin}*"))] == []
    assert set(PARTS) == set(ORDER) - {STREAMLIT, OTHER}


def test_collections_are_timed_where_they_happen(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(TIMES_COLLECTIONS, encoding="utf-8")
    taken = tmp_path / "taken"
    taken.write_bytes(bytes(8))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "COLLECTED_SECONDS_FILE": str(taken)}
    done = subprocess.run([sys.executable, "-c", _COLLECTS], env=environment, check=True, capture_output=True)
    before, without, after = map(float, done.stdout.split())

    assert before == without < after
    assert struct.unpack("d", taken.read_bytes())[0] >= after
