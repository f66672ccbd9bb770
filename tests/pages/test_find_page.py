"""The page on which a person's criteria are found, run without a browser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crm.criteria import Criterion
from leaderboard.elicitation.checklist import ChecklistLine, Evidence
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.per_category import CategoryChecklist
from leaderboard.elicitation.session import session_checklist
from leaderboard.service import Service
from leaderboard.user_data.session_benchmark import SessionService
from leaderboard.user_data.session_data import own_benchmark
from leaderboard.view import View
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, KEY, says, write_llms
from tests.leaderboard.elicitation.test_session import soup_answers, with_own_llm

LINES = (ChecklistLine(0, "Concise", Criterion("Concise, without filler"), 1.0, 0.9, Evidence(5, 5)),)


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.switch_page("pages/find.py")
    return app.run()


def answers(page: AppTest) -> tuple[str, str]:
    """Both answers as HTML."""
    [pair] = [item.proto.body for item in page.get("html") if 'class="usl-pair"' in item.proto.body]
    first, second = re.findall(r'<div class="usl-response".*?>(.*?)</div>', pair, re.DOTALL)
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
    assert any("in the right order" in element.value for element in page.caption)
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


@pytest.fixture
def unclear(page: AppTest) -> AppTest:
    """The checklist of somebody who took the answer of fewer words eight times."""
    for _ in range(8):
        first, second = (len(re.sub("<[^>]*>", " ", answer).split()) for answer in answers(page))
        page.button(key="find:first" if first < second else "find:second").click().run()
    page.button(key="find:checklist").click().run()
    return page


def first_line(page: AppTest) -> str:
    return next(field.value for field in page.text_input if field.label == "Criterion 1")


def said(page: AppTest) -> str:
    return " ".join(element.value for element in page.markdown).replace("\\", "")


def test_what_choices_do_not_tell_apart_is_asked_and_can_be_taken_back(unclear: AppTest) -> None:
    page = unclear
    question, before = page.session_state.elicitation.to_clarify, first_line(page)
    assert "Which of these did you go by?" in [heading.value for heading in page.subheader]
    labels = [each.label(criterion_library()) for each in question.offered]
    assert "Short answers" in labels
    wanted = question.offered[labels.index("Short answers")]
    [pills] = [group for group in page.button_group if str(group.key).startswith("checklist:clarifying")]
    pills.set_value([wanted])
    page.button(key="checklist:clarifying:these").click().run()

    assert not page.exception
    assert first_line(page) == "Short answers"
    assert "You went by: Short answers." in said(page)
    assert "Learnt from 8 choices and 1 answer." in said(page)
    assert any("You answered “Short answers”" in each.value for each in page.caption)
    page.button(key="checklist:clarifying:undo").click().run()
    assert first_line(page) == before
    assert "You went by" not in said(page)


def test_none_of_these_is_an_answer_and_nothing_picked_is_none(unclear: AppTest) -> None:
    page = unclear
    offered = page.session_state.elicitation.to_clarify.offered
    page.button(key="checklist:clarifying:these").click().run()
    assert not page.session_state.elicitation.clarified
    page.button(key="checklist:clarifying:none").click().run()

    assert not page.exception
    assert "You went by none of those." in said(page)
    again = page.session_state.elicitation.to_clarify
    assert again is None or not set(again.offered) & set(offered)


def test_who_is_not_sure_is_shown_answers_that_differ(unclear: AppTest) -> None:
    page = unclear
    offered = page.session_state.elicitation.to_clarify.offered
    page.button(key="checklist:clarifying:apart").click().run()

    assert not page.exception
    assert page.session_state.elicitation.apart == offered
    assert len(answers(page)) == 2
    page.button(key="find:checklist").click().run()
    assert not page.exception


def test_an_emptied_line_is_left_out(page: AppTest) -> None:
    page.button(key="find:first").click().run()
    page.button(key="find:checklist").click().run()
    lines = [field for field in page.text_input if field.label.startswith("Criterion")]
    kept = [field.value for field in lines[1:]]
    lines[0].set_value(" ").run()
    page.button(key="find:rank").click().run()
    assert [criterion.text for criterion in page.session_state.view.criteria] == kept


@pytest.fixture
def two_lists(page: AppTest) -> AppTest:
    """The checklists of somebody of whom two lists were learnt: the first line of one, then the other's."""
    page.button(key="find:first").click().run()
    session = page.session_state.elicitation
    first, second = session_checklist(session, criterion_library())[0], LINES
    lists = (CategoryChecklist((), (first,)), CategoryChecklist(("Story plans",), second))
    page.session_state.find_checklists = (session.posterior, "modern", lists)
    page.button(key="find:checklist").click().run()
    return page


