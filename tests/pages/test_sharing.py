"""What the leaderboard offers to be passed on, and the page that others embed."""

import io
import re

import pytest
from PIL import Image
from streamlit.runtime.context import ContextProxy
from streamlit.testing.v1 import AppTest

from pages._ui.answer import AnswerCard
from tests.pages.opening import open_menu, open_view

WISH = "Concise and direct"


def codes(page: AppTest) -> list[str]:
    return [element.value for element in page.code]


def bodies(page: AppTest) -> str:
    return " ".join(element.body for element in page.get("html"))


def test_link_text_frame_and_citation_are_of_the_view(app: AppTest) -> None:
    open_view(app, benchmark="dailybench", criterion=WISH)
    assert not codes(app), "a closed menu is not drawn"
    open_menu(app, "share_menu")
    link, text, frame, citation = codes(app)
    assert link == "?benchmark=dailybench&criterion=Concise+and+direct"
    assert text.startswith(f"What I like in an answer: {WISH}.\n")
    assert text.endswith(link)
    assert frame.startswith("<iframe ")
    assert f'src="{link.replace("&", "&amp;")}&amp;embed=true"' in frame
    assert 'width="600"' in frame
    assert f"criteria: {WISH};" in citation
    assert f"url = {{{link}}}" in citation


def test_the_picture_is_of_what_is_shown(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    cards: list[AnswerCard] = []
    draw = AnswerCard.offer_text
    monkeypatch.setattr(AnswerCard, "offer_text", lambda card, place: (cards.append(card), draw(card, place)))
    open_view(app, benchmark="dailybench", criterion=WISH)
    open_menu(app, "share_menu")
    concise = cards[-1].to_picture()
    assert Image.open(io.BytesIO(concise)).size == (1200, 630)
    assert any("Download picture" in element.proto.label for element in app.get("download_button"))
    app.text_area(key="criteria_text").set_value("Warm and encouraging").run()
    assert cards[-1].to_picture() != concise


@pytest.fixture
def embedded(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(ContextProxy, "is_embedded", True)
    return app


def test_without_criteria_the_page_itself_invites(app: AppTest) -> None:
    open_view(app, benchmark="dailybench")
    assert 'class="usl-way"' in bodies(app)
    assert app.get("page_link")


def test_an_embedded_view_has_answer_and_table_and_no_controls(embedded: AppTest) -> None:
    open_view(embedded, benchmark="dailybench", criterion=WISH)
    assert not embedded.exception
    assert "usl-answer" in bodies(embedded)
    assert re.findall(r'data-llm="(\w+)"', bodies(embedded))[0] == "brevia"
    for kind in ("button", "text_area", "text_input", "selectbox", "toggle", "checkbox", "tabs", "title"):
        assert not list(embedded.get(kind)), kind
    assert "<a href" not in bodies(embedded)
    assert not codes(embedded)


def test_an_embedded_view_leads_to_the_whole_page(embedded: AppTest) -> None:
    open_view(embedded, benchmark="dailybench", criterion=WISH)
    [link] = embedded.get("link_button")
    assert link.proto.url == "?benchmark=dailybench&criterion=Concise+and+direct"
    assert "From 522 questions of DailyBench" in " ".join(item.value for item in embedded.caption)


def test_without_criteria_an_embedded_page_invites_to_nothing(embedded: AppTest) -> None:
    open_view(embedded, benchmark="dailybench")
    assert "usl-answer" in bodies(embedded)
    assert 'class="usl-way"' not in bodies(embedded)
    assert not list(embedded.get("page_link"))


def test_an_embedded_link_that_means_nothing_says_so(embedded: AppTest) -> None:
    open_view(embedded, benchmark="no-such-benchmark")
    assert not embedded.exception
    assert "no-such-benchmark" in " ".join(item.value for item in embedded.error).replace("\\", "")
