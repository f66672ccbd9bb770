"""Arrays that an older version packed, packed as they are packed now; what they say stays the same."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from db.models import QueryRepresentation, Representation
from db.serialization import pack, unpacked_views


@dataclass(frozen=True)
class StoredPlace:
    """Where one set of packed arrays is: of an LLM's responses or of the queries, by its row."""

    of_queries: bool
    row: int


def stored_places(session: Session) -> list[StoredPlace]:
    """Return where representations are stored, in the order in which they were."""
    return [
        StoredPlace(of_queries, row)
        for of_queries, table in ((False, Representation), (True, QueryRepresentation))
        for row in session.scalars(select(table.id).order_by(table.id))
    ]


def repack(session: Session, place: StoredPlace) -> tuple[int, int] | None:
    """Pack one set of arrays as `pack` does now; its date, and scores that rest on it, stay as they are.

    Returns:
        Bytes that it took and takes now; None where it is packed so already, or has been removed.

    Raises:
        DatabaseError: The stored bytes are damaged.
    """
    table = QueryRepresentation if place.of_queries else Representation
    stored = session.scalar(select(table.payload).where(table.id == place.row))
    if stored is None or (packed := pack(unpacked_views(stored))) == stored:
        return None
    # Unless somebody has stored other arrays in the meantime.
    same = table.id == place.row, table.payload == stored
    session.execute(update(table).where(*same).values(payload=packed))
    return len(stored), len(packed)
