"""Against a local HTTP server that speaks the protocol of chat completions."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crm.errors import CRMError, UnavailableError
from crm.llm.settings import read_llms
from crm.llm.structured import UnusableReplyError
from crm.llm.tasks import AskedLLM, KeptReplies, Task
from tests.crm.backends.scripted_server import Answer, ScriptedServer

CHAT = "/v1/chat/completions"


def says(text: str, **choice: object) -> Answer:
    reply = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | choice
    return Answer({"id": "1", "model": "m", "choices": [reply]})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def llm(tmp_path: Path, server: ScriptedServer) -> Any:
    file = tmp_path / "llms.toml"
    file.write_text(f'[writer]\nmodel = "m"\nurl = "{server.url}/v1"\nretries = 0\n')
    return read_llms(file, ["writer"])[0]


def number(reply: str) -> int:
    if not reply.isdecimal():
        raise UnusableReplyError("It is no number.")
    return int(reply)


def square(n: int) -> Task[int]:
    return Task(lambda problem: f"The square of {n}? {problem}".strip(), number)


def mathematician(asked: Any) -> Answer:
    prompt = asked["messages"][-1]["content"]
    return says(str(int(prompt.split()[3].rstrip("?")) ** 2))


def prompts(server: ScriptedServer) -> list[str]:
    return [asked["messages"][-1]["content"] for asked in server.asked[CHAT]]


def test_every_task_is_answered_under_its_key_and_progress_is_told(server: ScriptedServer, llm: Any) -> None:
    server.on(CHAT, mathematician)
    told: list[tuple[int, int]] = []
    answers = AskedLLM(llm).answers({n: square(n) for n in (3, 5, 4)}, lambda *at: told.append(at))

    assert answers.found == {3: 9, 5: 25, 4: 16}
    assert (answers.failed, answers.asked) == ({}, 3)
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_what_is_kept_is_not_asked_for_again(server: ScriptedServer, llm: Any, tmp_path: Path) -> None:
    server.on(CHAT, mathematician)
    kept = KeptReplies(tmp_path / "kept" / "replies")
    AskedLLM(llm, kept).answers({n: square(n) for n in (3, 5)})
    again = AskedLLM(llm, kept).answers({n: square(n) for n in (5, 6)})

    assert again.found == {5: 25, 6: 36}
    assert again.asked == 1
    assert len(prompts(server)) == 3
    files = list(kept.folder.iterdir())
    assert len(files) == 3
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


def test_another_model_is_asked_itself(server: ScriptedServer, llm: Any, tmp_path: Path) -> None:
    server.on(CHAT, mathematician)
    kept = KeptReplies(tmp_path / "kept")
    AskedLLM(llm, kept).answers({3: square(3)})
    file = tmp_path / "llms.toml"
    file.write_text(file.read_text().replace('model = "m"', 'model = "other"'))
    [other] = read_llms(file, ["writer"])

    assert AskedLLM(other, kept).answers({3: square(3)}).asked == 1


def test_a_reply_of_no_use_is_asked_for_again_with_the_reason(
    server: ScriptedServer, llm: Any, tmp_path: Path
) -> None:
    server.on(CHAT, says("nine"), says("9"))
    kept = KeptReplies(tmp_path)
    found = AskedLLM(llm, kept).answers({"three": square(3)}).found

    assert found == {"three": 9}
    assert prompts(server) == ["The square of 3?", "The square of 3? It is no number."]
    assert AskedLLM(llm, kept).answers({"three": square(3)}).asked == 0  # found by the first question


def test_what_stays_useless_is_refused_or_cut_is_said_and_not_kept(
    server: ScriptedServer, llm: Any, tmp_path: Path
) -> None:
    def by_number(asked: Any) -> Answer:
        prompt = asked["messages"][-1]["content"]
        if "of 1?" in prompt:
            return says("one")
        if "of 2?" in prompt:
            return says("", finish_reason="content_filter")
        return says("ni", finish_reason="length")

    server.on(CHAT, by_number)
    folder = tmp_path / "kept"
    answers = AskedLLM(llm, KeptReplies(folder)).answers({n: square(n) for n in (1, 2, 3)})

    assert answers.found == {}
    assert answers.failed == {
        1: "The reply could not be used: it is no number.",
        2: "writer refuses.",
        3: "The reply could not be used: it was cut off at the limit of tokens.",
    }
    assert not folder.exists()


def test_a_kept_reply_that_this_version_cannot_read_is_asked_for_again(
    server: ScriptedServer, llm: Any, tmp_path: Path
) -> None:
    server.on(CHAT, mathematician)
    kept = KeptReplies(tmp_path)
    kept.keep(llm, square(3).prompt(""), "IX")

    assert AskedLLM(llm, kept).answers({3: square(3)}).found == {3: 9}
    assert kept.find(llm, square(3).prompt("")) == "9"


def test_an_endpoint_that_refuses_the_key_ends_it_and_what_was_answered_is_kept(
    server: ScriptedServer, llm: Any, tmp_path: Path
) -> None:
    file = tmp_path / "llms.toml"
    file.write_text(file.read_text() + "concurrency = 1\n")
    [slow] = read_llms(file, ["writer"])
    server.on(CHAT, mathematician, Answer("no", status=401))
    kept = KeptReplies(tmp_path / "kept")
    with pytest.raises(UnavailableError):
        AskedLLM(slow, kept).answers({n: square(n) for n in (3, 4, 5)})

    assert kept.find(slow, square(3).prompt("")) == "9"


def test_a_folder_that_cannot_be_written_is_one_sentence(
    server: ScriptedServer, llm: Any, tmp_path: Path
) -> None:
    server.on(CHAT, mathematician)
    blocked = tmp_path / "file"
    blocked.write_text(json.dumps("no folder"))
    with pytest.raises(CRMError, match=r"cannot be (read|written) .*: name another folder\."):
        AskedLLM(llm, KeptReplies(blocked)).answers({3: square(3)})
