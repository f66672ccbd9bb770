"""The tables. Other packages never see these classes: the repositories return the records of `db.records`."""

import re
from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedColumn, declared_attr, mapped_column

_SHA256 = String(64)


class UTCDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite drops the time zone, so it is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the stored moment as an aware datetime in UTC."""
        return value and (value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC))


def now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


class Base(DeclarativeBase):
    """Base of the tables; constraints have the same names on both databases, for migrations to use."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text(),
        datetime: UTCDateTime(),
        float: Double(),
        bytes: LargeBinary(),
    }

    @declared_attr.directive
    def __tablename__(cls) -> str:  # noqa: N805
        """The class's name in snake case."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


class Numbered(Base):
    """Base of the tables whose rows have an id of their own."""

    __abstract__ = True

    id: Mapped[int] = mapped_column(primary_key=True)


def _parent(
    table: str, *, index: bool = False, unique: bool = False, primary_key: bool = False
) -> MappedColumn[int]:
    """Return the reference of a row that is deleted with its parent."""
    parent = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return mapped_column(parent, index=index, unique=unique, primary_key=primary_key)


class Benchmark(Numbered):
    """A set of queries with topics, the LLMs' responses and one baseline LLM.

    `bundle_digest` is the SHA-256 (hex) of the bundle file that filled it, NULL if the user imported it.
    """

    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    description: Mapped[str]
    version: Mapped[str]
    licence: Mapped[str]
    attribution: Mapped[str]
    source_url: Mapped[str]
    text_import_command: Mapped[str | None]
    bundle_digest: Mapped[str | None] = mapped_column(_SHA256)
    baseline_llm_id: Mapped[int | None] = mapped_column(
        ForeignKey("llm.id", ondelete="SET NULL", use_alter=True), index=True
    )
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class Category(Numbered):
    """The upper level of a benchmark's tree of topics; `position` orders the categories of a benchmark."""

    __table_args__ = (UniqueConstraint("benchmark_id", "name"),)

    benchmark_id: Mapped[int] = _parent("benchmark")
    name: Mapped[str]
    position: Mapped[int]


class Topic(Numbered):
    """The lower level of the tree; `position` orders the topics of a category."""

    __table_args__ = (UniqueConstraint("category_id", "name"),)

    category_id: Mapped[int] = _parent("category")
    name: Mapped[str]
    position: Mapped[int]


class Query(Numbered):
    """A query; `position` is its place in every array of the benchmark.

    `text` is NULL where it may not be shipped; `text_sha256` (hex) then finds the query when the user imports
    it. Equal texts may occur under several external ids.
    """

    __table_args__ = (
        UniqueConstraint("benchmark_id", "external_id"),
        Index(None, "benchmark_id", "text_sha256"),
    )

    benchmark_id: Mapped[int] = _parent("benchmark")
    # No cascade: removing a topic still in use is a mistake, and must not take the user's texts with it.
    topic_id: Mapped[int] = mapped_column(ForeignKey("topic.id"), index=True)
    external_id: Mapped[str]
    position: Mapped[int]
    text: Mapped[str | None]
    text_sha256: Mapped[str] = mapped_column(_SHA256)


class LLM(Numbered):
    """A contender, or the baseline, of one benchmark; `position` orders the LLMs of a benchmark."""

    __table_args__ = (UniqueConstraint("benchmark_id", "name"),)

    benchmark_id: Mapped[int] = _parent("benchmark")
    name: Mapped[str]
    title: Mapped[str]
    position: Mapped[int]
    note: Mapped[str]


class Response(Numbered):
    """The text one LLM answered to one query."""

    __table_args__ = (UniqueConstraint("query_id", "llm_id"),)

    query_id: Mapped[int] = _parent("query")
    llm_id: Mapped[int] = _parent("llm", index=True)
    text: Mapped[str]


class LLMAnswerColumns:
    """How an LLM was asked and what it cost; see `db.source_records.LLMAnswer`.

    `status` is an `AnswerStatus`; `settings_digest` tells settings and prompt from others.
    """

    status: Mapped[str]
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    cost: Mapped[float]
    seconds: Mapped[float]
    attempts: Mapped[int]
    error: Mapped[str | None]
    settings_digest: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)


