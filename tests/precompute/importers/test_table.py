import csv
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from precompute.errors import PrecomputeError
from precompute.importers import ImportedQuery, read_queries, read_table
from tests.precompute.samples import write_json_lines

ROWS: list[dict[str, Any]] = [
    {"query": "soup?", "topic": "Soup", "llm": "alpha", "response": "hot\u2028soup", "category": "Food"},
    {"query": "roses?", "topic": "", "llm": "alpha", "response": 'red,\n"roses"', "category": ""},
    {"query": "soup?", "topic": "Soup", "llm": "beta", "response": "cold", "category": "Food"},
]
FORMATS = ["csv", "jsonl", "parquet"]


def write_table(folder: Path, suffix: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"table.{suffix}"
    if suffix == "jsonl":
        return write_json_lines(path, rows)
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def changed(row: int, **values: Any) -> list[dict[str, Any]]:
    return [record | (values if number == row else {}) for number, record in enumerate(ROWS, start=1)]


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_gives_the_same_benchmark(tmp_path: Path, suffix: str) -> None:
    read = read_table(write_table(tmp_path, suffix, ROWS), "mine")
    assert read.queries == (
        ImportedQuery("soup?", None, "Food", "Soup"),
        ImportedQuery("roses?", None, None, None),
    )
    assert read.responses == {"alpha": {0: "hot\u2028soup", 1: 'red,\n"roses"'}, "beta": {0: "cold"}}
    assert (read.baseline, read.baseline_origin) == ("alpha", "the first LLM of the file")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("rows", "row", "reason"),
    [
        (changed(2, query=" "), 2, "'query' is empty"),
        (changed(2, llm=""), 2, "'llm' is empty"),
        (changed(3, response=""), 3, "'response' is empty"),
        (changed(3, query="roses?", llm="alpha", topic="", category=""), 3, "'alpha' has a response"),
        (changed(3, topic="Bread"), 3, "'topic' is another"),
        (changed(3, category="Drink"), 3, "'category' is another"),
        (changed(3, llm="be\x00ta"), 3, "'llm' holds a character"),
    ],
)
def test_a_malformed_row_refuses_the_file(
    tmp_path: Path, suffix: str, rows: list[dict[str, Any]], row: int, reason: str
) -> None:
    path = write_table(tmp_path, suffix, rows)
    # In CSV the header is row 1.
    with pytest.raises(
        PrecomputeError, match=f"{re.escape(str(path))}, row {row + (suffix == 'csv')}: {reason}"
    ):
        read_table(path, "mine")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("column", ["query", "topic", "llm", "response"])
def test_a_missing_column_is_named(tmp_path: Path, suffix: str, column: str) -> None:
    rows = [{name: value for name, value in row.items() if name != column} for row in ROWS]
    with pytest.raises(PrecomputeError, match=f"the column '{column}' is missing"):
        read_table(write_table(tmp_path, suffix, rows), "mine")


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        ("csv", b"", "no rows"),
        ("csv", b"query,topic,llm,response\n", "no rows"),
        ("csv", b"query,topic,llm,response\nq,t,a\n", "row 2: there are 3 fields under 4 columns"),
        ("csv", b"query,topic,llm,response\nq,t,a,r\nq,t,b,\xff\n", "row 3: these bytes are not UTF-8"),
        ("csv", b'query,topic,llm,response\nq,t,a,r\nq,t,b,"r"x\n', "row 3: this is not valid CSV"),
        ("csv", b"query,topic,llm,response,llm\nq,t,a,r,b\n", "row 1: the column 'llm' occurs twice"),
        ("jsonl", b"", "no rows"),
        ("jsonl", b"\n{\n", "row 2: this is not valid JSON"),
        ("jsonl", b"[1]\n", "row 1: this is no JSON object"),
        ("jsonl", b'{"query": "\xff"}\n', "row 1: these bytes are not UTF-8"),
        ("parquet", b"PAR1 but no more", "not a readable Parquet file"),
        ("xlsx", b"", "must end in .csv, .jsonl, .parquet"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path: Path, suffix: str, content: bytes, message: str) -> None:
    path = tmp_path / f"table.{suffix}"
    path.write_bytes(content)
    with pytest.raises(PrecomputeError, match=message):
        read_table(path, "mine")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize(("value", "kind"), [(3, "a number"), (["r"], "a list"), (True, "true or false")])
