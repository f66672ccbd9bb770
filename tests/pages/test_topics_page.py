"""The page on topics, run without a browser."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from db import Database
from db.repositories import pools
from leaderboard.topics.actions import DropQueries, Rename
from leaderboard.topics.curation import Curation
from leaderboard.user_data import admin as admin_gate
from tests.leaderboard.topics.samples import POOL, TEXTS, ids, store
from tests.pages.conftest import APP

TOKEN = "a token that nobody guesses"


@pytest.fixture
def url(filled_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database that a test may change; what the app keeps of others is forgotten."""
    address = f"sqlite:///{shutil.copy(filled_file, tmp_path / 'usl.sqlite3')}"
    monkeypatch.setenv("USL_DATABASE_URL", address)
    monkeypatch.setenv("USL_ADMIN_TOKEN", TOKEN)
    st.cache_resource.clear()
    yield address
    st.cache_resource.clear()


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database.open(url)
    store(opened)
    yield opened
    opened.close()


@pytest.fixture
def curation(database: Database) -> Curation:
    return Curation(database)


def opened(**parameters: str) -> AppTest:
    """The page, opened by a link with these parameters."""
    page = AppTest.from_file(APP, default_timeout=120)
    page.switch_page("pages/topics.py")
    for name, value in parameters.items():
        page.query_params[name] = value
    return page.run()


@pytest.fixture
def page(database: Database) -> AppTest:
    return opened()


@pytest.fixture
def admin(database: Database) -> AppTest:
    """The page on the topic “Soup”, for somebody who has signed in."""
    return sign_in(opened(key="0"))


def sign_in(page: AppTest, token: str = TOKEN) -> AppTest:
    token_box(page).set_value(token)
    return button(page, "Sign in").click().run()


def token_box(page: AppTest):
    return next(box for box in page.text_input if box.label.startswith("Admin token"))


def topic_box(page: AppTest):
    return next(box for box in page.selectbox if box.label == "Look inside a topic")


def button(page: AppTest, label: str):
    return next(item for item in page.button if item.label == label)


def labels(page: AppTest) -> list[str]:
    return [item.label for item in page.button]


def fill(page: AppTest, kind: str, **values: object) -> None:
    """Choose a form and fill it in; fields are named by the start of their label."""
    page.button_group(key="curation_kind").set_value(kind).run()
    for start, value in values.items():
        named = start.replace("_", " ")
        fields = [*page.text_input, *page.text_area, *page.multiselect, *page.selectbox, *page.number_input]
        fields += list(page.radio)
        next(field for field in fields if field.label.startswith(named)).set_value(value)


def texts(page: AppTest) -> str:
    """What is written on the page, as it is read."""
    kinds = ("title", "subheader", "caption", "markdown", "text", "error", "info", "success", "html")
    return " ".join(
        str(getattr(element, "value", None) or getattr(element, "body", "")).replace("\\", "")
        for kind in kinds
        for element in page.get(kind)
    )


def figures(page: AppTest) -> str:
    return next(element.body for element in page.get("html") if "topic-figures" in element.body)


def test_without_a_pool_the_bundled_benchmarks_topics_are_shown(url: str) -> None:
    page = opened()

    assert not page.exception
    assert page.selectbox(key="topics_box").value == ("benchmark", "dailybench")
    assert [tab.label for tab in page.tabs] == ["Map", "Tree", "List"]
    assert "the two main axes of their embeddings" in texts(page)
    assert "python -m precompute cluster" in texts(page)
    assert "Admin token" not in texts(page)
    assert len(topic_box(page).options) == 87

    topic_box(page).set_value("0").run()
    assert "Creative Writing & Literature · 6 queries" in texts(page)
    assert "Write me a very short story about a lighthouse keeper" in texts(page)


def test_a_benchmark_without_texts_still_has_its_topics(url: str) -> None:
    page = opened(of="benchmark:alpaca-eval", key="3")

    assert not page.exception
    assert page.selectbox(key="topics_box").value == ("benchmark", "alpaca-eval")
    assert "texts of its queries are not stored here" in texts(page)


