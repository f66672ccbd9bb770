"""What a broad wish may mean, by an LLM behind a local server."""

import json

import pytest

from crm.errors import ConfigError
from crm.llm.structured import UnusableReplyError
from leaderboard.coach_llm import Coach, coach_name, configured_coach, read_meanings
from leaderboard.errors import LeaderboardError
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, says

NEW = ["Names its sources", "Ends with one next step", "Gives numbers with units"]
ASKED = ("good", ("Gardening",), ("Short answers",), ("Examples",))


@pytest.fixture
def coach(server: ScriptedServer) -> Coach:
    return configured_coach("writer")


def meanings(*texts: object) -> Answer:
    return says({"meanings": list(texts)})


def test_it_is_asked_once_about_the_wish_topics_and_other_wishes(
    server: ScriptedServer, coach: Coach
) -> None:
    server.on(CHAT, meanings(*NEW, "examples"))
    assert coach.meanings(*ASKED) == tuple(NEW)  # examples are offered already
    assert coach.meanings(*ASKED) == tuple(NEW)

    [asked] = server.asked[CHAT]
    prompt = asked["messages"][-1]["content"]
    for text in ("good", "Gardening", "Short answers", "Examples"):
        assert text in prompt
    coach.meanings("good", (), (), ("Examples",))
    assert "mostly ask about" not in server.asked[CHAT][-1]["messages"][-1]["content"]


def test_what_is_as_broad_is_asked_for_again_with_the_reason(server: ScriptedServer, coach: Coach) -> None:
    server.on(CHAT, meanings(*NEW[:2], "good writing"), meanings(*NEW))
    assert coach.meanings(*ASKED) == tuple(NEW)
    assert "Meaning 3 is as broad as the wish." in server.asked[CHAT][-1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"meanings": NEW[:2]}, "It has 2 meanings, not 3 to 6."),
        ({"meanings": [f"Wish {n}" for n in range(7)]}, "It has 7 meanings, not 3 to 6."),
        ({"meanings": [*NEW, NEW[0].upper()]}, "It says the same twice."),
        ({"meanings": [*NEW, ""]}, "Meaning 4 cannot be used"),
        ({"meanings": [*NEW, 4]}, "Meaning 4 is not a text."),
        ({"meanings": [*NEW, "w" * 121]}, "Meaning 4 has 121 characters"),
        ({"meanings": "Short"}, "Its “meanings” are no list of texts."),
        ({}, "It has no “meanings”."),
        ({"meanings": ["Examples", "Tables", "Lists"]}, "It repeats what is offered already."),
    ],
)
def test_what_is_wrong_with_a_reply_is_said(reply: object, said: str) -> None:
    with pytest.raises(UnusableReplyError) as error:
        read_meanings(json.dumps(reply), ["examples", "TABLES", "Lists"])
    assert said in str(error.value)


def test_after_three_replies_of_no_use_it_says_so(server: ScriptedServer, coach: Coach) -> None:
    server.on(CHAT, says("Hm."))
    with pytest.raises(
        LeaderboardError, match=r"asked 3 times and wrote no meanings .* It is no JSON object"
    ):
        coach.meanings(*ASKED)
    assert len(server.asked[CHAT]) == 3


def test_nobody_is_asked_unless_it_is_set_up(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("USL_COACH", raising=False)
    assert coach_name() is None
    with pytest.raises(ConfigError, match="USL_COACH"):
        configured_coach("nobody")
