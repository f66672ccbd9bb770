"""INSERT … ON CONFLICT for both databases."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from db.models import Base


def upsert(
    session: Session,
    table: type[Base],
    rows: Sequence[Mapping[str, Any]],
    key: Sequence[str],
    update: Sequence[str] = (),
) -> None:
    """Inserts rows of equal columns, or changes the `update` columns of those whose `key` columns are stored.

    With no `update` columns stored rows stay as they are. Sent as one batch, and safe when another process
    inserts the same rows at the same moment.
    """
    if not rows:
        return
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    statement = insert(table)
    if update:
        statement = statement.on_conflict_do_update(
            index_elements=key, set_={column: statement.excluded[column] for column in update}
        )
    else:
        statement = statement.on_conflict_do_nothing(index_elements=key)
    session.execute(statement, rows)