def test_lists_by_topic_are_shown_edited_and_ranked_by(two_lists: AppTest) -> None:
    page = two_lists
    assert not page.exception
    headings = [heading.value.replace("\\", "") for heading in page.subheader]
    assert headings == ["Everywhere else", "For Story plans", "Corrected by your votes"]
    lines = [field for field in page.text_input if field.label.startswith("Criterion")]
    common, added = lines[0].value, [field for field in page.text_input if "One more" in field.label]
    lines[1].set_value("Numbered steps").run()
    [*_, last] = [field for field in page.text_input if "One more" in field.label]
    assert len(added) == 2
    last.set_value("No jokes").run()
    page.button(key="find:rank").click().run()

    criteria = page.session_state.view.criteria
    assert [item.text for item in criteria.common] == [common]
    own = criteria.for_query("", "Story plans")
    assert [item.text for item in own] == ["Numbered steps", "No jokes"]


def test_one_switch_goes_back_to_one_list(two_lists: AppTest) -> None:
    two_lists.toggle(key="find:by_topic").set_value(False).run()

    assert [heading.value for heading in two_lists.subheader] == ["Corrected by your votes"]
    two_lists.button(key="find:rank").click().run()
    assert two_lists.session_state.view.criteria.names == ()


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
    early = any("would not change your top three" in element.value for element in interview.markdown)
    assert early == (len(taken) < 5)
    evidence = " ".join(element.value for element in interview.caption).replace("\\", "")
    assert any(f"You answered “{text}" in evidence or f"answer “{text}" in evidence for text in taken)
    interview.button(key="find:rank").click().run()
    assert interview.session_state.view.criteria


def test_back_asks_the_same_question_again(interview: AppTest) -> None:
    before = interview.header[0].value
    assert interview.button(key="find:back").disabled
    take(interview, 1)
    assert not options(interview) or interview.header[0].value != before
    interview.button(key="find:back").click().run()
    assert interview.header[0].value == before


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


@pytest.fixture
def interviewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """An endpoint that words questions."""
    with ScriptedServer() as server:
        monkeypatch.setenv("CRITIC_KEY", KEY)
        monkeypatch.setenv("USL_INTERVIEWER", "writer")
        monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, server.url, timeout=2)))
        st.cache_resource.clear()
        yield server
    st.cache_resource.clear()


def arts(page: AppTest) -> None:
    page.session_state.view = View("dailybench", ("Arts & Culture",))
    page.segmented_control(key="find_way").set_value("questions").run()


def test_questions_are_worded_for_the_topics_and_options_keep_their_places(
    interviewer: ScriptedServer, page: AppTest
) -> None:
    def worded(request: Any) -> Answer:
        n_options = len(re.findall(r"^\d+\. ", request["messages"][-1]["content"], re.MULTILINE))
        return says({"question": "And *paintings*?", "options": [f"Brush {n}" for n in range(n_options)]})

    interviewer.on(CHAT, worded)
    arts(page)
    assert page.header[0].value == r"And \*paintings\*?"
    assert options(page)[:2] + options(page)[-1:] == ["Brush 0", "Brush 1", "No preference"]
    assert any("Worded for your topics by writer" in element.value for element in page.caption)
    assert "Arts & Culture" in interviewer.asked[CHAT][0]["messages"][-1]["content"]
    page.run()
    assert len(interviewer.asked[CHAT]) == 1
    take(page, 0)
    [reply] = page.session_state.elicitation.replies
    assert (reply.option, reply.text) == (0, "Brush 0")
    assert reply.question.options[0] != "Brush 0"


