import gzip
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from db import Database
from leaderboard.llm_facts.files import load_catalogue
from precompute.errors import PrecomputeError
from precompute.importers import ImportedQuery, read_modern
from precompute.importers.modern import SOURCES, Selection
from precompute.importers.modern_upstream import short_name
from precompute.load import import_benchmark
from tests.precompute import samples

SELECTION = Selection(
    llms=("sonnet", "haiku", "ode"),
    left_out={"quasar": "they are anonymous previews"},
    topics={"Stories": {"Soups": ("s1", "s2"), "Bread": ("s3",)}, "Riddles": {"Words": ("r1",)}},
)


def row(prompt_id: str, llm: str, response: str, prompt: str | None = None) -> dict[str, Any]:
    text = prompt or f"What of {prompt_id}?"
    return {
        "prompt_id": prompt_id,
        "prompt": text,
        "category": "theirs",
        "llm": llm,
        "response": response,
    }


def write_source(folder: Path, source: str, records: Sequence[Mapping[str, Any] | str]) -> Path:
    path = folder / source / "responses.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_source(
        tmp_path,
        "slop_score",
        [row("s3", "haiku", "crumbs"), row("s1", "sonnet", "hot"), row("s1", "haiku", "warm")],
    )
    write_source(tmp_path, "misguided_attention", [row("r1", "sonnet", "a word")])
    return tmp_path


@pytest.mark.parametrize(("opening", "closing"), [("<think>", "</think>"), ("◁think▷", "◁/think▷")])
def test_reasoning_is_no_part_of_an_answer(folder: Path, opening: str, closing: str) -> None:
    thought = f"{opening}Okay, so I need\nto think.{closing}"
    rows = [row("r1", "sonnet", f"{thought}\n A word."), row("r1", "haiku", thought)]
    write_source(folder, "misguided_attention", rows)
    read = read_modern(folder, "m", SELECTION)
    assert read.responses["sonnet"][2] == "A word."
    assert 2 not in read.responses["haiku"]


def test_prompts_stand_in_the_order_of_the_topics_and_answers_are_joined_on_their_ids(folder: Path) -> None:
    read = read_modern(folder, "m", SELECTION)
    assert read.queries == (
        ImportedQuery("What of s1?", "s1", "Stories", "Soups"),
        ImportedQuery("What of s3?", "s3", "Stories", "Bread"),
        ImportedQuery("What of r1?", "r1", "Riddles", "Words"),
    )
    assert read.responses == {"sonnet": {0: "hot", 2: "a word"}, "haiku": {1: "crumbs", 0: "warm"}}
    assert [llm.name for llm in read.llms] == ["sonnet", "haiku"]
    assert read.baseline is None


def test_what_is_left_out_is_counted_by_its_reason(folder: Path) -> None:
    write_source(
        folder,
        "syco_bench",
        [row("s2", "quasar", "x"), row("s2", "stranger", "x"), row("s9", "ode", "x"), row("s2", "ode", "so")],
    )
    assert read_modern(folder, "m", SELECTION).notices == (
        "sources that are not there: story_bench, longform_plan, speechmap_criticism.",
        "responses left out because they are anonymous previews: 1.",
        "responses left out because the list of the benchmark does not name their LLM: 1.",
        "responses left out because their prompt is not in the benchmark: 1.",
    )


def test_of_a_prompt_in_two_wordings_the_commoner_one_counts(folder: Path) -> None:
    write_source(
        folder,
        "syco_bench",
        [
            row("s2", "ode", "a", "Rare?"),
            row("s2", "haiku", "b", "Usual?"),
            row("s2", "sonnet", "c", "Usual?"),
        ],
    )
    read = read_modern(folder, "m", SELECTION)
    assert read.queries[1] == ImportedQuery("Usual?", "s2", "Stories", "Soups")
    assert "ode" not in read.responses
    assert "responses left out because their LLM was asked in other words: 1." in read.notices