def test_a_value_of_another_type_is_refused(tmp_path: Path, suffix: str, value: object, kind: str) -> None:
    rows = [row | {"response": value} for row in ROWS]
    with pytest.raises(PrecomputeError, match=f"row 1: 'response' is {kind}, not a text"):
        read_table(write_table(tmp_path, suffix, rows), "mine")


def test_bytes_in_a_parquet_text_column_are_refused(tmp_path: Path) -> None:
    binary = pa.array([b"x", b"\xff"])
    table = pa.Table.from_pylist(ROWS[:2])
    # Arrow trusts whoever says that bytes are text.
    texts = pa.StringArray.from_buffers(2, binary.buffers()[1], binary.buffers()[2])
    path = tmp_path / "table.parquet"
    pq.write_table(table.set_column(table.column_names.index("response"), "response", texts), path)
    with pytest.raises(PrecomputeError, match="row 2: these bytes are not UTF-8"):
        read_table(path, "mine")


def test_rows_of_one_id_are_about_one_query(tmp_path: Path) -> None:
    rows = [row | {"id": number} for row, number in zip(ROWS, [7, 8, 7], strict=True)]
    read = read_table(write_table(tmp_path, "jsonl", rows), "mine")
    assert [query.external_id for query in read.queries] == ["7", "8"]
    contradicting = [row | {"id": 7} for row in ROWS]
    with pytest.raises(PrecomputeError, match="row 2: 'query' is another"):
        read_table(write_table(tmp_path, "jsonl", contradicting), "mine")


def test_a_topic_may_stand_in_one_row_of_its_query_only(tmp_path: Path) -> None:
    read = read_table(write_table(tmp_path, "jsonl", changed(1, topic=None)), "mine")
    assert read.queries[0].topic == "Soup"


def test_cells_may_be_longer_than_the_csv_module_likes(tmp_path: Path) -> None:
    rows = changed(1, response="long " * 100_000)
    assert len(read_table(write_table(tmp_path, "csv", rows), "mine").responses["alpha"][0]) == 500_000


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    for suffix in ("csv", "jsonl"):
        path = write_table(tmp_path, suffix, ROWS)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert len(read_table(path, "mine").queries) == 2


def test_lone_surrogates_of_json_survive_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text(json.dumps(ROWS[0] | {"response": "half \ud83d"}) + "\n")
    assert read_table(path, "mine").responses == {"alpha": {0: "half \ud83d"}}


TURNS = [
    {"role": "user", "content": "soup?"},
    {"role": "assistant", "content": "Which one?\u2028"},
    {"role": "user", "content": "a hot one"},
]
AS_TEXT = "User: soup?\n\nAssistant: Which one?\u2028\n\nUser: a hot one"


