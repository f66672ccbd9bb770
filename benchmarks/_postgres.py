"""A PostgreSQL server for a measurement, which can be stopped and started again on the same data."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchmarks.first_paint import MeasurementError


class PostgreSQL:
    """A PostgreSQL server of one's own, reached through a socket in its folder.

    Attributes:
        url: Of its database.
        name: What it is, e.g. ``PostgreSQL 15.8``.

    Raises a MeasurementError where PostgreSQL is not installed.
    """

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        """Make one in a folder that is not there yet, in one that other accounts may enter.

        Args:
            durable: Whether it waits until the disk has what it writes, as installed ones do.
        """
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
        if not programs:
            raise MeasurementError("PostgreSQL is missing: install it (Debian: apt-get install postgresql).")
        self._programs, self._folder, self._data = programs[-1].parent, folder, folder / "data"
        self._durable = durable
        self._account = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        folder.mkdir()
        if self._account:
            subprocess.run(["chown", "postgres", folder], check=True)
        self._run(
            "initdb", "--no-sync", "--auth=trust", "--username=usl", "--encoding=UTF8", "-D", self._data
        )
        self.url = f"postgresql+psycopg://usl@/postgres?host={folder}"
        said = subprocess.run(
            [self._programs / "pg_ctl", "--version"], check=True, capture_output=True, text=True
        ).stdout
        self.name = f"PostgreSQL {said.partition(') ')[2].split()[0]}"

    def start(self) -> None:
        """Start it."""
        listen = f"-k {self._folder} -c listen_addresses='' -c fsync={'on' if self._durable else 'off'}"
        self._run("pg_ctl", "start", "-w", "-s", "-D", self._data, "-l", self._folder / "log", "-o", listen)

    def stop(self) -> None:
        """Stop it at once, whoever is connected."""
        self._run("pg_ctl", "stop", "-w", "-s", "-m", "immediate", "-D", self._data)

    def _run(self, program: str, *arguments: object) -> None:
        line = [*self._account, str(self._programs / program), *map(str, arguments)]
        done = subprocess.run(
            line, cwd="/", check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if done.returncode:
            raise MeasurementError(f"{program} ended with {done.returncode}.")
