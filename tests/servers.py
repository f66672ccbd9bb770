"""Servers that a test starts: a port for each, and the wait until it answers."""

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_until_healthy(
    health: str, server: subprocess.Popen[bytes], log: Path, *, seconds: float = 60
) -> None:
    """Return when the address of its health answers; fail with its log if it does not start."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urlopen(health, timeout=2):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"The server did not start: {log.read_text()[-4000:]}")


@contextmanager
def app_served_by(
    command: Sequence[str | Path],
    port: int,
    environment: dict[str, str],
    *,
    log: Path,
    folder: Path,
    seconds: float = 60,
) -> Iterator[str]:
    """The address at which a command, run in a folder, serves the app; it has so many seconds to start."""
    url = f"http://127.0.0.1:{port}/"
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        ) as server,
    ):
        try:
            wait_until_healthy(f"{url}_stcore/health", server, log, seconds=seconds)
            yield url
        finally:
            server.terminate()
            server.wait(60)
