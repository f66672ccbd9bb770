"""What every importer returns."""

from collections.abc import Mapping
from dataclasses import dataclass

from db import BenchmarkInfo, LLMRecord


@dataclass(frozen=True, slots=True)
class ImportedQuery:
    """A query; what its file does not say about it is None."""

    text: str
    external_id: str | None = None
    category: str | None = None
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedBenchmark:
    """A benchmark as its files have it.

    Attributes:
        info: What it says about itself, for a benchmark that is not stored yet.
        queries: In display order; no two of the same external id, nor of the same text without one.
        llms: In display order, the baseline among them.
        responses: LLM name to index in `queries` to text; an LLM need not have answered all.
        baseline: The baseline of a benchmark that is not stored yet.
        baseline_origin: Why it is that one, where that needs saying.
        notices: What a person should know about the reading.
    """

    info: BenchmarkInfo
    queries: tuple[ImportedQuery, ...]
    llms: tuple[LLMRecord, ...]
    responses: Mapping[str, Mapping[int, str]]
    baseline: str
    baseline_origin: str = ""
    notices: tuple[str, ...] = ()
