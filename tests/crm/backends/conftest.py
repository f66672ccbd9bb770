"""Small checkpoints, and judges made from the keys of a table."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crm.backends import make
from crm.config import JudgeTable
from crm.criteria import CriteriaSet
from crm.protocol import CRM, Pair, Question
from tests.checkpoints import make_causal, make_checkpoint
from tests.crm.backends.scripted_server import ScriptedServer

MakeJudge = Callable[..., CRM]


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``pairs`` (two labels), ``singles`` (one label), ``encoder`` (a BERT) and ``chat``."""
    folder = tmp_path_factory.mktemp("checkpoints")
    make_checkpoint(folder / "pairs")
    make_checkpoint(folder / "singles", labels=1)
    make_checkpoint(folder / "encoder", encoder=True)
    make_causal(folder / "chat")
    return folder


@pytest.fixture
def judge(checkpoints: Path) -> MakeJudge:
    """Makes a judge from the keys of a table in a file beside the checkpoints."""

    def made(backend: str, **keys: Any) -> CRM:
        return make(JudgeTable("mine", backend, keys, checkpoints / "crms.toml"))

    return made


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A local HTTP server whose answers a test writes."""
    with ScriptedServer() as started:
        yield started


@pytest.fixture(scope="session")
def questions() -> list[Question]:
    """Pairs of very different lengths under a wish and a dislike."""
    criteria = CriteriaSet.of(["concise"], ["long words"])
    lengths = [(1, 5), (10, 3), (40, 90), (20, 3), (3, 200), (7, 7)]
    return [
        Question(criteria, Pair(f"How about {first}?", "the word " * first, "tea is short " * second))
        for first, second in lengths
    ]


@pytest.fixture(scope="session")
def wishes(questions: list[Question]) -> list[Question]:
    """The same pairs under wishes alone: all that a judge from elsewhere can be asked."""
    return [replace(question, criteria=CriteriaSet.of(["concise", "short words"])) for question in questions]


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is no folder is looked up nowhere."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
