"""The drill-down page's logic, run without a browser."""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from db.repositories.benchmarks import find_benchmark
from db.repositories.collections import put_settings
from db.repositories.llm_answers import put_collected
from db.source_records import AnswerStatus, CollectedRecord
from leaderboard.limits import HourlyAllowance
from leaderboard.service import Service
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, GOOD, KEY, says, write_llms
from tests.pages.conftest import APP
from tests.pages.opening import open_view


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.switch_page("pages/llm.py")
    return app


def html(page: AppTest) -> str:
    return " ".join(element.body for element in page.get("html"))


def test_shows_rank_and_score_by_topic(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Provide numbered steps", llm="stepwise")
    assert not page.exception
    assert page.metric[0].value == "1 of 7"
    assert page.get("plotly_chart")


def test_what_the_criteria_count_stands_beside_the_baselines(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="no emojis", llm="stepwise")
    assert not page.exception
    assert "On average 0.02 emojis an answer (baseline 0.00)" in html(page)


def test_how_answers_were_collected_is_shown_and_runs_nothing(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = "<img src=x onerror=alert(1)>"
    record = CollectedRecord(
        AnswerStatus.OK, "s1", "Hi", replied_as=odd, completion_tokens=9, reasoning_tokens=4
    )
    with own_service.database.session() as session:
        benchmark = find_benchmark(session, "dailybench")
        put_settings(session, {"s1": {"system": odd, "temperature": 0.5}})
        put_collected(session, benchmark, "stepwise", {"01-1": record})
    monkeypatch.setenv("USL_DATABASE_URL", own_service.database.engine.url.render_as_string())
    st.cache_resource.clear()
    page = AppTest.from_file(APP, default_timeout=120).switch_page("pages/llm.py")
    open_view(page, benchmark="dailybench", llm="stepwise")
    shown = html(page)
    st.cache_resource.clear()
    assert not page.exception
    assert odd not in shown
    assert shown.count(escape(odd)) == 2
    assert "0 read, 9 written, 4 of them reasoning" in shown
    assert any(each.label.startswith("Answers collected") for each in page.expander)


def test_an_llm_under_the_floor_has_the_place_that_it_would_have(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Concise and direct", llm="brevia", floor="0.5")
    assert not page.exception
    assert page.metric[0].value == "–"
    assert "Below the floor: would be 1 of 7" in [caption.value for caption in page.caption]
    assert len(page.selectbox(key="llm").options) == 7


def test_a_query_shows_both_responses_and_the_reasons(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Concise and direct", llm="brevia", query="01-1")
    assert not page.exception
    assert "The letter named his daughter." in html(page)
    assert "shorter by" in html(page)


def test_the_passages_nearest_to_a_criterion_are_quoted(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="mentions the sea", llm="fabula", query="01-1")
    assert not page.exception
    assert re.search(r"closest to it here: “[^”]+”; in the other answer: “[^”]+”", html(page))


def test_where_texts_are_missing_the_command_is_named(page: AppTest) -> None:
    open_view(page, benchmark="alpaca-eval", llm="gemini-pro")
    labels = [button.label.replace("\\", "") for button in page.button if "%" in button.label]
    assert all(re.search(r", question \d+$", label) for label in labels)
    next(button for button in page.button if "%" in button.label).click().run()
    assert not page.exception
    assert re.search(r'"usl-query">[^<]+, question \d+<', html(page))
    assert any("python -m precompute import alpaca-eval" in element.value for element in page.info)
    assert "that Gemini Pro is preferred" in html(page)


def test_an_unknown_llm_is_named(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", llm="nobody")
    assert not page.exception
    assert "'nobody' is not ranked" in page.error[0].value


@pytest.fixture
def critic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """An endpoint that writes critiques."""
    with ScriptedServer() as server:
        monkeypatch.setenv("CRITIC_KEY", KEY)
        monkeypatch.setenv("USL_CRITIC", "writer")
        monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, server.url, retries=0)))
        st.cache_resource.clear()
        yield server
    st.cache_resource.clear()


def open_pair(page: AppTest) -> None:
    open_view(
        page,
        benchmark="dailybench",
        criterion=["Concise and direct", "avoid|jargon"],
        llm="scholia",
        query="01-1",
    )


def test_without_a_critic_there_is_no_critique(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("USL_CRITIC", raising=False)
    open_pair(page)
    assert "critique" not in [button.key for button in page.button]


def test_a_critique_shows_scores_suggestions_and_the_judges_verdict_on_the_edit(
    page: AppTest, critic: ScriptedServer
) -> None:
    edited = "The letter named <b>his</b> daughter."
    critic.on(CHAT, says(GOOD | {"edited": edited, "suggestions": ["Cut *all* of it.", "Answer first."]}))
    open_pair(page)
    assert not critic.asked[CHAT]
    page.button(key="critique").click().run()
    assert not page.exception
    assert {metric.label: metric.value for metric in page.metric if metric.label.endswith("ness")} == {
        "Helpfulness": "+2",
        "Naturalness": "0",
    }
    assert page.metric[-1].label == "All three"
    assert page.metric[-1].value == "−0.5"
    captions = " ".join(element.value.replace("\\", "") for element in page.caption)
    assert "−2 helpfulness: it is so brief that" in captions
    assert escape(edited) in html(page)
    assert any("\\*all\\*" in element.value for element in page.markdown)
    assert "that the edited response is preferred to the original under all criteria" in html(page)
    next(button for button in page.button if button.label == "Close").click().run()
    assert escape(edited) not in html(page)
    assert len(critic.asked[CHAT]) == 3


def test_a_visit_has_only_so_many_critiques(
    page: AppTest, critic: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USL_CRITIQUES", "2")
    monkeypatch.setenv("USL_LLM_REQUESTS", "3")  # of all visits in an hour: those of one critique
    monkeypatch.setattr("leaderboard.limits._LLM_REQUESTS", HourlyAllowance())
    critic.on(CHAT, says(GOOD))
    open_pair(page)
    page.button(key="critique").click().run()
    assert not page.error
    page.button(key="critique").click().run()
    assert "LLMs were asked as often as is allowed in an hour here" in page.error[0].value
    page.run()
    assert page.button(key="critique").disabled
    assert "You have had the 2 critiques that one visit may ask for." in [item.value for item in page.caption]
    assert len(critic.asked[CHAT]) == 3


def test_a_critique_that_cannot_be_had_says_why(page: AppTest, critic: ScriptedServer) -> None:
    critic.on(CHAT, Answer({"error": {"message": KEY}}, 401), says(GOOD))
    open_pair(page)
    page.button(key="critique").click().run()
    assert not page.exception
    assert "refuses the API key" in page.error[0].value
    page.button(key="critique").click().run()
    assert not page.error


def test_all_that_is_known_of_an_llm_has_its_source_and_date(page: AppTest) -> None:
    open_view(page, benchmark="alpaca-eval", llm="gpt-4o-2024-05-13")
    assert not page.exception
    assert next(expander.label.replace("\\", "") for expander in page.expander).startswith(
        "OpenAI · closed weights"
    )
    facts = next(element.body for element in page.get("html") if 'data-testid="facts"' in element.body)
    assert "2024-05-13" in facts
    assert "unknown" in facts
    assert "LMArena" in facts


def test_an_llm_that_nobody_knows_has_no_facts(page: AppTest) -> None:
    open_view(page, benchmark="alpaca-eval", llm="Together-MoA")
    assert not page.exception