def conversations(*given: object, **others: object) -> list[dict[str, Any]]:
    row = {"topic": "Soup", "llm": "alpha", "response": "hot", **others}
    return [row | {"conversation": conversation, "llm": f"llm {n}"} for n, conversation in enumerate(given)]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_query_of_several_turns_is_one_readable_text(tmp_path: Path, suffix: str) -> None:
    rows = conversations(json.dumps(TURNS), json.dumps(TURNS), json.dumps(TURNS[2:]))
    read = read_table(write_table(tmp_path, suffix, rows), "mine")
    assert [query.text for query in read.queries] == [AS_TEXT, "a hot one"]
    assert read.responses == {"llm 0": {0: "hot"}, "llm 1": {0: "hot"}, "llm 2": {1: "hot"}}


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_conversation_may_be_a_list_and_others_have_a_query(tmp_path: Path, suffix: str) -> None:
    rows = [conversations(TURNS)[0] | {"query": None}, ROWS[1] | {"conversation": None, "query": "roses?"}]
    read = read_table(write_table(tmp_path, suffix, rows), "mine")
    assert [query.text for query in read.queries] == [AS_TEXT, "roses?"]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (conversations(TURNS[:2]), "'conversation' does not end with what the user asks"),
        (conversations([*TURNS[:2], {"role": "user", "content": " "}]), "'conversation' does not end with"),
        (conversations(TURNS, query="soup?"), "there are both a 'query' and a 'conversation'"),
        (conversations("soup?"), "'conversation' is not valid JSON"),
        (conversations(json.dumps({"role": "user"})), "'conversation' is no list of turns"),
        (conversations([]), "the column 'query' is missing"),
        (conversations(None, query=""), "'query' is empty"),
    ],
)
def test_a_malformed_conversation_is_refused(tmp_path: Path, rows: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(PrecomputeError, match=f"row 1: {reason}"):
        read_table(write_table(tmp_path, "jsonl", rows), "mine")


QUERY_ROWS = [{"id": "a", "query": "soup?"}, {"id": "b", "query": "roses?"}]
QUERY_TURNS = [
    {"role": "user", "content": "soup?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "hot?"},
]


def write(folder: Path, suffix: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"queries.{suffix}"
    match suffix:
        case "json":
            path.write_text(json.dumps(rows))
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case "csv":
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        case "parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "parquet"])
def test_every_format_gives_ids_and_texts(tmp_path: Path, suffix: str) -> None:
    assert list(read_queries(write(tmp_path, suffix, QUERY_ROWS))) == [("a", "soup?"), ("b", "roses?")]


@pytest.mark.parametrize("suffix", ["json", "jsonl", "parquet"])
def test_empty_texts_are_passed_over(tmp_path: Path, suffix: str) -> None:
    rows: list[dict[str, Any]] = [{"query": "soup?"}, {"query": " "}, {"query": None}, {"query": "bread?"}]
    assert list(read_queries(write(tmp_path, suffix, rows))) == [("1", "soup?"), ("4", "bread?")]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"prompt": "soup?", "uid": 7}, ("7", "soup?")),
        ({"instruction": "soup?", "output": "text"}, ("1", "soup?")),
        ({"text": "soup?", "question": "roses?", "question_id": "x"}, ("x", "roses?")),
        ({"conversation": QUERY_TURNS[:1]}, ("1", "soup?")),
        ({"prompt": QUERY_TURNS}, ("1", "User: soup?\n\nAssistant: Yes.\n\nUser: hot?")),
    ],
)
def test_the_usual_columns_are_known(tmp_path: Path, row: dict[str, Any], found: tuple[str, str]) -> None:
    assert list(read_queries(write(tmp_path, "jsonl", [row]))) == [found]


def test_a_column_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, "csv", [{"query": "soup?", "wish": "bread?"}])
    assert list(read_queries(path, "wish")) == [("2", "bread?")]


@pytest.mark.parametrize(
    ("suffix", "content", "column", "said"),
    [
        ("txt", "soup?", None, "its name must end in .json, .csv, .jsonl, .parquet."),
        ("json", "{}", None, "this is no list of objects."),
        ("json", '[{"a": 1}, 2]', None, "this is no list of objects."),
        ("json", "[", None, "this is not valid JSON"),
        ("json", '[{"query": 3}]', None, "row 1: 'query' is a number, not a text."),
        (
            "jsonl",
            '{"answer": "soup"}\n',
            None,
            "row 1: a column of queries is missing: name one with --column.",
        ),
        ("csv", "query\nsoup?\n", "wish", "the column 'wish' is missing: name one with --column."),
        (
            "jsonl",
            '{"conversation": [{"role": "assistant", "content": "Hi"}]}\n',
            None,
            "no turn of the user",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    tmp_path: Path, suffix: str, content: str, column: str | None, said: str
) -> None:
    path = tmp_path / f"queries.{suffix}"
    path.write_text(content)
    with pytest.raises(PrecomputeError, match=": ") as raised:
        list(read_queries(path, column))
    assert said in str(raised.value)
    assert path.name in str(raised.value)


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(PrecomputeError, match="there is no such file"):
        list(read_queries(tmp_path / f"queries.{suffix}"))
