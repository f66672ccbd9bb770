import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from db import Database
from db.repositories.llm_answers import get_extracted
from db.repositories.preferences import find_preference_set
from db.source_records import ExtractedRecord, SideKey
from precompute import __main__ as command_line
from tests.crm.backends.scripted_server import ScriptedServer
from tests.precompute.collect import samples as collect_samples
from tests.precompute.criteria import samples

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


@dataclass
class Lab:
    """Preference data, an endpoint, and the command that asks one about the other."""

    database: Database
    server: ScriptedServer
    folder: Path
    command: Run

    def behave(self, behave: samples.Behave = samples.well_behaved) -> samples.Endpoint:
        """Let the endpoint behave so from now on."""
        script = samples.Endpoint(behave)
        self.server.on(collect_samples.CHAT, script)
        return script

    def llms(self, *names: str, **keys: str | float | bool) -> Path:
        """Write the file of LLMs at the endpoint, all with these keys; “alpha” alone if none is named."""
        return collect_samples.write_llms(self.folder, self.server.url, *names, **keys)

    def run(self, *arguments: object, llm: str = "alpha") -> tuple[int, str, str]:
        """Run “precompute extract-criteria --preferences arena --llm alpha --call side”."""
        options = ("--preferences", samples.SLUG, "--llm", llm, "--call", "side")
        return self.command("extract-criteria", *options, *arguments)

    def extracted(self) -> dict[SideKey, ExtractedRecord]:
        """What is stored."""
        with self.database.session() as session:
            return get_extracted(session, find_preference_set(session, samples.SLUG))


@pytest.fixture
def command(
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs “precompute …” on the database; returns exit code, standard output and standard error."""
    monkeypatch.setenv("USL_DATABASE_URL", database.engine.url.render_as_string(hide_password=False))
    monkeypatch.setenv("USL_LLMS", str(tmp_path / "llms.toml"))
    monkeypatch.setenv("COLUMNS", "200")
    collect_samples.without_models(monkeypatch.setattr, tmp_path / "bundled")

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["precompute", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out, printed.err

    return call


@pytest.fixture
def bare(database: Database, tmp_path: Path, command: Run) -> Iterator[Lab]:
    """All that is needed but the preferences."""
    with ScriptedServer() as server:
        yield Lab(database, server, tmp_path, command)


@pytest.fixture
def lab(bare: Lab) -> Lab:
    """With the preferences of `samples`."""
    samples.store(bare.database)
    return bare


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts the command on a database in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def call(url: str, llms: Path) -> subprocess.Popen[str]:
        arguments = ["extract-criteria", "--preferences", samples.SLUG, "--llm", "alpha", "--call", "side"]
        process = subprocess.Popen(
            [sys.executable, "-m", samples.__name__, *arguments],
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
