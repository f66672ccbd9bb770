"""Frozen records of benchmarks and their scores, which go into and come out of the repositories.

Those of what benchmarks are made from are in `db.source_records`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class StoredRef:
    """The id of a row beside the slug it was found by."""

    id: int
    slug: str


class BenchmarkRef(StoredRef):
    """A stored benchmark as `find_benchmark` found it; it holds for the session it was found in."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class BenchmarkInfo:
    """What a benchmark says about itself.

    `text_import_command` is the one command that imports the texts a benchmark is shipped without, None if it
    has all of them.
    """

    slug: str
    title: str
    description: str = ""
    version: str = ""
    licence: str = ""
    attribution: str = ""
    source_url: str = ""
    text_import_command: str | None = None


@dataclass(frozen=True, slots=True)
class CategoryTree:
    """A category and its topics, in display order."""

    name: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LLMRecord:
    """An LLM of a benchmark: the name it is addressed by, the title it is shown by, and a free note."""

    name: str
    title: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class QuerySource:
    """A query as importers and bundles give it.

    `external_id` is unique within the benchmark, `sha256` is `db.serialization.text_sha256` of the text, and
    `text` is None where the text itself may not be shipped.
    """

    external_id: str
    category: str
    topic: str
    sha256: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """A stored query without its text."""

    external_id: str
    category: str
    topic: str
    sha256: str
    has_text: bool


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic and how many queries it has."""

    name: str
    n_queries: int


@dataclass(frozen=True, slots=True)
class CategoryRecord:
    """A category, how many queries it has, and its topics in display order."""

    name: str
    n_queries: int
    topics: tuple[TopicRecord, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkSummary:
    """One line of the list of benchmarks; `n_llms` leaves the baseline out.

    `has_texts` says that no query lacks its text and every LLM has responses to show.
    """

    slug: str
    title: str
    version: str
    n_queries: int
    n_llms: int
    has_texts: bool
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class BenchmarkRecord:
    """A whole benchmark but for its texts and arrays.

    `queries` is in position order, the order of every array of the benchmark; `llms` is in position order and
    holds the baseline too. `bundle_digest` is the SHA-256 of the bundle that filled it, None if the user made
    it. `has_texts` is that of `BenchmarkSummary`; `updated_at` (UTC) changes with every change of contents.
    """

    info: BenchmarkInfo
    baseline: str | None
    categories: tuple[CategoryRecord, ...]
    queries: tuple[QueryRecord, ...]
    llms: tuple[LLMRecord, ...]
    bundle_digest: str | None
    has_texts: bool
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ScoreKey:
    """What a score matrix was computed with: a CRM of one version and a criteria set (SHA-256, hex)."""

    crm: str
    crm_version: str
    criteria: str


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRow:
    """What a CRM says of one LLM's responses, one entry a query in position order.

    `prob` [Q] is the probability that the response is preferred to the baseline's, NaN where there is none.
    `judged` [Q] says that the CRM has been asked: it is not if the query's turn has not come or one of the
    two responses is missing, which the stored texts tell apart.
    """

    prob: NDArray[np.float32]
    judged: NDArray[np.bool_]

    def onto(self, earlier: ScoreRow) -> ScoreRow:
        """Return the earlier row with what is judged here in place of its own."""
        return ScoreRow(
            np.where(self.judged, self.prob, earlier.prob).astype(np.float32), self.judged | earlier.judged
        )


@dataclass(frozen=True, slots=True)
class WinRateRecord:
    """The win rate of one LLM under a CRM and a criteria set.

    `category` names the category whose queries count, empty for all queries. `hard` is the share of queries
    won against the baseline, ties counting half, `soft` the mean probability, both in [0, 1]; `ci_low` and
    `ci_high` bound `hard` at 95 %. It rests on `n_queries` queries, at least one.
    """

    llm: str
    category: str
    hard: float
    soft: float
    ci_low: float
    ci_high: float
    n_queries: int


@dataclass(frozen=True, slots=True)
class StoredScores:
    """Which score matrices are stored: one of a benchmark under a CRM and a criteria set, whole or in part.

    `criteria` is the criteria set as the JSON list it was stored with.
    """

    key: ScoreKey
    criteria: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class StepCount:
    """How many rows were left after one step of a filter."""

    step: str
    kept: int


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """A stored profile, as JSON, and when it was last changed (UTC)."""

    payload: Mapping[str, Any]
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """How a frozen benchmark was sampled: version `version` of `family`.

    `digest` is the SHA-256 (hex) of its queries and topics, `settings` what it was drawn with (JSON), and
    `counts` the queries left after each step.
    """

    family: str
    version: int
    digest: str
    settings: Mapping[str, Any]
    counts: tuple[StepCount, ...]
    created_at: datetime | None = None
