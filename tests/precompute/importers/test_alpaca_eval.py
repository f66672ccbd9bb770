import json
import re
from pathlib import Path

import pytest

from precompute.errors import PrecomputeError
from precompute.importers import read_alpaca_eval
from tests.precompute.samples import write_outputs

BASELINE = "gpt4_1106_preview"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    write_outputs(folder, BASELINE, {"b?": "base b", "a?": "base a", "c?": "base c"})
    write_outputs(folder, "shuffled", {"a?": "shuffled a", "c?": "shuffled c", "b?": "shuffled b"})
    write_outputs(folder, "short", {"c?": "short c", "b?": ""})
    return folder


def test_queries_come_in_the_order_of_the_baseline(results: Path) -> None:
    read = read_alpaca_eval(results, "alpaca-eval")
    assert [query.text for query in read.queries] == ["b?", "a?", "c?"]
    assert [llm.name for llm in read.llms] == [BASELINE, "short", "shuffled"]
    assert read.baseline == BASELINE


def test_responses_are_joined_on_the_instruction(results: Path) -> None:
    responses = read_alpaca_eval(results, "alpaca-eval").responses
    assert responses["shuffled"] == {0: "shuffled b", 1: "shuffled a", 2: "shuffled c"}


def test_a_response_that_is_not_there_stays_missing_but_an_empty_one_is_a_response(results: Path) -> None:
    assert read_alpaca_eval(results, "alpaca-eval").responses["short"] == {0: "", 2: "short c"}


def test_only_the_named_llms_and_the_baseline_are_read(results: Path) -> None:
    write_outputs(results, "broken", {}).write_text("{")
    read = read_alpaca_eval(results, "alpaca-eval", ["shuffled"])
    assert list(read.responses) == [BASELINE, "shuffled"]


def test_the_baseline_can_be_chosen_and_others_instructions_are_left_out(results: Path) -> None:
    read = read_alpaca_eval(results, "alpaca-eval", ["shuffled"], baseline="short")
    assert (read.baseline, [query.text for query in read.queries]) == ("short", ["c?", "b?"])
    assert "1" in read.notices[0]


def test_a_stored_baseline_need_not_be_in_the_folder(results: Path) -> None:
    read = read_alpaca_eval(results, "alpaca-eval", ["shuffled"], stored_baseline="elsewhere")
    assert (read.baseline, list(read.responses)) == ("elsewhere", ["shuffled"])


@pytest.mark.parametrize("unknown", ["Shuffeld", "SHUFFLED"])
def test_an_unknown_llm_is_answered_with_those_most_like_it(results: Path, unknown: str) -> None:
    with pytest.raises(PrecomputeError, match=f"{unknown!r}.*did you mean 'shuffled'"):
        read_alpaca_eval(results, "alpaca-eval", [unknown])
    with pytest.raises(PrecomputeError, match="did you mean"):
        read_alpaca_eval(results, "alpaca-eval", baseline=unknown)


def test_an_absent_default_baseline_is_named(results: Path) -> None:
    (results / BASELINE / "model_outputs.json").unlink()
    with pytest.raises(PrecomputeError, match=r"gpt4_1106_preview.*--baseline"):
        read_alpaca_eval(results, "alpaca-eval")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "not valid JSON"),
        ("{}", "not a list"),
        ("[]", "not a list"),
        ("[1]", "row 1: this is no JSON object"),
        ('[{"output": "x"}]', "row 1: the column 'instruction' is missing"),
        ('[{"instruction": "a?", "output": "x"}, {"instruction": "b?"}]', "row 2: .*'output' is missing"),
        ('[{"instruction": "a?", "output": 1}]', "row 1: 'output' is a number"),
        ('[{"instruction": "a?", "output": null}]', "row 1: 'output' is empty"),
        ('[{"instruction": " ", "output": "x"}]', "row 1: 'instruction' is empty"),
        (json.dumps([{"instruction": "a?", "output": "x"}] * 2), "row 2: the same instruction"),
        ('[{"instruction": "of another benchmark?", "output": "x"}]', "none of its instructions"),
        ("\udcff[]", "not UTF-8"),
    ],
)
def test_a_malformed_file_is_refused(results: Path, content: str, message: str) -> None:
    path = write_outputs(results, "shuffled", {})
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(PrecomputeError, match=f"{re.escape(str(path))}.*{message}"):
        read_alpaca_eval(results, "alpaca-eval")


def test_a_folder_without_outputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrecomputeError, match="none of its folders"):
        read_alpaca_eval(tmp_path, "alpaca-eval")
    with pytest.raises(PrecomputeError, match="no such folder"):
        read_alpaca_eval(tmp_path / "absent", "alpaca-eval")
