"""Answers as files, read back by what reads such files."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from db import Database
from db.errors import NotFoundError
from db.repositories.benchmarks import find_benchmark, upsert_benchmark
from db.repositories.llm_answers import put_collected
from db.source_records import AnswerStatus, CollectedRecord
from precompute.answers import COLUMNS, export_answers
from precompute.errors import PrecomputeError
from precompute.importers import read_table
from tests.db import samples

ODD = '=HYPERLINK("http://x")\r\n- a "list", 𝒳'


@pytest.fixture
def stored(database: Database) -> Database:
    records = {
        "q1": CollectedRecord(AnswerStatus.OK, "s", ODD, replied_as="alpha-2", cost=0.5, prompt_tokens=7),
        "q3": CollectedRecord(AnswerStatus.FAILED, "s", error="It broke."),
    }
    with database.session() as session:
        samples.store(session)
        put_collected(session, find_benchmark(session, samples.SLUG), "alpha", records)
    return database


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_file_of_answers_can_be_imported_again(stored: Database, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"answers.{ending}"
    summary = export_answers(stored, samples.SLUG, target)
    again = read_table(target, "again")

    assert (summary.n_answers, summary.n_llms) == (9, 3)
    place = [query.external_id for query in again.queries].index("q1")
    assert again.responses["alpha"][place] == ODD
    assert {query.external_id: (query.category, query.topic) for query in again.queries} == samples.TOPICS
    assert list(tmp_path.glob(".*")) == []


def test_numbers_and_dates_have_their_types(stored: Database, tmp_path: Path) -> None:
    export_answers(stored, samples.SLUG, tmp_path / "a.parquet", llms=["alpha"])
    export_answers(stored, samples.SLUG, tmp_path / "a.jsonl", llms=["alpha"])
    [row] = [row for row in pq.read_table(tmp_path / "a.parquet").to_pylist() if row["id"] == "q1"]
    lines = [
        json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    [line] = [line for line in lines if line["id"] == "q1"]

    assert tuple(row) == tuple(line) == COLUMNS
    assert (row["cost"], row["prompt_tokens"], row["replied_as"], row["status"]) == (0.5, 7, "alpha-2", "ok")
    assert row["collected_at"].isoformat() == line["collected_at"]


def test_a_spreadsheet_runs_nothing(stored: Database, tmp_path: Path) -> None:
    export_answers(stored, samples.SLUG, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    [row] = [row for row in rows if row["llm"] == "alpha" and row["id"] == "q1"]
    assert row["response"] == f"'{ODD}"
    assert len(rows) == 9


def test_failed_ones_are_listed_with_the_reason(stored: Database, capsys: pytest.CaptureFixture[str]) -> None:
    summary = export_answers(stored, samples.SLUG, None, statuses=[AnswerStatus.FAILED, AnswerStatus.REFUSED])
    [row] = csv.DictReader(capsys.readouterr().out.splitlines())
    assert (row["llm"], row["id"], row["status"], row["reason"]) == ("alpha", "q3", "failed", "It broke.")
    assert summary.n_answers == 1


def test_a_reader_who_has_read_enough_is_no_error(stored: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_text: str) -> int:
        raise BrokenPipeError

    monkeypatch.setattr("sys.stdout.write", closed)
    with pytest.raises(BrokenPipeError):  # which the command line ends with in silence
        export_answers(stored, samples.SLUG, None)


def test_what_cannot_be_written_leaves_what_was_there(stored: Database, tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("mine")
    with pytest.raises(NotFoundError, match="no benchmark 'his'"):
        export_answers(stored, "his", target)
    with pytest.raises(PrecomputeError, match="no LLM 'alhpa'"):
        export_answers(stored, samples.SLUG, target, llms=["alhpa"])
    with pytest.raises(PrecomputeError, match=r"must end in \.parquet, \.jsonl, \.csv"):
        export_answers(stored, samples.SLUG, tmp_path / "a.xlsx")
    with pytest.raises(PrecomputeError, match="Cannot write"):
        export_answers(stored, samples.SLUG, tmp_path / "nowhere" / "a.csv")
    assert target.read_text() == "mine"


def test_a_licence_that_may_not_allow_it_is_told(stored: Database, tmp_path: Path) -> None:
    assert export_answers(stored, samples.SLUG, tmp_path / "a.csv").note == ""
    with stored.session() as session:
        upsert_benchmark(session, replace(samples.INFO, licence="CC BY-NC 4.0"))
    assert (
        "'CC BY-NC 4.0' is not known to allow"
        in export_answers(stored, samples.SLUG, tmp_path / "a.csv").note
    )
