"""The database: URLs, locks, migrations and opening it with bundles."""

import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from filelock import FileLock
from sqlalchemy import inspect, text

from db import Database
from db.bundle import write_bundle
from db.database import (
    LATEST_REVISION,
    PROJECT_ROOT,
    create_database_engine,
    database_url,
    exclusive,
    is_under_way,
    job_locks,
    reason,
    upgrade,
)
from db.errors import BundleError, DatabaseError
from db.models import Base
from db.records import BenchmarkInfo
from db.repositories import benchmarks, bundles
from tests.db import samples


def test_the_default_is_a_file_in_the_project(monkeypatch):
    monkeypatch.delenv("USL_DATABASE_URL", raising=False)
    assert database_url() == f"sqlite:///{Path(__file__).parents[2] / 'data' / 'usl.sqlite3'}"


def test_the_variable_chooses_the_database(monkeypatch):
    monkeypatch.setenv("USL_DATABASE_URL", "postgresql://host/usl")
    assert database_url() == "postgresql://host/usl"


def test_default_url_is_in_the_folder_of_the_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("USL_DATABASE_URL", raising=False)
    monkeypatch.setenv("USL_HOME", str(tmp_path))
    assert database_url() == f"sqlite:///{tmp_path / 'data' / 'usl.sqlite3'}"


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
    ("file", "message"),
    [
        ("/proc", "it is a folder or a device"),
        ("/dev/zero", "it is a folder or a device"),
        ("/proc/version", "Cannot lock the SQLite file /proc/version"),
        (f"/var/{'x' * 5_000}", "File name too long; set USL_DATABASE_URL to another"),
        ("/var/\0x", "The database URL is malformed; it must look like"),
        ("/var/\ud800x", "The database URL is malformed; it must look like"),
    ],
)
def test_what_is_no_file_is_no_database(file, message):
    """Locks beside files of /proc were waited for without end."""
    with pytest.raises(DatabaseError, match=message):
        Database.open(f"sqlite:///{file}")
    assert not Path("/dev/zero.lock").exists()


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
    with pytest.raises(DatabaseError) as error:
        Database.open(url)
    assert str(error.value).startswith(message)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("These are notes, not a database. " * 40)
    with pytest.raises(DatabaseError, match=rf"^Cannot open the SQLite file {path}: file is not a"):
        Database.open(f"sqlite:///{path}")
    assert path.read_text().startswith("These are notes")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match="Cannot make the folder"):
        Database.open(f"sqlite:///{tmp_path}/file/usl.sqlite3")


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(_: FileLock) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with pytest.raises(DatabaseError, match=r"Cannot lock .*: Permission denied; its folder must be"):
        Database.open(f"sqlite:///{tmp_path}/usl.sqlite3")


def test_a_driver_that_quotes_the_password_is_censored():
    url = create_database_engine("postgresql://user:secret@host/usl").url
    error = OSError("no login for user with secret.\nsecond line")
    assert reason(error, url) == "no login for user with ***"


def test_a_second_holder_waits_and_gives_up(empty_url):
    first, second = create_database_engine(empty_url), create_database_engine(empty_url)
    with (
        exclusive(first),
        pytest.raises(DatabaseError, match=r"^Another process has been setting up"),
        exclusive(second, wait=0.1),
    ):
        pass
    first.dispose()
    second.dispose()


def test_the_lock_is_freed_when_the_holder_fails(empty_url):
    engine = create_database_engine(empty_url)
    with pytest.raises(RuntimeError), exclusive(engine):
        raise RuntimeError
    with exclusive(engine, wait=0.5):
        pass
    engine.dispose()


def test_threads_hold_it_one_after_another(empty_url):
    engine = create_database_engine(empty_url)
    inside: list[int] = []
    most: list[int] = []

    def hold() -> None:
        with exclusive(engine):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]
    engine.dispose()


def test_a_job_that_runs_elsewhere_is_refused_and_others_are_not(empty_url):
    first, second = create_database_engine(empty_url), create_database_engine(empty_url)
    with job_locks(first, ["baking bread", "making soup"]):
        with (
            pytest.raises(DatabaseError, match=r"^Another process is making soup; run the command again"),
            job_locks(second, ["brewing tea", "making soup"]),
        ):
            pass
        with job_locks(second, ["brewing tea"]), exclusive(second):
            pass
    with job_locks(second, ["baking bread", "making soup", "making soup"]):
        pass
    first.dispose()
    second.dispose()


def test_asking_whether_a_job_is_under_way_leaves_no_lock_file(tmp_path):
    engine = create_database_engine(f"sqlite:///{tmp_path / 'usl.sqlite3'}")
    assert not is_under_way(engine, "making soup")
    assert list(tmp_path.iterdir()) == []
    with job_locks(engine, ["making soup"]):
        assert is_under_way(engine, "making soup")
    assert not is_under_way(engine, "making soup")
    engine.dispose()


