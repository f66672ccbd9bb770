from pathlib import Path

import pytest

from precompute.errors import PrecomputeError
from precompute.importers import ImportedQuery, read_dailybench
from tests.precompute.samples import DAILYBENCH, write_dailybench, write_json_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_dailybench(tmp_path / "dailybench")


def test_queries_keep_their_ids_and_topics(folder: Path) -> None:
    read = read_dailybench(folder)
    assert read.queries[2] == ImportedQuery("Which bread keeps fresh?", "2-1", "Kitchen", "Bread")
    assert len(read.queries) == len(DAILYBENCH)


def test_the_baseline_is_atlas_and_strangers_come_last(folder: Path) -> None:
    read = read_dailybench(folder)
    assert (read.baseline, [llm.name for llm in read.llms]) == ("atlas", ["atlas", "jester", "newcomer"])
    assert (read.llms[1].title, read.llms[1].note) == ("Jester", "playful and witty")
    assert read.responses["jester"][3] == "jester on 3-1"


@pytest.mark.parametrize(
    ("file", "records", "message"),
    [
        ("queries.jsonl", [], "no queries"),
        ("queries.jsonl", [{"id": "1"}], "row 1: the column 'category' is missing"),
        (
            "queries.jsonl",
            [{"id": "1", "category": "c", "topic": "t", "query": "q"}] * 2,
            "row 2: the id '1' occurs before",
        ),
        ("responses_jester.jsonl", [{"id": "9-9", "response": "x"}], "row 1: there is no query .*'9-9'"),
        ("responses_jester.jsonl", [{"id": "1-1", "response": "x"}] * 2, "row 2: the id '1-1' occurs"),
        ("responses_jester.jsonl", [{"id": "1-1", "response": ["x"]}], "row 1: 'response' is a list"),
        ("responses_jester.jsonl", [], "no responses"),
    ],
)
def test_a_malformed_file_is_refused(folder: Path, file: str, records: list[object], message: str) -> None:
    write_json_lines(folder / file, records)
    with pytest.raises(PrecomputeError, match=f"{file}.*{message}"):
        read_dailybench(folder)


@pytest.mark.parametrize("file", ["queries.jsonl", "responses_atlas.jsonl"])
def test_an_absent_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(PrecomputeError, match=file):
        read_dailybench(folder)
