"""The contents of a bundle in memory, and the names of its members."""

from collections.abc import Mapping
from dataclasses import dataclass

from db.records import BenchmarkInfo, CategoryTree, LLMRecord, QuerySource

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
QUERIES = "queries.jsonl"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A benchmark as one value.

    `queries` is in position order, the row order of every payload. `responses` maps LLM names to {query id:
    text}. `representations` maps representation names to {LLM name: payload}, `query_representations` to the
    payload of the queries themselves; payloads are the bytes of `db.payload.pack`.
    """

    info: BenchmarkInfo
    baseline: str | None
    categories: tuple[CategoryTree, ...]
    llms: tuple[LLMRecord, ...]
    queries: tuple[QuerySource, ...]
    responses: Mapping[str, Mapping[str, str]]
    representations: Mapping[str, Mapping[str, bytes]]
    query_representations: Mapping[str, bytes]


def responses_member(index: int) -> str:
    """Returns the name of the member with the responses of the LLM of this index."""
    return f"responses/{index}.jsonl"


def representation_member(name: str, index: int | None) -> str:
    """Returns the name of the member with the arrays of the LLM of this index, or of the queries (None)."""
    return f"representations/{name}/{'queries' if index is None else index}.npz"
