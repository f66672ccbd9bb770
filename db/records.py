"""Frozen records that go into and come out of the repositories; never database rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


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

    `external_id` is unique within the benchmark, `sha256` is `db.text.text_sha256` of the text, and `text` is
    None where the text itself may not be shipped.
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


class CollectedStatus(StrEnum):
    """How the collection of one response ended.

    A refused response is one that the LLM or a filter of its server declined to give; a truncated one ran
    into the limit of tokens. Both are answers and keep their text; a failed one is asked for again.
    """

    OK = "ok"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CollectedRecord:
    """One response as it was collected, or why it could not be.

    `text` is None where there is none to show: of a failed response, and of an answer that is reasoning alone
    or was withheld. `reasoning` is what the LLM wrote for itself before. Tokens are None where unknown,
    `cost` is money at the configured prices over all `attempts`, `seconds` what the last attempt took,
    `error` one sentence on a failure. `settings_digest` tells the settings it was asked with from others.
    """

    status: CollectedStatus
    settings_digest: str
    text: str | None = None
    reasoning: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float = 0.0
    seconds: float = 0.0
    attempts: int = 1
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CollectionState:
    """What is stored of one LLM's answer to one query; `status` is None if it was imported or is missing."""

    external_id: str
    has_response: bool
    status: CollectedStatus | None
    settings_digest: str | None


@dataclass(frozen=True, slots=True)
class CollectionTotals:
    """Sums over all of an LLM's collected responses in a benchmark."""

    n_by_status: Mapping[CollectedStatus, int]
    prompt_tokens: int
    completion_tokens: int
    cost: float


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
        """Returns the earlier row with what is judged here in place of its own."""
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


class Winner(StrEnum):
    """Which of two conversations a person preferred."""

    A = "a"
    B = "b"
    TIE = "tie"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; `role` is that of chat endpoints: system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class PreferenceRecord:
    """Two whole conversations with the same user turns, and which of them the user preferred.

    `tags` say what the query asks for (creativity, technical_accuracy, …) and what is odd about the row.
    """

    external_id: str
    conversation_a: tuple[Message, ...]
    conversation_b: tuple[Message, ...]
    llm_a: str
    llm_b: str
    winner: Winner
    language: str
    tags: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class StepCount:
    """How many rows were left after one step of a filter."""

    step: str
    kept: int


@dataclass(frozen=True, slots=True)
class PreferenceSetInfo:
    """Where a set of preferences comes from.

    `digest` is the SHA-256 (hex) of the files read, `filter` the settings of the filter as JSON, and `steps`
    the rows left after each of its steps, the first being all rows and the last those of the set.
    """

    slug: str
    title: str
    source: str
    digest: str
    filter: Mapping[str, object]
    steps: tuple[StepCount, ...]

    @property
    def n_preferences(self) -> int:
        """How many preferences the set has once it is stored whole."""
        return self.steps[-1].kept


@dataclass(frozen=True, slots=True)
class PreferenceSetRecord:
    """A stored set; `n_stored` of its preferences are there, fewer than all if its import was interrupted."""

    info: PreferenceSetInfo
    n_stored: int
    created_at: datetime

    @property
    def is_complete(self) -> bool:
        """Whether all of its preferences are stored."""
        return self.n_stored == self.info.n_preferences


@dataclass(frozen=True, slots=True)
class PreferenceCounts:
    """How many preferences a set has of each winner and language, and with each LLM on either side."""

    winners: Mapping[Winner, int]
    languages: Mapping[str, int]
    llms: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FirstTurn:
    """A text with which users began: the first preference it occurs in, and in how many it does."""

    text: str
    external_id: str
    n_preferences: int


class ExtractionStatus(StrEnum):
    """How the extraction of one list of criteria ended; a failed one is asked for again."""

    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"


class SideKey(NamedTuple):
    """One side of a stored preference: the one whose winning criteria are extracted for; A or B."""

    external_id: str
    side: Winner


@dataclass(frozen=True, slots=True)
class ExtractedRecord:
    """The criteria of a person who prefers one side of a preference, or why there are none.

    `criteria` is empty unless the status is OK. `first_shown` is the side whose answers the LLM read first.
    Tokens, cost and attempts are of all requests, repeated ones included; `seconds` is what the last one
    took, `error` one sentence on a failure. `settings_digest` tells the settings it was asked with from
    others.
    """

    status: ExtractionStatus
    first_shown: Winner
    llm: str
    settings_digest: str
    criteria: tuple[str, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float = 0.0
    seconds: float = 0.0
    attempts: int = 1
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionState:
    """Which settings a stored extraction was made with, and how it ended."""

    status: ExtractionStatus
    settings_digest: str


@dataclass(frozen=True, slots=True)
class ExtractionTotals:
    """Sums over all that was extracted from a set of preferences."""

    n_by_status: Mapping[ExtractionStatus, int]
    prompt_tokens: int
    completion_tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """A stored profile, as JSON, and when it was last changed (UTC)."""

    payload: Mapping[str, Any]
    updated_at: datetime