class CollectedResponse(LLMAnswerColumns, Numbered):
    """How a response was collected, or failed to be; its text, if there is one, is in `Response`.

    `replied_as` is the model's name as the provider gave it. `ask_again` marks an answer that is to be asked
    for again, though it is there.
    """

    __table_args__ = (UniqueConstraint("query_id", "llm_id"),)

    query_id: Mapped[int] = _parent("query")
    llm_id: Mapped[int] = _parent("llm", index=True)
    reasoning: Mapped[str | None]
    replied_as: Mapped[str | None]
    reasoning_tokens: Mapped[int | None]
    ask_again: Mapped[bool] = mapped_column(default=False, server_default=false())


class CollectionSettings(Base):
    """The settings in clear (JSON) that `settings_digest` of collected responses stands for."""

    digest: Mapped[str] = mapped_column(primary_key=True)
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)


class CollectionBatch(Numbered):
    """Requests for an LLM's responses that were handed in together; see `db.source_records.BatchRecord`.

    `queries` is a list of external ids, `batch_id` NULL until the provider has confirmed the batch, `state` a
    `BatchState`. The LLM is known by its name: it enters the benchmark with its first text.
    """

    benchmark_id: Mapped[int] = _parent("benchmark", index=True)
    llm: Mapped[str]
    url: Mapped[str]
    settings_digest: Mapped[str]
    queries: Mapped[list[Any]] = mapped_column(JSON)
    file_id: Mapped[str]
    batch_id: Mapped[str | None]
    state: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]


class RemovedBenchmark(Base):
    """The slug of a benchmark that a person removed: no bundled file of this slug fills it any more."""

    slug: Mapped[str] = mapped_column(primary_key=True)
    removed_at: Mapped[datetime] = mapped_column(default=now)


class Representation(Numbered):
    """The packed arrays of one LLM's responses under one representation, rows in query position order."""

    __table_args__ = (UniqueConstraint("llm_id", "name"),)

    benchmark_id: Mapped[int] = _parent("benchmark", index=True)
    llm_id: Mapped[int] = _parent("llm")
    name: Mapped[str]
    payload: Mapped[bytes]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class QueryRepresentation(Numbered):
    """The same of the queries themselves; in a unique constraint above, NULL LLMs would all be distinct."""

    __table_args__ = (UniqueConstraint("benchmark_id", "name"),)

    benchmark_id: Mapped[int] = _parent("benchmark")
    name: Mapped[str]
    payload: Mapped[bytes]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class CRM(Numbered):
    """A judge; another version of it scores differently and is another row."""

    __table_args__ = (UniqueConstraint("name", "version"),)

    name: Mapped[str]
    version: Mapped[str]


class CriteriaSet(Numbered):
    """A normalised set of criteria: its SHA-256 (hex) and a JSON list, which this package does not read."""

    key: Mapped[str] = mapped_column(_SHA256, unique=True)
    criteria: Mapped[list[Any]] = mapped_column(JSON)


class ScoreMatrix(Numbered):
    """The packed row P[llm, :] of one LLM under one CRM and criteria set, columns in query position order.

    The row may be filled in part; see `db.records.ScoreRow`.
    """

    __table_args__ = (UniqueConstraint("crm_id", "criteria_set_id", "llm_id"),)

    crm_id: Mapped[int] = _parent("crm")
    criteria_set_id: Mapped[int] = _parent("criteria_set", index=True)
    benchmark_id: Mapped[int] = _parent("benchmark", index=True)
    llm_id: Mapped[int] = _parent("llm", index=True)
    payload: Mapped[bytes]
    created_at: Mapped[datetime] = mapped_column(default=now)


class WinRate(Numbered):
    """The win rate of one LLM under one CRM and criteria set, over all queries or those of one category.

    `category` is the name of the category, empty for all queries: NULLs would all count as distinct. `hard`
    is the share of queries won, `soft` the mean probability; `ci_low` and `ci_high` bound `hard` at 95 %. An
    LLM without response to any of the queries has no row.
    """

    __table_args__ = (UniqueConstraint("crm_id", "criteria_set_id", "llm_id", "category"),)

    benchmark_id: Mapped[int] = _parent("benchmark", index=True)
    crm_id: Mapped[int] = _parent("crm")
    criteria_set_id: Mapped[int] = _parent("criteria_set", index=True)
    llm_id: Mapped[int] = _parent("llm", index=True)
    category: Mapped[str]
    hard: Mapped[float]
    soft: Mapped[float]
    ci_low: Mapped[float]
    ci_high: Mapped[float]
    n_queries: Mapped[int]


