"""Brings the tables of a database to the newest revision, with Alembic configured in code."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from db.engine import connect, place, reason
from db.errors import DatabaseUnavailableError

_SCRIPTS = Path(__file__).resolve().parent / "migrations"


def upgrade(engine: Engine) -> None:
    """Applies the revisions the database lacks, all or none; does nothing if it lacks none.

    Two processes must not do so at once: call it under `db.lock.exclusive`.

    Raises:
        DatabaseUnavailableError: the database cannot be opened, was made by newer code, or a revision fails.
    """
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    with connect(engine) as connection:
        # Closed at the end instead of going back to the pool, so no pragma set here outlives the migration.
        connection.detach()
        current = MigrationContext.configure(connection).get_current_revision()
        connection.rollback()
        if current == ScriptDirectory.from_config(config).get_current_head():
            return
        config.attributes["connection"] = connection
        try:
            _begin(connection)
            command.upgrade(config, "head")
            connection.commit()
        except CommandError:
            raise DatabaseUnavailableError(
                f"The tables of {place(engine.url)} are of the unknown revision {current!r}, "
                "made by newer code; update this checkout or use another database."
            ) from None
        except DBAPIError as error:
            raise DatabaseUnavailableError(
                f"Cannot bring the tables of {place(engine.url)} up to date: {reason(error, engine.url)}."
            ) from error


def _begin(connection: Connection) -> None:
    """Begins a transaction that also holds the changes of tables."""
    if connection.dialect.name == "sqlite":
        # SQLite alters a table by dropping it after copying, which would cascade into the rows that refer to
        # it.
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        # Python's driver begins no transaction by itself before CREATE TABLE.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.begin()
