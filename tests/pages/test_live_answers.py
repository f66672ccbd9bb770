"""A question of one's own on the leaderboard page, run without a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.crm.backends.scripted_server import ScriptedServer
from tests.leaderboard.critique_samples import CHAT, says
from tests.leaderboard.test_live_answers import LONG, by_model, checklist, write_llms
from tests.pages.test_three_answers import open_block


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        monkeypatch.setenv("USL_LIVE_QUESTIONS", "2")
        monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, started.url, "brevia", "scholia")))
        started.on(CHAT, by_model({"brevia": says("Boil *it*."), "scholia": says(LONG)}))
        yield started


def bodies(page: AppTest) -> list[str]:
    return [item.proto.body for item in page.get("html") if 'class="usl-three"' in item.proto.body]


def captions(page: AppTest) -> str:
    return "\n".join(item.value.replace("\\", "") for item in page.caption)


def test_nothing_is_offered_unless_it_is_set_up(app: AppTest) -> None:
    open_block(app, benchmark="dailybench", criterion="Concise and direct")
    assert "live_ask" not in [button.key for button in app.button]


def test_a_question_is_answered_and_counted(app: AppTest, server: ScriptedServer) -> None:
    open_block(app, benchmark="dailybench", criterion="Concise and direct")
    assert "costs nothing. 2 of 2 questions left" in captions(app)
    assert not server.asked[CHAT]
    assert "**Ask them yourself:** brevia" in "\n".join(item.value for item in app.markdown)
    app.text_area(key="live_question").set_value("How do I boil an egg?").run()
    app.button(key="live_ask").click().run()
    answered = bodies(app)[-1]
    assert "<em>it</em>" in answered
    assert "Suits you better than the other" in answered
    assert "1 of 2 questions left" in captions(app)

    app.button(key="live_ask").click().run()
    assert "0 of 2 questions left" in captions(app)
    app.button(key="live_ask").click().run()
    assert app.button(key="live_ask").disabled
    assert len(server.asked[CHAT]) == 4


def test_an_empty_question_costs_nothing(app: AppTest, server: ScriptedServer) -> None:
    open_block(app, benchmark="dailybench", criterion="Concise and direct")
    app.button(key="live_ask").click().run()
    assert "Write a question first." in app.error[0].value.replace("\\", "")
    assert "2 of 2 questions left" in captions(app)
    assert not server.asked[CHAT]


def test_answers_stay_with_the_criteria_that_they_were_judged_by(
    app: AppTest, server: ScriptedServer
) -> None:
    open_block(app, benchmark="dailybench", criterion="Concise and direct")
    app.text_area(key="live_question").set_value("How do I boil an egg?").run()
    app.button(key="live_ask").click().run()
    assert "Boil" in bodies(app)[-1]
    open_block(app, benchmark="modern")
    assert all("Boil" not in body for body in bodies(app))


def test_a_question_is_judged_by_its_own_checklist(
    app: AppTest, server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_llms(tmp_path, server.url, "brevia", "scholia", "nobody")
    monkeypatch.setenv("USL_CHECKLISTS", "nobody")
    wanted = checklist("Numbered steps", "Plain words", "<b>Bold</b> words")
    server.on(CHAT, by_model({"brevia": says("Boil *it*."), "scholia": says(LONG), "nobody": wanted}))
    open_block(app, benchmark="dailybench", criterion="Concise and direct")
    assert "With your criteria it also goes to nobody" in captions(app)
    app.text_area(key="live_question").set_value("How do I boil an egg?").run()
    app.button(key="live_ask").click().run()

    [shown] = [item.proto.body for item in app.get("html") if "query-checklist" in item.proto.body]
    assert "<b>Essential</b> Numbered steps <span>the question</span>" in shown
    assert "&lt;b&gt;Bold&lt;/b&gt; words" in shown
    assert "for this question, as nobody sees it." in shown


def test_without_criteria_nobody_writes_a_checklist(
    app: AppTest, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USL_CHECKLISTS", "nobody")
    open_block(app, benchmark="dailybench")
    assert "With your criteria" not in captions(app)
