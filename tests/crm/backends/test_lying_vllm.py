"""Against a local server that answers anything in vLLM's protocol: a verdict, or one sentence."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crm.backends import make
from crm.config import JudgeTable
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from crm.llm import prompt
from crm.protocol import CRM, Pair, Question
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.lies import is_a_sentence, lies

TEMPLATES = Path(prompt.__file__).parent / "prompts"
QUESTIONS = [Question(CriteriaSet.of(["concise"]), Pair("How?", "one", other)) for other in ("two", "three")]
MODELS = {"object": "list", "data": [{"id": "tiny", "max_model_len": 1024}, {"id": "b", "max_model_len": 9}]}
TOKENS = {"count": 3, "max_model_len": 1024, "tokens": [5, 7, 11]}
TEXT = {"prompt": "one two"}


def classes(labels: int, prompts: int = 2) -> dict[str, Any]:
    """What vLLM answers to prompts: of two labels their probabilities, of one its score."""
    values = (
        [[0.25, 0.75], [0.5, 0.5], [0.9, 0.1], [1.0, 0.0]] if labels == 2 else [[-1.5], [0.5], [3.0], [7]]
    )
    data = [
        {"index": index, "label": "LABEL_0", "probs": values[index], "num_classes": labels}
        for index in range(prompts)
    ]
    return {
        "id": "classify-1",
        "object": "list",
        "model": "tiny",
        "data": data,
        "usage": {"prompt_tokens": 9},
    }


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        yield started


def judge_at(server: ScriptedServer, loss: str) -> CRM:
    """A judge of two labels, or of one, that asks the server for everything."""
    template = TEMPLATES / ("pair.txt" if loss == "classification" else "single.txt")
    values = {"model": "tiny", "url": server.url, "retries": 0, "loss": loss, "prompt": str(template)}
    return make(JudgeTable("mine", "vllm-server", values, Path("crms.toml")))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_server_that_answers_anything_gives_verdicts_or_a_sentence(
    server: ScriptedServer, data: st.DataObject
) -> None:
    loss, labels, prompts = data.draw(st.sampled_from([("classification", 2, 2), ("ranking", 1, 3)]))
    truths = {
        "/classify": classes(labels, prompts),
        "/v1/models": MODELS,
        "/tokenize": TOKENS,
        "/detokenize": TEXT,
    }
    lying = data.draw(st.sets(st.sampled_from(sorted(truths)), min_size=1))
    for path, truth in truths.items():
        answer = data.draw(lies(truth), label=path) if path in lying else truth
        server.on(path, Answer(answer))
    try:
        verdicts = judge_at(server, loss).judge(QUESTIONS)
    except CRMError as error:
        assert is_a_sentence(error), str(error)
    else:
        assert len(verdicts) == len(QUESTIONS)
        assert all(0 <= verdict.prob_a <= 1 for verdict in verdicts)


SCORES = [{"index": index, "probs": [1e300]} for index in range(3)]
LIES: dict[str, tuple[str, str, object, str]] = {
    "scores without a difference": ("ranking", "/classify", {"data": SCORES}, "a score that is too large"),
    "a window that is true": (
        "classification",
        "/v1/models",
        {"data": [{"id": "tiny", "max_model_len": True}]},
        "no max_model_len",
    ),
    "many models of long names": (
        "classification",
        "/v1/models",
        {"data": [{"id": f"{number}\n{'x' * 250}", "max_model_len": 9} for number in range(1_000)]},
        "does not serve 'tiny' but 0, 1, 2, 3, 4 and 995 more: write one of its names",
    ),
    "true tokens": ("classification", "/tokenize", {"tokens": [True, False]}, "no tokens"),
    "negative tokens": ("classification", "/tokenize", {"tokens": [3, -1]}, "no tokens"),
    "tokens of hundreds of digits": ("classification", "/tokenize", {"tokens": [10**299]}, "no tokens"),
}


@pytest.mark.parametrize(("loss", "path", "answer", "said"), LIES.values(), ids=LIES.keys())
def test_lies_that_could_be_taken_for_true_are_refused(
    server: ScriptedServer, loss: str, path: str, answer: object, said: str
) -> None:
    truths = {"/classify": classes(2), "/v1/models": MODELS, "/tokenize": TOKENS, "/detokenize": TEXT}
    for each, truth in truths.items():
        server.on(each, Answer(answer if each == path else truth))
    with pytest.raises(CRMError, match=said) as refused:
        judge_at(server, loss).judge(QUESTIONS)
    assert is_a_sentence(refused.value)


def test_what_is_true_is_believed(server: ScriptedServer) -> None:
    for path, truth in (("/v1/models", MODELS), ("/tokenize", TOKENS), ("/detokenize", TEXT)):
        server.on(path, Answer(truth))
    server.on("/classify", Answer(classes(2)))
    assert [verdict.prob_a for verdict in judge_at(server, "classification").judge(QUESTIONS)] == [
        pytest.approx(0.25),
        pytest.approx(0.5),
    ]
    server.on("/classify", Answer(classes(1, 3)))
    first, second = (verdict.prob_a for verdict in judge_at(server, "ranking").judge(QUESTIONS))
    assert first < 0.5
    assert second < first
