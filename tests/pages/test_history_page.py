"""“From my history” on the page “Find my criteria”, run without a browser."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from crm.paths import BUNDLED
from leaderboard.elicitation.library import criterion_library
from leaderboard.service import Service
from tests.leaderboard.elicitation.history.test_exports import EXPORTS, FILES
from tests.leaderboard.elicitation.samples import concise_choices

SAMPLE = BUNDLED.parent / "history-sample.jsonl"


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.query_params["benchmark"] = "dailybench"
    app.run()
    app.switch_page("pages/find.py")
    app.run()
    return app.segmented_control(key="find_way").set_value("history").run()


def upload(page: AppTest, content: bytes, file: str) -> AppTest:
    page.file_uploader[0].set_value((file, content, "text/plain"))
    return page.run()


def texts(page: AppTest) -> str:
    elements = (*page.markdown, *page.caption, *page.success, *page.warning, *page.error)
    return " ".join(element.value for element in elements).replace("\\", "")


def test_choices_become_a_checklist_that_ranks(page: AppTest, service: Service) -> None:
    upload(page, concise_choices(service, 20), "mine.jsonl")
    assert not page.exception
    assert not page.file_uploader
    assert "Your choices speak for" in texts(page)
    assert "Read as a table of choices: 20 choices." in texts(page)
    assert "of 20 choices a checklist learnt from the others says what you took" in page.success[0].value
    lines = [field.value for field in page.text_input if field.label.startswith("Criterion")]
    assert len(lines) >= 2
    page.button(key="find:rank").click().run()
    assert [item.text for item in page.session_state.view.criteria] == lines
    # What the session holds of the upload is what was learnt, and no text of it.
    assert not any("chosen" in str(value) for value in page.session_state.history_learnt)


def test_what_past_choices_do_not_tell_apart_is_asked(page: AppTest, service: Service) -> None:
    upload(page, concise_choices(service, 8), "mine.jsonl")
    question = page.session_state.history_learnt[0].to_clarify
    assert question is not None
    before = [field.value for field in page.text_input if field.label.startswith("Criterion")]
    [pills] = [group for group in page.button_group if str(group.key).startswith("checklist:clarifying")]
    picked = question.offered[-1]
    pills.set_value([picked])
    page.button(key="checklist:clarifying:these").click().run()

    assert not page.exception
    lines = [field.value for field in page.text_input if field.label.startswith("Criterion")]
    assert lines[0] == picked.of(criterion_library()).text
    assert "You went by: " in texts(page)
    page.button(key="checklist:clarifying:undo").click().run()
    assert [field.value for field in page.text_input if field.label.startswith("Criterion")] == before


def test_another_file_may_be_brought(page: AppTest) -> None:
    upload(page, SAMPLE.read_bytes(), SAMPLE.name)
    assert "6 of 6 choices" in page.success[0].value
    page.button(key="history:again").click().run()
    assert not page.exception
    assert page.file_uploader
    assert not page.success


def test_few_choices_are_said_not_to_tell(page: AppTest) -> None:
    upload(page, b"".join(SAMPLE.read_bytes().splitlines(keepends=True)[:2]), "few.jsonl")
    assert page.warning[0].value.replace("\\", "").startswith("These 2 choices do not tell yet")


@pytest.mark.parametrize(
    ("content", "file", "message"),
    [
        (b"query,answer\na,b\n", "x.csv", "no choice can be read from its columns"),
        (b"\x89PNG", "x.json", "it is a picture"),
        (b"PK", "x.zip", "this is no ZIP archive that can be read"),
        (json.dumps({"chosen": "[x](javascript:alert(1))", "rejected": ""}).encode(), "x.jsonl", "is empty"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(
    page: AppTest, content: bytes, file: str, message: str
) -> None:
    upload(page, content, file)
    assert not page.exception
    assert message in page.error[0].value.replace("\\", "")
    assert page.file_uploader


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_as_another_program_exports_it(page: AppTest, name: str) -> None:
    upload(page, (EXPORTS / name).read_bytes(), name)
    assert not page.exception
    if people := [box for box in page.selectbox if box.label.startswith("Whose choices?")]:
        assert "Read as" not in texts(page)
        people[0].set_value("").run()
    assert "Read as" in texts(page)
    assert "Left out: " in texts(page)


def test_one_of_several_people_is_chosen(page: AppTest) -> None:
    upload(page, (EXPORTS / "open-webui-feedback.json").read_bytes(), "feedback.json")
    [people] = [box for box in page.selectbox if box.label.startswith("Whose choices?")]
    assert people.options == ["All 2 people together", "ann: 2", "ben: 2"]
    people.set_value("ben").run()
    assert not page.exception
    assert "2 (by other people)" in texts(page)
