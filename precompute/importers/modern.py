"""The benchmark `modern`: what current LLMs responded to the prompts of six public collections.

A folder holds `<source>/responses.jsonl.gz` with rows {prompt_id, prompt, llm, response}, or in its place a
checkout of the source's repository where that can be read (`modern_upstream`). Which LLMs and prompts belong
to the benchmark, and under which topics, is written in `bundled/modern`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from db.records import BenchmarkInfo, LLMRecord
from leaderboard.llm_facts.files import load_catalogue
from parsing.documents import read_toml
from precompute.errors import file_error
from precompute.importers import base
from precompute.importers.base import ImportedBenchmark, ImportedQuery
from precompute.importers.modern_upstream import short_name, upstream_rows, without_reasoning
from precompute.importers.rows import read_json_lines

SLUG = "modern"
SOURCES = (
    "slop_score",
    "story_bench",
    "longform_plan",
    "misguided_attention",
    "speechmap_criticism",
    "syco_bench",
)
RESPONSES = "responses.jsonl.gz"
CURATED = Path(__file__).resolve().parents[2] / "bundled" / "modern"

_UNKNOWN_LLM = "the list of the benchmark does not name their LLM"
_OTHER_WORDING = "their LLM was asked in other words"
_NO_TOPIC = "their prompt is not in the benchmark"


@dataclass(frozen=True)
class Selection:
    """What belongs to the benchmark.

    Attributes:
        llms: Names of the LLMs, in display order.
        left_out: Why other LLMs are left out, by name.
        topics: By category and topic, in display order, the ids of the prompts.
        aliases: Names of LLMs by what upstream's repositories call them.
    """

    llms: tuple[str, ...]
    left_out: Mapping[str, str]
    topics: Mapping[str, Mapping[str, tuple[str, ...]]]
    aliases: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path = CURATED) -> Selection:
        """Return what is written in `llms.toml` and `topics.toml` of the folder."""
        llms = read_toml((folder / "llms.toml").read_bytes())
        categories = read_toml((folder / "topics.toml").read_bytes())
        return cls(
            (*llms["llms"], *llms["landmarks"]),
            {name: reason for reason, names in llms["left_out"].items() for name in names},
            {
                category: {topic: tuple(prompts) for topic, prompts in topics.items()}
                for category, topics in categories.items()
            },
            llms["upstream"],
        )

    @cached_property
    def places(self) -> Mapping[str, tuple[str, str]]:
        """Category and topic by the prompt's id."""
        return {
            prompt: (category, topic)
            for category, topics in self.topics.items()
            for topic, prompts in topics.items()
            for prompt in prompts
        }

    def why_not(self, llm: str, prompt: str) -> str | None:
        """Return why a response is left out, None if it is not."""
        if llm in self.left_out:
            return self.left_out[llm]
        if llm not in self.llms:
            return _UNKNOWN_LLM
        return None if prompt in self.places else _NO_TOPIC


