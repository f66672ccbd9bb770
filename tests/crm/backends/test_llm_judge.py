"""Against a local HTTP server that speaks the protocol of chat completions."""

import math
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.backends.llm_judge import judge_template, letter, probability_of_a, share_of_a
from crm.criteria import CriteriaSet, Criterion, Polarity
from crm.errors import ConfigError, CRMError, UnavailableError
from crm.llm.chat_model import Metered, Usage
from crm.protocol import CRM, Pair, Question
from tests.crm.backends.conftest import MakeJudge
from tests.crm.backends.scripted_server import Answer, ScriptedServer


@given(st.floats(-30, 0), st.floats(-30, 0))
def test_exchanging_the_letters_mirrors_the_probability(first: float, second: float) -> None:
    forth = probability_of_a({"A": first, "B": second, "x": -31.0})
    back = probability_of_a({"B": first, "A": second, "x": -31.0})

    assert forth is not None
    assert back is not None
    assert forth + back == pytest.approx(1)
    assert math.log(forth / back) == pytest.approx(first - second, abs=1e-6)


def test_without_either_letter_there_is_no_verdict() -> None:
    assert probability_of_a({"I": -0.1, "The": -2.0}) is None
    assert probability_of_a({}) is None
    assert share_of_a(["", "C"]) is None


@pytest.mark.parametrize("reply", ["A", " A\n", "A.", "**A**", "(A)", "“A”", '"A".', "[A]:"])
def test_a_letter_in_marks_is_a_verdict(reply: str) -> None:
    assert letter(reply) == "A"


@pytest.mark.parametrize("reply", ["", "AB", "A or B", "Answer A", "a", "A is better", "C", "А"])
def test_anything_more_is_none(reply: str) -> None:
    assert letter(reply) is None


def test_the_prompt_must_compare(tmp_path: Path) -> None:
    assert judge_template(None).compares
    (tmp_path / "single.txt").write_text("{{ response_a }}")
    with pytest.raises(CRMError, match="compares two: use response_b too"):
        judge_template(str(tmp_path / "single.txt"))


CHAT = "/v1/chat/completions"
QUESTION = Question(CriteriaSet.of(["concise"], ["long words"]), Pair("How?", "one", "two"))


def completion(reply: str = "A", tokens: dict[str, float] | None = None, **changed: Any) -> dict[str, Any]:
    """A chat completion whose first token had these probabilities."""
    top = [
        {"token": token, "logprob": math.log(prob), "bytes": None} for token, prob in (tokens or {}).items()
    ]
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "chatty",
        "choices": [
            {
                "index": 0,
                "finish_reason": "length",
                "message": {"role": "assistant", "content": reply},
                "logprobs": {"content": [{**top[0], "top_logprobs": top}]} if top else None,
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101},
    } | changed


@pytest.fixture
def endpoint(server: ScriptedServer, judge: MakeJudge) -> MakeJudge:
    """Makes a judge at the local server."""

    def made(**keys: Any) -> CRM:
        known = {"url": f"{server.url}/v1", "model": "chatty", "timeout": 5, "retries": 0}
        return judge("llm-judge", **known | keys)

    return made


