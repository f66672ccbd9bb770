"""All tables of version 0.1.0, which its seven revisions made one after another.

A database of any of the seven is brought to the last one: each revision only added tables, so those that came
after its own are created. The tables are written down as they were then, whatever `db.models` becomes.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import context, op

revision = "0007"
down_revision = None

_TABLES = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_INTEGER, _TEXT, _BYTES, _JSON = sa.Integer(), sa.Text(), sa.LargeBinary(), sa.JSON()
_DOUBLE: sa.Double[float] = sa.Double()
_SHA256, _MOMENT = sa.String(64), sa.DateTime(timezone=True)


def upgrade() -> None:
    earlier = context.config.attributes.get("earlier")
    later = {name for number, names in _ADDED.items() if earlier and number > earlier for name in names}
    missing = [table for name, table in _TABLES.tables.items() if earlier is None or name in later]
    _TABLES.create_all(op.get_bind(), missing, checkfirst=False)


def downgrade() -> None:
    _TABLES.drop_all(op.get_bind())


def _columns(type_: Any, *names: str, index: bool = False) -> list[sa.Column[Any]]:
    """Return columns of one type; those whose names end in "?" may be NULL."""
    return [
        sa.Column(name.removesuffix("?"), type_, nullable=name.endswith("?"), index=index) for name in names
    ]


def _parent(table: str, *, index: bool = False, primary_key: bool = False) -> sa.Column[Any]:
    """Return the reference of a child that makes no sense without its parent."""
    parent = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(f"{table}_id", parent, nullable=False, index=index, primary_key=primary_key)


def _table(
    name: str, *columns: sa.Column[Any], unique: Sequence[Sequence[str]] = (), id_: bool = True
) -> None:
    own_id = [sa.Column("id", _INTEGER, primary_key=True)] if id_ else []
    sa.Table(name, _TABLES, *own_id, *columns, *(sa.UniqueConstraint(*key) for key in unique))


_table(
    "benchmark",
    *_columns(_TEXT, "slug", "title", "description", "version", "licence", "attribution", "source_url"),
    *_columns(_TEXT, "text_import_command?"),
    *_columns(_SHA256, "bundle_digest?"),
    # The two tables refer to each other, so this reference is added last where that can be done.
    sa.Column("baseline_llm_id", sa.ForeignKey("llm.id", ondelete="SET NULL", use_alter=True), index=True),
    *_columns(_MOMENT, "created_at", "updated_at"),
    unique=[["slug"]],
)
_table(
    "llm",
    _parent("benchmark"),
    *_columns(_TEXT, "name", "title"),
    *_columns(_INTEGER, "position"),
    *_columns(_TEXT, "note"),
    unique=[["benchmark_id", "name"]],
)
_table(
    "category",
    _parent("benchmark"),
    *_columns(_TEXT, "name"),
    *_columns(_INTEGER, "position"),
    unique=[["benchmark_id", "name"]],
)
_table(
    "topic",
    _parent("category"),
    *_columns(_TEXT, "name"),
    *_columns(_INTEGER, "position"),
    unique=[["category_id", "name"]],
)
_table(
    "query",
    _parent("benchmark"),
    sa.Column("topic_id", sa.ForeignKey("topic.id"), nullable=False, index=True),
    *_columns(_TEXT, "external_id"),
    *_columns(_INTEGER, "position"),
    *_columns(_TEXT, "text?"),
    *_columns(_SHA256, "text_sha256"),
    unique=[["benchmark_id", "external_id"]],
)
sa.Index(None, _TABLES.tables["query"].c.benchmark_id, _TABLES.tables["query"].c.text_sha256)
_table(
    "response",
    _parent("query"),
    _parent("llm", index=True),
    *_columns(_TEXT, "text"),
    unique=[["query_id", "llm_id"]],
)
_table(
    "representation",
    _parent("benchmark", index=True),
    _parent("llm"),
    *_columns(_TEXT, "name"),
    *_columns(_BYTES, "payload"),
    *_columns(_MOMENT, "updated_at"),
    unique=[["llm_id", "name"]],
)
_table(
    "query_representation",
    _parent("benchmark"),
    *_columns(_TEXT, "name"),
    *_columns(_BYTES, "payload"),
    *_columns(_MOMENT, "updated_at"),
    unique=[["benchmark_id", "name"]],
)
_table("crm", *_columns(_TEXT, "name", "version"), unique=[["name", "version"]])
_table("criteria_set", *_columns(_SHA256, "key"), *_columns(_JSON, "criteria"), unique=[["key"]])
_table(
    "score_matrix",
    _parent("crm"),
    _parent("criteria_set", index=True),
    _parent("benchmark", index=True),
    _parent("llm", index=True),
    *_columns(_BYTES, "payload"),
    *_columns(_MOMENT, "created_at"),
    unique=[["crm_id", "criteria_set_id", "llm_id"]],
)
_table(
    "collected_response",
    _parent("query"),
    _parent("llm", index=True),
    *_columns(_TEXT, "status", "reasoning?"),
    *_columns(_INTEGER, "prompt_tokens?", "completion_tokens?"),
    *_columns(_DOUBLE, "cost", "seconds"),
    *_columns(_INTEGER, "attempts"),
    *_columns(_TEXT, "error?", "settings_digest"),
    *_columns(_MOMENT, "created_at"),
    unique=[["query_id", "llm_id"]],
)
_table(
    "preference_set",
    *_columns(_TEXT, "slug", "title", "source"),
    *_columns(_SHA256, "digest"),
    *_columns(_JSON, "filter", "steps"),
    *_columns(_MOMENT, "created_at"),
    unique=[["slug"]],
)
_table(
    "preference",
    _parent("preference_set"),
    *_columns(_INTEGER, "position"),
    *_columns(_TEXT, "external_id"),
    *_columns(_JSON, "conversation_a", "conversation_b"),
    *_columns(_TEXT, "llm_a", "llm_b"),
    *_columns(sa.String(3), "winner"),
    *_columns(_TEXT, "language"),
    *_columns(_JSON, "tags"),
    unique=[["preference_set_id", "external_id"], ["preference_set_id", "position"]],
)
_table(
    "query_pool",
    *_columns(_TEXT, "slug", "title"),
    *_columns(_MOMENT, "created_at", "updated_at"),
    unique=[["slug"]],
)
_table(
    "pool_query",
    sa.Column("pool_id", sa.ForeignKey("query_pool.id", ondelete="CASCADE"), nullable=False),
    *_columns(_INTEGER, "position"),
    *_columns(_TEXT, "text"),
    *_columns(_SHA256, "text_sha256"),
    *_columns(_TEXT, "origin"),
    unique=[["pool_id", "text_sha256"], ["pool_id", "position"]],
)
_table(
    "text_embedding",
    sa.Column("encoder", _TEXT, primary_key=True),
    sa.Column("text_sha256", _SHA256, primary_key=True),
    *_columns(_BYTES, "vector"),
    id_=False,
)
_table(
    "topic_map",
    sa.Column("pool_id", sa.ForeignKey("query_pool.id", ondelete="CASCADE"), nullable=False),
    *_columns(_SHA256, "digest"),
    *_columns(_JSON, "settings", "topics", "quality"),
    *_columns(_BYTES, "payload"),
    *_columns(_MOMENT, "created_at"),
    unique=[["pool_id"]],
)
_table(
    "curation_edit",
    _parent("topic_map"),
    *_columns(_INTEGER, "position"),
    *_columns(_JSON, "action"),
    *_columns(_TEXT, "reason"),
    *_columns(_MOMENT, "created_at", "undone_at?"),
    unique=[["topic_map_id", "position"]],
)
_table(
    "sampled_benchmark",
    _parent("benchmark", primary_key=True),
    *_columns(_TEXT, "family"),
    *_columns(_INTEGER, "version"),
    *_columns(_SHA256, "digest"),
    *_columns(_JSON, "settings", "counts"),
    *_columns(_MOMENT, "created_at"),
    unique=[["family", "version"]],
    id_=False,
)
_table(
    "win_rate",
    _parent("benchmark", index=True),
    _parent("crm"),
    _parent("criteria_set", index=True),
    _parent("llm", index=True),
    *_columns(_TEXT, "category"),
    *_columns(_DOUBLE, "hard", "soft", "ci_low", "ci_high"),
    *_columns(_INTEGER, "n_queries"),
    unique=[["crm_id", "criteria_set_id", "llm_id", "category"]],
)
_table(
    "extracted_criteria",
    _parent("preference"),
    *_columns(sa.String(1), "side"),
    *_columns(_TEXT, "status"),
    *_columns(_JSON, "criteria?"),
    *_columns(sa.String(1), "first_shown"),
    *_columns(_TEXT, "llm"),
    *_columns(_INTEGER, "prompt_tokens?", "completion_tokens?"),
    *_columns(_DOUBLE, "cost", "seconds"),
    *_columns(_INTEGER, "attempts"),
    *_columns(_TEXT, "error?", "settings_digest"),
    *_columns(_MOMENT, "created_at"),
    unique=[["preference_id", "side"]],
)
_table(
    "criterion_theme_set",
    _parent("preference_set"),
    *_columns(_JSON, "themes"),
    *_columns(_MOMENT, "created_at"),
    unique=[["preference_set_id"]],
)
_table(
    "profile",
    *_columns(_SHA256, "token_sha256"),
    *_columns(_JSON, "payload"),
    *_columns(_MOMENT, "created_at", "updated_at"),
    *_columns(_MOMENT, "last_used_at", index=True),
    unique=[["token_sha256"]],
)

_ADDED = {
    "0002": ["collected_response"],
    "0003": ["preference_set", "preference"],
    "0004": ["query_pool", "pool_query", "text_embedding", "topic_map", "curation_edit", "sampled_benchmark"],
    "0005": ["win_rate"],
    "0006": ["extracted_criteria", "criterion_theme_set"],
    "0007": ["profile"],
}
"""The tables that revisions of version 0.1.0 added to those of the first one."""
