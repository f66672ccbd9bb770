"""Against a local HTTP server that speaks the protocol of chat completions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks._contexts import Profile, Wish
from benchmarks._free_interview import Dialogue, Interviewees, answer_prompt, interviews, read_answer
from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.llm.settings import read_llms
from crm.llm.structured import UnusableReplyError
from crm.llm.tasks import AskedLLM
from leaderboard.elicitation.free_interview import NextQuestion, Turn, ask_prompt, read_interviewer
from leaderboard.elicitation.interview import MAX_QUESTIONS
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, says

SHORT = Profile((Wish(0, Criterion("short answers"), common=True),))
DRY = Profile(
    (
        Wish(1, Criterion("jokes", Weight.IMPORTANT, Polarity.AVOID), common=False),
        Wish(0, Criterion("short answers", Weight.OPTIONAL), common=True),
    )
)
CRITERIA = {
    "criteria": [
        {"text": "short answers", "weight": "Essential"},
        {"text": "Avoid: jokes", "weight": "Optional"},
    ]
}


def prompts(server: ScriptedServer) -> list[str]:
    return [str(asked["messages"][-1]["content"]) for asked in server.asked[CHAT]]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def llm(tmp_path: Path, server: ScriptedServer) -> AskedLLM:
    file = tmp_path / "llms.toml"
    file.write_text(f'[one]\nmodel = "m"\nurl = "{server.url}/v1"\nretries = 0\n')
    return AskedLLM(read_llms(file, ["one"])[0])


def both(asked: Any) -> Answer:
    """Asks whether they like jokes, and then says what was answered; answers by the profile alone."""
    prompt = str(asked["messages"][-1]["content"])
    if "<wants>" in prompt:
        return says({"answer": "I don't like them." if "Avoid: jokes" in prompt else "No preference."})
    if "I don't like them." in prompt:
        return says({"criteria": [{"text": "Avoid: jokes", "weight": "Important"}]})
    if "You asked" in prompt:
        return says({"criteria": [{"text": "plain answers", "weight": "Optional"}]})
    return says({"question": "Do you like jokes?"})


def test_what_the_passive_user_says_comes_out_as_criteria(server: ScriptedServer, llm: AskedLLM) -> None:
    server.on(CHAT, both)
    people = Interviewees({"a": SHORT, "b": DRY}, {"a": "Recipes", "b": "Recipes"})
    found = interviews(llm, llm, people)

    avoided = Criterion("jokes", Weight.IMPORTANT, Polarity.AVOID)
    assert found["b"].criteria == CriteriaSet((avoided,))
    assert found["b"].turns == (Turn("Do you like jokes?", "I don't like them."),)
    assert found["a"].criteria == CriteriaSet((Criterion("plain answers", Weight.OPTIONAL),))
    first = [prompt for prompt in prompts(server) if "You have asked nothing yet" in prompt]
    assert len(first) == 1  # where the same has been said the same is asked


def test_after_five_questions_it_has_to_say_what_they_want(server: ScriptedServer, llm: AskedLLM) -> None:
    def curious(asked: Any) -> Answer:
        prompt = str(asked["messages"][-1]["content"])
        if "<wants>" in prompt:
            return says({"answer": "No preference."})
        n_asked = prompt.count("No preference.")
        return says(CRITERIA if n_asked == MAX_QUESTIONS else {"question": f"What of thing {n_asked}?"})

    server.on(CHAT, curious)
    found = interviews(llm, llm, Interviewees({1: SHORT}, {1: "Recipes"}))[1]

    assert len(found.turns) == MAX_QUESTIONS
    assert found.criteria is not None and len(found.criteria) == 2
    last = [prompt for prompt in prompts(server) if "<wants>" not in prompt][-1]
    assert "Now say what they want" in last and "more question" not in last


def test_an_interview_that_fails_is_left_with_the_reason(server: ScriptedServer, llm: AskedLLM) -> None:
    def mute(asked: Any) -> Answer:
        prompt = str(asked["messages"][-1]["content"])
        return (
            says("Hm.")
            if "<wants>" in prompt and "jokes" in prompt.split("<talk>", maxsplit=1)[0]
            else both(asked)
        )

    server.on(CHAT, mute)
    found = interviews(llm, llm, Interviewees({"a": SHORT, "b": DRY}, {"a": "Recipes", "b": "Recipes"}))

    assert found["a"].criteria is not None
    assert found["b"].criteria is None
    assert found["b"].problem == "The reply could not be used: it is no JSON object."


@pytest.mark.parametrize(
    ("reply", "left", "problem"),
    [
        ({"question": "Tell me more."}, 5, "Its “question” does not end with a question mark."),
        ({"question": "x" * 300 + "?"}, 5, "Its “question” has 301 characters, where 300 are the most."),
        ({"question": "Which?"}, 0, "It asks, but all questions have been asked."),
        ({"question": "Which?"} | CRITERIA, 5, "It both asks and says what they want."),
        ({}, 5, "It has neither “question” nor “criteria”."),
        ({"criteria": []}, 5, "Its “criteria” are 0, where there have to be 1 to 8."),
        (
            {"criteria": [{"text": f"wish {n}", "weight": "Optional"} for n in range(9)]},
            5,
            "Its “criteria” are 9, where there have to be 1 to 8.",
        ),
        ({"criteria": CRITERIA["criteria"][:1] * 2}, 5, "Its “criteria” say the same twice."),
        (
            {"criteria": [{"text": "short", "weight": "Vital"}]},
            5,
            "A weight is none of Essential, Important, Optional.",
        ),
        ({"criteria": [{"text": "short"}]}, 5, "It has no “weight”."),
        ({"criteria": "short"}, 5, "Its “criteria” is not of the kind asked for."),
    ],
)
def test_what_an_interviewer_may_not_say_is_refused(reply: object, left: int, problem: str) -> None:
    with pytest.raises(UnusableReplyError) as refused:
        read_interviewer(json.dumps(reply), left)
    assert str(refused.value) == problem


def test_an_empty_criterion_is_refused() -> None:
    with pytest.raises(UnusableReplyError, match=r"^Criterion 2: A criterion is empty"):
        read_interviewer(
            json.dumps({"criteria": [*CRITERIA["criteria"][:1], {"text": "Avoid: ", "weight": "Optional"}]}),
            0,
        )


def test_good_replies_are_read() -> None:
    assert read_interviewer('{"question": "How long?"}', 1) == NextQuestion("How long?")
    criteria = read_interviewer(f"```json\n{json.dumps(CRITERIA)}\n```", 0)
    assert criteria == CriteriaSet(
        (Criterion("short answers"), Criterion("jokes", Weight.OPTIONAL, Polarity.AVOID))
    )


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ({"answer": "Short. And you?"}, "Its “answer” asks something back."),
        ({"answer": "x" * 201}, "Its “answer” has 201 characters, where 200 are the most."),
        ({"answer": ""}, "Its “answer” is no text."),
        ({"thought": "Hm."}, "It has no “answer”."),
    ],
)
def test_a_passive_user_is_short_and_asks_nothing(reply: object, problem: str) -> None:
    with pytest.raises(UnusableReplyError) as refused:
        read_answer(json.dumps(reply))
    assert str(refused.value) == problem


def test_only_the_passive_user_sees_the_profile() -> None:
    dialogue = Dialogue("Recipes", (Turn("How long?", "Short."),))
    asked = ask_prompt(dialogue.context, dialogue.turns)
    answered = answer_prompt(dialogue, DRY, "Any jokes?")

    assert "jokes" not in asked and "You may ask 4 more questions" in asked
    assert "- Avoid: jokes (important)" in answered and "Assistant: Any jokes?" in answered
