"""Reading files that nobody vouches for."""

import json
import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.serialization import storable_text
from leaderboard.errors import UploadError
from leaderboard.user_data import uploads
from leaderboard.user_data.uploads import UploadedResponse, read_responses

CSV = "query,response\nWhich soup?,Tomato.\n"


def zipped() -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("answers.csv", CSV)
    return packed.getvalue()


def test_csv_json_lines_and_json_say_the_same() -> None:
    row = {"query": "Which soup?", "response": "Tomato."}
    assert [(answer.query, answer.response) for answer in read_responses(CSV.encode(), "a.csv")] == [
        ("Which soup?", "Tomato.")
    ]
    for content, file in ((json.dumps(row), "a.jsonl"), (json.dumps([row]), "A.JSON")):
        assert read_responses(content.encode(), file) == (
            UploadedResponse(1, "Tomato.", query="Which soup?"),
        )


def test_the_columns_of_alpaca_eval_are_understood() -> None:
    rows = [{"instruction": "Which soup?", "output": "Tomato.", "generator": "mine", "dataset": "koala"}]
    [answer] = read_responses(json.dumps(rows).encode(), "model_outputs.json")
    assert (answer.query, answer.response, answer.llm) == ("Which soup?", "Tomato.", "mine")


@pytest.mark.parametrize(
    ("content", "file", "message"),
    [
        (zipped(), "a.csv", "a.csv: it is a ZIP archive or an office document; save it as CSV or JSON"),
        (b"\x89PNG\r\n\x1a\n....", "a.json", "it is a picture"),
        (b"%PDF-1.7", "a.csv", "it is a PDF document"),
        (CSV.encode("utf-16"), "a.csv", "it is text in UTF-16"),
        (b"query,response\nx,\x00\x01\n", "a.csv", "it is not a text"),
        ("query,response\na,b\nWie?,Käse\n".encode("latin-1"), "a.csv", "row 3: the text is not in UTF-8"),
        (CSV.encode(), "a.exe", "its name must end in .csv, .jsonl, .json"),
        (b"", "a.csv", "there are no rows"),
        (b"query,response\n", "a.csv", "there are no rows"),
        (b"query;response\na;b\n", "a.csv", "row 1: there is no column 'response'"),
        (b"response\nb\n", "a.csv", "row 1: there is no column 'query', nor one 'id'"),
        (b"query,response,query\na,b,c\n", "a.csv", "row 1: the column 'query' occurs twice"),
        (b"query,response\na,b,c\n", "a.csv", "row 2: there are 3 fields under 2 columns"),
        (b'query,response\na,"b\n', "a.csv", "row 2: this is not valid CSV"),
        (b"query,response\na, \n", "a.csv", "row 2: 'response' is empty"),
        (b"query,response\n ,b\n", "a.csv", "row 2: there is neither a 'query' nor an 'id'"),
        (b"{", "a.json", "this is not valid JSON"),
        (b"[" * 100_000, "a.json", "this is not valid JSON .nested too deeply"),
        (b"{}", "a.json", "it is not a list of objects"),
        (b"[1]", "a.json", "row 1: this is no JSON object"),
        (b'{"query": "a", "response": "b"}\n[]\n', "a.jsonl", "row 2: this is no JSON object"),
        (b'{"query": "a", "response": 7}', "a.jsonl", "row 1: 'response' is not a text"),
        (b'{"query": "a", "response": {"$gt": ""}}', "a.jsonl", "row 1: 'response' is not a text"),
        (
            b'{"query": "a", "response": "b", "llm": "a\\u202eb"}',
            "a.jsonl",
            "'llm' holds a character that no",
        ),
    ],
)
def test_what_is_no_table_of_responses_is_refused_in_one_sentence(
    content: bytes, file: str, message: str
) -> None:
    with pytest.raises(UploadError) as refused:
        read_responses(content, file)
    said = str(refused.value)
    assert message.replace(" .nested", " (nested") in said
    assert "\n" not in said


def test_what_is_huge_is_refused_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UploadError, match="larger than 10 MB"):
        read_responses(b"x" * (10 * 2**20 + 1), "a.csv")
    long = "x" * (uploads.MAX_CHARACTERS + 1)
    with pytest.raises(UploadError, match="row 2: 'response' has more than 20,000 characters"):
        read_responses(f"query,response\na,{long}\n".encode(), "a.csv")
    monkeypatch.setattr(uploads, "MAX_RESPONSES", 2)
    with pytest.raises(UploadError, match="more than 2 responses"):
        read_responses(b"query,response\na,b\nc,d\ne,f\n", "a.csv")


def test_a_formula_and_a_script_are_texts_like_others() -> None:
    formula, script = '=HYPERLINK("http://x","y")', "<script>alert(1)</script>"
    content = json.dumps([{"query": script, "response": formula}]).encode()
    assert read_responses(content, "a.json") == (UploadedResponse(1, formula, query=script),)


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), min_size=1, max_size=5))
def test_json_lines_come_back_as_they_were_written(pairs: list[tuple[str, str]]) -> None:
    pairs = [(query, response) for query, response in pairs if query.strip() and response.strip()]
    content = "".join(json.dumps({"query": q, "response": r}) + "\n" for q, r in pairs).encode()
    if pairs:
        found = [(answer.query, answer.response) for answer in read_responses(content, "a.jsonl")]
        assert found == [(storable_text(query), storable_text(response)) for query, response in pairs]


@given(st.binary(max_size=200), st.sampled_from(["a.csv", "a.json", "a.jsonl"]))
def test_no_bytes_break_the_reader(content: bytes, file: str) -> None:
    refused_at_most(content, file)


@given(st.text(max_size=200), st.sampled_from(["a.csv", "a.json", "a.jsonl"]))
def test_no_text_breaks_the_reader(text: str, file: str) -> None:
    refused_at_most(f"query,response\n{text}".encode("utf-8", "surrogatepass"), file)


def refused_at_most(content: bytes, file: str) -> None:
    try:
        read_responses(content, file)
    except UploadError as refused:
        said = str(refused)
        assert "\n" not in said


def test_a_table_of_very_many_columns_is_refused_at_once() -> None:
    with pytest.raises(UploadError, match="more than 1,000 columns"):
        read_responses(",".join(f"c{number}" for number in range(500_000)).encode(), "a.csv")


def test_a_value_of_thousands_of_characters_is_not_repeated() -> None:
    with pytest.raises(UploadError, match=r"the column 'c.*…' occurs twice") as raised:
        read_responses(f"{'c' * 9_000},{'c' * 9_000}\n".encode(), "a.csv")
    assert len(str(raised.value)) < 200


def test_numbers_and_nesting_without_end_are_refused() -> None:
    for value, reason in (
        ("9" * 4_000, "more than 300 digits"),
        ("[" * 900 + "]" * 900, "nested too deeply"),
    ):
        with pytest.raises(UploadError, match=f"a.jsonl, row 1: this is not valid JSON .*{reason}"):
            read_responses(f'{{"query": "a", "response": {value}}}'.encode(), "a.jsonl")
