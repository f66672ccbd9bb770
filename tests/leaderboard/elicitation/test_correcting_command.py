"""A ranking corrected by a file of choices, on the command line."""

import json
from pathlib import Path

import pytest

from leaderboard.__main__ import main
from leaderboard.elicitation.choices_file import choices_csv
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs
from leaderboard.service import Service
from tests.conftest import Run
from tests.leaderboard.elicitation.test_checking import chosen


@pytest.fixture(scope="module")
def session(service: Service) -> ElicitationSession:
    return chosen(ElicitationSession.start(candidate_pairs(service, "dailybench", ()), draw_seed=4), 16)


@pytest.fixture
def choices(service: Service, session: ElicitationSession, tmp_path: Path) -> Path:
    file = tmp_path / "choices.csv"
    file.write_text(choices_csv(session.choices, service.benchmark("dailybench")), encoding="utf-8")
    return file


def test_both_rankings_are_printed_and_as_csv_and_json(run_main: Run, choices: Path) -> None:
    command = "corrected-by", choices, "--benchmark", "dailybench", "--criterion", "Warm and encouraging"
    code, out, _ = run_main(main, *command)
    assert code == 0
    assert "Your votes agree with the judge" in out
    assert "5 votes cannot tell any two LLMs apart" in out

    code, table, _ = run_main(main, *command, "--format", "csv")
    assert code == 0
    assert table.startswith("rank,llm,win_rate,ci_low,ci_high,n_votes,judged_rank")

    code, text, _ = run_main(main, *command, "--format", "json")
    found = json.loads(text)
    assert code == 0
    assert found["votes"] == 5
    assert len(found["llms"]) == len(table.splitlines()) - 1 == 8
    assert [row["llm"] for row in found["llms"]] == [line.split(",")[1] for line in table.splitlines()[1:]]
    judged_first = next(row for row in found["llms"] if row["judged_rank"] == 1)
    assert judged_first["llm"] == "lumen"


def test_without_criteria_it_is_by_what_the_choices_teach(run_main: Run, choices: Path) -> None:
    code, text, _ = run_main(main, "corrected-by", choices, "--benchmark", "dailybench", "--format", "json")
    assert code == 0
    assert json.loads(text)["criteria"]


def test_too_few_votes_are_refused_in_a_sentence(run_main: Run, choices: Path) -> None:
    lines = choices.read_text().splitlines(keepends=True)
    choices.write_text("".join(lines[:9]))
    code, _, err = run_main(main, "corrected-by", choices, "--benchmark", "dailybench")
    assert code == 2
    assert "fewer than 3 votes on these topics" in err
