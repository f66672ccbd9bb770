"""The page “My data” and private links, run without a browser."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from db import Database
from leaderboard.service import Service
from leaderboard.user_data.profiles import Profile, ProfileStore
from leaderboard.view import DEFAULT_BENCHMARK
from tests.pages.conftest import APP

SOUPS = b"""query,llm,response
Which soup?,alpha,Tomato soup.
Which soup?,=beta(),"Onion soup, hot and brown, with bread."
Which bread?,alpha,Rye.
Which bread?,=beta(),<img src=x onerror=alert(1)>
"""


@pytest.fixture
def page(bundled_url: str, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("USL_DATABASE_URL", bundled_url)
    st.cache_resource.clear()
    opened = AppTest.from_file(APP, default_timeout=120)
    opened.query_params["benchmark"] = "dailybench"
    opened.run()
    opened.switch_page("pages/yours.py")
    return opened.run()


def click(page: AppTest, label: str, place: int = 0) -> AppTest:
    return [item for item in page.button if item.label == label][place].click().run()


def upload(page: AppTest, content: bytes, file: str, **fields: str) -> AppTest:
    page.file_uploader[-1].set_value((file, content, "text/plain"))
    for label, value in fields.items():
        next(item for item in page.text_input if item.label.startswith(label)).set_value(value)
    return click(page, "Rank it with the others")


def table(page: AppTest) -> str:
    return next(element.body for element in page.get("html") if "data-testid" in element.body)


def leaderboard(page: AppTest) -> AppTest:
    page.switch_page("pages/leaderboard.py")
    return page.run()


def answers(service: Service) -> bytes:
    record, texts = service.benchmark("dailybench").record, service.query_texts("dailybench")
    rows = [{"id": record.queries[0].external_id, "response": "Yes."}, {"query": texts[1], "response": "No."}]
    return json.dumps(rows).encode()


def test_an_uploaded_llm_is_ranked_in_this_session_until_it_is_removed(
    page: AppTest, service: Service
) -> None:
    upload(page, answers(service), "mine.json", Name="mine")
    assert not page.exception
    assert page.success[0].value.replace("\\", "") == (
        "mine (yours, this session): 2 responses are ranked now."
    )
    shown = table(leaderboard(page))
    assert "mine (yours, this session)" in shown
    assert "brevia (extremely concise)" in shown
    assert "only this session has the responses" in shown

    # A link in the table would load the page again, and the upload would be gone.
    assert "href" not in shown
    page.selectbox(key="look_inside").set_value("mine").run()
    assert not page.exception
    assert page.title[0].value.replace("\\", "") == "mine (yours, this session)"

    page.switch_page("pages/yours.py")
    click(page.run(), "Remove")
    assert "mine" not in table(leaderboard(page))


def test_another_session_does_not_see_it(page: AppTest, service: Service) -> None:
    upload(page, answers(service), "mine.json", Name="mine")
    other = AppTest.from_file(APP, default_timeout=120)
    other.query_params["benchmark"] = "dailybench"
    assert "mine" not in table(other.run())
    assert "href" in table(other)


def test_own_queries_become_a_benchmark_with_harmless_names(page: AppTest) -> None:
    page.radio(key="uploads_kind").set_value("Queries of my own").run()
    upload(page, SOUPS, "soups.csv", Title="My <b>soups</b>")
    assert not page.exception

    leaderboard(page)
    own = next(slug for slug in page.selectbox(key="benchmark").options if "soups" in slug)
    assert own == "My <b>soups</b> (yours, this session)"
    page.selectbox(key="benchmark").select(own).run()
    assert 'data-llm="=beta()"' in table(page)
    assert "These queries and responses are yours" in table(page)

    page.switch_page("pages/yours.py")
    click(page.run(), "Remove")
    assert 'data-llm="brevia"' not in table(leaderboard(page))  # the default benchmark is shown again
    assert not page.error


@pytest.mark.parametrize(
    ("content", "file", "message"),
    [
        (b"PK\x03\x04....", "mine.csv", "mine.csv: it is a ZIP archive or an office document"),
        (b"query,response\nWhat?,x\n", "[m](http://x).csv", "no row has the id or the exact text of a query"),
    ],
)
def test_what_is_refused_says_why_as_plain_text(
    page: AppTest, content: bytes, file: str, message: str
) -> None:
    upload(page, content, file, Name="mine")
    assert message in page.error[0].value.replace("\\", "")
    assert "](http" not in page.error[0].value
    assert "uploads" not in page.session_state


@pytest.fixture
def own_page(filled_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """The page on a database that profiles may be saved to."""
    address = f"sqlite:///{shutil.copy(filled_file, tmp_path / 'usl.sqlite3')}"
    monkeypatch.setenv("USL_DATABASE_URL", address)
    st.cache_resource.clear()
    yield opened("criterion", "Concise and direct").switch_page("pages/yours.py").run()
    st.cache_resource.clear()


def opened(name: str, value: str) -> AppTest:
    """A new session that came by such a link."""
    page = AppTest.from_file(APP, default_timeout=120)
    page.query_params["benchmark"] = "dailybench"
    page.query_params[name] = value
    return page.run()


def token(page: AppTest) -> str:
    address: str = page.code[0].value
    return address.split("?profile=")[1]


def test_a_saved_profile_is_opened_by_its_link_in_another_session(own_page: AppTest) -> None:
    click(own_page, "Save under a private link")
    assert not own_page.exception
    assert own_page.success[0].value.startswith("Saved")
    assert [item.label for item in own_page.button if item.disabled] == ["Saved"]

    other = opened("profile", token(own_page))
    assert not other.exception
    assert "Your profile is open" in other.toast[0].value
    assert other.text_area(key="criteria_text").value == "Concise and direct"
    assert 'data-llm="brevia"' in table(other)
    assert token(own_page) not in str(dict(other.query_params))
    assert token(own_page) not in " ".join(item.value for item in other.code)
    assert token(own_page) not in table(other)

    # A change is saved, and the session that has not seen it does not overwrite it.
    other.toggle(key="avoid:0").set_value(True).run()
    other.switch_page("pages/yours.py").run()
    click(other, "Save changes")
    assert other.success[0].value == "The changes are saved\\."
    leaderboard(own_page).text_area(key="criteria_text").set_value("Warm").run()
    own_page.switch_page("pages/yours.py").run()
    click(own_page, "Save changes")
    assert "changed elsewhere" in own_page.error[0].value
    click(own_page, "Back to what is saved")
    assert "Concise and direct" in [item.value for item in own_page.text]

    click(other, "Delete for good")
    assert "deleted" in other.success[0].value
    gone = opened("profile", token(own_page))
    assert "opens no profile" in gone.error[0].value
    click(own_page, "Delete for good")
    assert "opens no profile" in own_page.error[0].value


def test_a_file_is_imported_and_keeps_what_is_unknown(own_page: AppTest) -> None:
    payload = {
        "format": "usl-profile",
        "version": 1,
        "benchmark": "dailybench",
        "criteria": [{"text": "<script>alert(1)</script>", "weight": "Optional", "learnt": 0.5}],
        "learnt": {"n": 12},
    }
    own_page.file_uploader[0].set_value(("p.json", json.dumps(payload).encode(), "application/json")).run()
    assert not own_page.exception
    assert "<script>alert(1)</script> · Optional" in [item.value for item in own_page.text]

    click(own_page, "Save under a private link")
    saved = open_profile(own_page)
    assert saved.payload["learnt"] == {"n": 12}
    assert saved.payload["criteria"][0]["learnt"] == 0.5
    click(own_page, "Close")
    assert not own_page.code
    assert "Keep your criteria" in " ".join(item.value for item in own_page.markdown)


def open_profile(page: AppTest) -> Profile:
    store = ProfileStore(Database.open(os.environ["USL_DATABASE_URL"]))
    return store.open(token(page)).profile


def test_a_file_that_is_no_profile_says_so(own_page: AppTest) -> None:
    own_page.file_uploader[0].set_value(("p.json", b"[1]", "application/json")).run()
    assert "p.json: this is not a profile" in own_page.error[0].value.replace("\\", "")
    assert "profile" not in own_page.session_state


def test_a_sessions_benchmark_does_not_go_into_a_profile(own_page: AppTest) -> None:
    own_page.radio(key="uploads_kind").set_value("Queries of my own").run()
    upload(own_page, SOUPS, "soups.csv", Title="Soups")
    own = next(slug for slug in leaderboard(own_page).selectbox(key="benchmark").options if "Soups" in slug)
    own_page.selectbox(key="benchmark").select(own).run()
    own_page.switch_page("pages/yours.py").run()
    click(own_page, "Save under a private link")
    assert open_profile(own_page).view.benchmark == DEFAULT_BENCHMARK


def test_a_missing_file_is_asked_for(page: AppTest) -> None:
    click(page, "Rank it with the others")
    assert page.error[0].value == "Choose a file."
