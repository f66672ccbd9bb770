"""What “precompute status” says is stored and missing, and the commands that it names."""

import sys
from dataclasses import replace

import pytest

from db.database import job_locks
from precompute import __main__ as command_line
from precompute.collect.collection import collecting
from precompute.status import nothing_next, statuses
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect import samples
from tests.precompute.collect.conftest import Lab


def test_what_is_missing_is_named_with_the_command_that_completes_it(lab: Lab) -> None:
    lab.behave(
        lambda asked, model, _: (
            Answer(None, 400) if samples.number_of(asked) == 3 else samples.answer(asked, model)
        )
    )
    lab.llms("alpha", price_prompt=10)
    lab.run()
    [status] = statuses(lab.database, "mine")
    assert (status.n_queries, len(status.llms)) == (12, 2)
    assert [command.split("   ")[0] for command in status.next_commands()] == [
        "python -m precompute collect --benchmark mine --llm alpha"
    ]

    lab.behave()
    lab.run()
    [status] = statuses(lab.database, "mine")
    assert status.n_answers == 24
    assert status.cost > 0
    assert list(status.next_commands()) == []


def test_what_is_being_collected_is_not_to_be_started_again(lab: Lab) -> None:
    lab.behave()
    lab.llms("alpha")
    lab.run("--limit", "3")
    with job_locks(lab.database.engine, [collecting("alpha", "mine")]):
        [status] = statuses(lab.database, "mine")
    assert status.being_collected == ("alpha",)
    assert list(status.next_commands()) == []
    [status] = statuses(lab.database, "mine")
    assert status.being_collected == ()
    assert len(list(status.next_commands())) == 1


def test_the_command_prints_a_table_and_the_next_step(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.behave()
    lab.llms("alpha")
    lab.run("--limit", "3")
    monkeypatch.setattr(sys, "argv", ["precompute", "status", "--benchmark", "mine"])
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert (
        "Next:\n  python -m precompute collect --benchmark mine --llm alpha   # 9 answers are missing" in out
    )


def test_answers_that_were_imported_in_part_are_not_said_to_be_complete(lab: Lab) -> None:
    lab.behave()
    lab.llms("alpha")
    lab.run()
    [status] = statuses(lab.database, "mine")
    assert nothing_next([status]) == "Nothing is missing."
    fewer = replace(status, llms=(replace(status.llms[0], n_queries=20), *status.llms[1:]))
    assert nothing_next([fewer]).endswith("are of LLMs whose answers were imported.")
    assert nothing_next([replace(fewer, being_collected=("alpha",))]).endswith("is being collected.")
