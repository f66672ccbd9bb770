"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _create_benchmark_tables()
    _create_content_tables()
    _create_score_tables()


def downgrade() -> None:
    for table in (
        "score_matrix",
        "criteria_set",
        "crm",
        "query_representation",
        "representation",
        "response",
    ):
        op.drop_table(table)
    with op.batch_alter_table("benchmark") as benchmark:
        benchmark.drop_constraint("fk_benchmark_baseline_llm_id_llm", type_="foreignkey")
    for table in ("query", "topic", "category", "llm", "benchmark"):
        op.drop_table(table)


def _create_benchmark_tables() -> None:
    op.create_table(
        "benchmark",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("licence", sa.Text(), nullable=False),
        sa.Column("attribution", sa.Text(), nullable=False),
        sa.Column("source_url", sa.Text(), nullable=False),
        sa.Column("text_import_command", sa.Text(), nullable=True),
        sa.Column("bundle_digest", sa.String(64), nullable=True),
        sa.Column("baseline_llm_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_benchmark"),
        sa.UniqueConstraint("slug", name="uq_benchmark_slug"),
    )
    op.create_table(
        "llm",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_llm"),
        sa.UniqueConstraint("benchmark_id", "name", name="uq_llm_benchmark_id_name"),
        _parent("llm", "benchmark"),
    )
    # The two tables refer to each other, so the second reference is added last.
    with op.batch_alter_table("benchmark") as benchmark:
        benchmark.create_index("ix_benchmark_baseline_llm_id", ["baseline_llm_id"])
        benchmark.create_foreign_key(
            "fk_benchmark_baseline_llm_id_llm", "llm", ["baseline_llm_id"], ["id"], ondelete="SET NULL"
        )
    op.create_table(
        "category",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_category"),
        sa.UniqueConstraint("benchmark_id", "name", name="uq_category_benchmark_id_name"),
        _parent("category", "benchmark"),
    )
    op.create_table(
        "topic",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("category_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_topic"),
        sa.UniqueConstraint("category_id", "name", name="uq_topic_category_id_name"),
        _parent("topic", "category"),
    )


def _create_content_tables() -> None:
    op.create_table(
        "query",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("topic_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("text_sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_query"),
        sa.UniqueConstraint("benchmark_id", "external_id", name="uq_query_benchmark_id_external_id"),
        _parent("query", "benchmark"),
        sa.ForeignKeyConstraint(["topic_id"], ["topic.id"], name="fk_query_topic_id_topic"),
    )
    op.create_index("ix_query_benchmark_id_text_sha256", "query", ["benchmark_id", "text_sha256"])
    op.create_index("ix_query_topic_id", "query", ["topic_id"])
    op.create_table(
        "response",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("query_id", sa.Integer(), nullable=False),
        sa.Column("llm_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_response"),
        sa.UniqueConstraint("query_id", "llm_id", name="uq_response_query_id_llm_id"),
        _parent("response", "query"),
        _parent("response", "llm"),
    )
    op.create_index("ix_response_llm_id", "response", ["llm_id"])
    op.create_table(
        "representation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("llm_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_representation"),
        sa.UniqueConstraint("llm_id", "name", name="uq_representation_llm_id_name"),
        _parent("representation", "benchmark"),
        _parent("representation", "llm"),
    )
    op.create_index("ix_representation_benchmark_id", "representation", ["benchmark_id"])
    op.create_table(
        "query_representation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_query_representation"),
        sa.UniqueConstraint("benchmark_id", "name", name="uq_query_representation_benchmark_id_name"),
        _parent("query_representation", "benchmark"),
    )


def _create_score_tables() -> None:
    op.create_table(
        "crm",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_crm"),
        sa.UniqueConstraint("name", "version", name="uq_crm_name_version"),
    )
    op.create_table(
        "criteria_set",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("criteria", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_criteria_set"),
        sa.UniqueConstraint("key", name="uq_criteria_set_key"),
    )
    op.create_table(
        "score_matrix",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("crm_id", sa.Integer(), nullable=False),
        sa.Column("criteria_set_id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("llm_id", sa.Integer(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_score_matrix"),
        sa.UniqueConstraint(
            "crm_id", "criteria_set_id", "llm_id", name="uq_score_matrix_crm_id_criteria_set_id_llm_id"
        ),
        _parent("score_matrix", "crm"),
        _parent("score_matrix", "criteria_set"),
        _parent("score_matrix", "benchmark"),
        _parent("score_matrix", "llm"),
    )
    for column in ("criteria_set_id", "benchmark_id", "llm_id"):
        op.create_index(f"ix_score_matrix_{column}", "score_matrix", [column])


def _parent(table: str, parent: str) -> sa.ForeignKeyConstraint:
    """The reference of a child that makes no sense without its parent."""
    return sa.ForeignKeyConstraint(
        [f"{parent}_id"], [f"{parent}.id"], name=f"fk_{table}_{parent}_id_{parent}", ondelete="CASCADE"
    )
