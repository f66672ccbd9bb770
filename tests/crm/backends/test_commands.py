"""A judge of the file ``crms.toml`` on every command line, by its name."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from crm import cli as crm_command
from db.database import URL_VARIABLE
from leaderboard import __main__ as leaderboard_command
from precompute import __main__ as precompute_command
from tests.conftest import Run

PAIRS = [
    {"id": 1, "query": "How?", "response_a": "So.", "response_b": "Like this.", "criteria": ["concise"]},
    {"id": 2, "query": "Why?", "response_a": "Why not?", "response_b": "It is.", "criteria": []},
]


@pytest.fixture(autouse=True)
def mine(checkpoints: Path, tmp_path: Path, filled_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge ``mine`` on a small checkpoint, and a database to fill."""
    file = tmp_path / "crms.toml"
    file.write_text(f'[mine]\nbackend = "transformers"\nmodel = "{checkpoints / "pairs"}"\n')
    monkeypatch.setenv("USL_CRMS", str(file))
    shutil.copy(filled_file, tmp_path / "usl.sqlite3")


@pytest.fixture
def run(run_main: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on the copied database."""
    monkeypatch.setenv(URL_VARIABLE, f"sqlite:///{tmp_path / 'usl.sqlite3'}")
    return run_main


def test_score(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join(map(json.dumps, PAIRS)))
    code, _, err = run(crm_command.main, "score", source, target, "--crm", "mine")
    lines = [json.loads(line) for line in target.read_text().splitlines()]

    assert (code, err) == (0, "2 pairs judged by mine.\n")
    assert [line["id"] for line in lines] == [1, 2]
    assert all(0 < line["prob_a"] < 1 and line["per_criterion"] == [] for line in lines)


def test_evaluate(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    rows = [
        {
            "idx": pair["id"],
            "prompt": pair["query"],
            "model_a": pair["response_a"],
            "model_b": pair["response_b"],
            "criteria": pair["criteria"],
            "preference": "model_a",
        }
        for pair in PAIRS
    ]
    data.write_text("\n".join(map(json.dumps, rows)))
    code, out, _ = run(crm_command.main, "evaluate", data, "--crm", "mine", "--no-references")

    assert code == 0
    assert "mine" in out


def test_rank_and_score_ahead(run: Run) -> None:
    wish = ("--benchmark", "dailybench", "--topic", "Poetry", "--criterion", "rhymes", "--crm", "mine")
    code, told, _ = run(precompute_command.main, "score", *wish)
    assert code == 0
    assert told.startswith("dailybench: 42 pairs judged by mine")

    code, out, _ = run(leaderboard_command.main, "rank", *wish, "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(out.splitlines()))
    assert rows[0]["rank"] == "1"
    assert {row["n_queries"] for row in rows} == {"6"}
    assert len({row["win_rate"] for row in rows}) > 1


def test_a_wrong_table_is_one_line_and_exit_code_2(run: Run, tmp_path: Path) -> None:
    (tmp_path / "crms.toml").write_text('[mine]\nbackend = "transformers"\nmodel = "./gone"\n')
    code, out, err = run(leaderboard_command.main, "rank", "--crm", "mine")

    assert (code, out) == (2, "")
    assert err == "error: crms.toml, judge 'mine': the key 'model' names a folder that does not exist.\n"
