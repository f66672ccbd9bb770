"""Scoring processes that are killed, and that do the same at the same time."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crm.criteria import CriteriaSet
from crm.registry import get_crm
from db import Database
from db.repositories.benchmarks import find_benchmark
from db.repositories.scores import delete_win_rates, put_win_rates
from precompute import score
from precompute.score import score_benchmark
from tests.db.conftest import empty_url, postgres
from tests.precompute import score_process

__all__ = ["empty_url", "postgres"]  # fixtures

ROOT = Path(__file__).resolve().parents[2]
KILLS = {"sqlite": 4, "postgresql": 3}
SETS = [CriteriaSet(), *(CriteriaSet.of([name]) for name in score_process.SETS)]
Start = Callable[[], subprocess.Popen[str]]


@pytest.fixture
def opened(empty_url: str) -> Iterator[Database]:
    database = Database.open(empty_url)
    score_process.store(database)
    yield database
    database.close()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Where the judges note what they are asked."""
    path = tmp_path / "trace"
    path.touch()
    return path


@pytest.fixture
def start(opened: Database, tmp_path: Path, trace: Path) -> Iterator[Start]:
    """Starts the command with both judges in a process of its own."""
    started: list[subprocess.Popen[str]] = []
    url = opened.engine.url.render_as_string(hide_password=False)
    options = ["--benchmark", score_process.SLUG, "--crm", "text", "--crm", "array"]
    listed = score_process.write_list(tmp_path)

    def call() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", score_process.__name__, "score", *options, "--criteria", str(listed)],
            cwd=ROOT,
            env={**os.environ, "USL_DATABASE_URL": url, score_process.TRACE_VARIABLE: str(trace)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def calm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database on which the judges have done everything undisturbed."""
    score_process.install(monkeypatch.setattr, tmp_path / "bundled")
    database = Database.open(f"sqlite:///{tmp_path / 'calm.sqlite3'}")
    score_process.store(database)
    score_benchmark(database, score_process.SLUG, [get_crm("text"), get_crm("array")], SETS)
    yield database
    database.close()


def test_killed_scoring_goes_on_where_it_was(
    opened: Database, start: Start, trace: Path, calm: Database
) -> None:
    def n_asked() -> int:
        return trace.read_text().count("\n")

    chance = random.Random(8)
    kills = KILLS[opened.engine.dialect.name]
    n_all = score_process.N_PAIRS + len(SETS)
    for kill in range(kills):
        process = start()
        moment = n_asked() + chance.randint(1, n_all // kills)
        while n_asked() < moment and process.poll() is None:
            time.sleep(0.001)
        assert process.poll() is None, f"ended before kill {kill}: {process.communicate()}"
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        process.wait()
    last = start()
    out, err = last.communicate(timeout=60)
    assert (last.returncode, err) == (0, ""), out
    assert out.endswith(
        "mine: criteria lists stored: 5 by text (5 with win rates), 5 by array (5 with win rates).\n"
    )

    assert score_process.stored(opened) == score_process.stored(calm)
    # Asked again is only what came in since something was stored last.
    assert n_asked() <= n_all + kills * 100


def test_two_at_once_do_not_judge_twice(opened: Database, start: Start, trace: Path, calm: Database) -> None:
    both = [start(), start()]
    ends = sorted((process.communicate(timeout=60), process.returncode) for process in both)
    [first, second] = sorted(ends, key=lambda end: end[1])
    assert first[1] == 0, first
    if second[1] != 0:  # else the second began when the first had ended
        running = "Another process is scoring 'mine' with array; run the command again when it is done."
        assert second == (("", f"error: {running}\n"), 2)
    asked = trace.read_text().splitlines()
    assert len(asked) == len(set(asked)) == score_process.N_PAIRS + len(SETS)
    assert score_process.stored(opened) == score_process.stored(calm)


def test_win_rates_that_were_not_stored_any_more_are_made_good(
    calm: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = score_process.stored(calm)
    with calm.session() as session:
        delete_win_rates(session, find_benchmark(session, score_process.SLUG))
    allowed = iter([True, True, False])

    def fail(*arguments: Any, **options: Any) -> None:
        if not next(allowed):
            raise KeyboardInterrupt
        put_win_rates(*arguments, **options)

    judges = [get_crm("text"), get_crm("array")]
    with monkeypatch.context() as patched:
        patched.setattr(score, "put_win_rates", fail)
        with pytest.raises(KeyboardInterrupt):
            score_benchmark(calm, score_process.SLUG, judges, SETS)
    assert [bool(score_process.rates_of(calm, "text", one)) for one in SETS] == [True, True, *[False] * 3]
    again = score_benchmark(calm, score_process.SLUG, judges, SETS)
    assert [(one.judged, one.stored) for one in again] == [(0, score_process.N_PAIRS)] * 2
    assert score_process.stored(calm) == before
