"""An interview by an LLM with its own questions, behind a local server."""

import json

import pytest

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.errors import ConfigError
from crm.llm.structured import UnusableReplyError
from leaderboard.elicitation.free_interview import (
    EVERYTHING,
    FreeInterviewer,
    NextQuestion,
    Turn,
    ask_prompt,
    configured_free_interviewer,
    read_interviewer,
)
from leaderboard.elicitation.interview import MAX_QUESTIONS
from leaderboard.errors import LeaderboardError
from tests.crm.backends.scripted_server import ScriptedServer
from tests.leaderboard.critique_samples import CHAT, says

TURNS = (Turn("How long should it be?", "As short as it gets."),)
FOUND = {
    "criteria": [
        {"text": "Short answers", "weight": "Essential"},
        {"text": "Avoid: emojis", "weight": "Optional"},
    ]
}


@pytest.fixture
def interviewer(server: ScriptedServer) -> FreeInterviewer:
    return configured_free_interviewer("writer")


def asked(server: ScriptedServer) -> list[str]:
    return [each["messages"][-1]["content"] for each in server.asked[CHAT]]


def test_it_asks_about_the_topics_and_knows_what_was_said(
    server: ScriptedServer, interviewer: FreeInterviewer
) -> None:
    server.on(CHAT, says({"question": "How long should it be?"}), says(FOUND))
    assert interviewer.goes_on(("Gardening", "Cooking"), ()) == NextQuestion("How long should it be?")
    assert interviewer.goes_on((), TURNS) == CriteriaSet(
        (Criterion("Short answers"), Criterion("emojis", Weight.OPTIONAL, Polarity.AVOID))
    )

    first, second = asked(server)
    assert "Gardening, Cooking" in first and f"{MAX_QUESTIONS} more questions" in first
    assert EVERYTHING in second and "As short as it gets." in second


def test_when_it_is_enough_it_may_ask_no_more(server: ScriptedServer, interviewer: FreeInterviewer) -> None:
    server.on(CHAT, says({"question": "And its tone?"}), says(FOUND))
    found = interviewer.goes_on((), TURNS, enough=True)

    assert isinstance(found, CriteriaSet)
    assert "more question" not in asked(server)[0]
    assert "It asks, but all questions have been asked." in asked(server)[1]


def test_after_the_last_question_it_says_what_it_knows() -> None:
    assert "Now say what they want." in ask_prompt("x", TURNS * MAX_QUESTIONS)
    with pytest.raises(UnusableReplyError, match="all questions have been asked"):
        read_interviewer(json.dumps({"question": "One more?"}), 0)


def test_an_interviewer_of_no_use_says_so(server: ScriptedServer, interviewer: FreeInterviewer) -> None:
    server.on(CHAT, says("Let us begin!"))
    with pytest.raises(
        LeaderboardError, match=r"asked 3 times and wrote no question .* It is no JSON object"
    ):
        interviewer.goes_on((), ())


def test_one_that_is_not_set_up_is_named(server: ScriptedServer) -> None:
    with pytest.raises(ConfigError, match="USL_FREE_INTERVIEWER"):
        configured_free_interviewer("nobody")
