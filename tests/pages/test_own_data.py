"""Import and deletion on the page “Data and method”, run without a browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from db import Database
from leaderboard.topics.curation import Curation
from leaderboard.yours.own_data import own_benchmarks
from tests.leaderboard.topics.samples import POOL, store
from tests.leaderboard.yours.test_own_data import TABLE

APP = str(Path(__file__).parents[2] / "app.py")
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
