from pathlib import Path

import pytest
from filelock import FileLock
from sqlalchemy import text

from db import Database, DatabaseUnavailableError, database_url
from db.engine import create_database_engine, reason


def test_the_default_is_a_file_in_the_project(monkeypatch):
    monkeypatch.delenv("USL_DATABASE_URL", raising=False)
    assert database_url() == f"sqlite:///{Path(__file__).parents[2] / 'data' / 'usl.sqlite3'}"


def test_the_variable_chooses_the_database(monkeypatch):
    monkeypatch.setenv("USL_DATABASE_URL", "postgresql://host/usl")
    assert database_url() == "postgresql://host/usl"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2", "postgresql+psycopg"])
def test_every_postgresql_url_means_psycopg_3(scheme):
    engine = create_database_engine(f"{scheme}://user:secret@host/usl")
    assert engine.url.drivername == "postgresql+psycopg"
    assert engine.url.password == "secret"


def test_sqlite_is_set_up_for_several_processes(tmp_path):
    engine = create_database_engine(f"sqlite:///{tmp_path}/new/folder/usl.sqlite3")
    with engine.connect() as connection:
        pragmas = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")
        }
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 30_000, "synchronous": 1}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense secret", "The database URL is malformed; it must look like"),
        ("postgresql://user:secret@host:port/usl", "The database URL is malformed; it must look like"),
        ("mysql://user:secret@host/usl", "Databases of the kind 'mysql' are not supported"),
        ("sqlite://", "A SQLite database in memory cannot be shared"),
        (
            "postgresql://user:secret@127.0.0.1:1/usl",
            "Cannot open the PostgreSQL database 'usl' at 127.0.0.1:1: ",
        ),
    ],
)
def test_an_unusable_url_is_explained_without_the_password(url, message):
    with pytest.raises(DatabaseUnavailableError) as error:
        Database.open(url)
    assert str(error.value).startswith(message)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("These are notes, not a database. " * 40)
    with pytest.raises(
        DatabaseUnavailableError, match=rf"^Cannot open the SQLite file {path}: file is not a"
    ):
        Database.open(f"sqlite:///{path}")
    assert path.read_text().startswith("These are notes")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseUnavailableError, match="Cannot make the folder"):
        Database.open(f"sqlite:///{tmp_path}/file/usl.sqlite3")


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(_: FileLock) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with pytest.raises(
        DatabaseUnavailableError, match=r"Cannot lock .*: Permission denied; its folder must be"
    ):
        Database.open(f"sqlite:///{tmp_path}/usl.sqlite3")


def test_a_driver_that_quotes_the_password_is_censored():
    url = create_database_engine("postgresql://user:secret@host/usl").url
    error = OSError("no login for user with secret.\nsecond line")
    assert reason(error, url) == "no login for user with ***"
