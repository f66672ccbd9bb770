"""A question of one's own, answered by LLMs behind a local server; the judge that compares them is real."""

import json
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.errors import ConfigError
from crm.llm.endpoint import InteractiveLLM
from leaderboard.errors import LeaderboardError
from leaderboard.live_answers import MOST_CHARACTERS, Panel, ask, panel_of, questions_allowed
from leaderboard.query_checklists.asked import QuestionChecklists, general_preference_of
from leaderboard.result import Leaderboard
from leaderboard.service import Service
from leaderboard.three_answers import Role
from leaderboard.view import View
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, says

CONCISE = CriteriaSet.of(["Concise and direct"])
LONG = "There are many things to consider here, and it is worth taking each of them in turn. " * 8


def write_llms(folder: Path, url: str, *names: str, **keys: object) -> Path:
    lines = []
    for name in names:
        lines += [f"[{name}]", f'model = "{name}"', f'url = "{url}/v1"', "retries = 0"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    path = folder / "llms.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        monkeypatch.setenv("USL_LLMS", str(tmp_path / "llms.toml"))
        write_llms(tmp_path, started.url, "lumen", "brevia", "scholia", "nobody")
        yield started


@pytest.fixture(scope="module")
def board(service: Service) -> Leaderboard:
    return service.leaderboard(View("dailybench", criteria=CONCISE))


def panel(board: Leaderboard) -> Panel:
    return panel_of(board, board.ranking.llms)


def by_model(replies: dict[str, Answer]) -> Any:
    return lambda body: replies[body["model"]]


def test_the_best_the_defaults_and_the_worst_of_those_that_can_be_asked_answer(
    server: ScriptedServer, board: Leaderboard
) -> None:
    assert panel(board).roles == {"brevia": Role.BEST, "lumen": Role.OTHER, "scholia": Role.CONTRAST}
    assert [*panel_of(board, ["scholia", "lumen"]).roles] == ["lumen", "scholia"]


def test_answers_are_compared_by_the_criteria(server: ScriptedServer, board: Leaderboard) -> None:
    server.on(CHAT, by_model({"brevia": says("Boil it."), "lumen": says(LONG), "scholia": says(LONG * 2)}))
    found = ask(panel(board), " How do I boil an egg?\n", CONCISE, "embedded")
    texts = {answer.llm: answer.text for answer in found.shown.answers}
    probs = {answer.llm: answer.prob for answer in found.shown.answers}

    assert texts == {"brevia": "Boil it.", "lumen": LONG, "scholia": LONG * 2}
    assert probs["brevia"] > 0.7
    assert max(probs["lumen"], probs["scholia"]) < 0.3
    assert {body["messages"][-1]["content"] for body in server.asked[CHAT]} == {"How do I boil an egg?"}
    assert {body["max_tokens"] for body in server.asked[CHAT]} == {1024}
    assert not found.problems


def test_what_the_criteria_count_is_counted_in_the_answers(
    server: ScriptedServer, board: Leaderboard
) -> None:
    emojis = CriteriaSet.of(["Uses emojis"])
    server.on(CHAT, by_model({"brevia": says("Boil 🥚🍳."), "lumen": says("Boil."), "scholia": says(LONG)}))
    found = ask(panel(board), "How?", emojis, "embedded")
    assert [
        [(item.counted.name, item.amount) for item in answer.amounts] for answer in found.shown.answers
    ] == [[("emojis", 2.0)], [("emojis", 0.0)], [("emojis", 0.0)]]


def test_without_the_best_llms_answer_nothing_is_compared_with_it(
    server: ScriptedServer, board: Leaderboard
) -> None:
    server.on(CHAT, by_model({"brevia": Answer({}, 500), "lumen": says("Boil it."), "scholia": says(LONG)}))
    found = ask(panel(board), "How?", CONCISE, "embedded")
    assert [answer.llm for answer in found.shown.answers] == ["lumen", "scholia"]
    assert all(isnan(answer.prob) for answer in found.shown.answers)


def test_who_fails_is_named_and_the_others_are_shown(server: ScriptedServer, board: Leaderboard) -> None:
    server.on(
        CHAT,
        by_model(
            {
                "brevia": says("Boil it."),
                "lumen": Answer({}, 500),
                "scholia": says("", finish_reason="content_filter"),
            }
        ),
    )
    found = ask(panel(board), "How?", CONCISE, "embedded")

    assert [answer.llm for answer in found.shown.answers] == ["brevia"]
    assert "fails (status 500)" in found.problems["lumen"]
    assert found.problems["scholia"] == "scholia refuses to answer this."


def test_without_any_answer_it_says_why(server: ScriptedServer, board: Leaderboard) -> None:
    server.on(CHAT, Answer({}, 500))
    with pytest.raises(LeaderboardError, match=r"Nobody answered. .*fails"):
        ask(panel(board), "How?", CONCISE, "embedded")


@pytest.mark.parametrize(("question", "why"), [(" \n", "Write a question"), ("a" * 4001, "4,001 characters")])
def test_a_question_must_be_one(server: ScriptedServer, board: Leaderboard, question: str, why: str) -> None:
    assert MOST_CHARACTERS == 4000
    with pytest.raises(LeaderboardError, match=why):
        ask(panel(board), question, CONCISE, "embedded")
    assert not server.asked[CHAT]


def test_the_cost_is_a_bound_by_price_and_length(
    server: ScriptedServer, board: Leaderboard, tmp_path: Path
) -> None:
    assert panel(board).cost("Why?") == 0
    write_llms(tmp_path, server.url, "brevia", "lumen", price_completion=10, max_tokens=100)
    assert panel(board).cost("Why?") == pytest.approx(2 * 100 * 10 / 1e6)
    write_llms(tmp_path, server.url, "brevia", "lumen", api_key_env="A_KEY")
    assert panel(board).cost("Why?") is None


def checklist(*texts: str) -> Answer:
    lines = [{"criterion": text, "weight": "Essential", "evidence": "the question"} for text in texts]
    return says({"checklist": lines})


def writer() -> QuestionChecklists:
    return QuestionChecklists(InteractiveLLM.configured("nobody", "USL_CHECKLISTS"))


STEPS = (
    "1. Bring a pot of water to a boil.\n2. Lower the egg in gently with a spoon.\n3. Wait for six minutes "
    "if you like it soft, or ten if you like it hard.\n4. Cool it under cold water before you peel it."
)


def test_answers_are_compared_by_what_the_criteria_come_to_for_the_question(
    server: ScriptedServer, board: Leaderboard
) -> None:
    replies = {
        "brevia": says("Boil it for six minutes, then cool it."),
        "lumen": says(STEPS),
        "scholia": says(LONG),
    }
    wanted = checklist("Numbered steps", "Avoid: emojis", "Every step is explained")
    server.on(CHAT, by_model(replies | {"nobody": wanted}))
    writes = writer()
    plain = ask(panel(board), "How do I boil an egg?", CONCISE, "embedded")
    found = ask(panel(board), "How do I boil an egg?", CONCISE, "embedded", writes)

    assert plain.checklist is None
    assert found.checklist is not None and not found.problems
    assert list(map(str, found.checklist.criteria)) == [
        "Numbered steps",
        "Avoid: emojis",
        "Every step is explained",
    ]
    before, after = ({each.llm: each.prob for each in of.shown.answers} for of in (plain, found))
    assert before["lumen"] < 0.5 < after["lumen"]
    [prompt] = [body["messages"][-1]["content"] for body in server.asked[CHAT] if body["model"] == "nobody"]
    assert "How do I boil an egg?" in prompt
    assert "What they want above all: Concise and direct." in prompt

    ask(panel(board), "How do I boil an egg?", CONCISE, "embedded", writes)
    assert sum(body["model"] == "nobody" for body in server.asked[CHAT]) == 1  # kept


def test_without_a_checklist_the_criteria_count_as_they_are_and_that_is_said(
    server: ScriptedServer, board: Leaderboard
) -> None:
    replies = {"brevia": says("Boil it."), "lumen": says(LONG), "scholia": says(LONG * 2)}
    server.on(CHAT, by_model(replies | {"nobody": says("No.")}))
    found = ask(panel(board), "How do I boil an egg?", CONCISE, "embedded", writer())

    assert found.checklist is None
    assert found.problems[""].startswith(
        "The answers are compared by your criteria as they are. nobody was asked"
    )
    assert found.shown.answers[0].prob > 0.7


def test_without_criteria_no_checklist_is_asked_for(server: ScriptedServer, board: Leaderboard) -> None:
    server.on(CHAT, by_model({"brevia": says("Boil it."), "lumen": says(LONG), "scholia": says(LONG)}))
    assert ask(panel(board), "How?", CriteriaSet(), "embedded", writer()).checklist is None
    assert len(server.asked[CHAT]) == 3


def test_criteria_become_a_general_preference_in_words() -> None:
    criteria = CriteriaSet(
        (
            Criterion("A joke", Weight.OPTIONAL),
            Criterion("Short"),
            Criterion("emojis", polarity=Polarity.AVOID),
            Criterion("Examples"),
        )
    )
    assert general_preference_of(criteria) == (
        "What they want above all: Short; Examples. What they want above all, to be without: emojis. "
        "What they like where it fits: A joke."
    )


def test_one_llm_is_too_few(server: ScriptedServer, board: Leaderboard, tmp_path: Path) -> None:
    write_llms(tmp_path, server.url, "brevia", "nobody")
    with pytest.raises(LeaderboardError, match=r"to be asked: brevia is so far\."):
        panel(board)


@pytest.mark.parametrize(("given", "allowed"), [("", 0), ("0", 0), (" 5 ", 5)])
def test_nothing_is_asked_unless_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch, given: str, allowed: int
) -> None:
    monkeypatch.setenv("USL_LIVE_QUESTIONS", given)
    assert questions_allowed() == allowed


@pytest.mark.parametrize("given", ["-1", "many", "1.5", "9" * 5000])
def test_a_number_that_is_none_is_said(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("USL_LIVE_QUESTIONS", given)
    with pytest.raises(ConfigError, match="whole number"):
        questions_allowed()
