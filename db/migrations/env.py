"""Alembic's entry: runs the revisions on the connection that `db.database` hands over."""

from alembic import context

from db.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    transactional_ddl=True,
    render_as_batch=True,
)

with context.begin_transaction():
    context.run_migrations()