def test_a_pool_is_shown_with_its_figures_and_read_without_a_token(page: AppTest) -> None:
    assert not page.exception
    assert page.selectbox(key="topics_box").value == ("pool", POOL)
    assert ">10.0 %<" in figures(page)
    assert "not measured" in figures(page)
    assert "Nothing was changed since the topics were found." in texts(page)
    assert labels(page) == ["Sign in"]


def test_a_topic_is_looked_into_and_stands_in_the_link(page: AppTest) -> None:
    topic_box(page).set_value("10").run()

    assert "Work · 2 queries · key 10" in texts(page)
    assert TEXTS[7] in texts(page)
    assert page.query_params["key"] in ("10", ["10"])
    assert page.query_params["of"] in (f"pool:{POOL}", [f"pool:{POOL}"])

    again = opened(of=f"pool:{POOL}", key="0")
    assert topic_box(again).value == "0"
    assert "Soup" in [item.value for item in again.subheader]


def test_a_link_to_what_is_not_there_shows_everything(database: Database) -> None:
    page = opened(of="pool:gone", key="77")

    assert not page.exception
    assert page.selectbox(key="topics_box").value == ("pool", POOL)
    assert topic_box(page).value is None


def test_a_pool_without_topics_says_how_to_find_them(database: Database) -> None:
    with database.session() as session:
        pools.put_pool(session, "bare")
    page = opened(of="pool:bare")

    assert not page.exception
    assert "python -m precompute cluster bare" in texts(page)


def test_markup_in_names_and_queries_is_shown_as_it_is(curation: Curation) -> None:
    curation.edit(POOL, Rename("0", "<b>**x**</b> %{y}", "$a$ :red[b]"), "_why_ <i>")
    page = opened(key="0")

    assert not page.exception
    shown = " ".join(item.value for item in (*page.subheader, *page.markdown))
    assert r"\<b\>\*\*x\*\*\</b\> %\{y\}" in shown
    assert r"\_why\_ \<i\>" in shown


