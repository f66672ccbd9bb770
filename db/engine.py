"""From a database URL to an engine: SQLite (the default) or PostgreSQL through psycopg 3."""

import os
import sqlite3
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from db.errors import DatabaseUnavailableError

URL_VARIABLE = "USL_DATABASE_URL"
PROJECT_ROOT = Path(__file__).resolve().parent.parent
BUSY_TIMEOUT_SECONDS = 30
CONNECT_TIMEOUT_SECONDS = 10

_SHAPES = "sqlite:///path/to/file.sqlite3 or postgresql://user:password@host:5432/database"


def database_url() -> str:
    """Returns the URL in USL_DATABASE_URL, else that of `data/usl.sqlite3` under the project root."""
    return os.environ.get(URL_VARIABLE) or f"sqlite:///{PROJECT_ROOT / 'data' / 'usl.sqlite3'}"


def create_database_engine(url: str | None = None) -> Engine:
    """Returns an engine for the URL (default: `database_url()`) without connecting.

    `postgres://` and `postgresql://` both mean PostgreSQL through psycopg 3. The folder of a SQLite file is
    made.

    Raises:
        DatabaseUnavailableError: the URL is malformed or of another kind, or the folder cannot be made.
    """
    parsed = _parse(url or database_url())
    if parsed.get_backend_name() == "sqlite":
        return _sqlite_engine(parsed)
    timeout = {} if "connect_timeout" in parsed.query else {"connect_timeout": CONNECT_TIMEOUT_SECONDS}
    return create_engine(parsed, connect_args=timeout, pool_pre_ping=True)


def connect(engine: Engine) -> Connection:
    """Connects, and says in one sentence why it cannot.

    Raises:
        DatabaseUnavailableError: the server does not answer or refuses, or the file is no database.
    """
    try:
        return engine.connect()
    # The listener that sets SQLite's pragmas raises the driver's own errors, unwrapped.
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise DatabaseUnavailableError(
            f"Cannot open {place(engine.url)}: {reason(error, engine.url)}; "
            f"check it or set {URL_VARIABLE} to another."
        ) from None


def place(url: URL) -> str:
    """Names the database of the URL for an error message, without user or password."""
    if url.get_backend_name() == "sqlite":
        return f"the SQLite file {url.database}"
    server = url.host or url.query.get("host") or "the local server"
    port = f":{url.port}" if url.port else ""
    return f"the PostgreSQL database {url.database!r} at {server}{port}"


def reason(error: Exception, url: URL) -> str:
    """Returns the driver's first line about the error, without the password of the URL."""
    text = str(getattr(error, "orig", None) or error).strip().split("\n", 1)[0].rstrip(".")
    return text.replace(str(url.password), "***") if url.password else text


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The text of the URL may hold a password, so it is neither quoted nor chained.
        raise DatabaseUnavailableError(
            f"The database URL is malformed; it must look like {_SHAPES}."
        ) from None
    backend = parsed.drivername.split("+", 1)[0]
    if backend in {"postgres", "postgresql"}:
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise DatabaseUnavailableError(f"Databases of the kind {backend!r} are not supported; use {_SHAPES}.")
    if not parsed.database or parsed.database == ":memory:":
        raise DatabaseUnavailableError(
            "A SQLite database in memory cannot be shared between threads; use sqlite:///path/to/file.sqlite3."
        )
    return parsed.set(drivername="sqlite+pysqlite")


def _sqlite_engine(url: URL) -> Engine:
    folder = Path(str(url.database)).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnavailableError(
            f"Cannot make the folder {folder} for the database: {error.strerror}; "
            f"set {URL_VARIABLE} to another place."
        ) from error
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_SECONDS})
    event.listen(engine, "connect", _set_pragmas)
    return engine


def _set_pragmas(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()