@pytest.mark.parametrize(
    "answer",
    [
        says("Sure!"),
        Answer({}, 500),
        Answer(says({}).body, delay=3.0),
        says({"question": "?", "options": []}),
    ],
    ids=["nonsense", "failing", "late", "empty"],
)
def test_an_interviewer_of_no_use_leaves_the_fixed_words(
    interviewer: ScriptedServer, page: AppTest, answer: Answer
) -> None:
    interviewer.on(CHAT, answer)
    arts(page)
    assert not page.exception
    assert not page.error
    fixed = page.session_state.elicitation.question
    assert [text.replace("\\", "") for text in options(page)] == list(fixed.options)
    assert any("In fixed words" in element.value for element in page.caption)
    take(page, 0)
    assert len(interviewer.asked[CHAT]) == 1


def test_an_llm_added_in_the_session_starts_anew_and_is_shown(page: AppTest, bundled_url: str) -> None:
    page.button(key="find:first").click().run()
    shared = Service.open(bundled_url)
    page.session_state.session_service = with_own_llm(shared)
    page.run()
    assert not page.exception
    assert not page.error
    elicitation = page.session_state.elicitation
    assert not elicitation.steps
    assert len(elicitation.candidates.allowed) == len(shared.benchmark("dailybench").llms) + 2
    page.button(key="find:second").click().run()
    assert answers(page)
    shared.close()


def test_a_benchmark_of_ones_own_is_chosen_from(page: AppTest, bundled_url: str) -> None:
    shared = Service.open(bundled_url)
    soups = own_benchmark(soup_answers(), "Soups", "", "soups.csv")
    page.session_state.session_service = SessionService(shared, (soups,))
    page.session_state.view = View(soups.benchmark)
    page.session_state.find_source = soups.benchmark
    page.run()
    assert not page.error
    assert "Tomato soup." in "".join(answers(page)) or "Rye bread" in "".join(answers(page))
    page.button(key="find:first").click().run()
    page.button(key="find:checklist").click().run()
    assert not page.exception
    assert not page.error
    shared.close()


def written(page: AppTest) -> str:
    found = [*page.subheader, *page.markdown, *page.caption]
    return " ".join(str(item.value) for item in found).replace("\\", "")


def corrected(page: AppTest) -> list[str]:
    """The table of the corrected ranking, if it is shown."""
    return [item.proto.body for item in page.get("html") if 'data-testid="corrected"' in item.proto.body]


def test_once_there_are_votes_both_rankings_are_shown_and_no_surer_than_they_are(page: AppTest) -> None:
    page.query_params["benchmark"] = "dailybench"
    page.run()
    for n in range(12):
        first, second = answers(page)
        page.button(key="find:first" if len(first) < len(second) else "find:second").click().run()
        if n == 3:
            page.button(key="find:checklist").click().run()
            assert "One so far. From 3 on your ranking is corrected" in written(page)
            assert not corrected(page)
            page.button(key="find:more").click().run()
    page.button(key="find:checklist").click().run()
    assert not page.exception

    assert re.search(r"Your votes agree with the judge \S+ of 3 times\.", written(page))
    assert "3 votes cannot tell any two LLMs apart" in written(page)
    [table] = corrected(page)
    rows = re.findall(r"<tr data-llm=.*?</tr>", table)
    assert len(rows) == 8
    places = [[int(place) for place in re.findall(r"<td[^>]*>(\d+)</td>", row)[:2]] for row in rows]
    assert [corrected for corrected, _ in places] == sorted(corrected for corrected, _ in places)
    assert {judged for _, judged in places} <= set(range(1, 9))
    labels = [button.label for button in page.get("download_button")]
    assert labels == ["Corrected ranking (CSV)", "Your choices (CSV)"]

    page.button(key="find:rank").click().run()
    assert not page.exception
    assert "By your votes" in [tab.label for tab in page.tabs]
