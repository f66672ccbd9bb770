"""The app as `compose.yaml` runs it: processes on one PostgreSQL, behind Caddy with `deploy/Caddyfile`.

Docker's part is played here: every process listens at the same port of an address of its own (127.0.0.1,
127.0.0.2 …), and a name server tells the proxy which addresses stand behind the name ``app``.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep
from urllib.error import URLError
from urllib.request import urlopen

from benchmarks._load import Site, addresses_of, warm_servers
from benchmarks._postgres import PostgreSQL
from benchmarks.first_paint import PROJECT_ROOT, START_TIMEOUT, MeasurementError, Server, free_port

NAME = "app"
"""Of the processes' service in compose.yaml, which deploy/Caddyfile goes by."""
_CADDYFILE = PROJECT_ROOT / "deploy" / "Caddyfile"
_BY_NAME = re.compile(r"^\s*dynamic a \{$", re.MULTILINE)
_STICKY = re.compile(r"^\s*lb_policy cookie (\w+)$", re.MULTILINE)
_A, _INTERNET = 1, 1
_NO_SUCH_NAME = 3


@dataclass(frozen=True)
class Deployed:
    """The app as it is deployed.

    Attributes:
        servers: Its processes.
        proxy: The process of the proxy.
        site: Where visitors go.
        database_name: What the database is, e.g. ``PostgreSQL 15.8``.
        proxy_name: What the proxy is, e.g. ``Caddy 2.6.2``.
    """

    servers: list[Server]
    proxy: Server
    site: Site
    database_name: str
    proxy_name: str


@contextmanager
def deployed(folder: Path, processes: int) -> Iterator[Deployed]:
    """Start everything, each process with a page opened and a criterion read; else a MeasurementError."""
    folder.chmod(0o755)  # PostgreSQL's account goes through it
    database = PostgreSQL(folder / "postgres", durable=True)
    database.start()
    try:
        port = free_port()
        secret = os.urandom(32).hex()
        with (
            warm_servers(
                folder, processes, database.url, port=port, STREAMLIT_SERVER_COOKIE_SECRET=secret
            ) as servers,
            caddy(folder, addresses_of(processes), port) as (proxy, site),
        ):
            yield Deployed(servers, proxy, site, database.name, f"Caddy {_caddy_version()}")
    finally:
        database.stop()


@contextmanager
def caddy(folder: Path, addresses: Sequence[str], port: int) -> Iterator[tuple[Server, Site]]:
    """Start Caddy with the project's Caddyfile before processes at addresses, with TLS as for ``localhost``.

    Yields:
        The proxy's process, and what visitors have to know.
    """
    if shutil.which("caddy") is None:
        raise MeasurementError("Caddy is missing: install it (Debian: apt-get install caddy).")
    public, settings, log = free_port(), folder / "Caddyfile", folder / "caddy.log"
    with name_server({NAME: addresses}) as names:
        text = caddyfile(f"127.0.0.1:{names}", public, free_port())
        settings.write_text(text, encoding="utf-8")
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["caddy", "run", "--config", settings, "--adapter", "caddyfile"],
                env={
                    **os.environ,
                    **{"SITE": "localhost", "APP": NAME, "PORT": str(port)},
                    **{"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            proxy = Server(process, f"https://localhost:{public}", log)
            trusted = _once_up(proxy, folder / "caddy" / "pki" / "authorities" / "local" / "root.crt")
            yield proxy, Site(proxy.address, trusted, _STICKY.findall(text)[0])
        finally:
            process.terminate()
            process.wait()


def caddyfile(names: str, public: int, plain: int) -> str:
    """Return `deploy/Caddyfile` with what differs here, and nothing else: its ports and its name server.

    Args:
        names: Address and port of the name server.
        public: Port for TLS.
        plain: Port that only leads to the other.

    Raises:
        MeasurementError: The file has no processes by name, or leads nobody back by a cookie.
    """
    text = _CADDYFILE.read_text(encoding="utf-8")
    by_name, found = _BY_NAME.subn(lambda line: f"{line[0]}\n\t\t\tresolvers udp/{names}", text)
    if found != 1 or len(_STICKY.findall(text)) != 1:
        raise MeasurementError("deploy/Caddyfile has no “dynamic a” with “lb_policy cookie NAME”.")
    options = ("admin off", "skip_install_trust", f"http_port {plain}", f"https_port {public}")
    return "\n\t".join(("{", *options)) + f"\n}}\n{by_name}"


def _once_up(proxy: Server, authority: Path) -> ssl.SSLContext:
    """Return the proxy's own certificates once it leads to a process; a MeasurementError if it does not."""
    deadline = perf_counter() + START_TIMEOUT
    while perf_counter() < deadline and proxy.process.poll() is None:
        try:
            trusted = ssl.create_default_context(cafile=str(authority))
            with urlopen(f"{proxy.address}/_stcore/health", timeout=5, context=trusted):
                return trusted
        except (URLError, OSError):
            sleep(0.1)
    said = proxy.log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
    raise MeasurementError(f"Caddy leads to no process; it last said: {said or 'nothing'}")


def _caddy_version() -> str:
    said = subprocess.run(["caddy", "version"], check=True, capture_output=True, text=True).stdout
    return said.split()[0].removeprefix("v")


@contextmanager
def name_server(known: dict[str, Sequence[str]]) -> Iterator[int]:
    """Answer questions for the IPv4 addresses of names over UDP (RFC 1035), and yield the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]

        thread = Thread(target=_answer_all, args=(asked, known), daemon=True)
        thread.start()
        try:
            yield port
        finally:
            asked.sendto(b"", ("127.0.0.1", port))
            thread.join()


def _answer_all(asked: socket.socket, known: dict[str, Sequence[str]]) -> None:
    """Answer until an empty question comes."""
    while True:
        question, asker = asked.recvfrom(512)
        if not question:
            return
        asked.sendto(answer_to(question, known), asker)


def answer_to(question: bytes, known: dict[str, Sequence[str]]) -> bytes:
    """Return the answer to one question for a name's addresses, both as messages of RFC 1035."""
    number = question[:2]
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    kind, _ = struct.unpack_from("!HH", question, at + 1)
    asked = question[12 : at + 5]
    addresses = known.get(".".join(labels).lower())
    found = addresses if addresses is not None and kind == _A else ()
    flags = 0x8580 | (_NO_SUCH_NAME if addresses is None else 0)
    records = [
        struct.pack("!HHHIH", 0xC00C, _A, _INTERNET, 0, 4) + socket.inet_aton(address) for address in found
    ]
    return number + struct.pack("!HHHHH", flags, 1, len(records), 0, 0) + asked + b"".join(records)
