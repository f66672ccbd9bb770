"""Against local servers that answer anything: an answer is read with a limit, or refused in one sentence."""

import gzip
import json
import math
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crm.backends import make
from crm.backends.llm_judge import EndpointJudge
from crm.config import JudgeTable
from crm.criteria import CriteriaSet
from crm.errors import CRMError, UnavailableError
from crm.llm.client import Endpoint, LLMClient
from crm.llm.endpoint import CHAT_PATH, read_completion
from crm.llm.running import run_to_end
from crm.protocol import Pair, Question
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.lies import changed, is_a_sentence, lies

QUESTION = Question(CriteriaSet.of(["concise"]), Pair("How?", "one", "two"))
DEEP = "[" * 100_000 + "]" * 100_000
REPLY: dict[str, Any] = {
    "choices": [
        {
            "message": {"role": "assistant", "content": "A"},
            "finish_reason": "stop",
            "logprobs": {
                "content": [
                    {
                        "token": "A",
                        "logprob": -0.1,
                        "top_logprobs": [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -3.0}],
                    }
                ]
            },
        }
    ],
    "usage": {
        "prompt_tokens": 9,
        "completion_tokens": 1,
        "completion_tokens_details": {"reasoning_tokens": 0},
    },
    "model": "chatty",
}


def judge_at(server: ScriptedServer, **keys: Any) -> EndpointJudge:
    values = {"model": "m", "url": f"{server.url}/v1", "retries": 0, **keys}
    judge = make(JudgeTable("mine", "llm-judge", values, Path("crms.toml")))
    assert isinstance(judge, EndpointJudge)
    return judge


def client_of(url: str, **keys: Any) -> LLMClient:
    options: dict[str, Any] = {"timeout": 5.0, "retries": 0} | keys
    return LLMClient(Endpoint(url, "m", "mine", "llms.toml", "LLM", None, **options))


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        yield started


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lies(REPLY), st.booleans())
def test_a_server_that_answers_anything_gives_a_verdict_or_a_sentence(
    server: ScriptedServer, answer: object, logprobs: bool
) -> None:
    server.on("/v1/chat/completions", Answer(answer))
    judge = judge_at(server, logprobs=logprobs, price_prompt=1.0)
    try:
        [verdict] = judge.prob_a([QUESTION])
    except CRMError as error:
        assert is_a_sentence(error), str(error)
    else:
        assert 0 <= verdict <= 1
        assert math.isfinite(judge.usage().cost or 0.0)


LOGPROBS = ("choices", 0, "logprobs", "content")
FIRST = (*LOGPROBS, 0)
LIES: dict[str, tuple[tuple[str | int, ...], object]] = {
    "null choices": (("choices",), None),
    "a null choice": (("choices", 0), None),
    "log-probabilities in an object": (LOGPROBS, {"A": -0.1}),
    "tokens in an object": ((*FIRST, "top_logprobs"), {"A": -0.1}),
    "a probability above one": ((*FIRST, "top_logprobs", 0, "logprob"), 5.0),
    "a probability far above one": ((*FIRST, "top_logprobs", 0, "logprob"), 5_000.0),
    "no number": ((*FIRST, "top_logprobs", 0, "logprob"), math.nan),
    "infinite": ((*FIRST, "top_logprobs", 0, "logprob"), -math.inf),
    "a text for a number": ((*FIRST, "logprob"), "-0.1"),
    "a numeric token": ((*FIRST, "top_logprobs", 1, "token"), 65),
}


@pytest.mark.parametrize(("place", "value"), LIES.values(), ids=LIES.keys())
def test_lies_about_what_a_judge_reads_are_refused(
    server: ScriptedServer, place: tuple[str | int, ...], value: object
) -> None:
    server.on("/v1/chat/completions", Answer(changed(REPLY, place, value)))
    with pytest.raises(UnavailableError, match=r"answers nonsense \(no reply\)"):
        judge_at(server).prob_a([QUESTION])


@pytest.mark.parametrize(
    "usage", ["many", 7, [1], None, {"prompt_tokens": "9"}, {"prompt_tokens": 10**299}, {"prompt_tokens": -5}]
)
def test_what_a_server_says_of_tokens_counts_only_if_it_is_a_count(
    server: ScriptedServer, usage: object
) -> None:
    server.on("/v1/chat/completions", Answer({**REPLY, "usage": usage}))
    judge = judge_at(server, price_prompt=1.0)
    judge.prob_a([QUESTION])
    assert judge.usage().prompt == 0
    assert judge.usage().cost == 0


