"""One process at a time sets a database up."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from db.engine import connect, place
from db.errors import DatabaseBusyError, DatabaseUnavailableError

# Any fixed number: advisory locks are told apart by database and number alone.
ADVISORY_LOCK = 0x05_15_1B

WAIT_SECONDS = 600.0


@contextmanager
def exclusive(engine: Engine, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Holds the database's set-up lock, across processes and threads; it is freed even if the holder dies.

    SQLite: a lock file beside the database. PostgreSQL: an advisory lock on a connection of its own. Other
    sessions read and write on unhindered; only a second `exclusive` waits. It is not re-entrant.

    Args:
        engine: the database to lock.
        wait: how many seconds to wait for another holder.

    Raises:
        DatabaseBusyError: another process held the lock all that time.
        DatabaseUnavailableError: the server cannot be reached, or the folder of the database is not writable.
    """
    hold = _file_lock(engine, wait) if engine.dialect.name == "sqlite" else _advisory_lock(engine, wait)
    with hold:
        yield


@contextmanager
def _file_lock(engine: Engine, wait: float) -> Iterator[None]:
    lock = FileLock(Path(f"{engine.url.database}.lock"), timeout=wait)
    try:
        lock.acquire()
    except Timeout:
        raise _busy(engine, wait) from None
    except OSError as error:
        raise DatabaseUnavailableError(
            f"Cannot lock {place(engine.url)}: {error.strerror}; its folder must be writable."
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _advisory_lock(engine: Engine, wait: float) -> Iterator[None]:
    with connect(engine) as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        try:
            _wait_for_advisory_lock(connection, wait)
            yield
        finally:
            # Closed for good instead of going back to the pool: the server frees the lock with it.
            connection.invalidate()


def _wait_for_advisory_lock(connection: Connection, wait: float) -> None:
    connection.execute(text(f"SET lock_timeout = {max(1, round(wait * 1000))}"))
    try:
        connection.execute(text(f"SELECT pg_advisory_lock({ADVISORY_LOCK})"))
    except OperationalError as error:
        if isinstance(error.orig, LockNotAvailable):
            raise _busy(connection.engine, wait) from None
        raise


def _busy(engine: Engine, wait: float) -> DatabaseBusyError:
    return DatabaseBusyError(
        f"Another process has been setting up {place(engine.url)} for {wait:g} seconds; "
        "try again when it is done."
    )