def read_modern(folder: Path, slug: str = SLUG, selection: Selection | None = None) -> ImportedBenchmark:
    """Read the responses of the benchmark's LLMs to its prompts; there is no baseline.

    Of a prompt that was worded in two ways the commoner one counts. What is left out is counted by reason.
    A source that is not in the folder is passed over, with a notice.

    Args:
        folder: holds a folder for each source.
        selection: what belongs to the benchmark; by default what `bundled/modern` says.

    Raises:
        PrecomputeError: no source is there; a file is malformed, or has two responses of one LLM to a prompt.
    """
    selection = selection or Selection.read()
    base.checked_folder(folder)
    left_out: Counter[str] = Counter()
    given = _Given({}, {})
    present: list[str] = []
    for source in SOURCES:
        for row in _rows(folder / source, source, selection):
            if present[-1:] != [source]:
                present.append(source)
            why = selection.why_not(row.llm, row.prompt_id)
            if why is None:
                given.add(row)
            else:
                left_out[why] += 1
    if not present:
        raise file_error(folder, f"none of {', '.join(SOURCES)} is a folder there that holds a {RESPONSES}.")
    prompts = {prompt: given.wording(prompt) for prompt in selection.places if prompt in given.prompts}
    responses = given.responses_to(prompts, left_out)
    if not responses:
        raise file_error(folder, "there is no response in it that belongs to the benchmark.")
    return ImportedBenchmark(
        info=_info(slug),
        queries=tuple(ImportedQuery(text, id_, *selection.places[id_]) for id_, text in prompts.items()),
        llms=_llms(selection, responses, slug),
        responses={llm: responses[llm] for llm in selection.llms if llm in responses},
        baseline=None,
        notices=_notices(present, left_out),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    path: Path
    number: int
    prompt_id: str
    prompt: str
    llm: str
    response: str


def _rows(folder: Path, source: str, selection: Selection) -> Iterator[_Row]:
    path = folder / RESPONSES
    if path.is_file():
        for number, record in read_json_lines(path):
            if (row := _row(path, number, record)).response:  # reasoning alone is no answer
                yield row
        return
    known = {*selection.llms, *selection.left_out}
    for file, number, record in upstream_rows(folder, source):
        row = _row(file, number, record)
        yield replace(row, llm=short_name(row.llm, known, selection.aliases))


def _row(path: Path, number: int, record: Mapping[str, Any]) -> _Row:
    return _Row(
        path,
        number,
        base.name_of(path, number, record, "prompt_id"),
        base.text_of(path, number, record, "prompt"),
        base.name_of(path, number, record, "llm"),
        without_reasoning(base.text_of(path, number, record, "response")),
    )


@dataclass(frozen=True)
class _Given:
    """Prompts by id with how often each wording was asked; by LLM and prompt the wording and the response."""

    prompts: dict[str, Counter[str]]
    responses: dict[str, dict[str, tuple[str, str]]]

    def add(self, row: _Row) -> None:
        given = self.responses.setdefault(row.llm, {})
        if row.prompt_id in given:
            raise file_error(
                row.path, f"{row.llm!r} has another response to {row.prompt_id!r} before.", row.number
            )
        given[row.prompt_id] = (row.prompt, row.response)
        self.prompts.setdefault(row.prompt_id, Counter())[row.prompt] += 1

    def wording(self, prompt: str) -> str:
        return self.prompts[prompt].most_common(1)[0][0]

    def responses_to(self, prompts: Mapping[str, str], left_out: Counter[str]) -> dict[str, dict[int, str]]:
        """Return the responses to these wordings by LLM and place of the prompt; others are counted."""
        place = {prompt: index for index, prompt in enumerate(prompts)}
        found: dict[str, dict[int, str]] = {}
        for llm, given in self.responses.items():
            for prompt, (wording, response) in given.items():
                if wording == prompts[prompt]:
                    found.setdefault(llm, {})[place[prompt]] = response
                else:
                    left_out[_OTHER_WORDING] += 1
        return found


def _llms(selection: Selection, responses: Mapping[str, object], slug: str) -> tuple[LLMRecord, ...]:
    catalogue = load_catalogue()
    return tuple(
        LLMRecord(llm, catalogue.facts(llm, slug).title) for llm in selection.llms if llm in responses
    )


def _notices(present: list[str], left_out: Counter[str]) -> tuple[str, ...]:
    missing = [source for source in SOURCES if source not in present]
    absent = (f"sources that are not there: {', '.join(missing)}.",) if missing else ()
    return absent + tuple(f"responses left out because {why}: {n:,}." for why, n in left_out.most_common())


def _info(slug: str) -> BenchmarkInfo:
    return BenchmarkInfo(
        slug=slug,
        title="Modern LLMs",
        description="Stories, essays, riddles, politics and opinions, with the responses of current LLMs.",
        version="1",
        licence="Texts are under CC0 1.0, MIT, MIT-0 or Apache 2.0, by source",
        attribution=(
            "sam-paech/slop-score, clchinkc/story-bench, EQ-bench/longform-writing-bench, "
            "cpldcpu/MisguidedAttention, xlr8harder/speechmap-data, timfduffy/syco-bench"
        ),
        text_import_command=f"python -m precompute import modern DIR --benchmark {slug}",
    )
