"""The drill-down page's logic, run without a browser."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

PAGE = str(Path(__file__).parents[2] / "pages" / "llm.py")


@pytest.fixture
def page(bundled_url: str, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("USL_DATABASE_URL", bundled_url)
    # A page link needs the navigation, so the page is opened through the app.
    page = AppTest.from_file(str(Path(PAGE).parents[1] / "app.py"), default_timeout=60)
    page.switch_page("pages/llm.py")
    return page


def html(page: AppTest) -> str:
    return " ".join(element.body for element in page.get("html"))


def test_shows_rank_and_score_by_topic(page: AppTest) -> None:
    page.query_params["benchmark"] = "dailybench"
    page.query_params["criterion"] = "Provide numbered steps"
    page.query_params["llm"] = "stepwise"
    page.run()
    assert not page.exception
    assert page.metric[0].value == "1 of 7"
    assert page.get("plotly_chart")


def test_a_query_shows_both_responses_and_the_reasons(page: AppTest) -> None:
    page.query_params["benchmark"] = "dailybench"
    page.query_params["criterion"] = "Concise and direct"
    page.query_params["llm"] = "brevia"
    page.query_params["query"] = "01-1"
    page.run()
    assert not page.exception
    assert "The letter named his daughter." in " ".join(element.value for element in page.text)
    assert "shorter by" in html(page)


def test_where_texts_are_missing_the_command_is_named(page: AppTest) -> None:
    page.query_params["benchmark"] = "alpaca-eval"
    page.query_params["llm"] = "gemini-pro"
    page.run()
    next(button for button in page.button if "%" in button.label).click().run()
    assert not page.exception
    assert any("python -m precompute import alpaca-eval" in element.value for element in page.info)
    assert "that Gemini Pro is preferred" in html(page)


def test_an_unknown_llm_is_named(page: AppTest) -> None:
    page.query_params["benchmark"] = "dailybench"
    page.query_params["llm"] = "nobody"
    page.run()
    assert not page.exception
    assert "'nobody' is not ranked" in page.error[0].value
