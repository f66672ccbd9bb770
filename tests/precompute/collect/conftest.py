import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from db import Database
from db.source_records import CollectedRecord
from precompute import __main__ as command_line
from tests.crm.backends.scripted_server import ScriptedServer
from tests.precompute.collect import samples

ROOT = Path(__file__).resolve().parents[3]
Run = Callable[..., tuple[int, str, str]]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def _no_loop_of_a_browser() -> Iterator[None]:
    """The browser of other tests in this process keeps an event loop in this thread, which looks busy."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A local HTTP server whose answers a test writes."""
    with ScriptedServer() as started:
        yield started


@pytest.fixture
def _run(
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs “precompute collect --benchmark mine”; returns exit code, standard output and standard error."""
    monkeypatch.setenv("USL_DATABASE_URL", database.engine.url.render_as_string(hide_password=False))
    monkeypatch.setenv("USL_LLMS", str(tmp_path / "llms.toml"))
    samples.without_models(monkeypatch.setattr, tmp_path / "bundled")

    def call(*arguments: object) -> tuple[int, str, str]:
        chosen = ("collect", "--benchmark", samples.SLUG, *arguments)
        monkeypatch.setattr(sys, "argv", ["precompute", *map(str, chosen)])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out, printed.err

    return call


@dataclass
class Lab:
    """A benchmark, an endpoint, and the command that collects from one for the other."""

    database: Database
    server: ScriptedServer
    folder: Path
    run: Run

    def behave(self, behave: samples.Behave = samples.well_behaved) -> samples.Endpoint:
        """Let the endpoint behave so from now on."""
        script = samples.Endpoint(behave)
        self.server.on(samples.CHAT, script)
        return script

    def llms(self, *names: str, **keys: str | float | bool) -> Path:
        """Write the file of LLMs at the endpoint, all with these keys; “alpha” alone if none is named."""
        return samples.write_llms(self.folder, self.server.url, *names, **keys)

    def write(self, toml: str) -> None:
        """Write the file of LLMs as it stands."""
        (self.folder / "llms.toml").write_text(dedent(toml), encoding="utf-8")

    def collected(self, llm: str = "alpha") -> dict[str, CollectedRecord]:
        """What is stored, but for how long it took."""
        return samples.collected(self.database, llm)


@pytest.fixture
def bare(database: Database, server: ScriptedServer, tmp_path: Path, _run: Run) -> Lab:
    """All that is needed but the benchmark."""
    return Lab(database, server, tmp_path, _run)


@pytest.fixture
def lab(bare: Lab) -> Lab:
    """With the benchmark of `samples`."""
    samples.store(bare.database)
    return bare


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts “precompute collect --benchmark mine” on a database in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def call(url: str, llms: Path, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", samples.__name__, "collect", "--benchmark", samples.SLUG, *arguments],
            cwd=ROOT,
            env={**os.environ, "USL_DATABASE_URL": url, "USL_LLMS": str(llms)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()
