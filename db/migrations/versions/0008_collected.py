"""How responses were collected, and which benchmarks were removed.

Of responses: the provider's name of the model, reasoning tokens, settings in clear, marks to ask again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("collected_response", sa.Column("replied_as", sa.Text()))
    op.add_column("collected_response", sa.Column("reasoning_tokens", sa.Integer()))
    op.add_column(
        "collected_response", sa.Column("ask_again", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.create_table(
        "collection_settings",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_collection_settings"),
    )
    op.create_table(
        "removed_benchmark",
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("slug", name="pk_removed_benchmark"),
    )


def downgrade() -> None:
    op.drop_table("removed_benchmark")
    op.drop_table("collection_settings")
    with op.batch_alter_table("collected_response") as table:
        for column in ("ask_again", "reasoning_tokens", "replied_as"):
            table.drop_column(column)
