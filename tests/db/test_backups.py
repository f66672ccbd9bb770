"""The guide's commands for backup and restore, run as they are printed, lose nothing and leave nothing over.

Only the containers and the services are done without: what Compose runs in the container of the database runs
here, and the app is started and stopped as a process of its own.
"""

import hashlib
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import URL, MetaData, select, text

from db.database import Database, create_database_engine
from db.repositories.benchmarks import find_benchmark
from db.repositories.pools import add_to_pool, put_pool
from db.repositories.profiles import add_profile, delete_profile
from db.repositories.removal import remove_benchmark
from tests.db import postgres_server, samples
from tests.servers import free_port, wait_until_healthy

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
IN_THE_CONTAINER = "docker compose exec -T database "
TOKEN = "a" * 64
WISH = {"benchmark": "dailybench", "criterion": "Concise and direct"}


def commands(heading: str) -> list[list[str]]:
    """The command lines below a heading of the guide, by code block."""
    _, _, section = GUIDE.partition(f"\n### {heading}\n")
    assert section, f"the guide has no heading {heading!r}"
    blocks: list[list[str]] = [[]]
    for line in section.partition("\n##")[0].splitlines():
        if line.startswith("    "):
            blocks[-1].append(line.strip())
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


@dataclass
class App:
    """The app on a database, as a process that the guide's commands start and stop."""

    settings: dict[str, str]
    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.port = free_port()
        command = [sys.executable, "-m", "usl", "serve", f"--port={self.port}", "--address=127.0.0.1"]
        environment = os.environ | self.settings
        log = self.folder / "log"
        with log.open("w") as output:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        health = f"http://127.0.0.1:{self.port}/_stcore/health"
        wait_until_healthy(health, self.process, log, seconds=180)

    def ranking(self) -> Any:
        """Whom it ranks, with the numbers."""
        with httpx2.Client(base_url=f"http://127.0.0.1:{self.port}/api/v1/", timeout=120) as client:
            return client.get("rank", params=WISH).raise_for_status().json()["ranking"]

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it, with a crash where the signal is one."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(60)
            self.process = None


@dataclass
class Server:
    """A server as the guide sets it up.

    Attributes:
        replaced: What stands for the guide's names here.
        environment: For what runs in the container of the database.
    """

    url: str
    app: App
    replaced: dict[str, str]
    environment: dict[str, str]
    heading: str

    def carry_out(self, lines: list[str]) -> None:
        """Run a block of the guide."""
        for line in lines:
            if line in ("docker compose stop app", "systemctl stop usl"):
                self.app.stop()
            elif line in ("docker compose start app", "systemctl start usl"):
                self.app.start()
            else:
                self.run(line)

    def run(self, line: str) -> None:
        """Run one of its lines by the shell, in a folder of its own."""
        here = line.removeprefix(IN_THE_CONTAINER)
        for name, value in self.replaced.items():
            here = here.replace(name, value)
        assert not here.startswith(("docker", "systemctl")), line
        done = subprocess.run(
            ["bash", "-c", here],
            cwd=self.app.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, (here, done.stderr)


def contents(url: str) -> dict[str, tuple[int, str]]:
    """How many rows each table has, and the digest of what is in them, whichever tables there are."""
    engine = create_database_engine(url)
    tables = MetaData()
    tables.reflect(engine)
    found = {}
    with engine.connect() as connection:
        for table in tables.tables.values():
            digest, number = hashlib.sha256(), 0
            order = [*table.primary_key.columns] or [*table.columns]
            for row in connection.execution_options(yield_per=100).execute(select(table).order_by(*order)):
                digest.update(repr(tuple(row)).encode())
                number += 1
            found[table.name] = (number, digest.hexdigest())
    engine.dispose()
    return found


def fill(url: str) -> None:
    """Store what cannot be made again, beside the bundled benchmarks."""
    opened = Database.open(url)
    with opened.session() as session:
        samples.store(session)
        samples.store_scores(session)
        add_profile(session, TOKEN, {"criteria": [{"text": "naïve – “quoted” 🙂"}]})
        add_to_pool(session, put_pool(session, "everyday"), [("How do I boil an egg?", "typed")])
    opened.close()


def upgrade_badly(url: str) -> None:
    """Do what a newer version that is to be left again may do: lose things, change them, and add tables."""
    opened = Database.open(url)
    with opened.session() as session:
        remove_benchmark(session, find_benchmark(session, samples.SLUG))
        assert delete_profile(session, TOKEN)
        session.execute(text("UPDATE llm SET title = 'Renamed'"))
        session.execute(text("CREATE TABLE of_a_newer_version (id INTEGER PRIMARY KEY, llm_id INTEGER)"))
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    opened.close()


@pytest.fixture
def sqlite(filled_file: Path, tmp_path: Path) -> Iterator[Server]:
    file = tmp_path / "home" / "data" / "usl.sqlite3"
    file.parent.mkdir(parents=True)
    file.write_bytes(filled_file.read_bytes())
    (tmp_path / "backups").mkdir()
    app = App({"USL_HOME": str(tmp_path / "home"), "USL_DATABASE_URL": ""}, tmp_path / "backups")
    names = {"/opt/usl/bin/python": shlex.quote(sys.executable), "/var/lib/usl": str(tmp_path / "home")}
    yield Server(f"sqlite:///{file}", app, names, dict(os.environ), "SQLite")
    app.stop()


@pytest.fixture
def postgresql(postgres: URL, tmp_path: Path) -> Iterator[Server]:
    database = f"usl_test_{os.getpid()}"
    with postgres_server.fresh_database(postgres, database) as at:
        url = at.render_as_string(hide_password=False)
        app = App({"USL_DATABASE_URL": url}, tmp_path)
        binaries = postgres_server.find_binaries()
        environment = os.environ | {
            "PATH": f"{binaries}:{os.environ['PATH']}" if binaries else os.environ["PATH"],
            "PGHOST": str(at.host or at.query.get("host", "")),
            "PGPORT": str(at.port or ""),
            "PGPASSWORD": str(at.password or ""),
        }
        names = {
            "--username=usl": f"--username={at.username}",
            "--dbname=postgres": f"--dbname={postgres.database}",
            "custom usl ": f"custom {database} ",
        }
        yield Server(url, app, names, environment, "PostgreSQL")
        app.stop()


@pytest.mark.parametrize(
    ("name", "end"),
    [
        pytest.param("sqlite", signal.SIGKILL, id="sqlite, after a crash"),
        pytest.param("postgresql", signal.SIGTERM, id="postgresql", marks=pytest.mark.postgres),
    ],
)
def test_a_backup_brings_everything_back_and_nothing_else(
    request: pytest.FixtureRequest, name: str, end: signal.Signals
) -> None:
    server: Server = request.getfixturevalue(name)
    backup, restore = commands(server.heading)
    server.app.start()
    ranked = server.app.ranking()
    fill(server.url)
    before = contents(server.url)
    assert min(before[table][0] for table in ("profile", "score_matrix", "query_pool", "pool_query")) > 0

    server.carry_out(backup)
    upgrade_badly(server.url)
    server.app.stop(end)
    server.carry_out(restore)

    assert contents(server.url) == before
    assert server.app.ranking() == ranked
