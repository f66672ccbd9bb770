"""The page on judges, run without a browser."""

import re
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep

import pytest
from streamlit.testing.v1 import AppTest

from crm.errors import CRMError
from crm.evaluation import report as evaluation_report
from crm.evaluation.report import JudgeReport
from tests.crm.evaluation.samples import report

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 60


@pytest.fixture
def page(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    stored(monkeypatch, [report(), report("smollm2", limit=60), report("old", data="other")])
    app.switch_page("pages/judges.py")
    return app


def stored(monkeypatch: pytest.MonkeyPatch, reports: Sequence[JudgeReport] | CRMError) -> None:
    """Let these be the reports that are shipped."""

    def found() -> Sequence[JudgeReport]:
        if isinstance(reports, CRMError):
            raise reports
        return reports

    monkeypatch.setattr(evaluation_report, "bundled_reports", found)


def table(page: AppTest, name: str) -> str:
    return next(element.body for element in page.get("html") if f'data-testid="{name}"' in element.body)


def texts(page: AppTest) -> str:
    """What is written on the page, as it is read."""
    return " ".join(
        str(element.value).replace("\\", "")
        for kind in ("header", "subheader", "caption", "markdown", "error", "info")
        for element in page.get(kind)
    )


def settle(page: AppTest) -> None:
    """Run the page until both judges are done: AppTest does not ask again by itself, as a browser does."""
    deadline = monotonic() + WAIT_SECONDS
    page.run()
    while page.get("progress") and monotonic() < deadline:
        sleep(0.2)
        page.run()


def metrics(page: AppTest) -> dict[str, str]:
    return {element.label: element.value for element in page.metric}


def test_shows_the_stored_evaluations_on_the_same_questions(page: AppTest) -> None:
    settle(page)

    assert not page.exception
    assert ">embedded</b>" in table(page, "judges-accuracy")
    assert "60 of each set" in table(page, "judges-accuracy")
    assert ">old</b>" not in table(page, "judges-accuracy")
    assert ">embedded</b>" in table(page, "judges-properties")
    assert "not shown: old" in texts(page)
    assert "Timed on a machine" in texts(page)


def test_it_says_who_favours_the_favoured_side(page: AppTest) -> None:
    settle(page)

    manifest = (ROOT / "benchmarks" / "results" / "evaluation_sets.md").read_text()
    assert "“+” is the side that embedded 18 favours without criteria" in manifest
    assert "the response that the embedded judge favours without criteria" in " ".join(texts(page).split())
    [named] = re.findall(r"`(benchmarks/results/\w+\.md)`", texts(page))
    assert "“+” being what annotators think a typical person prefers" in (ROOT / named).read_text()


def test_without_evaluations_it_says_how_to_make_one(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, [])
    settle(page)

    assert not page.exception
    assert "python -m crm evaluate --bundle" in texts(page)
    assert metrics(page)


def test_a_damaged_evaluation_is_named_and_the_rest_stays(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(monkeypatch, CRMError("x.json is no report of a judge: make it again."))
    settle(page)

    assert "x.json is no report of a judge" in texts(page)
    assert metrics(page)


def test_two_judges_are_compared_where_both_can_judge(page: AppTest) -> None:
    settle(page)

    assert page.selectbox(key="on").value == "dailybench"
    assert (page.selectbox(key="first").value, page.selectbox(key="second").value) == ("embedded", "longer")
    assert list(metrics(page)) == ["Kendall τ", "NDCG", "RBO", "Weighted τ", "Spearman ρ"]
    assert "“embedded” and “longer”" in texts(page)


def test_typed_criteria_change_the_comparison(page: AppTest) -> None:
    settle(page)
    before = metrics(page)
    page.text_area(key="agreement_criteria").set_value("concise and direct")
    settle(page)

    assert metrics(page) != before
    assert metrics(page)["Kendall τ"].startswith("−")
    assert "brevia (extremely concise): 1 → 7" in texts(page)
    assert page.query_params["criterion"] in ("concise and direct", ["concise and direct"])


def test_criteria_that_no_judge_can_take_are_named(page: AppTest) -> None:
    settle(page)
    page.text_area(key="agreement_criteria").set_value("x" * 301)
    settle(page)

    assert "has 301 characters" in texts(page)


def test_a_judge_agrees_with_itself(page: AppTest) -> None:
    settle(page)
    page.selectbox(key="second").set_value("embedded")
    settle(page)

    assert metrics(page)["Kendall τ"] == "1.00"
    assert "No LLM changes places" in texts(page)


def test_a_benchmark_without_texts_has_no_two_judges(page: AppTest) -> None:
    settle(page)
    page.selectbox(key="on").set_value("alpaca-eval")
    settle(page)

    assert not page.exception
    assert "No texts of AlpacaEval" in texts(page)
    assert not metrics(page)


def test_a_link_opens_what_was_compared(page: AppTest) -> None:
    page.query_params["on"] = "dailybench"
    page.query_params["first"] = "longer"
    page.query_params["second"] = "embedded"
    page.query_params["criterion"] = "warm"
    settle(page)

    assert (page.selectbox(key="first").value, page.selectbox(key="second").value) == ("longer", "embedded")
    assert page.text_area(key="agreement_criteria").value == "warm"
    assert "“longer” and “embedded”" in texts(page)
