"""DailyBench: `queries.jsonl` and one `responses_<assistant>.jsonl` an assistant."""

from pathlib import Path

from db.records import BenchmarkInfo, LLMRecord
from precompute.errors import file_error
from precompute.importers import base
from precompute.importers.base import ImportedBenchmark, ImportedQuery
from precompute.importers.rows import read_json_lines

BASELINE = "atlas"
QUERIES = "queries.jsonl"
_RESPONSES = "responses_"

_STYLES = {
    "atlas": "balanced, neutral and plain",
    "brevia": "extremely concise, no preamble",
    "scholia": "in-depth and analytical, formal",
    "stepwise": "numbered steps and headed lists, practical",
    "lumen": "warm, empathetic and encouraging",
    "fabula": "vivid imagery and metaphor, a narrative voice",
    "verity": "careful, weighs both sides, asks back",
    "jester": "playful and witty",
}


def read_dailybench(folder: Path, slug: str = "dailybench") -> ImportedBenchmark:
    """Read the queries with their topics, and the responses of every assistant in the folder.

    Raises PrecomputeError: a file is missing or malformed, or a response is to an unknown query.
    """
    queries = _read_queries(base.checked_folder(folder) / QUERIES)
    index = {str(query.external_id): place for place, query in enumerate(queries)}
    names = _assistants(folder)
    return ImportedBenchmark(
        info=BenchmarkInfo(
            slug=slug,
            title="DailyBench, open edition",
            description="Everyday, subjective queries, answered by one LLM under eight style instructions.",
            version="1",
            licence="Apache-2.0",
        ),
        queries=queries,
        llms=tuple(LLMRecord(name, name.capitalize(), _STYLES.get(name, "")) for name in names),
        responses={name: _read_responses(_responses_file(folder, name), index) for name in names},
        baseline=BASELINE,
    )


def _read_queries(path: Path) -> tuple[ImportedQuery, ...]:
    queries: dict[str, ImportedQuery] = {}
    for row, record in read_json_lines(path):
        external_id, category, topic = (
            base.name_of(path, row, record, column) for column in ("id", "category", "topic")
        )
        if external_id in queries:
            raise file_error(path, f"the id {external_id!r} occurs before.", row)
        text = base.text_of(path, row, record, "query")
        queries[external_id] = ImportedQuery(text, external_id, category, topic)
    if not queries:
        raise file_error(path, "there are no queries in it.")
    return tuple(queries.values())


def _assistants(folder: Path) -> list[str]:
    found = {path.stem.removeprefix(_RESPONSES) for path in folder.glob(f"{_RESPONSES}*.jsonl")}
    if BASELINE not in found:
        raise file_error(_responses_file(folder, BASELINE), "the baseline's responses are missing.")
    return [name for name in _STYLES if name in found] + sorted(found.difference(_STYLES))


def _responses_file(folder: Path, name: str) -> Path:
    return folder / f"{_RESPONSES}{name}.jsonl"


def _read_responses(path: Path, index: dict[str, int]) -> dict[int, str]:
    responses: dict[int, str] = {}
    for row, record in read_json_lines(path):
        external_id = base.name_of(path, row, record, "id")
        if external_id not in index:
            raise file_error(path, f"there is no query with the id {external_id!r}.", row)
        if index[external_id] in responses:
            raise file_error(path, f"the id {external_id!r} occurs before.", row)
        responses[index[external_id]] = base.text_of(path, row, record, "response")
    if not responses:
        raise file_error(path, "there are no responses in it.")
    return responses
