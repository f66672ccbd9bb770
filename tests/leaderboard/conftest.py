"""A server of the tests' own behind the LLM “writer” of ``llms.toml``."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crm.backends.scripted_server import ScriptedServer
from tests.leaderboard.critique_samples import KEY, write_llms


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        monkeypatch.setenv("CRITIC_KEY", KEY)
        monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, running.url, retries=0)))
        yield running
