"""The tables. Other packages never see these classes: the repositories return the records of `db.records`."""

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
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SHA256_HEX_LENGTH = 64


class UTCDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite drops the time zone, so it is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the stored moment as an aware datetime in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


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


class Benchmark(Base):
    """A set of queries with topics, the LLMs' responses and one baseline LLM.

    `bundle_digest` is the SHA-256 (hex) of the bundle file that filled it, NULL if the user imported it.
    """

    __tablename__ = "benchmark"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    description: Mapped[str]
    version: Mapped[str]
    licence: Mapped[str]
    attribution: Mapped[str]
    source_url: Mapped[str]
    text_import_command: Mapped[str | None]
    bundle_digest: Mapped[str | None] = mapped_column(String(SHA256_HEX_LENGTH))
    baseline_llm_id: Mapped[int | None] = mapped_column(
        ForeignKey("llm.id", ondelete="SET NULL", use_alter=True), index=True
    )
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class Category(Base):
    """The upper level of a benchmark's tree of topics; `position` orders the categories of a benchmark."""

    __tablename__ = "category"
    __table_args__ = (UniqueConstraint("benchmark_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmark.id", ondelete="CASCADE"))
    name: Mapped[str]
    position: Mapped[int]


class Topic(Base):
    """The lower level of the tree; `position` orders the topics of a category."""

    __tablename__ = "topic"
    __table_args__ = (UniqueConstraint("category_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    category_id: Mapped[int] = mapped_column(ForeignKey("category.id", ondelete="CASCADE"))
    name: Mapped[str]
    position: Mapped[int]


class Query(Base):
    """A query; `position` is its place in every array of the benchmark.

    `text` is NULL where it may not be shipped; `text_sha256` (hex) then finds the query when the user imports
    it. Equal texts may occur under several external ids.
    """

    __tablename__ = "query"
    __table_args__ = (
        UniqueConstraint("benchmark_id", "external_id"),
        Index(None, "benchmark_id", "text_sha256"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmark.id", ondelete="CASCADE"))
    # No cascade: removing a topic that is still in use is a mistake, and must not take the user's texts with
    # it.
    topic_id: Mapped[int] = mapped_column(ForeignKey("topic.id"), index=True)
    external_id: Mapped[str]
    position: Mapped[int]
    text: Mapped[str | None]
    text_sha256: Mapped[str] = mapped_column(String(SHA256_HEX_LENGTH))


class LLM(Base):
    """A contender, or the baseline, of one benchmark; `position` orders the LLMs of a benchmark."""

    __tablename__ = "llm"
    __table_args__ = (UniqueConstraint("benchmark_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmark.id", ondelete="CASCADE"))
    name: Mapped[str]
    title: Mapped[str]
    position: Mapped[int]
    note: Mapped[str]


class Response(Base):
    """The text one LLM answered to one query."""

    __tablename__ = "response"
    __table_args__ = (UniqueConstraint("query_id", "llm_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    query_id: Mapped[int] = mapped_column(ForeignKey("query.id", ondelete="CASCADE"))
    llm_id: Mapped[int] = mapped_column(ForeignKey("llm.id", ondelete="CASCADE"), index=True)
    text: Mapped[str]


class LLMAnswerColumns:
    """How an LLM was asked and what it cost; see `db.source_records.LLMAnswer`.

    `status` is a `db.source_records.AnswerStatus`; `settings_digest` tells the settings and the prompt from
    others.
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


class CollectedResponse(LLMAnswerColumns, Base):
    """How a response was collected, or failed to be; its text, if there is one, is in `Response`."""

    __tablename__ = "collected_response"
    __table_args__ = (UniqueConstraint("query_id", "llm_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    query_id: Mapped[int] = mapped_column(ForeignKey("query.id", ondelete="CASCADE"))
    llm_id: Mapped[int] = mapped_column(ForeignKey("llm.id", ondelete="CASCADE"), index=True)
    reasoning: Mapped[str | None]


class Representation(Base):
    """The packed arrays of one LLM's responses under one representation, rows in query position order."""

    __tablename__ = "representation"
    __table_args__ = (UniqueConstraint("llm_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmark.id", ondelete="CASCADE"), index=True)
    llm_id: Mapped[int] = mapped_column(ForeignKey("llm.id", ondelete="CASCADE"))
    name: Mapped[str]
    payload: Mapped[bytes]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class QueryRepresentation(Base):
    """The arrays of the queries themselves under one representation, rows in query position order, packed.

    A table of its own, because NULL LLMs would all count as distinct in a unique constraint of
    `Representation`.
    """

    __tablename__ = "query_representation"
    __table_args__ = (UniqueConstraint("benchmark_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmark.id", ondelete="CASCADE"))
    name: Mapped[str]
    payload: Mapped[bytes]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class CRM(Base):
    """A judge; another version of it scores differently and is another row."""

    __tablename__ = "crm"
    __table_args__ = (UniqueConstraint("name", "version"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    version: Mapped[str]


class CriteriaSet(Base):
    """A normalised set of criteria: its SHA-256 (hex) and a JSON list, which this package does not read."""

    __tablename__ = "criteria_set"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(SHA256_HEX_LENGTH), unique=True)
    criteria: Mapped[list[Any]] = mapped_column(JSON)


class ScoreMatrix(Base):
    """The packed row P[llm, :] of one LLM under one CRM and criteria set, columns in query position order.

    The row may be filled in part; see `db.records.ScoreRow`.
    """

    __tablename__ = "score_matrix"
    __table_args__ = (UniqueConstraint("crm_id", "criteria_set_id", "llm_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    crm_id: Mapped[int] = mapped_column(ForeignKey("crm.id", ondelete="CASCADE"))
    criteria_set_id: Mapped[int] = mapped_column(
        ForeignKey("criteria_set.id", ondelete="CASCADE"), index=True
    )
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmark.id", ondelete="CASCADE"), index=True)
    llm_id: Mapped[int] = mapped_column(ForeignKey("llm.id", ondelete="CASCADE"), index=True)
    payload: Mapped[bytes]
    created_at: Mapped[datetime] = mapped_column(default=now)


class WinRate(Base):
    """The win rate of one LLM under one CRM and criteria set, over all queries or those of one category.

    `category` is the name of the category, empty for all queries: NULLs would all count as distinct. `hard`
    is the share of queries won, `soft` the mean probability; `ci_low` and `ci_high` bound `hard` at 95 %. An
    LLM without response to any of the queries has no row.
    """

    __tablename__ = "win_rate"
    __table_args__ = (UniqueConstraint("crm_id", "criteria_set_id", "llm_id", "category"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmark.id", ondelete="CASCADE"), index=True)
    crm_id: Mapped[int] = mapped_column(ForeignKey("crm.id", ondelete="CASCADE"))
    criteria_set_id: Mapped[int] = mapped_column(
        ForeignKey("criteria_set.id", ondelete="CASCADE"), index=True
    )
    llm_id: Mapped[int] = mapped_column(ForeignKey("llm.id", ondelete="CASCADE"), index=True)
    category: Mapped[str]
    hard: Mapped[float]
    soft: Mapped[float]
    ci_low: Mapped[float]
    ci_high: Mapped[float]
    n_queries: Mapped[int]


class PreferenceSet(Base):
    """Human preference data of one source under one filter.

    `digest` is the SHA-256 (hex) of the files read, `filter` the filter's settings, `steps` a list of
    {step, kept}: how many rows each step of the filter left.
    """

    __tablename__ = "preference_set"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    source: Mapped[str]
    digest: Mapped[str] = mapped_column(String(SHA256_HEX_LENGTH))
    filter: Mapped[dict[str, Any]] = mapped_column(JSON)
    steps: Mapped[list[Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Preference(Base):
    """Two conversations with the same user turns, and the one that the user preferred (a, b or tie).

    `position` is the place among the rows that the filter kept; conversations are lists of {role, content}.
    """

    __tablename__ = "preference"
    __table_args__ = (
        UniqueConstraint("preference_set_id", "external_id"),
        UniqueConstraint("preference_set_id", "position"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    preference_set_id: Mapped[int] = mapped_column(ForeignKey("preference_set.id", ondelete="CASCADE"))
    position: Mapped[int]
    external_id: Mapped[str]
    conversation_a: Mapped[list[Any]] = mapped_column(JSON)
    conversation_b: Mapped[list[Any]] = mapped_column(JSON)
    llm_a: Mapped[str]
    llm_b: Mapped[str]
    winner: Mapped[str] = mapped_column(String(3))
    language: Mapped[str]
    tags: Mapped[dict[str, Any]] = mapped_column(JSON)


class ExtractedCriteria(LLMAnswerColumns, Base):
    """The criteria of a person who prefers one side (a or b) of a preference, as an LLM wrote them.

    `criteria` is a list of texts, NULL where there is none; `first_shown` (a or b) is the side whose answers
    the LLM read first, `llm` its name.
    """

    __tablename__ = "extracted_criteria"
    __table_args__ = (UniqueConstraint("preference_id", "side"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    preference_id: Mapped[int] = mapped_column(ForeignKey("preference.id", ondelete="CASCADE"))
    side: Mapped[str] = mapped_column(String(1))
    criteria: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))
    first_shown: Mapped[str] = mapped_column(String(1))
    llm: Mapped[str]


class CriterionThemeSet(Base):
    """The themes of the criteria of a set of preferences, as JSON that this package does not read."""

    __tablename__ = "criterion_theme_set"

    id: Mapped[int] = mapped_column(primary_key=True)
    preference_set_id: Mapped[int] = mapped_column(
        ForeignKey("preference_set.id", ondelete="CASCADE"), unique=True
    )
    themes: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)


class QueryPool(Base):
    """Queries in which topics are looked for, and from which benchmarks are sampled."""

    __tablename__ = "query_pool"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class PoolQuery(Base):
    """One query of a pool, which has every text once; `position` is its place in every array of the pool."""

    __tablename__ = "pool_query"
    __table_args__ = (UniqueConstraint("pool_id", "text_sha256"), UniqueConstraint("pool_id", "position"))

    id: Mapped[int] = mapped_column(primary_key=True)
    pool_id: Mapped[int] = mapped_column(ForeignKey("query_pool.id", ondelete="CASCADE"))
    position: Mapped[int]
    text: Mapped[str]
    text_sha256: Mapped[str] = mapped_column(String(SHA256_HEX_LENGTH))
    origin: Mapped[str]


class TextEmbedding(Base):
    """The embedding of a text by one encoder, by the SHA-256 (hex) of the text: little-endian float32."""

    __tablename__ = "text_embedding"

    encoder: Mapped[str] = mapped_column(primary_key=True)
    text_sha256: Mapped[str] = mapped_column(String(SHA256_HEX_LENGTH), primary_key=True)
    vector: Mapped[bytes]


class TopicMap(Base):
    """The topics found in a pool: what they are called (JSON), and packed arrays with one row a query."""

    __tablename__ = "topic_map"

    id: Mapped[int] = mapped_column(primary_key=True)
    pool_id: Mapped[int] = mapped_column(ForeignKey("query_pool.id", ondelete="CASCADE"), unique=True)
    digest: Mapped[str] = mapped_column(String(SHA256_HEX_LENGTH))
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    topics: Mapped[list[Any]] = mapped_column(JSON)
    quality: Mapped[dict[str, Any]] = mapped_column(JSON)
    payload: Mapped[bytes]
    created_at: Mapped[datetime] = mapped_column(default=now)


class CurationEdit(Base):
    """One change that a person made to a topic map; what was undone stays, with the time of that."""

    __tablename__ = "curation_edit"
    __table_args__ = (UniqueConstraint("topic_map_id", "position"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    topic_map_id: Mapped[int] = mapped_column(ForeignKey("topic_map.id", ondelete="CASCADE"))
    position: Mapped[int]
    action: Mapped[dict[str, Any]] = mapped_column(JSON)
    reason: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    undone_at: Mapped[datetime | None]


class SampledBenchmark(Base):
    """That a benchmark is a frozen sample of a pool: its queries and topics never change.

    `family` is what the versions of a benchmark share, `digest` the SHA-256 (hex) of queries and topics.
    """

    __tablename__ = "sampled_benchmark"
    __table_args__ = (UniqueConstraint("family", "version"),)

    benchmark_id: Mapped[int] = mapped_column(
        ForeignKey("benchmark.id", ondelete="CASCADE"), primary_key=True
    )
    family: Mapped[str]
    version: Mapped[int]
    digest: Mapped[str] = mapped_column(String(SHA256_HEX_LENGTH))
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    counts: Mapped[list[Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Profile(Base):
    """What one person chose, as JSON that this package does not read; whoever knows the token holds it.

    `token_sha256` (hex) is all that is kept of the token.
    """

    __tablename__ = "profile"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_sha256: Mapped[str] = mapped_column(String(SHA256_HEX_LENGTH), unique=True)
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    last_used_at: Mapped[datetime] = mapped_column(default=now, index=True)