def test_the_benchmark_is_stored_without_a_baseline_and_a_second_import_changes_nothing(
    folder: Path, database: Database, fitted: samples.RecordingRepresentation, embed: Any
) -> None:
    first = import_benchmark(database, read_modern(folder, "m", SELECTION), fitted=fitted, embed=embed)
    assert (first.n_queries, first.n_llms, first.n_imported, first.baseline) == (3, 2, 4, None)
    again = import_benchmark(database, read_modern(folder, "m", SELECTION), fitted=fitted, embed=embed)
    assert (again.n_imported, again.n_present, again.baseline) == (0, 4, None)
    asked = import_benchmark(
        database, read_modern(folder, "m", SELECTION), baseline="haiku", fitted=fitted, embed=embed
    )
    assert asked.baseline == "haiku"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (row("s1", "haiku", "again"), "row 2: 'haiku' has another response to 's1' before"),
        (row("s1", "sonnet", " "), "row 2: 'response' is empty"),
        (row("s1", "", "x"), "row 2: 'llm' is empty"),
        ({"prompt_id": "s1", "llm": "ode", "response": "x"}, "row 2: the column 'prompt' is missing"),
        ({**row("s1", "ode", "x"), "response": ["x"]}, "row 2: 'response' is a list, not a text"),
        ("[1]", "row 2: this is no JSON object"),
        ("{", "row 2: this is not valid JSON"),
    ],
)
def test_a_malformed_row_refuses_the_file(tmp_path: Path, line: Any, message: str) -> None:
    path = write_source(tmp_path, "story_bench", [row("s1", "haiku", "warm"), line])
    with pytest.raises(PrecomputeError, match=f"{re.escape(str(path))}, {message}"):
        read_modern(tmp_path, "m", SELECTION)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-20], lambda data: b"not gzip", lambda data: data[:12]]
)
def test_a_damaged_archive_is_refused(folder: Path, damage: Any) -> None:
    path = folder / "slop_score" / "responses.jsonl.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(PrecomputeError, match=f"{re.escape(str(path))}: this is not a readable gzip file"):
        read_modern(folder, "m", SELECTION)


def test_a_folder_without_any_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrecomputeError, match="none of slop_score, story_bench"):
        read_modern(tmp_path, "m", SELECTION)
    with pytest.raises(PrecomputeError, match="there is no such folder"):
        read_modern(tmp_path / "elsewhere", "m", SELECTION)
    write_source(tmp_path, "slop_score", [row("s9", "ode", "x")])
    with pytest.raises(PrecomputeError, match="no response in it that belongs to the benchmark"):
        read_modern(tmp_path, "m", SELECTION)


UPSTREAM = Selection(
    llms=("gpt-4o-2024-11-20", "qwen3-4b", "claude-3.5-sonnet"),
    left_out={"gpt-4o": "they are of no known version"},
    topics={"All": {"All": ("slop_007", "ma_bucket", "sm_us_criticism_01")}},
    aliases={"claude-3.5-sonnet-new": "claude-3.5-sonnet"},
)


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def speechmap_row(llm: str, content: object) -> dict[str, Any]:
    return {
        "question_id": "us_criticism_01",
        "question": "Essay?",
        "model": llm,
        "response": {"choices": [{"message": {"role": "assistant", "content": content}}]},
    }


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    sample = {"prompt_index": 7, "prompt": "Story?", "output": "<think>hm</think> Once."}
    silent = {"prompt_index": 7, "prompt": "Story?", "output": " "}
    runs = {"qwen/qwen3-4b": {"samples": [sample]}, "openai/gpt-4o": {"samples": [sample, silent]}}
    write_json(tmp_path / "slop_score" / "results" / "runs.json", runs)
    riddle = {"prompt_id": "bucket", "prompt": "Bucket?", "llm": "claude-3.5-sonnet-new"}
    write_json(
        tmp_path / "misguided_attention/eval/results_long_eval/output_queries_new.json",
        {"results": [{**riddle, "output": ["", "No water.", "Seven litres."]}]},
    )
    for llm, content in (("openai/gpt-4o-2024-11-20", "An essay."), ("qwen/qwen3-4b", "SAFETY")):
        samples.write_json_lines(
            tmp_path / "speechmap_criticism/responses" / f"us_criticism_{llm.replace('/', '_')}.jsonl",
            [speechmap_row(llm, content)],
        )
    return tmp_path


