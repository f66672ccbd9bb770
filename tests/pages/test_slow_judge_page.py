"""What the pages say of slow and doubtful judges, run without a browser."""

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from crm.criteria import CriteriaSet
from crm.errors import UnavailableError
from crm.protocol import CriterionWarning
from crm.registry import get_crm
from leaderboard.limits import Limits
from leaderboard.scoring_jobs import scheduler
from leaderboard.scoring_jobs.progress import State
from leaderboard.view import View
from pages._ui.session import shared_service
from tests.judges import GatedCRM, WarningCRM, register, wait_until
from tests.pages.conftest import APP
from tests.pages.opening import open_view

PUZZLES = 30 * 7


@pytest.fixture
def judge(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatedCRM]:
    """A judge that no other test has scores of."""
    gated = GatedCRM()
    gated.name = request.node.name
    register(monkeypatch, gated)
    yield gated
    gated.failure = None
    gated.let(10_000)


@pytest.fixture
def page(bundled_url: str, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page on thirty queries."""
    monkeypatch.setenv("USL_DATABASE_URL", bundled_url)
    page = AppTest.from_file(APP, default_timeout=120)
    page.query_params["benchmark"] = "dailybench"
    page.query_params["topic"] = "Puzzles & Logic"
    page.query_params["criterion"] = "Playful humor"
    return page


def table(page: AppTest) -> str:
    return next((element.body for element in page.get("html") if "data-testid" in element.body), "")


def names(page: AppTest) -> list[str]:
    return [part.split('"', 1)[0] for part in table(page).split('data-llm="')[1:]]


def read(page: AppTest) -> str:
    """What is written on the page, as it is read."""
    kinds = ("header", "subheader", "caption", "markdown", "error", "info")
    return " ".join(str(element.value).replace("\\", "") for kind in kinds for element in page.get(kind))


def answer(page: AppTest) -> str:
    return next((element.body for element in page.get("html") if "usl-answer" in element.body), "")


def bar(page: AppTest) -> str:
    return " ".join(element.proto.text.replace("\\", "") for element in page.get("progress"))


def press(page: AppTest, label: str) -> None:
    next(button for button in page.button if button.label == label).click().run()


def judged(judge: GatedCRM, pairs: int) -> None:
    wait_until(lambda: len(judge.asked) >= pairs)


def test_until_something_is_judged_the_last_ranking_stays(page: AppTest, judge: GatedCRM) -> None:
    page.run()
    embedded = names(page)
    page.selectbox(key="judge").set_value(judge.name).run()
    assert f"Judging with {judge.name}: 0 of {PUZZLES} pairs" in bar(page)
    assert (
        "Below is your last ranking: DailyBench, open edition, for “Playful humor”, judged by embedded."
    ) in read(page)
    assert names(page) == embedded
    assert not answer(page)  # it would be to what was asked before
    judge.let(2)
    judged(judge, 21)
    page.run()

    assert f"21 of {PUZZLES} pairs" in bar(page)
    assert "Below is your last ranking" not in read(page)
    assert "So far" in answer(page)
    assert "Only 3 of 30 questions are judged so far." in answer(page)
    assert "So far 3 of 30 queries are judged" in table(page)
    assert "3 of 30 questions" in read(page)
    assert names(page)[0] != "jester"


def test_whoever_waits_is_told_their_place(page: AppTest, judge: GatedCRM) -> None:
    page.run()
    other = View("dailybench", ("Puzzles & Logic",), CriteriaSet.of(["Dry humor"]), crm=judge.name)
    shared_service().leaderboard(other, subscriber="somebody else")
    open_view(page, crm=judge.name)
    assert bar(page).startswith("Waiting at place 1, other rankings come first: ")
    shared_service().stop(other, "somebody else")


def test_stop_and_continue(page: AppTest, judge: GatedCRM) -> None:
    open_view(page, crm=judge.name)
    judge.let(2)
    judged(judge, 21)
    press(page, "Stop")
    assert bar(page).startswith("Stopped at ")
    judge.let(10_000)
    page.run()  # drawn again, it stays stopped
    assert bar(page).startswith("Stopped at ")
    press(page, "Continue")
    judged(judge, PUZZLES)
    wait_until(lambda: bar(page.run()) == "")

    assert "± average" in table(page)
    assert len(judge.asked) == 2 * PUZZLES


def test_an_error_is_said_and_can_be_tried_again(page: AppTest, judge: GatedCRM) -> None:
    page.run()
    embedded = names(page)
    judge.failure = UnavailableError("The server at <b>*here*</b> is down: start it.")
    judge.let(1)
    page.selectbox(key="judge").set_value(judge.name).run()
    assert "The server at <b>*here*</b> is down: start it." in read(page)
    assert "Below is your last ranking" in read(page)
    assert names(page) == embedded
    judge.failure = None
    judge.let(10_000)
    press(page, "Try again")
    wait_until(lambda: bar(page.run()) == "" and "is down" not in read(page))

    assert "± average" in table(page)


TWO = ["Playful humor", "Warm"]
BLOCKS = 6
"""Of a score matrix of thirty queries."""
ROUND = 6
"""Blocks in which four queries are judged under each of two criteria."""


def open_grades(page: AppTest, judge: GatedCRM) -> int:
    """Open the tab of grades of a ranking that is complete; return how many pairs have been judged for it."""
    judge.let(2 * BLOCKS)
    shared_service().judge(View("dailybench", ("Puzzles & Logic",), CriteriaSet.of(TWO), crm=judge.name))
    page.session_state["tabs"] = "By criterion"
    open_view(page, crm=judge.name, criterion=TWO)
    return len(judge.asked)


def grades(page: AppTest) -> str:
    return next((element.body for element in page.get("html") if 'data-testid="grades"' in element.body), "")


def labels(page: AppTest) -> set[str]:
    return {button.label for button in page.button}


def test_grades_by_criterion_are_given_if_they_are_asked_for(page: AppTest, judge: GatedCRM) -> None:
    before = open_grades(page, judge)
    assert "grading each of 2 criteria by itself takes 420 comparisons" in read(page)
    assert (grades(page), bar(page)) == ("", "")
    page.run()
    assert len(judge.asked) == before

    press(page, "Grade each criterion")
    assert bar(page) == f"Grading with {judge.name}: 0 of 420 pairs"
    assert "Grade each criterion" not in labels(page)
    judge.let(ROUND // 2)
    judged(judge, before + 28)
    wait_until(lambda: "So far no question is graded under all criteria" in read(page.run()))
    assert "–" in grades(page)
    judge.let(ROUND // 2)
    judged(judge, before + 56)
    wait_until(lambda: "So far these are grades on 4 of 30 questions" in read(page.run()))
    assert grades(page).count("data-llm") == 7
    assert "–" not in grades(page)

    press(page, "Stop grading")
    assert bar(page).startswith("Stopped at 13 %")
    judge.let(10_000)
    press(page, "Continue grading")
    wait_until(lambda: bar(page.run()) == "")
    assert "So far" not in read(page)
    assert len(judge.asked) == before + 420


def test_grades_that_are_stored_are_there_in_a_later_session(page: AppTest, judge: GatedCRM) -> None:
    open_grades(page, judge)
    judge.let(10_000)
    press(page, "Grade each criterion")
    wait_until(lambda: bar(page.run()) == "")
    before = len(judge.asked)
    later = AppTest.from_file(APP, default_timeout=120)
    later.session_state["tabs"] = "By criterion"
    open_view(
        later, benchmark="dailybench", topic="Puzzles & Logic", criterion=["Warm", TWO[0]], crm=judge.name
    )

    assert grades(later) != ""
    assert "Grade each criterion" not in labels(later)
    assert "So far" not in read(later)
    # A third criterion costs only its own comparisons, and the ranking by all three.
    open_view(later, criterion=[*TWO, "Formal"])
    wait_until(lambda: bar(later.run()) == "")
    assert "takes 210 comparisons. 420 others are judged already." in read(later)
    assert "each column is of the questions graded under its own" in read(later)
    assert len(judge.asked) == before + 210


def test_a_judge_that_fails_over_grades_says_so_and_keeps_them(page: AppTest, judge: GatedCRM) -> None:
    before = open_grades(page, judge)
    press(page, "Grade each criterion")
    judge.let(ROUND)
    judged(judge, before + 56)
    judge.failure = UnavailableError("The server at <b>*here*</b> is down: start it.")
    judge.let(1)
    wait_until(lambda: "is down" in read(page.run()))

    assert "The server at <b>*here*</b> is down: start it. The 13 % that are judged are kept." in read(page)
    assert "So far these are grades on 4 of 30 questions" in read(page)
    assert grades(page).count("data-llm") == 7
    judge.failure = None
    judge.let(10_000)
    press(page, "Try again")
    wait_until(lambda: bar(page.run()) == "" and "is down" not in read(page))
    assert "So far" not in read(page)
    assert len(judge.asked) == before + 420


def test_grading_goes_on_while_another_tab_is_open(
    page: AppTest, judge: GatedCRM, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = open_grades(page, judge)
    press(page, "Grade each criterion")
    page.session_state["tabs"] = "Ranking"
    with monkeypatch.context() as patch:
        patch.setattr(scheduler, "_LEASE", 0.0)  # as if nobody had looked for three minutes
        judge.let(10_000)
        wait_until(lambda: shared_service().jobs()[State.RUNNING] == 0)
    assert len(judge.asked) < before + 420
    page.run()
    assert (grades(page), bar(page)) == ("", "")
    judged(judge, before + 420)


def test_where_too_many_wait_that_is_said_and_other_grades_stay(
    page: AppTest, judge: GatedCRM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_service()._live._scheduler, "_limits", Limits(judging_waiting=1))
    open_grades(page, judge)
    others = [View("dailybench", ("Poetry",), CriteriaSet.of([text]), crm=judge.name) for text in "ab"]
    for view in others:
        shared_service().leaderboard(view, subscriber=f"who wants {view.criteria}")
    press(page, "Grade each criterion")
    assert "1 rankings wait for slow judges already: try again in a few minutes" in read(page)
    for view in others:
        shared_service().stop(view, f"who wants {view.criteria}")


def test_an_llm_is_shown_as_far_as_it_is_judged(page: AppTest, judge: GatedCRM) -> None:
    page.query_params["crm"] = judge.name
    page.switch_page("pages/llm.py")
    page.run()
    assert not page.exception
    assert bar(page).startswith(f"Judging with {judge.name}")
    assert page.metric[0].value == "–"
    judge.let(3)
    judged(judge, 49)
    page.run()

    assert not page.exception
    assert page.metric[0].value.endswith(" of 7")
    assert page.metric[2].value == "7"


def test_doubts_are_said_at_the_criteria_in_the_table_and_inside_an_llm(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = WarningCRM()
    judge.name = "doubting"
    register(monkeypatch, judge)
    open_view(page, crm="doubting", criterion=["Warm", *(f"<u>*{year}*</u>" for year in range(1990, 1996))])
    notices = [element.value.replace("\\", "") for element in page.info]
    assert "“<u>*1990*</u>” is left out of this ranking. It tells no number from another." in notices
    assert any(
        notice == "3 more. Left out, as the judge cannot judge it: “<u>*1993*</u>”; “<u>*1994*</u>”; "
        "“<u>*1995*</u>”"
        for notice in notices
    )
    wait_until(lambda: bar(page.run()) == "")
    assert "Left out, as the judge cannot judge it: “&lt;u&gt;*1990*&lt;/u&gt;”" in table(page)
    page.toggle(key="keep_unjudged").set_value(True).run()
    notices = [element.value.replace("\\", "") for element in page.info]
    assert "Do not rely on “<u>*1990*</u>” in this ranking. It tells no number from another." in notices
    assert any(
        notice.startswith("4 more. Doubtful: “<u>*1993*</u>”;")
        and notice.endswith("These criteria ask for contrary things.")
        for notice in notices
    )
    wait_until(lambda: bar(page.run()) == "")
    assert "Doubtful: “&lt;u&gt;*1990*&lt;/u&gt;”" in table(page)
    assert "1" in page.query_params["keep-unjudged"]
    page.switch_page("pages/llm.py").run()
    assert any("Doubtful: “&lt;u&gt;" in element.body for element in page.get("html"))


def test_a_doubt_stands_at_the_verdict_it_is_about(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    class Doubting(type(embedded := get_crm())):  # type: ignore[misc]
        def __init__(self) -> None:
            self.__dict__.update(embedded.__dict__)

        def warnings(self, criteria: CriteriaSet) -> tuple[CriterionWarning, ...]:
            return tuple(
                CriterionWarning(item, "It is <b>not</b> seen.") for item in criteria if item.text == "Old"
            )

    register(monkeypatch, Doubting())
    page.query_params["criterion"] = ["Playful humor", "Old"]
    page.query_params["keep-unjudged"] = "1"
    page.query_params["llm"] = "jester"
    page.query_params["topic"] = "Short fiction"
    page.query_params["query"] = "01-1"
    page.switch_page("pages/llm.py").run()
    verdicts = [element.body for element in page.get("html") if " %</b> " in element.body]

    assert not page.exception
    assert [("not to be relied on: It is &lt;b&gt;not&lt;/b&gt; seen." in text) for text in verdicts] == [
        False,
        False,
        True,
    ]
    open_view(page, keep_unjudged="0")
    bodies = [element.body for element in page.get("html")]
    assert len([body for body in bodies if " %</b> " in body]) == 2
    assert any("Left out, as the judge cannot judge it: “Old”" in body for body in bodies)