def constraint_names(bind):
    """The names of all constraints but primary keys, and of indexes; `compare_metadata` ignores some."""
    inspector = inspect(bind)
    return {
        entry["name"]
        for table in Base.metadata.tables
        for entry in (
            *inspector.get_foreign_keys(table),
            *inspector.get_unique_constraints(table),
            *inspector.get_indexes(table),
        )
    }


def test_migrations_agree_with_models(database):
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_migrations_make_the_same_constraints_as_models(database, tmp_path):
    reference = create_database_engine(f"sqlite:///{tmp_path / 'reference.sqlite3'}")
    Base.metadata.create_all(reference)
    expected = constraint_names(reference)
    assert expected <= constraint_names(database.engine)


def test_foreign_keys_of_migrations_act_on_deletion_like_those_of_models(database):
    inspector = inspect(database.engine)
    for table in Base.metadata.tables.values():
        actual = {
            foreign_key["name"]: foreign_key["options"].get("ondelete")
            for foreign_key in inspector.get_foreign_keys(table.name)
        }
        assert actual == {str(key.name): key.ondelete for key in table.foreign_key_constraints}


def test_upgrading_twice_changes_nothing(empty_url):
    engine = create_database_engine(empty_url)
    upgrade(engine)
    tables = inspect(engine).get_table_names()
    upgrade(engine)
    assert inspect(engine).get_table_names() == tables
    assert set(tables) == {*Base.metadata.tables, "alembic_version"}
    engine.dispose()


def test_a_failing_revision_leaves_no_table_behind(empty_url):
    engine = create_database_engine(empty_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE score_matrix (id INTEGER)"))
    with pytest.raises(DatabaseError, match=r"Cannot bring the tables of .* up to date"):
        upgrade(engine)
    assert inspect(engine).get_table_names() == ["score_matrix"]
    engine.dispose()


OLD_TABLES = Path(__file__).parent / "old_tables"
REVISIONS = [f"{number:04d}" for number in range(1, 8)]
NEWEST = "0009"


def make_old_tables(engine, revision):
    """Runs what version 0.1.0 ran until a revision, as it was recorded, and stores a benchmark."""
    dialect = "sqlite" if engine.dialect.name == "sqlite" else "postgres"
    _, *parts = re.split(r"^-- (\d{4})$", (OLD_TABLES / f"{dialect}.sql").read_text(), flags=re.MULTILINE)
    statements = dict(zip(parts[::2], parts[1::2], strict=True))
    assert list(statements) == REVISIONS
    with engine.connect() as connection:
        for number in REVISIONS[: REVISIONS.index(revision) + 1]:
            for statement in statements[number].split(";\n"):
                if statement.strip():
                    connection.execute(text(statement))
        connection.execute(
            text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
        )
        connection.execute(text(f"INSERT INTO alembic_version VALUES ('{revision}')"))
        connection.execute(
            text(
                "INSERT INTO benchmark (slug, title, description, version, licence, attribution, source_url, "
                "created_at, updated_at) VALUES ('old', 'Old', '', '', '', '', '', "
                "'2025-01-02 03:04:05', '2025-01-02 03:04:05')"
            )
        )
        connection.execute(
            text(
                "INSERT INTO llm (benchmark_id, name, title, position, note) "
                "VALUES (1, 'base', 'Base', 0, '')"
            )
        )
        connection.execute(text("UPDATE benchmark SET baseline_llm_id = 1"))
        connection.commit()


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_database_of_an_earlier_revision_is_brought_up_to_date(empty_url, tmp_path, revision):
    engine = create_database_engine(empty_url)
    make_old_tables(engine, revision)
    opened = Database.open(empty_url)
    with opened.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
        assert context.get_current_revision() == NEWEST
    reference = create_database_engine(f"sqlite:///{tmp_path / 'reference.sqlite3'}")
    Base.metadata.create_all(reference)
    assert constraint_names(reference) <= constraint_names(opened.engine)
    with opened.session() as session:
        record = benchmarks.get_benchmark(session, benchmarks.find_benchmark(session, "old"))
        assert (record.info.title, record.baseline, record.updated_at.year) == ("Old", "base", 2025)
        samples.store(session)
        samples.store_scores(session)
    opened.close()
    engine.dispose()


def test_a_database_from_before_batches_keeps_what_it_holds(filled):
    """Revision 0008 had every table but that of batches."""
    url = filled.engine.url.render_as_string(hide_password=False)
    with filled.session() as session:
        before = samples.all_rows(session)
        session.execute(text("DROP TABLE collection_batch"))
        session.execute(text("UPDATE alembic_version SET version_num = '0008'"))
    opened = Database.open(url)
    with opened.session() as session:
        assert samples.all_rows(session) == before
    with opened.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    opened.close()


def test_an_earlier_revision_whose_new_tables_cannot_be_made_stays_what_it_is(empty_url):
    engine = create_database_engine(empty_url)
    make_old_tables(engine, "0004")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE profile (id INTEGER)"))
    with pytest.raises(DatabaseError, match=r"Cannot bring the tables of .* up to date"):
        upgrade(engine)
    assert "win_rate" not in inspect(engine).get_table_names()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "0004"
    engine.dispose()


def test_a_database_of_newer_code_is_refused(database):
    with database.session() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseError, match="unknown revision '9999', made by newer code"):
        Database.open(database.engine.url.render_as_string(hide_password=False))


