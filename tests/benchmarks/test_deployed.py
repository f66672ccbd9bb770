"""The app as it is deployed: names, the project's Caddyfile, and visitors who come back through it."""

from __future__ import annotations

import asyncio
import shutil
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks import _load
from benchmarks._deployed import NAME, caddy, caddyfile, name_server
from benchmarks._load import Load, Outcome, Site, addresses_of, come_back, visit, visitors
from benchmarks._visitor import VisitError, Visitor
from benchmarks.first_paint import PROJECT_ROOT, free_port
from tests.benchmarks.conftest import Started

_ADDRESSES = addresses_of(2)


def _asked(port: int, name: str, kind: int = 1) -> tuple[int, list[str]]:
    """The code of a name server's answer, and the addresses in it."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    question = labels + b"\0" + struct.pack("!HH", kind, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(10)
        asking.sendto(struct.pack("!HHHHHH", 77, 0x0100, 1, 0, 0, 0) + question, ("127.0.0.1", port))
        answer = asking.recv(512)
    number, flags, _, found, _, _ = struct.unpack_from("!HHHHHH", answer)
    assert number == 77
    assert answer[12 : 12 + len(question)] == question
    records = answer[12 + len(question) :]
    assert len(records) == 16 * found
    return flags & 15, [socket.inet_ntoa(records[at + 12 : at + 16]) for at in range(0, len(records), 16)]


def test_a_name_server_knows_the_addresses_of_processes() -> None:
    with name_server({NAME: _ADDRESSES}) as port:
        assert _asked(port, NAME) == (0, ["127.0.0.1", "127.0.0.2"])
        assert _asked(port, "App") == (0, ["127.0.0.1", "127.0.0.2"])
        assert _asked(port, NAME, kind=28) == (0, [])
        assert _asked(port, f"{NAME}.example") == (3, [])


def test_the_proxy_is_set_up_by_the_projects_own_file() -> None:
    deployed = (PROJECT_ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8").splitlines()
    here = [line.strip() for line in caddyfile("127.0.0.1:53", 8443, 8080).splitlines()]
    at = here.index("dynamic a {") + 1

    assert here[:6] == ["{", "admin off", "skip_install_trust", "http_port 8080", "https_port 8443", "}"]
    assert here.pop(at) == "resolvers udp/127.0.0.1:53"
    assert here[6:] == [line.strip() for line in deployed]


@pytest.mark.skipif(shutil.which("caddy") is None, reason="needs Caddy")
def test_visitors_come_back_to_their_process_by_a_cookie(
    small_apps: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_load, "_AWAY", 0.1)
    port = free_port()
    servers = [small_apps(address, port) for address in _ADDRESSES]
    with caddy(tmp_path, _ADDRESSES, port) as (_, site), ThreadPoolExecutor(1) as thread:
        assert site.sticky == "usl_process"

        outcome = Outcome()
        load = Load(sessions=6, seconds=5.0, pause=0.3, broken=0.8)
        thread.submit(asyncio.run, visitors(servers, load, outcome, site)).result()
        assert outcome.errors == []
        assert outcome.returns > 0
        assert outcome.elsewhere == 0
        assert outcome.processes.total() == 6

        monkeypatch.setattr(Visitor, "_keep_cookies", lambda *_: None)
        forgetful = Outcome()
        with pytest.raises(VisitError, match="another process"):
            thread.submit(asyncio.run, _keeps_coming_back(site, forgetful)).result()
        assert forgetful.elsewhere == 1

        counted = Outcome()
        thread.submit(asyncio.run, visitors(servers, load, counted, site)).result()
        assert counted.elsewhere > 0
        assert (
            counted.errors.count("A visitor who came back was led to another process.") == counted.elsewhere
        )


async def _keeps_coming_back(site: Site, outcome: Outcome) -> None:
    async with Visitor(site.address, trusted=site.trusted, loads=True) as visitor:
        await visitor.open()
        for _ in range(30):
            await come_back(visitor, site, outcome)


def test_visitors_without_a_proxy_stay(small_apps: Started) -> None:
    server = small_apps("127.0.0.1", free_port())
    outcome = Outcome()
    with ThreadPoolExecutor(1) as thread:
        load = Load(sessions=1, seconds=2.0, pause=0.2, broken=1.0)
        until = _load.perf_counter() + load.seconds
        thread.submit(asyncio.run, visit(Site(server.address), load, 0, until, outcome)).result()

    assert outcome.errors == []
    assert outcome.runs
    assert outcome.returns == 0
