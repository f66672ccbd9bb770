"""The page that compares views, run without a browser."""

from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from crm.criteria import CriteriaSet
from leaderboard.compare import written
from leaderboard.view import View
from tests.pages.opening import open_view

CROWD = View("dailybench")
CONCISE = View("dailybench", criteria=CriteriaSet.of(["Concise and direct"]))
WARM = View("dailybench", criteria=CriteriaSet.of(["Warm and encouraging"]))


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.switch_page("pages/compare.py")
    return app


def table(page: AppTest, name: str) -> str:
    found = [element.body for element in page.get("html") if f'data-testid="{name}"' in element.body]
    return found[0] if found else ""


def texts(page: AppTest) -> str:
    """What is written on the page, as it is read."""
    return " ".join(
        str(element.value).replace("\\", "")
        for kind in ("header", "subheader", "caption", "markdown", "error", "info")
        for element in page.get(kind)
    )


def linked(page: AppTest) -> list[str]:
    """The views in the page's address."""
    value = page.query_params["compare"]
    return value if isinstance(value, list) else [value]


def press(page: AppTest, label: str) -> None:
    next(button for button in page.button if button.label == label).click().run()


def test_without_views_there_is_an_example_to_try(page: AppTest) -> None:
    page.run()
    assert not page.exception
    assert "Two views are needed to compare." in texts(page)
    press(page, "Try an example")
    assert not page.exception
    assert table(page, "side-by-side").count('<th scope="col" title=') == 5
    assert len(linked(page)) == 5


def test_a_link_shows_its_views_and_stays(page: AppTest) -> None:
    open_view(page, compare=[written(CROWD), written(CONCISE), written(WARM)])
    assert not page.exception
    assert table(page, "side-by-side").count("<tr data-llm=") == 7
    assert "Warm and encouraging · all topics · DailyBench, open edition" in texts(page)
    assert [parse_qs(view) for view in linked(page)][1]["criterion"] == ["Concise and direct"]


def test_a_view_can_be_taken_out(page: AppTest) -> None:
    open_view(page, compare=[written(CROWD), written(CONCISE), written(WARM)])
    page.button(key="drop:A").click().run()
    assert not page.exception
    assert linked(page) == [written(CONCISE), written(WARM)]
    press(page, "Remove all")
    assert "Two views are needed to compare." in texts(page)
    assert "compare" not in page.query_params


def test_another_measure_can_be_chosen(page: AppTest) -> None:
    open_view(page, compare=[written(CROWD), written(CONCISE)])
    kendall = table(page, "rank-agreement")
    page.segmented_control(key="measure").set_value("RBO").run()
    assert not page.exception
    assert table(page, "rank-agreement") != kendall
    assert "0 to 0.79: overlap of the tops" in texts(page)
    assert "one-sided" in texts(page)


def test_what_cannot_be_shown_is_named_and_the_rest_is_compared(page: AppTest) -> None:
    page.query_params["compare"] = [
        written(CROWD),
        "benchmark=dailybench&control=width",
        written(View("dailybench", ("No such topic",))),
        written(View("nowhere")),
        written(WARM),
    ]
    page.run()
    assert not page.exception
    assert "One view of the link could not be read. There is no control 'width'" in texts(page)
    assert "B: There is no topic 'No such topic'" in texts(page)
    assert "C: " in texts(page)
    assert table(page, "side-by-side").count('<th scope="col" title=') == 2


def test_of_a_link_with_too_many_views_eight_are_shown(page: AppTest) -> None:
    page.query_params["compare"] = [
        written(View("dailybench", criteria=CriteriaSet.of([f"number {number}"]))) for number in range(10)
    ]
    page.run()
    assert "The link names 10 views; the first 8 are shown." in texts(page)
    assert len(linked(page)) == 8


def test_scripts_in_criteria_are_shown_as_text(page: AppTest) -> None:
    evil = View("dailybench", criteria=CriteriaSet.of(['"><script>alert(1)</script>']))
    open_view(page, compare=[written(CROWD), written(evil)])
    assert not page.exception
    assert "<script>" not in table(page, "side-by-side") + table(page, "rank-agreement")


def test_the_leaderboard_adds_its_view(app: AppTest) -> None:
    app.query_params["benchmark"] = "dailybench"
    app.query_params["criterion"] = "Concise and direct"
    app.run()
    app.button(key="keep").click().run()
    assert not app.exception
    assert app.button(key="keep").disabled
    assert app.session_state["saved_views"] == (CONCISE,)
    app.switch_page("pages/compare.py").run()
    assert "Concise and direct · all topics" in texts(app)
    press(app, "Add the ranking without criteria")
    assert table(app, "side-by-side").count("<tr data-llm=") == 7
