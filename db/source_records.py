"""Frozen records of what benchmarks are made from: preferences, LLM answers, query pools and their topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from db.records import StepCount, StoredRef


class PreferenceSetRef(StoredRef):
    """A stored set of preferences, as `find_preference_set` found it in this session."""

    __slots__ = ()


class PoolRef(StoredRef):
    """A stored pool of queries, as `find_pool` found it in this session."""

    __slots__ = ()


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


class SideKey(NamedTuple):
    """One side of a stored preference: the one whose winning criteria are extracted for; A or B."""

    external_id: str
    side: Winner


class AnswerStatus(StrEnum):
    """How asking an LLM ended.

    A refused answer is one that the LLM or a filter of its server declined to give; a truncated one ran into
    the limit of tokens. Both are answers; a failed one is asked for again.
    """

    OK = "ok"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LLMAnswer:
    """How an LLM's answer came to be and what it cost; what it holds is added by the kinds of answer.

    Tokens, cost and attempts are of all requests, repeated ones included; tokens are None where the LLM's
    server does not count them, `cost` is money at the configured prices. `seconds` is what the last request
    took, `error` one sentence on a failure. `settings_digest` tells the settings it was asked with from
    others.
    """

    status: AnswerStatus
    settings_digest: str
    _: KW_ONLY
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float = 0.0
    seconds: float = 0.0
    attempts: int = 1
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CollectedRecord(LLMAnswer):
    """One response as it was collected, or why it could not be.

    `text` is None where there is none to show: of a failed response, and of an answer that is reasoning alone
    or was withheld. `reasoning` is what the LLM wrote for itself before, `reasoning_tokens` how much of
    `completion_tokens` that was, where the server says so. `replied_as` is the model's name as the server
    gave it. `collected_at` is when (UTC) it came in; None for now.
    """

    text: str | None = None
    reasoning: str | None = None
    _: KW_ONLY
    replied_as: str | None = None
    reasoning_tokens: int | None = None
    collected_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExtractedRecord(LLMAnswer):
    """The criteria of a person who prefers one side of a preference, or why there are none.

    `criteria` is empty unless the status is OK. `first_shown` is the side whose answers the LLM read first,
    `llm` its name.
    """

    criteria: tuple[str, ...] = ()
    _: KW_ONLY
    first_shown: Winner
    llm: str


@dataclass(frozen=True, slots=True)
class AnswerState:
    """What is stored of an answer and how it ended.

    `status` and `settings_digest` are None where no LLM was asked for it: it was imported, or is missing.
    `ask_again` says that a person wants it asked for again.
    """

    has_answer: bool
    status: AnswerStatus | None = None
    settings_digest: str | None = None
    ask_again: bool = False


@dataclass(frozen=True, slots=True)
class AnswerTotals:
    """Sums over answers of one kind."""

    n_by_status: Mapping[AnswerStatus, int]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


class BatchState(StrEnum):
    """Where a batch stands: under way, fetched, or no longer known to its provider."""

    UNDER_WAY = "under way"
    DONE = "done"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """Requests for an LLM's responses that were handed in together, and are not fetched yet.

    `id` is that of the row, `batch_id` the provider's; None where the provider was asked to begin and has not
    confirmed it. `url` is the provider's address, `file_id` its name of the file of requests, in which the
    external ids in `queries` stand in this order.
    """

    id: int
    llm: str
    url: str
    settings_digest: str
    queries: tuple[str, ...]
    file_id: str
    batch_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """How an LLM's responses to a benchmark were collected, all together.

    `n_imported` of its responses nobody was asked for here; `totals` are of the collected ones. `first` and
    `last` are when (UTC) these came in. `replied_as` and `settings` count them by the model's name as the
    server gave it, and by settings (JSON, None where only their digest is known); `reasoning_tokens` is None
    where no server said. `n_ask_again` of them are to be asked for again.
    """

    n_imported: int
    totals: AnswerTotals
    first: datetime | None = None
    last: datetime | None = None
    replied_as: Mapping[str, int] = field(default_factory=dict)
    settings: tuple[tuple[str, Mapping[str, Any] | None, int], ...] = ()
    reasoning_tokens: int | None = None
    n_ask_again: int = 0

    @property
    def n_answers(self) -> int:
        """Responses that are there, refused and truncated ones included."""
        failed = self.totals.n_by_status.get(AnswerStatus.FAILED, 0)
        return self.n_imported + sum(self.totals.n_by_status.values()) - failed

    @property
    def days(self) -> str:
        """“2026-11-02” or “2026-11-02 to 2026-11-05”, when answers came in; empty where none did."""
        moments = (self.first, self.last)
        return " to ".join(dict.fromkeys(f"{moment:%Y-%m-%d}" for moment in moments if moment is not None))


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One LLM's answer to one query, as it is given out; what is not known of it is None."""

    id: str
    category: str
    topic: str
    query: str | None
    llm: str
    response: str | None
    title: str
    status: AnswerStatus | None
    reason: str | None
    replied_as: str | None
    settings: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None
    collected_at: datetime | None


ID_LENGTH = 16


"""Characters of a query's id in a pool."""


@dataclass(frozen=True, slots=True)
class PoolQueryRecord:
    """A query of a pool; `origin` says where it comes from, as in “arena:17”."""

    text: str
    sha256: str
    origin: str

    @property
    def id(self) -> str:
        """The start of the text's SHA-256: the same query has the same id in every installation."""
        return self.sha256[:ID_LENGTH]


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """What a pool says about itself; `has_topics` says that topics were looked for in it."""

    slug: str
    title: str
    n_queries: int
    has_topics: bool
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class FoundTopic:
    """A topic as the clustering found and named it.

    `key` is unique in the map, as “7” is, and “7.2” of a part of it; `parent` is the key of the topic it is
    a part of. `keywords` are those of class-based TF-IDF, most distinctive first. `named_by` is the LLM that
    gave name and summary, empty where none did; `category_named_by` the same of the category's name.
    """

    key: str
    name: str
    category: str
    summary: str = ""
    keywords: tuple[str, ...] = ()
    parent: str | None = None
    named_by: str = ""
    category_named_by: str = ""


SET_ASIDE = "set aside"
"""The step that puts prompts of data sets' templates aside; they are dropped until they are restored."""
ADDED = "added"
"""The step of queries that came after the topics were found: a change in the log says where they belong."""


@dataclass(frozen=True, slots=True, eq=False)
class TopicMapRecord:
    """The topics of a pool before curation.

    `topic_of` [Q] is the place in `topics` of each query's finest topic, −1 for outliers that are left;
    `step_of` [Q] says which step of the clustering put it there, an index into `steps`, among which may be
    `SET_ASIDE` and `ADDED`. `xy` [Q, 2] places
    the queries on a map. `pool_digest` tells the queries that were clustered from others, `digest` the result
    from others; `settings` is what it was made with, `quality` the figures that judge it, both JSON.
    """

    topics: tuple[FoundTopic, ...]
    steps: tuple[str, ...]
    topic_of: NDArray[np.int32]
    step_of: NDArray[np.int8]
    xy: NDArray[np.float32]
    pool_digest: str
    digest: str
    settings: Mapping[str, Any]
    quality: Mapping[str, Any]
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CurationRecord:
    """One change a person made: what was done (JSON, read by `leaderboard.topics`), why and when (UTC)."""

    position: int
    action: Mapping[str, Any]
    reason: str
    created_at: datetime
    undone_at: datetime | None = None
