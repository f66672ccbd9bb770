"""The leaderboard page's three answers to one question, run without a browser."""

import re

from streamlit.testing.v1 import AppTest

from tests.pages.opening import open_view

OPEN = "three_answers_open"


def answers(page: AppTest) -> list[str]:
    """The three answers, each as HTML; none while the block is closed."""
    [*found] = [item.proto.body for item in page.get("html") if 'class="usl-three"' in item.proto.body]
    return re.findall(r"<section.*?</section>", found[0], re.DOTALL) if found else []


def query(page: AppTest) -> str:
    return next(item.proto.body for item in page.get("html") if "usl-query" in item.proto.body)


def open_block(page: AppTest, **parameters: str | list[str]) -> None:
    page.session_state[OPEN] = True
    open_view(page, **parameters)
    assert not page.exception


def test_nothing_is_worked_out_before_it_is_opened(app: AppTest) -> None:
    open_view(app, benchmark="dailybench", criterion="Provide numbered steps")
    assert not app.exception
    assert not answers(app)
    assert "three_answers" not in app.session_state


def test_three_answers_stand_side_by_side_with_their_counts_and_marks(app: AppTest) -> None:
    open_block(app, benchmark="dailybench", criterion="Provide numbered steps")
    best, other, contrast = answers(app)
    assert "Best for you" in best
    assert "stepwise" in best
    assert "by default" in other
    assert "For contrast" in contrast
    assert re.search(r"<b>[1-9]\d* numbered item", best)
    assert "<b>0 numbered items</b>" in contrast
    assert '<li class="usl-mark">' in best
    assert "usl-mark" not in contrast
    assert "less than stepwise (numbered steps)’s answer" in contrast


def test_another_question_shows_another_one_and_they_come_round(app: AppTest) -> None:
    open_block(app, benchmark="dailybench", criterion="Provide numbered steps", topic="Jokes & puns")
    first = query(app)
    n = int(re.search(r"of (\d+), the clearest", " ".join(item.value for item in app.caption))[1])  # type: ignore[index]
    seen = [first]
    for _ in range(n):
        app.button(key="another_question").click().run()
        seen.append(query(app))
    assert seen[-1] == first
    assert len(set(seen)) == n > 1


def test_another_view_begins_with_its_clearest_question(app: AppTest) -> None:
    open_block(app, benchmark="dailybench", criterion="Provide numbered steps")
    app.button(key="another_question").click().run()
    open_view(app, criterion="Warm and encouraging")
    assert any(item.value.startswith("1 of ") for item in app.caption)


def test_without_criteria_the_default_ranking_is_shown(app: AppTest) -> None:
    open_block(app, benchmark="dailybench")
    best, other, _ = answers(app)
    assert "Best by default" in best
    assert "Second by default" in other
    assert "Suits most people" in other


def test_where_texts_are_missing_the_numbers_stand_alone_and_the_command_is_named(app: AppTest) -> None:
    open_block(app, benchmark="alpaca-eval", criterion="Uses bullet points")
    assert any("python -m precompute import alpaca-eval" in item.value.replace("\\", "") for item in app.info)
    found = answers(app)
    assert len(found) == 3
    assert all("bullet point" in answer and "usl-response" not in answer for answer in found)
    assert re.search(r", question \d+<", query(app))
