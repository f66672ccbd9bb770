"""The database of the command line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from db import Database

BUNDLED = Path(__file__).resolve().parent.parent / "bundled"


@contextmanager
def open_database() -> Iterator[Database]:
    """Yields the database that `USL_DATABASE_URL` names, filled from the bundled benchmarks.

    Raises:
        DatabaseError: it cannot be opened, or a bundled benchmark is damaged.
    """
    database = Database.open(bundles=sorted(BUNDLED.glob("*.usl.zip")))
    try:
        yield database
    finally:
        database.close()
