"""The database: its URL and engine, the locks on it, its migration, and `Database`, which joins them."""

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import DatabaseError as DriverError
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import ConnectionPoolEntry

from db.bundle import bundle_digest, bundle_slug, read_bundle, read_win_rates, win_rates_file
from db.errors import DatabaseError
from db.repositories.bundles import fill_from_bundle, wants_bundle

URL_VARIABLE = "USL_DATABASE_URL"
HOME_VARIABLE = "USL_HOME"
PROJECT_ROOT = Path(__file__).resolve().parent.parent
BUSY_TIMEOUT_SECONDS = 30
CONNECT_TIMEOUT_SECONDS = 10

_OUT_OF_REACH = (OperationalError, InterfaceError, DriverError)
"""What is raised where nothing is wrong with what was asked: SQLite says of a damaged file only the last."""
_SHAPES = "sqlite:///path/to/file.sqlite3 or postgresql://user:password@host:5432/database"


def database_url() -> str:
    """Return the URL in USL_DATABASE_URL, else that of `data/usl.sqlite3` in USL_HOME, or beside the code."""
    home = Path(os.environ.get(HOME_VARIABLE) or PROJECT_ROOT).absolute()
    return os.environ.get(URL_VARIABLE) or f"sqlite:///{home / 'data' / 'usl.sqlite3'}"


def create_database_engine(url: str | None = None) -> Engine:
    """Return an engine for the URL (default: `database_url()`) without connecting.

    `postgres://` and `postgresql://` both mean PostgreSQL through psycopg 3. The folder of a SQLite file is
    made. Raises DatabaseError: the URL is malformed or of another kind, or the folder cannot be made.
    """
    parsed = _parse(url or database_url())
    if parsed.get_backend_name() == "sqlite":
        return _sqlite_engine(parsed)
    timeout = {} if "connect_timeout" in parsed.query else {"connect_timeout": CONNECT_TIMEOUT_SECONDS}
    return create_engine(parsed, connect_args=timeout, pool_pre_ping=True)


def connect(engine: Engine) -> Connection:
    """Connect, and say in one sentence why it cannot.

    Raises:
        DatabaseError: the server does not answer or refuses, or the file is no database.
    """
    try:
        return engine.connect()
    # The listener that sets SQLite's pragmas raises the driver's own errors, unwrapped.
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise DatabaseError(
            f"Cannot open {place(engine.url)}: {reason(error, engine.url)}; "
            f"check it or set {URL_VARIABLE} to another."
        ) from None


def place(url: URL) -> str:
    """Name the database of the URL for an error message, without user or password."""
    if url.get_backend_name() == "sqlite":
        return f"the SQLite file {url.database}"
    server = url.host or url.query.get("host") or "the local server"
    port = f":{url.port}" if url.port else ""
    return f"the PostgreSQL database {url.database!r} at {server}{port}"


def reason(error: Exception, url: URL) -> str:
    """Return the driver's first line about the error, without the password of the URL."""
    text = str(getattr(error, "orig", None) or error).strip().split("\n", 1)[0].rstrip(".")
    return text.replace(str(url.password), "***") if url.password else text


def _parse(url: str) -> URL:
    try:
        url.encode()  # which halves of surrogate pairs cannot be
        parsed = None if "\0" in url else make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None:
        # The text of the URL may hold a password, so it is neither quoted nor chained.
        raise DatabaseError(f"The database URL is malformed; it must look like {_SHAPES}.") from None
    backend = parsed.drivername.split("+", 1)[0]
    if backend in {"postgres", "postgresql"}:
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise DatabaseError(f"Databases of the kind {backend!r} are not supported; use {_SHAPES}.")
    if not parsed.database or parsed.database == ":memory:":
        raise DatabaseError(
            "A SQLite database in memory cannot be shared between threads; use sqlite:///path/to/file.sqlite3."
        )
    return parsed.set(drivername="sqlite+pysqlite")


