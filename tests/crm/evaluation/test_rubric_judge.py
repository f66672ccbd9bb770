"""Against a local HTTP server that speaks the protocol of chat completions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crm.criteria import CriteriaSet
from crm.errors import CriterionError, UnavailableError
from crm.evaluation.rubric_judge import RubricJudge, read_marks
from crm.llm.settings import read_llms
from crm.protocol import Pair, Question
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.crm.backends.test_llm_judge import CHAT, completion

RUBRIC = CriteriaSet.of(["names a city", "is short"])
QUESTION = Question(RUBRIC, Pair("Where to?", "Go to Rome.", "Somewhere nice."))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        yield started


@pytest.fixture
def judge(server: ScriptedServer, tmp_path: Path) -> RubricJudge:
    return rubric_judge(server, tmp_path)


def rubric_judge(server: ScriptedServer, folder: Path) -> RubricJudge:
    path = folder / "llms.toml"
    path.write_text(
        f'[marker]\nmodel = "chatty"\nurl = "{server.url}/v1"\ntemperature = 0\ntimeout = 5\nretries = 0\n'
    )
    return RubricJudge(*read_llms(path, ["marker"]))


def asked(body: Any) -> str:
    return str(body["messages"][-1]["content"])


def completed(reply: str) -> Answer:
    return Answer(
        completion(reply)
        | {
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply}}
            ]
        }
    )


def marks_by(**marks: str) -> Any:
    """Reply by a word of the answer that is shown."""
    return lambda body: completed(next(reply for word, reply in marks.items() if word in asked(body)))


@pytest.mark.parametrize(
    ("reply", "marks"),
    [
        ("[2, 0]", (2, 0)),
        ("Here: [1,1].", (1, 1)),
        ("```json\n[0, 2]\n```", (0, 2)),
        ("[2]", None),
        ("[2, 3]", None),
        ("[2, 1.5]", None),
        ("[true, 1]", None),
        ("[1, x]", None),
        ("[1, 2] or [2, 2]", None),
        ("2, 1", None),
    ],
)
def test_marks_are_the_only_list_of_a_reply(reply: str, marks: tuple[int, ...] | None) -> None:
    assert read_marks(reply, 2) == marks


def test_the_higher_mean_mark_is_preferred(server: ScriptedServer, judge: RubricJudge) -> None:
    server.on(CHAT, marks_by(Rome="[2, 2]", nice="[0, 2]"))
    [verdict, swapped] = judge.judge([QUESTION, Question(RUBRIC, QUESTION.pair.swapped())])

    assert verdict.prob_a > 0.5
    assert verdict.prob_a + swapped.prob_a == pytest.approx(1)
    assert verdict.per_criterion[0] > 0.5
    assert verdict.per_criterion[1] == 0.5
    assert len(server.asked[CHAT]) == 2
    assert judge.mark([(RUBRIC, "Where to?", "Go to Rome."), (RUBRIC, "Where to?", "Somewhere nice.")]) == [
        1.0,
        0.5,
    ]
    assert len(server.asked[CHAT]) == 2


def test_the_prompt_shows_query_answer_and_numbered_aspects(
    server: ScriptedServer, judge: RubricJudge
) -> None:
    server.on(CHAT, completed("[1, 1]"))
    judge.mark([(RUBRIC, "Where to?", "Go to Rome.")])
    prompt = asked(server.asked[CHAT][0])

    assert "<query>\nWhere to?\n</query>" in prompt
    assert "<answer>\nGo to Rome.\n</answer>" in prompt
    assert "1. names a city\n2. is short\n" in prompt
    assert "a list of 2 numbers" in prompt


def test_a_reply_of_no_use_is_asked_for_again_with_the_reason(
    server: ScriptedServer, judge: RubricJudge
) -> None:
    server.on(CHAT, completed("Very good!"), completed("[2, 1]"))

    assert judge.mark([(RUBRIC, "Where to?", "Go to Rome.")]) == [0.75]
    assert "could not be used: It is no list of 2 numbers" in asked(server.asked[CHAT][1])
    assert judge.unusable == 0


def test_without_marks_a_pair_is_undecided(server: ScriptedServer, judge: RubricJudge) -> None:
    server.on(CHAT, marks_by(Rome="[2, 2]", nice="I cannot say."))

    assert judge.judge([QUESTION])[0].prob_a == 0.5
    assert judge.unusable == 1


def test_an_llm_that_never_gives_marks_is_given_up(server: ScriptedServer, judge: RubricJudge) -> None:
    server.on(CHAT, completed("Hello."))
    with pytest.raises(UnavailableError, match="marker gave no marks of any response"):
        judge.judge([QUESTION])


def test_an_endpoint_that_fails_is_no_undecided_verdict(server: ScriptedServer, judge: RubricJudge) -> None:
    server.on(CHAT, Answer({"error": {"message": "broken"}}, 500))
    with pytest.raises(UnavailableError):
        judge.judge([QUESTION])


def test_it_needs_a_rubric(judge: RubricJudge) -> None:
    with pytest.raises(CriterionError, match="a prompt has none"):
        judge.judge([Question(CriteriaSet(), QUESTION.pair)])