def test_without_a_token_on_the_server_nobody_can_sign_in(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("USL_ADMIN_TOKEN")
    page = opened()

    assert "set USL_ADMIN_TOKEN to a secret" in texts(page)
    assert labels(page) == []


def test_a_wrong_token_changes_nothing_and_makes_the_next_one_wait(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The second that the third failure costs may be over before a slow machine asks again.
    monkeypatch.setattr(admin_gate, "OF_A_SESSION", replace(admin_gate.OF_A_SESSION, first=900.0))
    st.cache_resource.clear()
    for _ in range(3):
        sign_in(page, "a token that somebody guessed")
        assert "This is not the admin token." in texts(page)
        assert "Rename" not in labels(page)
    sign_in(page, TOKEN)
    assert "Too many wrong tokens: try again in" in texts(page)
    assert "Rename" not in labels(page)
    assert TOKEN not in str(page.query_params)


def test_who_signed_in_may_sign_out(admin: AppTest) -> None:
    assert "Rename" in labels(admin)
    assert TOKEN not in repr(admin.session_state)

    button(admin, "Sign out").click().run()
    assert "Rename" not in labels(admin)
    assert token_box(admin).value == ""


def test_a_topic_is_renamed_with_a_reason(admin: AppTest, curation: Curation) -> None:
    fill(admin, "Name", Name="Broth", Summary="Hot or cold.", Why="that is what it is")
    button(admin, "Rename").click().run()

    assert not admin.exception
    assert "Renamed “Soup” to “Broth” with another summary." in texts(admin)
    assert "that is what it is" in texts(admin)
    tree = curation.read(POOL).tree
    assert (tree["0"].name, tree["0"].summary) == ("Broth", "Hot or cold.")


def test_a_change_without_a_reason_is_refused(admin: AppTest, curation: Curation) -> None:
    fill(admin, "Name", Name="Broth")
    button(admin, "Rename").click().run()

    assert "Say why, in a few words" in texts(admin)
    assert curation.read(POOL).log == ()


def test_topics_are_merged(admin: AppTest, curation: Curation) -> None:
    fill(admin, "Merge", Topics_to_merge=["1"], Why="all food")
    button(admin, "Merge").click().run()

    assert "Merged “Bread” into “Soup”" in texts(admin)
    assert curation.read(POOL).tree.size("0") == 7


def test_a_topic_is_split(admin: AppTest, curation: Curation) -> None:
    fill(admin, "Split", Parts=3, Why="hot and cold")
    button(admin, "Split").click().run()

    assert "Split “Soup” into" in texts(admin)
    assert len(curation.read(POOL).tree.parts_of("0")) == 3


def test_a_topic_moves_to_another_category(admin: AppTest, curation: Curation) -> None:
    fill(admin, "Category", Category="Work", Why="cooks work")
    button(admin, "Move to category").click().run()

    assert not admin.error
    assert curation.read(POOL).tree["0"].category == "Work"


def test_queries_move_are_dropped_and_restored(admin: AppTest, curation: Curation) -> None:
    for what, target in (("Move", "1"), ("Drop", None), ("Restore", None)):
        chosen = ids()[:1] if what == "Move" else ids()[1:3]
        fill(admin, "Queries", Queries_of=chosen, What_to_do=what, Topic_to_move=target, Why="test")
        button(admin, "Change queries").click().run()
        assert not admin.error
    assert [edit.what for edit in curation.read(POOL).history] == [
        "Moved 1 query to “Bread”",
        "Dropped 2 queries",
        "Restored 2 queries",
    ]


def test_a_move_needs_a_target(admin: AppTest) -> None:
    fill(admin, "Queries", Queries_of=ids()[:1], What_to_do="Move", Why="test")
    button(admin, "Change queries").click().run()

    assert "Choose the topic to move them to." in texts(admin)


def test_the_last_change_is_undone(admin: AppTest, curation: Curation) -> None:
    fill(admin, "Merge", Topics_to_merge=["1"], Why="all food")
    button(admin, "Merge").click().run()
    button(admin, "Undo the last change").click().run()

    assert "Undone: Merged “Bread” into “Soup”." in texts(admin)
    assert "~~" in texts(admin)
    assert curation.read(POOL).tree == curation.read(POOL).found
    assert "Undo the last change" not in labels(admin)


def test_who_looked_at_older_topics_is_told_to_look_again(admin: AppTest, curation: Curation) -> None:
    fill(admin, "Name", Name="Broth", Why="mine")
    curation.edit(POOL, DropQueries(ids()[:1]), "somebody else’s")
    button(admin, "Rename").click().run()

    assert "Somebody else changed the topics meanwhile: look again." in texts(admin)
    assert curation.read(POOL).tree["0"].name == "Soup"
    fill(admin, "Name", Name="Broth", Why="mine")
    button(admin, "Rename").click().run()
    assert curation.read(POOL).tree["0"].name == "Broth"


def test_a_reviewed_file_is_previewed_and_taken_over(admin: AppTest, curation: Curation) -> None:
    written = curation.export(curation.read(POOL)).replace("name: Bread", "name: Baking")
    fill(admin, "File")
    admin.file_uploader[0].upload("daily.yaml", written.encode(), "application/yaml").run()
    assert "This would change: 1 topic renamed." in texts(admin)
    assert "“Bread” (1) is now “Baking”." in texts(admin)

    next(box for box in admin.text_input if "import" in str(box.form_id)).set_value("reviewed")
    button(admin, "Take over").click().run()
    assert "Import of daily.yaml: 1 topic renamed." in texts(admin)
    assert curation.read(POOL).tree["1"].name == "Baking"


def test_a_file_that_cannot_be_taken_over_is_refused(admin: AppTest) -> None:
    fill(admin, "File")
    admin.file_uploader[0].upload("x.yaml", b"a: &x [1]\nb: *x", "application/yaml").run()

    assert "x.yaml: references (*x) are not allowed" in texts(admin)
    assert "Take over" not in labels(admin)