def complaint(judge: CRM) -> str:
    with pytest.raises(UnavailableError) as said:
        judge.judge([QUESTION])
    message = str(said.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


class TestVerdictByLogProbabilities:
    @pytest.mark.parametrize(
        ("tokens", "prob"),
        [
            ({"A": 0.6, "B": 0.2, "The": 0.2}, 0.75),
            ({"A": 0.3, " A": 0.3, "B": 0.2}, 0.75),
            ({"A": 0.9, "I": 0.1}, 0.9),  # B is at most as likely as the least token shown
            ({"a": 0.6, "B": 0.3, "A": 0.1}, 0.25),
        ],
    )
    def test_it_is_what_a_has_of_both_letters(
        self, server: ScriptedServer, endpoint: MakeJudge, tokens: dict[str, float], prob: float
    ) -> None:
        server.on(CHAT, Answer(completion(tokens=tokens)))
        [verdict] = endpoint().judge([QUESTION])

        assert verdict.prob_a == pytest.approx(prob)

    def test_one_token_is_asked_for(self, server: ScriptedServer, endpoint: MakeJudge) -> None:
        server.on(CHAT, Answer(completion(tokens={"A": 0.6, "B": 0.4})))
        endpoint(top_logprobs=5, extra_body={"chat_template_kwargs": {"think": False}}).judge([QUESTION])
        [asked] = server.asked[CHAT]

        assert asked["model"] == "chatty"
        assert (asked["logprobs"], asked["top_logprobs"]) == (True, 5)
        assert (asked["max_tokens"], asked["temperature"]) == (1, 0.0)
        assert asked["chat_template_kwargs"] == {"think": False}
        [message] = asked["messages"]
        assert message["role"] == "user"
        assert "- concise\n- Avoid: long words\n" in message["content"]
        assert re.search(r"one\n</answer_a>.*two\n</answer_b>", message["content"], re.DOTALL)

    @pytest.mark.parametrize("keys", [{}, {"order_swap": True}, {"mode": "criterion"}])
    def test_prompts_of_the_same_query_and_criteria_follow_each_other(
        self, server: ScriptedServer, endpoint: MakeJudge, keys: dict[str, Any]
    ) -> None:
        def shown_first(body: dict[str, Any]) -> Answer:
            prompt = body["messages"][0]["content"]
            prob_a = 0.9 if "good\n</answer_a>" in prompt else 0.1
            return Answer(completion(tokens={"A": prob_a, "B": 1 - prob_a}))

        server.on(CHAT, shown_first)
        asked = [
            Question(CriteriaSet.of([wish]), Pair(f"How about {query}?", response, "other"))
            for response in ("good", "bad", "worse", "very good")
            for query in range(3)
            for wish in ("concise", "friendly")
        ]
        verdicts = endpoint(concurrency=1, **keys).judge(asked)
        sent = [body["messages"][0]["content"] for body in server.asked[CHAT]]
        queries = [
            (re.findall("- (.*)", prompt)[0], re.findall("How about (.)", prompt)[0]) for prompt in sent
        ]

        assert len(set(sent)) == len(sent) == len(asked) * (2 if "order_swap" in keys else 1)
        assert len(list(groupby(queries))) == 2 * 3
        assert [verdict.prob_a > 0.7 for verdict in verdicts] == [
            "good" in question.pair.response_a for question in asked
        ]

    def test_a_reply_without_a_verdict_is_undecided(
        self, server: ScriptedServer, endpoint: MakeJudge
    ) -> None:
        other = Question(QUESTION.criteria, Pair("How?", "say neither", "two"))
        server.on(
            CHAT,
            lambda body: Answer(
                completion(tokens={"I": 1.0})
                if "neither" in str(body["messages"])
                else completion(tokens={"A": 0.8, "B": 0.2})
            ),
        )
        verdicts = endpoint().judge([QUESTION, other])

        assert [verdict.prob_a for verdict in verdicts] == pytest.approx([0.8, 0.5])

    def test_a_model_that_never_gives_a_verdict(self, server: ScriptedServer, endpoint: MakeJudge) -> None:
        server.on(CHAT, Answer(completion(tokens={"I": 0.9, "think": 0.1})))

        assert "chatty at" in (said := complaint(endpoint()))
        assert "replies with neither A nor B" in said

    def test_an_endpoint_without_log_probabilities(self, server: ScriptedServer, endpoint: MakeJudge) -> None:
        server.on(CHAT, Answer(completion("A")))

        assert complaint(endpoint()) == (
            f"The endpoint {server.where} offers no log-probabilities for chatty: "
            "write logprobs = false in the judge's table of crms.toml."
        )


class TestVerdictByVotes:
    def test_it_is_the_share_of_a(self, server: ScriptedServer, endpoint: MakeJudge) -> None:
        replies = ["A", " B.", "**A**", "Answer A is better", "A"]
        server.on(CHAT, *(Answer(completion(reply)) for reply in replies))
        [verdict] = endpoint(logprobs=False, samples=5).judge([QUESTION])

        assert verdict.prob_a == pytest.approx((3 + 0.5) / 5)
        assert [asked["seed"] for asked in server.asked[CHAT]] == [0, 1, 2, 3, 4]
        assert "logprobs" not in server.asked[CHAT][0]

    def test_no_vote_is_valid(self, server: ScriptedServer, endpoint: MakeJudge) -> None:
        server.on(CHAT, Answer(completion("Both are fine.")))

        assert "replies with neither A nor B" in complaint(endpoint(logprobs=False))

    def test_a_model_that_thinks_first_may_write_more(
        self, server: ScriptedServer, endpoint: MakeJudge
    ) -> None:
        server.on(CHAT, Answer(completion("B")))
        keys = {"max_tokens": 2000, "max_tokens_key": "max_completion_tokens", "seeded": False, "samples": 1}
        endpoint(logprobs=False, **keys).judge([QUESTION])

        assert server.asked[CHAT][0]["max_completion_tokens"] == 2000
        assert not {"seed", "max_tokens"} & set(server.asked[CHAT][0])


class TestCriteria:
    def test_each_alone_is_a_question_of_its_own(self, server: ScriptedServer, endpoint: MakeJudge) -> None:
        def by_wish(body: dict[str, Any]) -> Answer:
            prompt = body["messages"][0]["content"]
            prob = 0.8 if "- Avoid: long words\n" in prompt else 0.6
            return Answer(completion(tokens={"A": prob, "B": 1 - prob}))

        server.on(CHAT, by_wish)
        [verdict] = endpoint(mode="criterion").judge([QUESTION])

        assert verdict.per_criterion == pytest.approx((0.6, 0.8))
        odds = (0.6 / 0.4) * (0.8 / 0.2)
        assert verdict.prob_a == pytest.approx(odds / (1 + odds))
        assert len(server.asked[CHAT]) == 2

    def test_what_is_to_be_avoided_says_so(self, server: ScriptedServer, endpoint: MakeJudge) -> None:
        server.on(CHAT, Answer(completion(tokens={"A": 0.5, "B": 0.5})))
        wish, dislike = Criterion("humour"), Criterion("humour", polarity=Polarity.AVOID)
        endpoint(concurrency=1).judge(
            [Question(CriteriaSet((each,)), QUESTION.pair) for each in (wish, dislike)]
        )
        second, first = sorted(asked["messages"][0]["content"] for asked in server.asked[CHAT])

        assert first.replace("- humour", "- Avoid: humour") == second

    def test_none_asks_for_what_most_people_prefer(self, server: ScriptedServer, endpoint: MakeJudge) -> None:
        server.on(CHAT, Answer(completion(tokens={"A": 0.7, "B": 0.3})))
        [verdict] = endpoint(mode="criterion").judge([Question(CriteriaSet(), QUESTION.pair)])

        assert verdict.prob_a == pytest.approx(0.7)
        assert "most people would prefer" in server.asked[CHAT][0]["messages"][0]["content"]


def test_a_prompt_can_be_kept_within_a_small_window(server: ScriptedServer, endpoint: MakeJudge) -> None:
    server.on(CHAT, Answer(completion(tokens={"A": 0.5, "B": 0.5})))
    long = Question(QUESTION.criteria, Pair("How?", "one " * 9000, "two"))
    endpoint(max_length=600).judge([long])
    prompt = server.asked[CHAT][0]["messages"][0]["content"]

    assert 1500 < len(prompt) <= 1800
    assert " …\n</answer_a>" in prompt
    assert "\ntwo\n" in prompt


def test_both_orders_are_asked_on_request(server: ScriptedServer, endpoint: MakeJudge) -> None:
    server.on(CHAT, Answer(completion(tokens={"A": 0.9, "B": 0.1})))
    [verdict] = endpoint(order_swap=True).judge([QUESTION])

    assert verdict.prob_a == pytest.approx(0.5)
    assert len(server.asked[CHAT]) == 2


def test_it_counts_tokens_and_money(server: ScriptedServer, endpoint: MakeJudge) -> None:
    server.on(CHAT, Answer(completion(tokens={"A": 0.6, "B": 0.4})))
    judge = endpoint(price_prompt=2.0, price_completion=8.0)
    assert isinstance(judge, Metered)
    assert judge.usage() == Usage()
    judge.judge([QUESTION])
    judge.judge([QUESTION])

    assert judge.usage() == Usage(200, 2, pytest.approx(200 * 2e-6 + 2 * 8e-6))


def test_the_version_tells_models_and_prompts_apart(endpoint: MakeJudge) -> None:
    first = endpoint().version
    others = [endpoint(model="other"), endpoint(logprobs=False), endpoint(mode="criterion")]

    assert endpoint(url="http://elsewhere/v1", price_prompt=1.0, concurrency=2).version == first
    assert len({first, *(other.version for other in others)}) == 4


class TestFailures:
    def test_too_many_requests_and_then_fine(self, server: ScriptedServer, endpoint: MakeJudge) -> None:
        busy = Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.01"})
        server.on(CHAT, busy, Answer(completion(tokens={"A": 0.6, "B": 0.4})))

        assert endpoint(retries=2).judge([QUESTION])[0].prob_a == pytest.approx(0.6)

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (Answer("", 500), "fails (status 500): try again later."),
            (
                Answer({"error": {"message": "slow down"}}, 429),
                "limits the rate (status 429): try again",
            ),
            (Answer({"error": {"message": "no such model"}}, 404), "has no model chatty: fix 'model'"),
            (
                Answer({"error": {"message": "key sk-secret is wrong"}}, 401),
                "refuses the API key (status 401)",
            ),
            (Answer({"error": {"message": "no sk-secret"}}, 400), "refuses the request (status 400, "),
            (Answer("", 302, {"Location": "/elsewhere"}), "refuses the request (status 302): "),
            (Answer("<html>hello</html>"), "answers nonsense (no JSON)"),
            (Answer({"hello": 1}), "answers nonsense (no reply)"),
            (Answer(completion(choices=[])), "answers nonsense (no reply)"),
            (Answer([]), "answers nonsense"),
            (Answer("", delay=1), "did not answer within 0.5 seconds: try again later"),
        ],
    )
    def test_it_is_one_sentence_without_the_key(
        self,
        server: ScriptedServer,
        endpoint: MakeJudge,
        monkeypatch: pytest.MonkeyPatch,
        answer: Answer,
        said: str,
    ) -> None:
        monkeypatch.setenv("SOME_KEY", "sk-secret")
        server.on(CHAT, answer)
        judge = endpoint(api_key_env="SOME_KEY", timeout=0.5)
        message = complaint(judge)

        assert message.startswith(f"The endpoint {server.where} {said}")
        assert "secret" not in message
        assert server.keys[0] == "Bearer sk-secret"

    def test_it_is_down(self, judge: MakeJudge) -> None:
        keys = {"url": "http://127.0.0.1:9/v1", "model": "chatty", "retries": 0}

        assert complaint(judge("llm-judge", **keys)).startswith("The endpoint 127.0.0.1:9 cannot be reached")

    def test_the_key_is_missing(self, endpoint: MakeJudge, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("SOME_KEY", raising=False)
        with pytest.raises(ConfigError, match="finds no API key"):
            endpoint(api_key_env="SOME_KEY").judge([QUESTION])

    def test_the_environments_key_is_not_sent_unasked(
        self, server: ScriptedServer, endpoint: MakeJudge, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        server.on(CHAT, Answer(completion(tokens={"A": 0.6, "B": 0.4})))
        endpoint().judge([QUESTION])

        assert server.keys == ["Bearer none"]