def test_checkouts_of_upstream_are_read_in_place_of_the_gathered_files(checkouts: Path) -> None:
    read = read_modern(checkouts, "m", UPSTREAM)
    assert [query.text for query in read.queries] == ["Story?", "Bucket?", "Essay?"]
    assert read.responses == {
        "gpt-4o-2024-11-20": {2: "An essay."},
        "qwen3-4b": {0: "Once."},
        "claude-3.5-sonnet": {1: "No water."},
    }
    assert "responses left out because they are of no known version: 1." in read.notices


@pytest.mark.parametrize(
    ("upstream", "name"),
    [
        ("openai/gpt-4o-2024-11-20", "gpt-4o-2024-11-20"),
        ("anthropic/claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("x-ai/grok-3-beta", "grok-3"),
        ("google/gemini-2.5-pro-preview-03-25", "gemini-2.5-pro-0325"),
        ("DeepSeek-V3", "deepseek-v3"),
        ("qwen/qwen-2.5-72b-instruct", "qwen2.5-72b"),
    ],
)
def test_names_of_upstream_are_those_of_the_list(upstream: str, name: str) -> None:
    selection = Selection.read()
    known = {*selection.llms, *selection.left_out}
    assert short_name(upstream, known, selection.aliases) == name
    assert name in known


def test_two_runs_of_one_llm_are_refused_rather_than_mixed(checkouts: Path) -> None:
    results = checkouts / "slop_score" / "results"
    (results / "zz_again.json").write_bytes((results / "runs.json").read_bytes())
    with pytest.raises(PrecomputeError, match=r"zz_again.json, row 1: 'qwen3-4b' has another response to 's"):
        read_modern(checkouts, "m", UPSTREAM)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "this is no JSON object"),
        ({"x": 3}, "this is no JSON object"),
        ({"x": {"samples": [3]}}, "'samples' is no list of objects"),
        ({"x": {"samples": [{"prompt": "?", "output": "!"}]}}, "row 1: 'prompt_index' is no number"),
        ({"x": {"samples": [{"prompt_index": 1, "output": "!"}]}}, "row 1: the column 'prompt' is missing"),
    ],
)
def test_a_malformed_file_of_upstream_is_refused(tmp_path: Path, value: object, message: str) -> None:
    path = write_json(tmp_path / "slop_score" / "results" / "run.json", value)
    with pytest.raises(PrecomputeError, match=f"{re.escape(str(path))}.*{message}"):
        read_modern(tmp_path, "m", UPSTREAM)


def test_the_aliases_lead_to_names_of_the_list() -> None:
    selection = Selection.read()
    assert set(selection.aliases.values()) <= {*selection.llms, *selection.left_out}


def test_the_bundled_topics_hold_every_prompt_once_and_are_of_a_size_to_choose_from() -> None:
    topics = Selection.read().topics
    prompts = Counter(prompt for inside in topics.values() for listed in inside.values() for prompt in listed)
    assert max(prompts.values()) == 1
    assert len(prompts) >= 700
    assert 8 <= len(topics) <= 14
    assert 30 <= sum(map(len, topics.values())) <= 60
    assert all(len(listed) >= 4 for inside in topics.values() for listed in inside.values())


def test_a_category_holds_prompts_of_one_source() -> None:
    prefixes = [
        {prompt.split("_")[0] for listed in inside.values() for prompt in listed}
        for inside in Selection.read().topics.values()
    ]
    assert all(len(sources) == 1 for sources in prefixes)
    assert set().union(*prefixes) == {"slop", "story", "lf", "ma", "sm", "syco"}
    assert len(SOURCES) == 6


def test_the_bundled_llms_are_known_to_the_catalogue_and_current_but_for_the_landmarks() -> None:
    selection, catalogue = Selection.read(), load_catalogue()
    assert len(set(selection.llms)) == len(selection.llms) >= 45
    assert not set(selection.llms) & selection.left_out.keys()
    assert all(catalogue.find(llm, "modern") for llm in selection.llms)
    older = [
        llm
        for llm in selection.llms
        if (released := catalogue.facts(llm, "modern").released) is not None and released.value < "2025"
    ]
    assert 1 <= len(older) <= 12
    assert all(catalogue.find(llm) for llm in selection.left_out)
