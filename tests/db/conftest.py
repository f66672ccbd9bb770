import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL

from db import Database
from tests.db import postgres_server, samples

BACKENDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def postgres() -> Iterator[URL]:
    if not os.environ.get("USL_TEST_POSTGRES_URL") and postgres_server.find_binaries() is None:
        missing = "no PostgreSQL: neither USL_TEST_POSTGRES_URL nor initdb on PATH or in /usr/lib/postgresql"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    with postgres_server.running_server() as url:
        yield url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "usl.sqlite3"
    Database.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres: URL) -> Iterator[str]:
    name = f"usl_template_{uuid.uuid4().hex}"
    with postgres_server.fresh_database(postgres, name) as url:
        Database.open(url.render_as_string(hide_password=False)).close()
        yield name


@pytest.fixture(params=BACKENDS)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'usl.sqlite3'}"
        return
    server = request.getfixturevalue("postgres")
    with postgres_server.fresh_database(server, f"usl_test_{uuid.uuid4().hex}") as url:
        yield url.render_as_string(hide_password=False)


@pytest.fixture(params=BACKENDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An open database with empty tables, on each backend in turn."""
    if request.param == "sqlite":
        path = shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "usl.sqlite3")
        opened = Database.open(f"sqlite:///{path}")
        yield opened
        opened.close()
        return
    server, template = request.getfixturevalue("postgres"), request.getfixturevalue("postgres_template")
    with postgres_server.fresh_database(server, f"usl_test_{uuid.uuid4().hex}", template) as url:
        opened = Database.open(url.render_as_string(hide_password=False))
        yield opened
        opened.close()


@pytest.fixture
def filled(database: Database) -> Database:
    """The database with the benchmark of `samples`, texts and representations included."""
    with database.session() as session:
        samples.store(session)
    return database
