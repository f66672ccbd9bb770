"""An operator's run from a trial to a removal, at a server with faults that counts what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from benchmarks.collection_run import SLUG, Faults, Run, answered_twice, fake_provider, run_table, whole_run
from crm.llm import client
from db import Database
from db.repositories.benchmarks import find_benchmark, get_benchmark
from db.repositories.collections import collection_of

LLMS, QUERIES = 4, 60
FAULTS = Faults(server_error=0.1, rate_limit=0.05, cut=0.05, empty=0.05, refused_request=0.02)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    database = Database.open(f"sqlite:///{tmp_path_factory.mktemp('run')}/usl.sqlite3")
    with fake_provider(FAULTS) as server, patch.object(client, "_backoff", lambda _: 0.01):
        made = Run(database, server, LLMS, QUERIES)
        whole_run(made)
        yield made
    database.close()


def test_no_answer_is_asked_for_twice_but_those_that_were_to_be(run: Run) -> None:
    attempts, answered, _ = run.server.counts()
    refreshed = {(llm, asked) for (llm, asked), n in answered.items() if n > 1}
    assert answered_twice(run, len(run.texts[::10])) == 0
    assert refreshed == {("llm-000", text) for text in run.texts[::10] if ("llm-000", text) in answered}
    assert attempts.total() > 1.15 * answered.total(), "the server did fail"


def test_what_is_missing_in_the_end_is_what_the_server_always_refuses(run: Run) -> None:
    attempts, answered, _ = run.server.counts()
    for_ever = {asked for asked in attempts if asked not in answered}
    assert run.steps[-1].missing == sum(llm != "llm-001" for llm, _ in for_ever) > 0
    assert all(FAULTS.of(*asked, attempt=0) == "refused_request" for asked in for_ever)


def test_what_was_foreseen_after_the_trial_is_what_the_rest_cost(run: Run) -> None:
    trial, budget, rest, *_ = run.steps
    assert budget.estimated == pytest.approx(budget.spent + rest.spent, rel=0.15)
    assert rest.estimated == pytest.approx(rest.spent, rel=0.15)
    assert trial.estimated is not None
    assert trial.estimated > trial.spent, "before the trial the most is assumed that may be written"


def test_the_budget_ends_the_run_in_time_and_is_used(run: Run) -> None:
    budget = run.steps[1]
    money = float(budget.name.removeprefix("budget of "))
    assert 0.7 * money < budget.spent <= money
    assert budget.missing > 0


def test_what_the_server_billed_is_what_is_noted(run: Run) -> None:
    billed = sum(step.spent for step in run.steps[:5])
    assert run.steps[4].noted == pytest.approx(billed)


def test_a_refresh_asks_for_the_marked_ones_and_a_new_version_for_nothing(run: Run) -> None:
    again, one_more, refresh, version = run.steps[3:7]
    assert (again.answers, version.answers) == (0, 0)
    assert one_more.answers + one_more.missing - again.missing == QUERIES
    assert refresh.answers == len(run.texts[::10])
    assert version.estimated == pytest.approx(0.0, abs=0.02)


def test_who_is_removed_is_gone_and_the_others_are_not(run: Run) -> None:
    with run.database.session() as session:
        benchmark = find_benchmark(session, SLUG)
        names = [llm.name for llm in get_benchmark(session, benchmark).llms]
        kept = {name: collection_of(session, benchmark, name).n_answers for name in names}
    assert sorted(names) == ["llm-000", "llm-002", "llm-003"]
    assert sum(kept.values()) == 3 * QUERIES - run.steps[-1].missing


def test_the_table_has_a_row_a_step(run: Run) -> None:
    table = run_table(run)
    assert [row[0] for row in table.rows] == [step.name for step in run.steps]
    assert "asked for again: 0." in table.note
