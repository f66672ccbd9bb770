"""Benchmarks ranked on a machine with a GPU; here by judges that need none."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.gpu.ranking import import_texts, in_words, ranked, rows_of
from crm.criteria import CriteriaSet
from crm.registry import get_crm
from db import Database
from db.database import URL_VARIABLE
from db.repositories.benchmarks import find_benchmark, get_benchmark
from leaderboard.view import View
from precompute.commands.options import BUNDLED
from precompute.errors import PrecomputeError
from precompute.score import ScoreSummary, score_benchmark

TOPIC = "Pets"
LLMS = ("gpt4_1106_preview", "claude-2.1", "gpt4", "unknown")


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'usl.sqlite3'}"
    monkeypatch.setenv(URL_VARIABLE, url)
    opened = Database.open(
        url, bundles=[BUNDLED / f"{slug}.usl.zip" for slug in ("dailybench", "alpaca-eval")]
    )
    yield opened
    opened.close()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder as AlpacaEval's, of three known LLMs and one that the benchmark lacks."""
    for llm in LLMS:
        folder = tmp_path / "results" / llm
        folder.mkdir(parents=True)
        rows = [{"instruction": "Why?", "output": f"{llm} says why."}]
        (folder / "model_outputs.json").write_text(json.dumps(rows))
    return tmp_path / "results"


def test_the_ranking_is_of_what_was_judged(database: Database) -> None:
    criteria = CriteriaSet.of(["Concise"])
    [summary] = score_benchmark(database, "dailybench", [get_crm("longer")], [criteria], topics=[TOPIC])
    ranking = ranked(View("dailybench", (TOPIC,), criteria, "longer"))

    rows = rows_of(ranking)
    assert len(rows) == 7
    assert [int(row[1]) for row in rows] == sorted(int(row[1]) for row in rows)
    assert summary.judged == 7 * int(rows[0][-1])


def test_too_few_texts_are_said_and_nothing_is_stored(database: Database, results: Path) -> None:
    with pytest.raises(PrecomputeError, match="texts of 2 LLMs of 'alpaca-eval', and 3 and the baseline"):
        import_texts(database, "alpaca-eval", results, 3)
    with database.session() as session:
        record = get_benchmark(session, find_benchmark(session, "alpaca-eval"))
    assert "unknown" not in {llm.name for llm in record.llms}


def test_time_is_said_with_what_was_judged_before() -> None:
    summary = ScoreSummary("judge", judged=1000, stored=200, seconds=4.0, sets_stored=1, sets_complete=1)
    assert in_words(summary, 2) == (
        "1,000 pairs judged in 2 actors of Ray in 4.00 s, loading included: 250.0 a second; "
        "200 were judged before"
    )
    assert "one process" in in_words(summary, None)