def _sqlite_engine(url: URL) -> Engine:
    file = Path(str(url.database))
    try:
        is_other = file.exists() and not file.is_file()
    except OSError as error:  # a name that is too long
        raise DatabaseError(
            f"Cannot open {place(url)}: {error.strerror}; set {URL_VARIABLE} to another."
        ) from None
    if is_other:
        raise DatabaseError(
            f"Cannot open {place(url)}: it is a folder or a device; set {URL_VARIABLE} to a file in a folder."
        )
    folder = file.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseError(
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


# Any fixed number: advisory locks are told apart by database and number alone.
ADVISORY_LOCK = 0x05_15_1B

WAIT_SECONDS = 600.0
_GRACE_SECONDS = 2.0
"""The server frees the locks of a process that ended a moment after it: so long is waited for a job's."""


@contextmanager
def exclusive(engine: Engine, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the database's set-up lock, across processes and threads; it is freed even if the holder dies.

    SQLite: a lock file beside the database. PostgreSQL: an advisory lock on a connection of its own. Other
    sessions read and write on unhindered; only a second `exclusive` waits, for so many seconds at most. It is
    not re-entrant. Raises DatabaseError: another process held the lock all that time, the server cannot be
    reached, or the folder of the database is not writable.
    """
    busy = DatabaseError(
        f"Another process has been setting up {place(engine.url)} for {wait:g} seconds; "
        "try again when it is done."
    )
    if engine.dialect.name == "sqlite":
        with _file_lock(engine, f"{engine.url.database}.lock", wait, busy):
            yield
    else:
        with _advisory_locks(engine, {ADVISORY_LOCK: busy}, wait):
            yield


@contextmanager
def job_locks(engine: Engine, jobs: Iterable[str]) -> Iterator[None]:
    """Hold the locks of some jobs for as long as they run; they are freed even if the holder dies.

    SQLite: lock files beside the database. PostgreSQL: advisory locks on one connection of their own. Whoever
    holds them may still take `exclusive`. They are not re-entrant. A job is the end of the sentence “Another
    process is …”; equal jobs exclude each other. Raises DatabaseError: another process does one of them now,
    and none is held then; the server cannot be reached, or the folder of the database is not writable.
    """
    distinct = sorted(set(jobs))
    with ExitStack() as held:
        if engine.dialect.name == "sqlite":
            for job in distinct:
                held.enter_context(_file_lock(engine, str(_lock_file(engine, job)), 0, _taken(job)))
        else:
            taken = {int.from_bytes(_digest(job), signed=True): _taken(job) for job in distinct}
            held.enter_context(_advisory_locks(engine, taken, _GRACE_SECONDS))
        yield


def is_under_way(engine: Engine, job: str) -> bool:
    """Return whether a process holds the lock of a job; leaves no lock file behind."""
    if engine.dialect.name == "sqlite" and not _lock_file(engine, job).exists():
        return False
    try:
        with job_locks(engine, [job]):
            return False
    except DatabaseError:
        return True


def _lock_file(engine: Engine, job: str) -> Path:
    return Path(f"{engine.url.database}.{_digest(job).hex()}.lock")


def _digest(job: str) -> bytes:
    # Eight bytes: as many as the number of an advisory lock has.
    return hashlib.sha256(job.encode()).digest()[:8]


def _taken(job: str) -> DatabaseError:
    return DatabaseError(f"Another process is {job}; run the command again when it is done.")


@contextmanager
def _file_lock(engine: Engine, path: str, wait: float, taken: DatabaseError) -> Iterator[None]:
    """Hold a lock file; raise ``taken`` if another holds it all the time."""
    lock = FileLock(path, timeout=wait)
    try:
        # Where no file can be made, as in /proc, the lock would be waited for in vain.
        Path(path).touch()
        lock.acquire()
    except Timeout:
        raise taken from None
    except OSError as error:
        message = f"Cannot lock {place(engine.url)}: {error.strerror}; its folder must be writable."
        raise DatabaseError(message) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _advisory_locks(engine: Engine, taken: Mapping[int, DatabaseError], wait: float) -> Iterator[None]:
    """Hold locks by number on a connection of their own; raise what belongs to the one it cannot get."""
    with connect(engine) as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        try:
            connection.execute(text(f"SET lock_timeout = {max(1, round(wait * 1000))}"))
            for number, error in taken.items():
                _take(connection, number, error)
            yield
        finally:
            # Closed for good instead of going back to the pool: the server frees the locks with it.
            connection.invalidate()


_LOCK_NOT_AVAILABLE = "55P03"
"""PostgreSQL's code; its driver is not imported where the database is SQLite."""


def _take(connection: Connection, number: int, taken: DatabaseError) -> None:
    try:
        connection.execute(text("SELECT pg_advisory_lock(:number)"), {"number": number})
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            raise taken from None
        raise


_MIGRATIONS = Path(__file__).resolve().parent / "migrations"
_EARLIER = frozenset({"0001", "0002", "0003", "0004", "0005", "0006"})
"""Revisions of version 0.1.0 that are part of 0007 now, which goes on from any of them."""
LATEST_REVISION = "0009"
"""What the tables are like after all migrations: where they are, Alembic need not be imported."""


def upgrade(engine: Engine) -> None:
    """Apply the revisions the database lacks, all or none; do nothing if it lacks none.

    Two processes must not do so at once: call it under `db.database.exclusive`.

    Raises:
        DatabaseError: the database cannot be opened, was made by newer code, or a revision fails.
    """
    with connect(engine) as connection:
        # Closed at the end instead of going back to the pool, so no pragma set here outlives the migration.
        connection.detach()
        current = _revision(connection)
        connection.rollback()
        if current != LATEST_REVISION:
            _migrate(connection, current)


def _revision(connection: Connection) -> str | None:
    """Return the revision of the tables, None where there are none yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def _migrate(connection: Connection, current: str | None) -> None:
    from alembic import command  # noqa: PLC0415 - half a second of every start
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    url = connection.engine.url
    try:
        _begin(connection)
        if current in _EARLIER:
            config.attributes["earlier"] = current
            command.stamp(config, "base", purge=True)
        command.upgrade(config, "head")
        connection.commit()
    except CommandError:
        raise DatabaseError(
            f"The tables of {place(url)} are of the unknown revision {current!r}, "
            "made by newer code; update this checkout or use another database."
        ) from None
    except DBAPIError as error:
        raise DatabaseError(
            f"Cannot bring the tables of {place(url)} up to date: {reason(error, url)}."
        ) from error


def _begin(connection: Connection) -> None:
    """Begin a transaction that also holds the changes of tables."""
    if connection.dialect.name == "sqlite":
        # SQLite alters a table by dropping it after copying, which would cascade into rows that refer to it.
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        # Python's driver begins no transaction by itself before CREATE TABLE.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.begin()


@dataclass(frozen=True, slots=True)
class Database:
    """An open database, to be shared by the threads of a process."""

    engine: Engine

    @classmethod
    def open(cls, url: str | None = None, bundles: Iterable[Path] = ()) -> "Database":
        """Open the database at the URL (default: `db.database.database_url()`) with its tables up to date.

        Benchmarks of the bundle files are created, or replaced where the file is another than the one that
        filled them, with the win rates that lie beside it; see `fill_from_bundle`. Processes that start at
        the same moment wait for each other. Each bundle is filled whole or not at all.

        Raises:
            DatabaseError: the database cannot be opened or brought up to date, or another process has been
                setting it up for too long.
            BundleError: a bundle file is missing or malformed; nothing of it is stored.
        """
        database = cls(create_database_engine(url))
        try:
            with exclusive(database.engine):
                upgrade(database.engine)
                for path in bundles:
                    database._fill(path)
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yield a session for one piece of work: committed at the end, rolled back if it fails.

        Raises:
            DatabaseError: The server does not answer, or the file is gone, damaged, locked or full.
        """
        try:
            with sessionmaker(self.engine).begin() as session:
                yield session
        # The listener that sets SQLite's pragmas raises the driver's own errors, unwrapped.
        except (OperationalError, InterfaceError, DriverError, sqlite3.Error) as error:
            if isinstance(error, DriverError) and type(error) not in _OUT_OF_REACH:
                raise  # not the database's fault
            raise DatabaseError(
                f"The database cannot be used just now, {place(self.engine.url)}: "
                f"{reason(error, self.engine.url)}; try again, or check it."
            ) from error

    def close(self) -> None:
        """Close the idle connections; the database may be used again afterwards."""
        self.engine.dispose()

    def _fill(self, path: Path) -> None:
        digest, slug = bundle_digest(path), bundle_slug(path)
        with self.session() as session:
            if wants_bundle(session, slug, digest):
                bundle, beside = read_bundle(path), win_rates_file(path)
                rates = read_win_rates(beside, bundle, digest) if beside.exists() else ()
                fill_from_bundle(session, bundle, digest, rates)
