"""What faults are brought about with: disks that take nothing, a clock that is set back, a visitor's file."""

import asyncio
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from pathlib import Path
from time import monotonic, time

import pytest

from benchmarks._clock import MovedClock
from benchmarks._faults import NotBorneError, Seen, bound_by_permissions, full_disk, read_only
from benchmarks._visitor import Run, Visitor
from benchmarks.faults import FAULTS, Piece, chosen_faults, joined, kept, main, tried
from benchmarks.first_paint import MeasurementError, Server, free_port

_WRITES = """
import sys
for line in sys.stdin:
    try:
        with open(line.strip(), "a") as file:
            file.write("more")
        print("written", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""
_APP = """
import streamlit as st
with st.form("one"):
    file = st.file_uploader("Table")
    name = st.text_input("Name")
    if st.form_submit_button("Send"):
        st.markdown(f"{name}: {file.name} has {file.getvalue().decode()}")
with st.form("another"):
    st.form_submit_button("Leave")
"""


def test_kills_are_tried_at_twenty_moments() -> None:
    assert signature(main).parameters["moments"].default == 20
    assert [name for name, (_, by_chance) in FAULTS.items() if by_chance] == [
        "kill −9 during the first start",
        "kill −9 of an import beside the server",
        "kill −9 of the server during an import in the browser",
    ]


def test_a_run_is_made_in_pieces_and_joined(tmp_path: Path) -> None:
    first, *_, last = FAULTS
    Piece(last, seed=0, tried=1, said=["Wait."]).keep(tmp_path)
    Piece(first, seed=0, tried=5, failed=["no ranking at all"], said=["Gone."]).keep(tmp_path)
    Piece(first, seed=1, tried=8).keep(tmp_path)
    Piece(first, seed=1, tried=10, said=["Gone.", "Back."]).keep(tmp_path)  # the same again

    assert joined(kept(tmp_path)) == [
        (first, "15", "14", "Gone. / Back.", "no ranking at all"),
        (last, "1", "1", "Wait.", "–"),
    ]
    assert joined(kept(tmp_path / "not-there")) == []


def test_a_fault_is_tried_at_moments_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[float] = []

    def strikes(folder: Path, seen: Seen, draw: random.Random) -> None:
        assert (folder / "usl.sqlite3").read_text() == "filled"
        drawn.append(draw.random())
        seen.said.append(f"Not in {folder}.")
        if len(drawn) == 2:
            raise NotBorneError(f"gone from {folder}")

    monkeypatch.setitem(FAULTS, "lightning", (strikes, True))
    filled, pieces = tmp_path / "filled", tmp_path / "pieces"
    filled.write_text("filled")
    piece = tried("lightning", filled, 3, seed=5, kept_in=pieces)

    assert piece == Piece("lightning", 5, 3, ["gone from …"], ["Not in …."])
    assert kept(pieces) == [piece]
    assert len(set(drawn)) == 3
    assert tried("lightning", filled, 3, seed=5, kept_in=None).tried == 3
    assert drawn[3:] == drawn[:3]
    tried("lightning", filled, 1, seed=6, kept_in=None)
    assert drawn[6] not in drawn[:6]


def test_what_is_no_piece_is_refused(tmp_path: Path) -> None:
    Piece("rain", seed=0).keep(tmp_path)
    with pytest.raises(MeasurementError, match=r"rain\.0\.json is of no fault"):
        kept(tmp_path)
    (tmp_path / "rain.0.json").write_text("[]", encoding="utf-8")
    with pytest.raises(MeasurementError, match="holds no piece"):
        kept(tmp_path)


def test_faults_are_chosen_by_words() -> None:
    assert chosen_faults(None) == list(FAULTS)
    assert chosen_faults(["PostgreSQL", "connection"]) == [
        "PostgreSQL goes away and comes back",
        "a visitor's connection breaks",
    ]
    with pytest.raises(MeasurementError, match="No fault has rain in its name"):
        chosen_faults(["rain"])


def test_a_full_disk_takes_nothing_until_there_is_room_again(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WRITES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        server = Server(process, "http://localhost", tmp_path / "log")
        assert _write(process, tmp_path / "a") == "written"
        with full_disk(server):
            assert _write(process, tmp_path / "a") == "OSError"
        assert _write(process, tmp_path / "a") == "written"


def _write(process: subprocess.Popen[bytes], file: Path) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{file}\n".encode())
    return process.stdout.readline().decode().strip()


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="needs setpriv as root")
def test_a_read_only_folder_is_so_for_the_superuser_too(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("", encoding="utf-8")

    def writes(name: str) -> bool:
        line = [*bound_by_permissions(), "sh", "-c", 'echo more >> "$0"', str(tmp_path / name)]
        return subprocess.run(line, check=False, stderr=subprocess.DEVNULL).returncode == 0

    with read_only(tmp_path):
        assert not writes("there")
        assert not writes("new")
    assert writes("there")
    assert writes("new")


@pytest.mark.skipif(shutil.which("cc") is None or sys.platform != "linux", reason="needs a C compiler")
def test_a_clock_is_set_back_while_a_process_runs(tmp_path: Path) -> None:
    clock = MovedClock(tmp_path)
    tells = "import sys, time, datetime\nfor _ in sys.stdin:\n    print(time.time(), time.monotonic(), "
    tells += "datetime.datetime.now().timestamp(), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", tells],
        env={**os.environ, **clock.settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as process:
        for seconds in (0, -3600, 60):
            clock.move(seconds)
            of_day, measured, shown = map(float, _write(process, tmp_path).split())
            assert of_day == pytest.approx(time() + seconds, abs=5)
            assert shown == pytest.approx(of_day, abs=5)
            assert measured == pytest.approx(monotonic(), abs=5)


def test_a_visitor_fills_in_a_form_with_a_file(tmp_path: Path) -> None:
    app, port = tmp_path / "app.py", free_port()
    app.write_text(_APP, encoding="utf-8")
    line = [sys.executable, "-m", "streamlit", "run", str(app), "--server.headless", "true"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*line, "--server.port", str(port)], stdout=log, stderr=log)
    try:
        server = Server(process, f"http://localhost:{port}", tmp_path / "log")
        server.wait_until_up()
        # In a thread of its own: the browser of other tests may keep a loop running in this one.
        with ThreadPoolExecutor(1) as thread:
            run = thread.submit(asyncio.run, _sent(server.address)).result()
    finally:
        process.kill()
        process.wait()
    assert run.errors == []
    assert "mine: table.csv has a,b" in run.texts


async def _sent(address: str) -> Run:
    async with Visitor(address) as visitor:
        await visitor.open()
        return await visitor.submit("Send", {"Name": "mine"}, {"Table": ("table.csv", b"a,b")})
