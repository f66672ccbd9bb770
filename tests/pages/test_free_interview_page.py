"""An interview in one's own words on the page “Find my criteria”, run without a browser."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crm.criteria import Criterion, Polarity, Weight
from leaderboard.view import View
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, KEY, says, write_llms

QUESTIONS = ("How long should an answer be?", "And what should it sound like?", "Anything to leave out?")
FOUND = [{"text": "Short answers", "weight": "Essential"}, {"text": "Avoid: emojis", "weight": "Optional"}]


def interviewer(request: Any) -> Answer:
    """Asks three questions, and then says the same of everybody."""
    prompt = request["messages"][-1]["content"]
    n_answered = sum(question in prompt for question in QUESTIONS)
    if "Now say what they want." in prompt or n_answered == len(QUESTIONS):
        return says({"criteria": FOUND})
    return says({"question": QUESTIONS[n_answered]})


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        monkeypatch.setenv("CRITIC_KEY", KEY)
        monkeypatch.setenv("USL_FREE_INTERVIEWER", "writer")
        monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, running.url, retries=0)))
        st.cache_resource.clear()
        running.on(CHAT, interviewer)
        yield running
    st.cache_resource.clear()


@pytest.fixture
def page(server: ScriptedServer, app: AppTest) -> AppTest:
    app.switch_page("pages/find.py")
    app.run()
    app.session_state.view = View("dailybench", ("Arts & Culture",))
    return app.segmented_control(key="find_way").set_value("words").run()


def answer(page: AppTest, text: str) -> None:
    page.text_area[0].set_value(text)
    next(each for each in page.button if each.label == "Answer").click().run()


def keys(page: AppTest) -> list[str | None]:
    return [each.key for each in page.button]


def test_it_is_offered_only_where_it_is_set_up(app: AppTest) -> None:
    app.switch_page("pages/find.py")
    app.run()
    assert "In my own words" not in app.segmented_control(key="find_way").options


def test_three_answers_become_criteria_that_llms_are_ranked_by(page: AppTest, server: ScriptedServer) -> None:
    assert not server.asked[CHAT]
    page.button(key="words:begin").click().run()
    assert "Arts & Culture" in server.asked[CHAT][0]["messages"][-1]["content"]
    for place, text in enumerate(("short", "like a friend", "emojis")):
        assert page.header[0].value == QUESTIONS[place]
        answer(page, text)
    assert page.header[0].value == "What you like in an answer"
    assert any("Short answers · essential" in each.value for each in page.markdown)
    prompt = server.asked[CHAT][-1]["messages"][-1]["content"]
    assert all(said in prompt for said in ("like a friend", "emojis", QUESTIONS[1]))

    page.button(key="words:rank").click().run()
    assert not page.exception
    assert list(page.session_state.view.criteria) == [
        Criterion("Short answers"),
        Criterion("emojis", Weight.OPTIONAL, Polarity.AVOID),
    ]


def test_one_goes_back_ends_early_and_starts_again(page: AppTest, server: ScriptedServer) -> None:
    page.button(key="words:begin").click().run()
    assert page.button(key="words:stop").disabled
    answer(page, "short")
    assert page.header[0].value == QUESTIONS[1]
    page.button(key="words:back").click().run()
    assert page.header[0].value == QUESTIONS[0]
    answer(page, "long")
    page.button(key="words:stop").click().run()
    assert page.header[0].value == "What you like in an answer"
    assert "long" in json.dumps(server.asked[CHAT][-1])
    page.button(key="words:again").click().run()
    assert "words:begin" in keys(page)


def test_an_empty_answer_is_asked_for_and_a_failure_keeps_what_was_said(
    page: AppTest, server: ScriptedServer
) -> None:
    page.button(key="words:begin").click().run()
    answer(page, "  ")
    assert "Write an answer first" in page.error[0].value
    answer(page, "short")
    server.on(CHAT, Answer({}, 500))
    answer(page, "like a friend")
    assert "fails (status 500)" in page.error[0].value.replace("\\", "")
    assert page.header[0].value == QUESTIONS[1]
    server.on(CHAT, interviewer)
    answer(page, "like a friend")
    assert page.header[0].value == QUESTIONS[2]


def test_a_visit_begins_so_many(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USL_INTERVIEWS", "1")
    page.button(key="words:begin").click().run()
    answer(page, "short")
    page.button(key="words:stop").click().run()
    page.button(key="words:again").click().run()
    assert page.button(key="words:begin").disabled
    assert any("You have had the 1 interviews" in each.value for each in page.caption)
