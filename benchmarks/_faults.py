"""What `faults` are tried on: a server that can be killed, disks, a visitor, an endpoint."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TypeVar

from benchmarks._visitor import Run, VisitError, Visitor
from benchmarks.first_paint import PROJECT_ROOT, Server

T = TypeVar("T")
_PATIENCE = 240.0
"""Seconds for a page, also on a machine that has other things to do."""
_VERDICT = {
    "id": "verdict",
    "object": "chat.completion",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "A"},
            "logprobs": {
                "content": [
                    {
                        "token": "A",
                        "logprob": -0.4,
                        "top_logprobs": [{"token": "A", "logprob": -0.4}, {"token": "B", "logprob": -1.2}],
                    }
                ]
            },
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1},
}


class NotBorneError(Exception):
    """A fault that was not borne as it should be; the message says how."""


@dataclass
class Seen:
    """What visitors saw of one fault.

    Attributes:
        said: What the page said, each sentence once.
    """

    said: list[str] = field(default_factory=list)

    def check(self, run: Run, *, wanted: bool = False, ranked: bool = True) -> Run:
        """Take what a page brought.

        Args:
            wanted: Whether the ranking that was asked for must be there.
            ranked: Whether some ranking must be, e.g. the last good one.

        Raises:
            NotBorneError: The page shows a traceback or an exception, or lacks what must be there.
        """
        if run.tracebacks or run.exceptions:
            raise NotBorneError(f"the page shows {(run.exceptions or run.tracebacks)[0]!r}")
        for sentence in run.errors:
            if sentence not in self.said:
                self.said.append(sentence)
        if wanted and run.ranking is None:
            raise NotBorneError(
                f"no ranking of what was asked for; {'; '.join(run.errors) or 'nothing was said'}"
            )
        if ranked and not run.shown:
            raise NotBorneError(f"no ranking at all; {'; '.join(run.errors) or 'nothing was said'}")
        return run


def kill(server: Server) -> None:
    """End a server as a power cut would."""
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()


@contextmanager
def full_disk(server: Server) -> Iterator[None]:
    """Let a server write nothing more to files, as on a full disk; what it starts meanwhile neither."""
    before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)


def bound_by_permissions() -> list[str]:
    """Return the beginning of a command that permissions of files hold for, also for the superuser's."""
    if os.geteuid():
        return []
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nothing in a folder be written, made or removed by whoever is bound by permissions."""
    places = [folder, *folder.iterdir()]
    before = {place: place.stat().st_mode for place in places}
    for place in places:
        place.chmod(before[place] & ~0o222)
    try:
        yield
    finally:
        for place, mode in before.items():
            if place.exists():
                place.chmod(mode)


async def until(what: Callable[[], Awaitable[T]], good: Callable[[T], bool], patience: float = 60.0) -> T:
    """Return the first result that is good; a NotBorneError if none is in time."""
    end = monotonic() + patience
    while not good(found := await what()):
        if monotonic() > end:
            raise NotBorneError(f"not within {patience:.0f} s")
        await asyncio.sleep(1.0)
    return found


async def in_time(visit: Awaitable[T]) -> T:
    """Wait for a page; a NotBorneError if it does not come."""
    try:
        return await asyncio.wait_for(visit, _PATIENCE)
    except TimeoutError:
        raise NotBorneError(f"the page did not come within {_PATIENCE:.0f} s") from None
    except VisitError as error:
        raise NotBorneError(str(error)) from None


async def came_back(visitor: Visitor) -> None:
    """Connect again as a browser does, which tries until the server is there."""
    end = monotonic() + _PATIENCE
    while True:
        try:
            await visitor.connect()
            return
        except VisitError as error:
            if monotonic() > end:
                raise NotBorneError(str(error)) from None
            await asyncio.sleep(0.5)


def command(url: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start ``python -m precompute`` on a database."""
    return subprocess.Popen(
        [sys.executable, "-m", "precompute", *arguments],
        cwd=PROJECT_ROOT,
        env={**os.environ, "USL_DATABASE_URL": url},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


class _Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.dumps(_VERDICT).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the library
        pass


@contextmanager
def endpoint(port: int) -> Iterator[None]:
    """Serve a chat model that prefers the first of two responses, mildly."""
    with ThreadingHTTPServer(("127.0.0.1", port), _Endpoint) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()