@pytest.mark.parametrize("body", [DEEP, "9" * 5_000, '{"choices": [{"message": {"content": 1e999}}]}'])
@pytest.mark.parametrize("status", [200, 400])
def test_json_without_end_is_nonsense(server: ScriptedServer, body: str, status: int) -> None:
    server.on(f"/v1{CHAT_PATH}", Answer(body, status))
    with pytest.raises(UnavailableError, match=r"nonsense \(no JSON\)|refuses the request \(status 400"):
        client_of(f"{server.url}/v1").post(CHAT_PATH, {})


def test_halves_of_characters_come_as_replacements(server: ScriptedServer) -> None:
    server.on(
        f"/v1{CHAT_PATH}", Answer(json.dumps(changed(REPLY, (*FIRST[:2], "message", "content"), "a\ud800")))
    )
    client = client_of(f"{server.url}/v1")
    assert read_completion(client.post(CHAT_PATH, {}), client).reply(client).text == "a\ufffd"


class RawServer:
    """Writes the same bytes to whoever asks, as often as it is told, or until the connection is closed."""

    def __init__(self, head: bytes, piece: bytes, times: int) -> None:
        self.sent = 0
        self._answer = (head, piece, times)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> "RawServer":
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _serve(self) -> None:
        head, piece, times = self._answer
        try:
            while True:
                connection, _ = self._socket.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(head)
                    for _ in range(times):
                        connection.sendall(piece)
                        self.sent += len(piece)
        except OSError:
            return


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
FAILED = OK.replace(b"200 OK", b"500 Failed")
ENDLESS = (b"\r\n", b" " * 2**20, 1_000)
BOMB = gzip.compress(bytes(2**29), 9)
PACKED = (b"Content-Encoding: gzip\r\n\r\n", BOMB, 1)


def peak_of(ask: Any, message: str) -> float:
    """MB that a request that is refused takes at most."""
    tracemalloc.start()
    try:
        with pytest.raises(UnavailableError, match=message):
            ask()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("head", "most"), [(OK, 32), (FAILED, 1)])
@pytest.mark.parametrize("answer", [ENDLESS, PACKED], ids=["endless", "packed"])
def test_replies_of_gigabytes_are_read_with_a_limit(
    head: bytes, most: int, answer: tuple[bytes, bytes, int]
) -> None:
    more, piece, times = answer
    with RawServer(head + more, piece, times) as server:
        client = client_of(server.url)
        assert (
            peak_of(lambda: client.post(CHAT_PATH, {}), rf"nonsense \(more than {most} MB\)") < 3 * most + 20
        )
        assert server.sent < 100 * 2**20


async def _asked_once(server: RawServer) -> None:
    client = client_of(server.url)
    async with client.connect_async() as connection:
        await client.post_once(connection, CHAT_PATH, {})


@pytest.mark.parametrize("answer", [ENDLESS, PACKED], ids=["endless", "packed"])
def test_so_are_those_of_many_requests_at_a_time(answer: tuple[bytes, bytes, int]) -> None:
    more, piece, times = answer
    with RawServer(OK + more, piece, times) as server:
        assert peak_of(lambda: run_to_end(_asked_once(server)), r"nonsense \(more than 32 MB\)") < 116


def test_a_server_that_drips_is_given_up() -> None:
    class Dripping(RawServer):
        def _serve(self) -> None:
            connection, _ = self._socket.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(OK + b"\r\n")
                try:
                    for _ in range(100):
                        connection.sendall(b" ")
                        time.sleep(0.1)
                except OSError:
                    return

    with (
        Dripping(b"", b"", 0) as server,
        pytest.raises(UnavailableError, match=r"did not answer within 0\.5 seconds"),
    ):
        client_of(server.url, timeout=0.5).post(CHAT_PATH, {})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(server: ScriptedServer, status: int) -> None:
    with ScriptedServer() as other:
        server.on(f"/v1{CHAT_PATH}", Answer("", status, {"Location": f"{other.url}/v1{CHAT_PATH}"}))
        with pytest.raises(UnavailableError, match=rf"refuses the request \(status {status}\)"):
            client_of(f"{server.url}/v1").post(CHAT_PATH, {"secret": 1})
        assert not other.asked


@pytest.mark.parametrize("wait", ["nan", "inf", "-1", "1e999", "Fri, 31 Dec 9999 23:59:59 GMT", "x"])
def test_a_strange_wish_to_wait_does_no_harm(server: ScriptedServer, wait: str) -> None:
    server.on(f"/v1{CHAT_PATH}", Answer("", 429, {"Retry-After": wait}))
    with pytest.raises(UnavailableError, match="limits the rate"):
        client_of(f"{server.url}/v1").post(CHAT_PATH, {})