class PreferenceSet(Numbered):
    """Human preference data of one source under one filter.

    `digest` is the SHA-256 (hex) of the files read, `filter` the filter's settings, `steps` a list of
    {step, kept}: how many rows each step of the filter left.
    """

    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    source: Mapped[str]
    digest: Mapped[str] = mapped_column(_SHA256)
    filter: Mapped[dict[str, Any]] = mapped_column(JSON)
    steps: Mapped[list[Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Preference(Numbered):
    """Two conversations with the same user turns, and the one that the user preferred (a, b or tie).

    `position` is the place among the rows that the filter kept; conversations are lists of {role, content}.
    """

    __table_args__ = (
        UniqueConstraint("preference_set_id", "external_id"),
        UniqueConstraint("preference_set_id", "position"),
    )

    preference_set_id: Mapped[int] = _parent("preference_set")
    position: Mapped[int]
    external_id: Mapped[str]
    conversation_a: Mapped[list[Any]] = mapped_column(JSON)
    conversation_b: Mapped[list[Any]] = mapped_column(JSON)
    llm_a: Mapped[str]
    llm_b: Mapped[str]
    winner: Mapped[str] = mapped_column(String(3))
    language: Mapped[str]
    tags: Mapped[dict[str, Any]] = mapped_column(JSON)


class ExtractedCriteria(LLMAnswerColumns, Numbered):
    """The criteria of a person who prefers one side (a or b) of a preference, as an LLM wrote them.

    `criteria` is a list of texts, NULL where there is none; `first_shown` (a or b) is the side whose answers
    the LLM read first, `llm` its name.
    """

    __table_args__ = (UniqueConstraint("preference_id", "side"),)

    preference_id: Mapped[int] = _parent("preference")
    side: Mapped[str] = mapped_column(String(1))
    criteria: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))
    first_shown: Mapped[str] = mapped_column(String(1))
    llm: Mapped[str]


class CriterionThemeSet(Numbered):
    """The themes of the criteria of a set of preferences, as JSON that this package does not read."""

    preference_set_id: Mapped[int] = _parent("preference_set", unique=True)
    themes: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)


class QueryPool(Numbered):
    """Queries in which topics are looked for, and from which benchmarks are sampled."""

    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class PoolQuery(Numbered):
    """One query of a pool, which has every text once; `position` is its place in every array of the pool."""

    __table_args__ = (UniqueConstraint("pool_id", "text_sha256"), UniqueConstraint("pool_id", "position"))

    pool_id: Mapped[int] = _parent("query_pool")
    position: Mapped[int]
    text: Mapped[str]
    text_sha256: Mapped[str] = mapped_column(_SHA256)
    origin: Mapped[str]


class TextEmbedding(Base):
    """The embedding of a text by one encoder, by the SHA-256 (hex) of the text: little-endian float32."""

    encoder: Mapped[str] = mapped_column(primary_key=True)
    text_sha256: Mapped[str] = mapped_column(_SHA256, primary_key=True)
    vector: Mapped[bytes]


class TopicMap(Numbered):
    """The topics found in a pool: what they are called (JSON), and packed arrays with one row a query."""

    pool_id: Mapped[int] = _parent("query_pool", unique=True)
    digest: Mapped[str] = mapped_column(_SHA256)
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    topics: Mapped[list[Any]] = mapped_column(JSON)
    quality: Mapped[dict[str, Any]] = mapped_column(JSON)
    payload: Mapped[bytes]
    created_at: Mapped[datetime] = mapped_column(default=now)


class CurationEdit(Numbered):
    """One change that a person made to a topic map; what was undone stays, with the time of that."""

    __table_args__ = (UniqueConstraint("topic_map_id", "position"),)

    topic_map_id: Mapped[int] = _parent("topic_map")
    position: Mapped[int]
    action: Mapped[dict[str, Any]] = mapped_column(JSON)
    reason: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    undone_at: Mapped[datetime | None]


class SampledBenchmark(Base):
    """That a benchmark is a frozen sample of a pool: its queries and topics never change.

    `family` is what the versions of a benchmark share, `digest` the SHA-256 (hex) of queries and topics.
    """

    __table_args__ = (UniqueConstraint("family", "version"),)

    benchmark_id: Mapped[int] = _parent("benchmark", primary_key=True)
    family: Mapped[str]
    version: Mapped[int]
    digest: Mapped[str] = mapped_column(_SHA256)
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    counts: Mapped[list[Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Profile(Numbered):
    """What one person chose, as JSON that this package does not read; whoever knows the token holds it.

    `token_sha256` (hex) is all that is kept of the token.
    """

    token_sha256: Mapped[str] = mapped_column(_SHA256, unique=True)
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    last_used_at: Mapped[datetime] = mapped_column(default=now, index=True)
