"""The LLM of these tests behind a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crm.llm.settings import read_llms
from crm.llm.tasks import AskedLLM
from tests.crm.backends.scripted_server import ScriptedServer
from tests.leaderboard.critique_samples import CHAT
from tests.leaderboard.query_checklists.scripted_llm import script


@pytest.fixture(autouse=True)
def scripted(server: ScriptedServer) -> None:
    server.on(CHAT, script)


@pytest.fixture
def llm(server: ScriptedServer, tmp_path: Path) -> AskedLLM:
    [configured] = read_llms(tmp_path / "llms.toml", ["writer"])
    return AskedLLM(configured)


@pytest.fixture
def prompts(server: ScriptedServer) -> list[str]:
    """What was asked so far; grows."""

    class Asked(list[str]):
        def __iter__(self) -> Iterator[str]:
            return iter([asked["messages"][-1]["content"] for asked in server.asked[CHAT]])

        def __len__(self) -> int:
            return len(server.asked[CHAT])

    return Asked()
