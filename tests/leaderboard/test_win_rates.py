"""Win rates on the command line where there is no baseline to have been measured against."""

import csv
import io

import pytest

from crm.criteria import CriteriaSet, LabelledCriteria
from leaderboard import win_rates
from leaderboard.__main__ import main
from leaderboard.service import Service
from leaderboard.view import DEFAULT_BENCHMARK, View
from tests.conftest import Run

CONCISE = CriteriaSet.of(["Concise and direct"])


@pytest.fixture
def one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(win_rates, "popular_criteria", lambda: (LabelledCriteria("Concise", CONCISE),))


@pytest.mark.usefixtures("one_list")
def test_the_first_benchmark_of_a_fresh_install_has_win_rates_against_all_others(
    run_main: Run, service: Service
) -> None:
    code, printed, complained = run_main(main, "win-rates")
    rows = list(csv.DictReader(io.StringIO(printed)))

    assert (code, complained) == (0, "")
    assert service.benchmark(DEFAULT_BENCHMARK).record.baseline is None
    assert {row["criteria"] for row in rows} == {"∅", "Concise and direct"}
    assert {row["crm"] for row in rows} == {"embedded"}
    for category in ("", "Story plans"):
        topics = (category,) if category else ()
        view = View(DEFAULT_BENCHMARK, criteria=CONCISE, topics=topics)
        shown = service.leaderboard(view, subscriber=None).ranking
        listed = [row for row in rows if (row["criteria_key"], row["category"]) == (CONCISE.key, category)]
        assert {row["llm"]: (row["win_rate"], row["ci_low"], row["n_queries"]) for row in listed} == {
            llm: (f"{shown.win_rate[row]:.4f}", f"{shown.ci_low[row]:.4f}", str(shown.n_queries[row]))
            for row, llm in enumerate(shown.llms)
            if shown.n_queries[row]
        }
        assert len(listed) > 5
    assert any(row["win_rate"] != row["soft_win_rate"] for row in rows)


@pytest.mark.usefixtures("one_list")
def test_a_judge_that_needs_a_baseline_is_refused(run_main: Run) -> None:
    code, printed, complained = run_main(main, "win-rates", "--crm", "longer")
    assert (code, printed) == (2, "")
    assert "rank against a baseline" in complained
