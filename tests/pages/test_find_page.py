"""The page on which a person's criteria are found, run without a browser."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

APP = str(Path(__file__).parents[2] / "app.py")


@pytest.fixture
def page(bundled_url: str, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("USL_DATABASE_URL", bundled_url)
    page = AppTest.from_file(APP, default_timeout=60)
    page.switch_page("pages/find.py")
    return page.run()


def answers(page: AppTest) -> tuple[str, str]:
    first, second = (element.value for element in page.text)
    return first, second


def test_two_answers_are_shown_without_names(page: AppTest) -> None:
    assert not page.exception
    first, second = answers(page)
    assert first != second
    assert "brevia" not in " ".join(element.value for element in page.markdown).casefold()
    assert page.button(key="find:undo").disabled
    assert page.button(key="find:checklist").disabled


def test_choosing_shows_another_query_and_undo_the_same_again(page: AppTest) -> None:
    before = answers(page)
    page.button(key="find:first").click().run()
    assert answers(page) != before
    assert any("cases" in element.value for element in page.caption)
    page.button(key="find:undo").click().run()
    assert answers(page) == before


def test_always_taking_the_shorter_answer_ranks_the_concise_assistant_first(page: AppTest) -> None:
    for _ in range(8):
        first, second = answers(page)
        page.button(key="find:first" if len(first) < len(second) else "find:second").click().run()
    page.button(key="find:checklist").click().run()
    assert not page.exception
    assert any("times" in element.value for element in page.caption)
    page.query_params["benchmark"] = "dailybench"
    page.button(key="find:rank").click().run()
    assert not page.exception
    criteria = page.session_state.view.criteria
    assert criteria
    page.session_state.find_step = "choices"


def test_an_emptied_line_is_left_out(page: AppTest) -> None:
    page.button(key="find:first").click().run()
    page.button(key="find:checklist").click().run()
    lines = [field for field in page.text_input if field.label.startswith("Criterion")]
    kept = [field.value for field in lines[1:]]
    lines[0].set_value(" ").run()
    page.button(key="find:rank").click().run()
    assert [criterion.text for criterion in page.session_state.view.criteria] == kept
