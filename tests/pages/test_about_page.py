"""The page “Data and method”: sources, themes, and import and deletion by an administrator."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crm.embedded.representation import NAME
from db import Database
from leaderboard.topics.curation import Curation
from leaderboard.user_data.admin import own_benchmarks
from tests.leaderboard.topics.samples import POOL, store
from tests.leaderboard.user_data.test_admin import TABLE
from tests.pages.conftest import APP

TOKEN = "a token that nobody guesses"


@pytest.fixture
def database(filled_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    address = f"sqlite:///{shutil.copy(filled_file, tmp_path / 'usl.sqlite3')}"
    monkeypatch.setenv("USL_DATABASE_URL", address)
    monkeypatch.setenv("USL_ADMIN_TOKEN", TOKEN)
    st.cache_resource.clear()
    opened = Database.open(address)
    store(opened)
    yield opened
    opened.close()
    st.cache_resource.clear()


@pytest.fixture
def page(database: Database) -> AppTest:
    opened = AppTest.from_file(APP, default_timeout=120)
    opened.switch_page("pages/about.py")
    return opened.run()


@pytest.fixture
def admin(page: AppTest) -> AppTest:
    page.text_input[0].set_value(TOKEN)
    return click(page, "Sign in")


def click(page: AppTest, label: str, place: int = 0) -> AppTest:
    return [item for item in page.button if item.label == label][place].click().run()


def field(page: AppTest, label: str, place: int = 0):
    return [item for item in (*page.text_input, *page.selectbox) if item.label.startswith(label)][place]


def test_reading_shows_no_form_to_change_data(page: AppTest) -> None:
    assert not page.exception
    assert [item.label for item in page.button] == ["Sign in"]
    assert not page.file_uploader


def test_a_table_is_imported_and_deleted_with_a_typed_confirmation(
    admin: AppTest, database: Database
) -> None:
    click(admin, "Import")
    assert admin.error[0].value == "Choose a file, and a name for the benchmark\\."

    admin.file_uploader[0].set_value(("answers.csv", TABLE.encode(), "text/csv"))
    field(admin, "Name in links").set_value("mine")
    click(admin, "Import")
    assert not admin.exception
    assert admin.success[0].value.startswith("mine\\: 2 queries, 2 LLMs")
    assert "mine" in own_benchmarks(database)

    field(admin, "Delete").set_value("benchmark mine")
    field(admin, "Type its name").set_value("mime")
    click(admin, "Delete for good")
    assert "type its name exactly" in admin.error[0].value
    assert "mine" in own_benchmarks(database)

    field(admin, "Type its name").set_value("mine")
    click(admin, "Delete for good")
    assert "mine is deleted" in admin.success[0].value
    assert own_benchmarks(database) == {}


def test_a_refused_table_says_why(admin: AppTest, database: Database) -> None:
    admin.file_uploader[0].set_value(("answers.csv", b"query,llm\nx,y\n", "text/csv"))
    field(admin, "Name in links").set_value("mine")
    click(admin, "Import")

    assert admin.error[0].value.startswith("answers\\.csv, row 1\\: the column")
    assert own_benchmarks(database) == {}


def test_a_pool_is_deleted(admin: AppTest, database: Database) -> None:
    field(admin, "Delete").set_value(f"pool {POOL}")
    field(admin, "Type its name").set_value(POOL)
    click(admin, "Delete for good")

    assert not admin.error
    assert Curation(database).pools() == []


def test_names_sources_licences_and_the_import_command(app: AppTest) -> None:
    page = app
    page.switch_page("pages/about.py")
    page.run()
    assert not page.exception
    text = " ".join(element.value for element in page.markdown)
    assert "CC BY\\-NC 4\\.0" in text
    assert "one LLM under eight style instructions" in text
    assert "python -m precompute import alpaca-eval" in page.code[0].value
    assert f"(`{NAME}`)" in text, "the model card is not that of the judge in use"


def test_shows_what_people_ask_for(bundled_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USL_DATABASE_URL", bundled_url)
    page = AppTest.from_file(str(Path(__file__).parents[2] / "app.py"), default_timeout=60)
    page.switch_page("pages/about.py")
    page.run()
    assert not page.exception
    assert "What people ask for" in [element.value for element in page.header]
    assert any("51,833 criteria from 10,858 lists" in element.value for element in page.markdown)
    assert any('data-testid="themes"' in element.body for element in page.get("html"))
    assert len(page.get("plotly_chart")) == 1
    assert not page.selectbox
