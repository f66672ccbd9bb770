"""A PostgreSQL server for the tests: that in USL_TEST_POSTGRES_URL, else a temporary one."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, create_engine, make_url, text

ROOM_FOR_A_SERVER = 1 << 30
UNSAFE_BUT_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=16MB")


@contextmanager
def running_server() -> Iterator[URL]:
    """Yields the URL of the server's maintenance database; needs what `find_binaries` finds."""
    if url := os.environ.get("USL_TEST_POSTGRES_URL"):
        yield make_url(url).set(drivername="postgresql+psycopg")
        return
    binaries = find_binaries()
    assert binaries is not None
    # Not pytest's folder: the account that runs the server could not enter it.
    folder = Path(tempfile.mkdtemp(prefix="usl-postgres-", dir=_memory_folder()))
    try:
        account = _unprivileged_account()
        if account:
            shutil.chown(folder, account)
        data = folder / "data"
        initdb = ["initdb", "--no-sync", "--auth=trust", "--username=usl", "--encoding=UTF8", "-D", str(data)]
        _run(binaries, account, *initdb)
        options = [
            "-k",
            str(folder),
            "-h",
            "",
            *(part for option in UNSAFE_BUT_QUICK for part in ("-c", option)),
        ]
        line = " ".join(option or "''" for option in options)
        log = str(folder / "log")
        _run(
            binaries, account, "pg_ctl", "start", "--wait", "--silent", "-D", str(data), "-l", log, "-o", line
        )
        try:
            yield URL.create(
                "postgresql+psycopg", username="usl", database="postgres", query={"host": str(folder)}
            )
        finally:
            _run(binaries, account, "pg_ctl", "stop", "--silent", "-m", "immediate", "-D", str(data))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_binaries() -> Path | None:
    """Returns the folder with `initdb` and `pg_ctl`, the newest if there are several versions."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(installed, key=lambda folder: int(folder.parent.name), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@contextmanager
def fresh_database(server: URL, name: str, template: str = "template0") -> Iterator[URL]:
    """Yields the URL of a new database of this name, a copy of the template; dropped at the end."""
    _administer(server, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    try:
        yield server.set(database=name)
    finally:
        with contextlib.suppress(Exception):
            _administer(server, f'DROP DATABASE "{name}" WITH (FORCE)')


def _memory_folder() -> Path | None:
    """Returns a folder in memory if it has room: copying a database there takes 20 ms, on disk up to 400."""
    folder = Path("/dev/shm")
    roomy = os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= ROOM_FOR_A_SERVER
    return folder if roomy else None


def _administer(server: URL, statement: str) -> None:
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def _unprivileged_account() -> str | None:
    """Returns the account to run the server as, None for the present one; root is refused."""
    if os.geteuid() != 0:
        return None
    accounts = Path("/etc/passwd").read_text().split("\n")
    return "postgres" if any(line.startswith("postgres:") for line in accounts) else "nobody"


def _run(binaries: Path, account: str | None, program: str, *arguments: str) -> None:
    command = [str(binaries / program), *arguments]
    if account:
        command = ["runuser", "-u", account, "--", *command]
    # Not through pipes: the server would inherit them and `run` would wait for it to end.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(command, stdout=output, stderr=output, cwd="/", check=False)
        output.seek(0)
        assert done.returncode == 0, output.read().decode()
