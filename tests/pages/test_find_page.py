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


def test_an_emptied_line_is_left_out(page: AppTest) -> None:
    page.button(key="find:first").click().run()
    page.button(key="find:checklist").click().run()
    lines = [field for field in page.text_input if field.label.startswith("Criterion")]
    kept = [field.value for field in lines[1:]]
    lines[0].set_value(" ").run()
    page.button(key="find:rank").click().run()
    assert [criterion.text for criterion in page.session_state.view.criteria] == kept


@pytest.fixture
def interview(page: AppTest) -> AppTest:
    page.segmented_control(key="find_way").set_value("questions").run()
    return page


def options(page: AppTest) -> list[str]:
    return [button.label for button in page.button if str(button.key).startswith("find:option:")]


def take(page: AppTest, option: int) -> None:
    [key] = [button.key for button in page.button if str(button.key).endswith(f":{option}")]
    page.button(key=key).click().run()


def test_an_interview_asks_a_few_questions_and_ends_in_a_checklist_with_the_answers(
    interview: AppTest,
) -> None:
    assert "questions" in interview.query_params["way"]
    taken = []
    while options(interview):
        taken.append(options(interview)[0])
        take(interview, 0)
    assert not interview.exception
    assert 1 <= len(taken) <= 5
    assert any(
        "top three" in item.proto.text or "answered" in item.proto.text for item in interview.get("progress")
    )
    interview.button(key="find:checklist").click().run()
    evidence = " ".join(element.value for element in interview.caption).replace("\\", "")
    assert any(f"You answered “{text}" in evidence for text in taken)
    interview.button(key="find:rank").click().run()
    assert interview.session_state.view.criteria


def test_back_asks_the_same_question_again(interview: AppTest) -> None:
    before = interview.subheader[0].value
    assert interview.button(key="find:back").disabled
    take(interview, 1)
    assert not options(interview) or interview.subheader[0].value != before
    interview.button(key="find:back").click().run()
    assert interview.subheader[0].value == before


def test_choices_after_an_interview_know_the_answers(interview: AppTest) -> None:
    take(interview, 0)
    interview.button(key="find:checklist").click().run()
    interview.button(key="find:other").click().run()
    assert interview.segmented_control(key="find_way").value == "choices"
    interview.button(key="find:first").click().run()
    interview.button(key="find:checklist").click().run()
    assert any("1 choice and 1 answer" in element.value for element in interview.markdown)


def test_a_line_left_out_is_not_ranked_by_and_one_can_be_added(page: AppTest) -> None:
    page.button(key="find:first").click().run()
    page.button(key="find:checklist").click().run()
    lines = [field for field in page.text_input if field.label.startswith("Criterion")]
    [key] = [button.key for button in page.button if str(button.key).endswith(":0:leave")]
    page.button(key=key).click().run()
    [added] = [field for field in page.text_input if field.label == "One more criterion"]
    added.set_value("Mentions tea").run()
    page.button(key="find:rank").click().run()
    kept = [field.value for field in lines[1:]]
    assert [item.text for item in page.session_state.view.criteria] == [*kept, "Mentions tea"]