OPENER = """
import sys
from pathlib import Path
from db import Database

print("ready", flush=True)
sys.stdin.readline()
Database.open(sys.argv[1], [Path(sys.argv[2])]).close()
"""


@pytest.fixture
def bundle_path(tmp_path):
    path = tmp_path / "tiny.usl.zip"
    write_bundle(path, samples.bundle())
    return path


def test_opening_makes_the_tables_and_fills_them(empty_url, bundle_path):
    opened = Database.open(empty_url, [bundle_path])
    with opened.session() as session:
        assert (
            bundles.export_bundle(session, benchmarks.find_benchmark(session, "tiny"), with_texts=True)
            == samples.bundle()
        )
    opened.close()


def test_opening_again_reads_no_bundle_and_writes_nothing(empty_url, bundle_path, monkeypatch):
    Database.open(empty_url, [bundle_path]).close()

    def fail(_):
        raise AssertionError("the bundle was read again")

    monkeypatch.setattr("db.database.read_bundle", fail)
    opened = Database.open(empty_url, [bundle_path])
    with opened.session() as session:
        [summary] = benchmarks.list_benchmarks(session)
    assert summary.slug == "tiny"
    opened.close()


def test_a_newer_bundle_file_replaces_the_benchmark(empty_url, bundle_path):
    Database.open(empty_url, [bundle_path]).close()
    write_bundle(bundle_path, replace(samples.bundle(), info=replace(samples.INFO, version="2")))
    opened = Database.open(empty_url, [bundle_path])
    with opened.session() as session:
        [summary] = benchmarks.list_benchmarks(session)
    assert (summary.version, summary.n_queries) == ("2", 3)
    opened.close()


def test_a_malformed_bundle_leaves_the_database_unchanged(filled, bundle_path):
    other = replace(samples.bundle(), info=BenchmarkInfo("other", "Other"))
    write_bundle(bundle_path, other)
    data = bytearray(bundle_path.read_bytes())
    # The directory at the end of the file still reads well, and so does the manifest.
    data[data.index(b"representations/style-1/2.npz") + 60] ^= 0xFF
    bundle_path.write_bytes(data)
    url = filled.engine.url.render_as_string(hide_password=False)
    with filled.session() as session:
        before = samples.all_rows(session)
    with pytest.raises(BundleError, match=r"representations/style-1/2\.npz is damaged"):
        Database.open(url, [bundle_path])
    with filled.session() as session:
        assert samples.all_rows(session) == before


def test_a_fill_that_fails_midway_leaves_the_database_unchanged(database, bundle_path, monkeypatch):
    with database.session() as session:
        bundles.fill_from_bundle(session, samples.bundle(with_texts=False), "a" * 64)
        before = samples.all_rows(session)

    def fail(*_):
        raise RuntimeError("stopped midway")

    monkeypatch.setattr("db.repositories.representations.put_payload", fail)
    with pytest.raises(RuntimeError, match="stopped midway"):
        Database.open(database.engine.url.render_as_string(hide_password=False), [bundle_path])
    with database.session() as session:
        assert samples.all_rows(session) == before


def test_a_failing_session_changes_nothing(database):
    with pytest.raises(RuntimeError), database.session() as session:
        samples.store(session)
        raise RuntimeError
    with database.session() as session:
        assert set(samples.row_counts(session).values()) == {0}


def test_processes_that_open_an_empty_database_at_once_do_no_harm(empty_url, bundle_path):
    command = [sys.executable, "-c", OPENER, empty_url, str(bundle_path)]
    processes = [
        subprocess.Popen(
            command,
            cwd=PROJECT_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    opened = Database.open(empty_url)
    with opened.session() as session:
        assert (
            bundles.export_bundle(session, benchmarks.find_benchmark(session, "tiny"), with_texts=True)
            == samples.bundle()
        )
        assert samples.row_counts(session)["benchmark"] == 1
        assert session.execute(text("SELECT count(*) FROM alembic_version")).scalar_one() == 1
    opened.close()


def test_the_latest_revision_is_the_last_migration() -> None:
    assert ScriptDirectory(str(PROJECT_ROOT / "db" / "migrations")).get_current_head() == LATEST_REVISION
