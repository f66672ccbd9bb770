"""A page while the database does not answer and nothing is in memory: a sentence, and a way to go on."""

import pytest
from streamlit.testing.v1 import AppTest

from db import DatabaseError
from leaderboard.service import Service


def test_a_page_says_what_is_wrong_and_goes_on(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "The database cannot be used just now; try again, or check it."

    def fail(_: Service) -> None:
        raise DatabaseError(said)

    with monkeypatch.context() as away:
        away.setattr(Service, "benchmarks", fail)
        app.run()
        assert not app.exception
        [shown] = app.error
        assert shown.value.replace("\\", "") == said
    app.button(key="try_page_again").click().run()

    assert not app.exception
    assert not app.error
    assert any("usl-ranking" in element.body for element in app.get("html"))
