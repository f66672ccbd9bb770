"""The blind taste test, run without a browser."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.opening import open_view
from tests.pages.test_find_page import answers


@pytest.fixture
def page(app: AppTest) -> AppTest:
    open_view(app, benchmark="dailybench", criterion="Provide numbered steps")
    app.button(key="to_taste_test").click().run()
    assert not app.exception
    return app


def written(page: AppTest) -> str:
    found = [*page.subheader, *page.markdown, *page.caption, *page.info]
    return " ".join(str(item.value) for item in found).replace("\\", "")


def say(page: AppTest, *tastes: str) -> None:
    for taste in tastes:
        page.button(key=f"taste:{taste}").click().run()
        assert not page.exception


def test_the_button_leads_to_pairs_without_names(page: AppTest) -> None:
    first, second = answers(page)
    assert first != second
    assert page.query_params["way"] in ("taste", ["taste"])
    assert "stepwise" not in written(page).casefold().replace("provide numbered steps", "")
    assert page.button(key="taste:undo").disabled


def test_taking_the_numbered_answer_confirms_the_ranking_and_says_who_was_who(page: AppTest) -> None:
    for _ in range(6):
        numbered = ["<ol" in answer for answer in answers(page)]
        say(page, "first" if numbered[0] else "second" if numbered[1] else "alike")
    result = written(page)
    assert re.search(r"You chose stepwise.* of 6 times", result)
    assert "the ranking expected" in result
    [revealed] = [item.proto.body for item in page.get("html") if "usl-revealed" in item.proto.body]
    assert revealed.count("stepwise") >= 6
    assert revealed.count("<li>") == 6


def test_a_rerun_and_another_page_keep_what_was_said(page: AppTest) -> None:
    say(page, "first", "second")
    before = answers(page)
    page.run()
    assert answers(page) == before
    page.switch_page("pages/about.py").run()
    page.switch_page("pages/find.py").run()
    assert answers(page) == before


def test_undo_shows_the_same_pair_again(page: AppTest) -> None:
    before = answers(page)
    say(page, "alike")
    assert answers(page) != before
    page.button(key="taste:undo").click().run()
    assert answers(page) == before


def test_six_other_pairs_are_others(page: AppTest) -> None:
    before = answers(page)
    say(page, *["alike"] * 6)
    assert "saw no difference 6 times" in written(page)
    page.button(key="taste:again").click().run()
    assert answers(page) != before


def test_what_the_choices_say_is_added_to_the_criteria(page: AppTest) -> None:
    for _ in range(6):
        first, second = answers(page)
        say(page, "first" if len(first) < len(second) else "second")
    offered = [box for box in page.checkbox if str(box.key).startswith("taste:line:")]
    assert offered
    for box in offered[1:]:
        box.uncheck()
    offered[0].check().run()
    page.button(key="taste:add").click().run()
    criteria = page.session_state.view.criteria
    assert len(criteria) == 2
    assert criteria.criteria[0].text == "Provide numbered steps"


def test_choosing_can_go_on_with_the_choices_of_the_test(page: AppTest) -> None:
    say(page, *["first"] * 6)
    page.button(key="taste:more").click().run()
    assert not page.exception
    assert page.segmented_control(key="find_way").value == "choices"
    assert len(page.session_state.elicitation.choices) == 6
    page.segmented_control(key="find_way").set_value("taste").run()
    page.button(key="taste:more").click().run()
    assert len(page.session_state.elicitation.choices) == 6


def test_fewer_pairs_are_said(app: AppTest) -> None:
    open_view(app, benchmark="dailybench", criterion="Warm", topic=["Jokes & puns"])
    app.button(key="to_taste_test").click().run()
    assert not app.exception
    n = len(app.session_state.taste_test[1].pairs)
    assert (f"are only {n} pairs" in written(app)) == (n < 6)


def test_where_texts_are_missing_the_command_is_named(app: AppTest) -> None:
    open_view(app, benchmark="alpaca-eval", criterion="Uses bullet points")
    app.button(key="to_taste_test").click().run()
    assert not app.exception
    assert "python -m precompute import alpaca-eval" in written(app)


def test_votes_of_several_tests_correct_what_the_judge_says_together(page: AppTest) -> None:
    said = re.compile(r"Your votes agree with the judge \S+ of (\d+) times")
    shown = []
    for _ in range(4):
        say(page, *["first"] * 6)
        shown += [int(number) for number in said.findall(written(page))]
        page.button(key="taste:again").click().run()
    assert shown
    assert shown == sorted(shown)
    assert shown[-1] > 6


def test_with_the_interval_stands_how_often_the_first_is_preferred(page: AppTest) -> None:
    for _ in range(4):
        say(page, *["first"] * 6)
        if "corrected by your votes" in written(page):
            break
        page.button(key="taste:again").click().run()
    found = re.search(r"corrected by your votes it is (\d+) % \(likely (\d+) to (\d+) %\)", written(page))
    assert found
    value, low, high = map(int, found.groups())
    assert 0 <= low <= value <= high <= 100
    assert high - low > 20
