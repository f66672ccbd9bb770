"""Against a local HTTP server that speaks vLLM's protocol; tests/vllm uses a real one."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.backends.transformers_classifier import TransformersClassifier, load_transformers_classifier
from crm.backends.vllm_server import batches_in_order
from crm.batches import by_beginning
from crm.config import TransformersSettings
from crm.criteria import CriteriaSet
from crm.errors import ConfigError, CriterionError, UnavailableError
from crm.llm.loading import load_tokenizer
from crm.protocol import CRM, Pair, Question
from tests.crm.backends.conftest import MakeJudge
from tests.crm.backends.scripted_server import Answer, ScriptedServer

MODELS = {"data": [{"id": "tiny", "max_model_len": 1024}]}


def classes(*probs: list[float]) -> dict[str, Any]:
    return {"data": [{"index": index, "probs": each} for index, each in enumerate(probs)]}


def even(body: dict[str, Any]) -> Answer:
    return Answer(classes(*[[0.5, 0.5]] * len(body["input"])))


@pytest.fixture
def vllm(server: ScriptedServer, checkpoints: Path) -> ScriptedServer:
    """A server that classifies as vLLM does, with the checkpoint ``pairs``."""
    engine = load_transformers_classifier(str(checkpoints / "pairs"), None, TransformersSettings(), labels=2)
    server.on("/v1/models", Answer(MODELS))
    server.on("/classify", lambda body: Answer(classified(engine, body)))
    server.on("/tokenize", lambda body: Answer({"tokens": tokens(engine, body)}))
    server.on("/detokenize", lambda body: Answer({"prompt": engine.tokenizer.decode(body["tokens"])}))
    return server


def classified(engine: TransformersClassifier, body: dict[str, Any]) -> dict[str, Any]:
    assert body["model"] == "tiny"
    assert body["use_activation"] is True
    odds = 1 / (1 + 2.718281828 ** -engine.margins(body["input"]).astype(float))
    return classes(*[[prob, 1 - prob] for prob in odds.tolist()])


def tokens(engine: TransformersClassifier, body: dict[str, Any]) -> list[int]:
    ids: list[int] = engine.tokenizer(body["prompt"], add_special_tokens=body["add_special_tokens"])[
        "input_ids"
    ]
    return ids


@pytest.fixture
def served(server: ScriptedServer, judge: MakeJudge) -> MakeJudge:
    """Makes a judge of the local server, in whose messages addresses can be told."""

    def made(**keys: Any) -> CRM:
        known = {"url": server.url, "model": "tiny", "tokenizer": "pairs", "timeout": 5, "retries": 1}
        return judge("vllm-server", **known | keys)

    return made


def complaint(judge: CRM, questions: list[Question]) -> str:
    with pytest.raises(UnavailableError) as said:
        judge.judge(questions)
    message = str(said.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


@pytest.mark.parametrize("keys", [{}, {"order_swap": True}, {"batch_size": 2, "concurrency": 3}])
def test_it_agrees_with_transformers_on_the_same_checkpoint(
    vllm: ScriptedServer, served: MakeJudge, judge: MakeJudge, questions: list[Question], keys: dict[str, Any]
) -> None:
    local = judge("transformers", model="pairs", order_swap="order_swap" in keys).judge(questions)
    remote = served(**keys).judge(questions)

    assert [verdict.prob_a for verdict in remote] == pytest.approx(
        [verdict.prob_a for verdict in local], abs=1e-4
    )
    assert len(vllm.asked["/classify"]) == (3 if "batch_size" in keys else 1)


def test_without_a_tokenizer_the_servers_own_is_asked(
    vllm: ScriptedServer, judge: MakeJudge, questions: list[Question], wishes: list[Question]
) -> None:
    long = Question(CriteriaSet(), Pair("How?", "the word " * 900, "x"))
    asked = [*wishes, long]
    keys: dict[str, Any] = {"url": vllm.url, "model": "tiny", "prompt": "pairs/prompt.txt"}
    remote = judge("vllm-server", **keys)
    local = judge("transformers", model="pairs").judge(asked)

    assert [verdict.prob_a for verdict in remote.judge(asked)] == pytest.approx(
        [verdict.prob_a for verdict in local], abs=1e-4
    )
    assert vllm.asked["/detokenize"]
    with pytest.raises(CriterionError, match="trained on “Avoid: long words”"):
        remote.judge(questions)


def test_the_version_does_not_depend_on_where_the_server_is(served: MakeJudge) -> None:
    first = served().version

    assert served(url="http://elsewhere:1", concurrency=9, api_key_env="SOME_KEY").version == first
    assert len({first, served(order_swap=True).version, served(revision="2").version}) == 3


class TestRequests:
    """No longer than configured, no more at a time, and those that begin alike beside each other."""

    def test_they_hold_so_many_tokens_at_most_and_a_longer_prompt_goes_alone(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]
    ) -> None:
        whole = served().judge(questions)
        [[*prompts]] = [body["input"] for body in vllm.asked.pop("/classify")]
        most = sorted(map(len, prompts))[-2]
        cut = served(batch_tokens=most).judge(questions)
        requests = [body["input"] for body in vllm.asked["/classify"]]

        assert [verdict.prob_a for verdict in cut] == pytest.approx([one.prob_a for one in whole], abs=1e-4)
        assert sorted(prompt for request in requests for prompt in request) == sorted(prompts)
        assert len(requests) > 1
        assert all(len(request) == 1 or sum(map(len, request)) <= most for request in requests)

    def test_prompts_of_the_same_query_and_criteria_follow_each_other(
        self, vllm: ScriptedServer, served: MakeJudge
    ) -> None:
        wishes = [CriteriaSet.of([wish]) for wish in ("concise", "long words")]
        asked = [
            Question(criteria, Pair(f"How about {query}?", "the word " * (query + 3 * llm), "tea"))
            for llm in range(4)
            for query in range(3)
            for criteria in wishes
        ]
        verdicts = served(batch_size=4, concurrency=1).judge(asked)
        sent = [tuple(prompt) for body in vllm.asked["/classify"] for prompt in body["input"]]
        alone = [served().judge([question])[0].prob_a for question in asked]

        assert len(set(sent)) == len(asked) == 24
        assert sent == sorted(sent)
        assert [verdict.prob_a for verdict in verdicts] == pytest.approx(alone, abs=1e-4)

    def test_all_who_use_a_judge_share_its_connections(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]
    ) -> None:
        lock, under_way, most = threading.Lock(), 0, 0

        def slow(body: dict[str, Any]) -> Answer:
            nonlocal under_way, most
            with lock:
                under_way += 1
                most = max(most, under_way)
            time.sleep(0.02)
            with lock:
                under_way -= 1
            return even(body)

        vllm.on("/classify", slow)
        judge = served(batch_size=1, concurrency=2)
        with ThreadPoolExecutor(4) as people:
            list(people.map(judge.judge, [questions] * 4))

        assert len(vllm.asked["/classify"]) == 4 * len(questions)
        assert most == 2


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9)), st.integers(1, 4), st.integers(1, 20))
def test_requests_hold_every_prompt_once_and_are_as_full_as_they_may_be(
    prompts: list[list[int]], most: int, tokens: int
) -> None:
    order = by_beginning(prompts)
    batches = list(batches_in_order(order, prompts, most, tokens))
    lengths = [sum(len(prompts[index]) for index in batch) for batch in batches]

    assert [index for batch in batches for index in batch] == order
    assert sorted(order) == list(range(len(prompts)))
    for batch, length in zip(batches, lengths, strict=True):
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or length <= tokens
    for (batch, following), length in zip(pairwise(batches), lengths, strict=False):
        assert len(batch) == most or length + len(prompts[following[0]]) > tokens


class TestFailures:
    """Passing ones are waited for, lasting ones are one clear sentence."""

    def test_too_many_requests_and_then_fine(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]
    ) -> None:
        busy = Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"})
        vllm.on("/classify", busy, Answer("", 503, {"Retry-After": "0"}), even)

        assert served(retries=2).judge(questions)[0].prob_a == pytest.approx(0.5)
        assert len(vllm.asked["/classify"]) == 3

    def test_it_stays_overloaded(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]
    ) -> None:
        vllm.on("/classify", Answer("", 429, {"Retry-After": "0"}))
        said = complaint(served(), questions)

        assert said == (
            f"The server at {vllm.where} is overloaded (status 429): try again later, or lower 'concurrency' "
            "in crms.toml."
        )
        assert len(vllm.asked["/classify"]) == 2

    def test_it_is_down(self, judge: MakeJudge, questions: list[Question]) -> None:
        started = time.monotonic()
        keys = {"url": "http://127.0.0.1:9", "model": "tiny", "tokenizer": "pairs"}
        said = complaint(judge("vllm-server", **keys), questions)

        assert said.startswith("The server at 127.0.0.1:9 cannot be reached: start it, or fix its 'url'")
        assert time.monotonic() - started < 5

    def test_it_comes_back(self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]) -> None:
        judge = served(retries=0)
        vllm.on("/v1/models", Answer("", 503), Answer(MODELS))
        complaint(judge, questions)

        assert len(judge.judge(questions)) == len(questions)

    def test_it_is_slow(self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]) -> None:
        vllm.on("/classify", Answer("", delay=2))
        said = complaint(served(timeout=0.2, retries=0), questions)

        assert said.startswith(
            f"The server at {vllm.where} did not answer within 0.2 seconds: try again later"
        )
        assert said.endswith("lower 'batch_tokens', 'batch_size' or 'concurrency' in crms.toml.")

    @pytest.mark.parametrize(
        ("answer", "advice"),
        [
            (Answer("", 500), "try again later, or lower 'batch_tokens' or 'concurrency' in crms.toml."),
            (Answer("", 413), "lower 'max_length' or 'batch_tokens' in crms.toml."),
            (
                Answer({"error": {"message": "This model's maximum context length is 40 tokens."}}, 400),
                "lower 'max_length' or 'batch_tokens' in crms.toml.",
            ),
            (
                Answer({"error": {"message": "CUDA out of memory."}}, 400),
                "lower 'max_length' or 'batch_tokens' in crms.toml.",
            ),
            (Answer({"error": {"message": "no such field"}}, 400), "check the judge's keys in crms.toml."),
        ],
    )
    def test_what_is_too_much_for_it_is_to_be_asked_in_smaller_parts(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question], answer: Answer, advice: str
    ) -> None:
        vllm.on("/classify", answer)

        assert complaint(served(retries=0), questions).endswith(f"): {advice}")

    def test_it_sends_elsewhere(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]
    ) -> None:
        vllm.on("/classify", Answer("", 307, {"Location": "/elsewhere"}))

        assert "refuses the request (status 307)" in complaint(served(), questions)
        assert "/elsewhere" not in vllm.asked

    def test_it_serves_another_model(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]
    ) -> None:
        said = complaint(served(model="large"), questions)

        assert said.startswith(
            f"The server at {vllm.where} does not serve 'large' but tiny: write one of its"
        )

    def test_it_does_not_classify(
        self, server: ScriptedServer, served: MakeJudge, questions: list[Question]
    ) -> None:
        server.on("/v1/models", Answer(MODELS))

        assert "has no /classify: start a vLLM server with --runner pooling" in complaint(served(), questions)

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            ("<html>hello</html>", "no JSON"),
            ([], "no list of classes"),
            ({"data": [1]}, "no list of classes"),
            (classes([0.5, 0.5]), "1 verdicts on 6 prompts"),
            (classes(*[[0.5, 0.5]] * 7), "7 verdicts on 6 prompts"),
            ({"data": [{"index": 0, "probs": [0.5, 0.5]}] * 6}, "6 verdicts on 6 prompts"),
            (classes(*[[float("nan"), 0.5]] * 6), "values that are no numbers"),
            (classes(*[["high", 0.5]] * 6), "values that are no numbers"),
            ({"data": [{"index": index} for index in range(6)]}, "values that are no numbers"),
            (classes(*[[0.9, 0.9]] * 6), "probabilities that do not sum to one"),
            (classes(*[[1.5, -0.5]] * 6), "probabilities that do not sum to one"),
        ],
    )
    def test_it_answers_nonsense(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question], body: Any, reason: str
    ) -> None:
        vllm.on("/classify", Answer(body))
        said = complaint(served(), questions)

        assert said == (
            f"The server at {vllm.where} answers nonsense ({reason}): "
            "check that it runs the configured model."
        )

    @pytest.mark.parametrize(
        "body", ["hello", {"object": "list"}, {"data": ["tiny"]}, {"data": [{"id": "tiny"}]}]
    )
    def test_it_is_no_vllm_server(
        self, server: ScriptedServer, served: MakeJudge, questions: list[Question], body: Any
    ) -> None:
        server.on("/v1/models", Answer(body))

        assert "answers nonsense" in complaint(served(), questions)

    def test_another_number_of_labels(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]
    ) -> None:
        vllm.on("/classify", Answer(classes(*[[0.2, 0.3, 0.5]] * 6)))
        with pytest.raises(UnavailableError, match="tiny has 3 labels: a judge of pairs has two"):
            served().judge(questions)

    def test_criteria_longer_than_its_window(self, vllm: ScriptedServer, served: MakeJudge) -> None:
        vllm.on("/v1/models", Answer({"data": [{"id": "tiny", "max_model_len": 40}]}))
        many = CriteriaSet.of([f"criterion number {index}" for index in range(20)])
        with pytest.raises(CriterionError, match="window of 40 tokens"):
            served().judge([Question(many, Pair("q", "a", "b"))])

    def test_after_one_failure_nothing_more_is_asked(
        self, vllm: ScriptedServer, served: MakeJudge, questions: list[Question]
    ) -> None:
        vllm.on("/classify", Answer({"error": {"message": "too long a prompt"}}, 400))
        said = complaint(served(batch_size=1, concurrency=1), questions)

        assert "refuses the request (status 400, “too long a prompt”)" in said
        assert len(vllm.asked["/classify"]) < len(questions)


class TestAPIKeys:
    """They come from the environment and are never shown."""

    def test_it_is_sent(
        self,
        vllm: ScriptedServer,
        served: MakeJudge,
        questions: list[Question],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("SOME_KEY", "sk-secret")
        served(api_key_env="SOME_KEY").judge(questions)

        assert set(vllm.keys) == {"Bearer sk-secret"}

    def test_it_is_missing(
        self, served: MakeJudge, questions: list[Question], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("SOME_KEY", raising=False)
        with pytest.raises(
            ConfigError, match="'mine' finds no API key: set the environment variable SOME_KEY"
        ):
            served(api_key_env="SOME_KEY").judge(questions)

    @pytest.mark.parametrize("status", [400, 401, 403, 500])
    def test_an_error_does_not_repeat_it(
        self,
        vllm: ScriptedServer,
        served: MakeJudge,
        questions: list[Question],
        monkeypatch: pytest.MonkeyPatch,
        status: int,
    ) -> None:
        monkeypatch.setenv("SOME_KEY", "sk-secret")
        told = {"error": {"message": "bad key sk-secret"}}
        vllm.on("/classify", Answer(json.dumps(told), status), Answer(told, status))
        judge = served(api_key_env="SOME_KEY")
        said = complaint(judge, questions) + complaint(judge, questions)

        assert "secret" not in said
        assert "secret" not in repr(vars(judge))


def test_chat_needs_a_tokenizer_that_knows_one(
    vllm: ScriptedServer, served: MakeJudge, checkpoints: Path, wishes: list[Question]
) -> None:
    with pytest.raises(UnavailableError, match="has no chat template"):
        served(chat=True).judge(wishes)
    assert load_tokenizer(str(checkpoints / "chat")).chat_template
    assert served(chat=True, tokenizer="chat", prompt="pairs/prompt.txt").judge(wishes)
