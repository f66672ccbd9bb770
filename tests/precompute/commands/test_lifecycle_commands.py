"""Listing and removing LLMs, benchmarks and pools on the command line."""

import io
from pathlib import Path

import pytest

from db import Database
from db.database import job_locks
from db.errors import NotFoundError
from db.repositories import pools
from db.repositories.benchmarks import list_benchmarks
from leaderboard.service import Service
from tests.db import samples as db_samples
from tests.precompute.commands.test_command_line import Run, run, url

__all__ = ["run", "url"]  # fixtures


@pytest.fixture
def stored(database: Database) -> Database:
    with database.session() as session:
        db_samples.store(session)
        pool = pools.put_pool(session, "pooled")
        pools.add_to_pool(session, pool, [("One?", "test:1"), ("Two?", "test:2")])
    return database


def rows(database: Database) -> dict[str, int]:
    with database.session() as session:
        return db_samples.row_counts(session)


COMMANDS = [
    (("llms", "remove", "alpha"), "the LLM alpha of tiny: responses 3, representations 1"),
    (
        ("benchmarks", "remove", "tiny"),
        "the benchmark tiny: queries 3, LLMs 3, responses 9, representations 3",
    ),
    (("pools", "remove", "pooled"), "the pool pooled: queries 2"),
]


@pytest.mark.parametrize(("command", "goes"), COMMANDS)
def test_a_dry_run_says_what_would_go_and_changes_nothing(
    run: Run, stored: Database, command: tuple[str, ...], goes: str
) -> None:
    before = rows(stored)
    assert run(*command, "--dry-run") == (0, f"would be removed: {goes}.\n", "")
    assert run(*command, "--dry-run", "--yes") == (0, f"would be removed: {goes}.\n", "")
    assert rows(stored) == before
    assert run(*command, "--yes") == (0, f"removing: {goes}.\nRemoved.\n", "")
    assert rows(stored) != before


@pytest.mark.parametrize("command", [command for command, _ in COMMANDS])
def test_nothing_goes_unless_somebody_agrees(
    run: Run, stored: Database, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    before = rows(stored)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, out, _ = run(*command)
    assert (code, out.endswith("Nothing was removed.\n")) == (0, True)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))  # nobody is there
    code, _, err = run(*command)
    assert (code, "add --yes" in err) == (2, True)
    assert rows(stored) == before


def test_whoever_agrees_removes_it(run: Run, stored: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert "Removed.\n" in run("benchmarks", "remove", "tiny")[1]
    assert run("benchmarks", "list") == (0, "", "")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("llms", "remove", "base", "--yes"), "'base' is the baseline of 'tiny'"),
        (("llms", "remove", "alhpa", "--yes"), "did you mean 'alpha'"),
        (("llms", "remove", "alpha", "--benchmark", "his", "--yes"), "no benchmark 'his'"),
        (("benchmarks", "remove", "tiny", "his", "--yes"), "no benchmark 'his'"),
        (("pools", "remove", "mine", "--yes"), "no query pool 'mine'"),
        (("benchmarks", "baseline", "tiny"), "Name the LLM"),
        (("benchmarks", "baseline", "tiny", "omega"), "no LLM 'omega'"),
        (("llms", "title", "alpha", " ", "--benchmark", "tiny"), "A title is a line of text"),
        (("llms", "title", "omega", "Omega", "--benchmark", "tiny"), "no LLM 'omega'"),
        (("llms", "list", "--benchmark", "his"), "no benchmark 'his'"),
        (("answers", "his"), "no benchmark 'his'"),
    ],
)
def test_what_is_not_there_or_may_not_go_is_one_sentence(
    run: Run, stored: Database, command: tuple[str, ...], reason: str
) -> None:
    before = rows(stored)
    code, out, err = run(*command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err
    assert rows(stored) == before


def test_the_baseline_can_be_changed_and_then_removed(run: Run, stored: Database) -> None:
    assert run("benchmarks", "baseline", "tiny", "zeta") == (0, "tiny: zeta is the baseline now.\n", "")
    assert run("benchmarks", "baseline", "tiny", "zeta") == (0, "tiny: that is so already.\n", "")
    assert run("llms", "remove", "base", "--yes")[0] == 0
    assert run("benchmarks", "baseline", "tiny", "--none") == (0, "tiny: no baseline now.\n", "")


def test_nothing_goes_while_it_is_being_collected(run: Run, stored: Database) -> None:
    before = rows(stored)
    with job_locks(stored.engine, ["collecting responses of alpha for 'tiny'"]):
        for command in (("llms", "remove", "alpha"), ("benchmarks", "remove", "tiny")):
            code, _, err = run(*command, "--yes")
            assert (code, "Another process is collecting responses of alpha" in err) == (2, True)
    assert rows(stored) == before


def test_a_running_app_sees_that_something_went(run: Run, stored: Database) -> None:
    app = Service(stored)
    assert app.benchmark("tiny").llms == ("zeta", "alpha")
    run("llms", "remove", "alpha", "--yes")
    assert app.benchmark("tiny").llms == ("zeta",)
    run("benchmarks", "remove", "tiny", "--yes")
    with pytest.raises(NotFoundError):
        app.benchmark("tiny")
    assert app.benchmarks() == []


def test_without_a_pool_the_list_says_what_makes_one(run: Run) -> None:
    assert run("pools", "list")[::2] == (
        0,
        "note: no query pool is stored yet; “python -m precompute pool” makes one.\n",
    )


def test_titles_and_lists(run: Run, stored: Database, tmp_path: Path) -> None:
    assert run("llms", "title", "alpha", "Alpha\n  One", "--benchmark", "tiny")[1] == (
        "tiny: alpha is shown as “Alpha One”.\n"
    )
    with stored.session() as session:
        assert len(list_benchmarks(session)) == 1
    assert "tiny: Tiny, version 1, 3 queries, 2 LLMs with texts" in run("benchmarks", "list")[1]
    assert run("pools", "list")[1] == "pooled: pooled, 2 queries, without topics\n"
    listed = run("llms", "list")[1]
    assert "base *" in listed
    assert "imported" in listed
    target = tmp_path / "a.jsonl"
    assert run("answers", "tiny", "--output", target)[1] == f"tiny: 9 answers in {target}; LLMs: 3.\n"
