import json

import numpy as np
import pytest
from numpy.typing import NDArray

from leaderboard import export
from leaderboard.export import ranking_json
from leaderboard.render import tables
from leaderboard.render.tables import ranking_table
from leaderboard.service import Service
from leaderboard.statistics import ranking as ranking_module
from leaderboard.statistics.columns import STATISTIC_COLUMNS, StatisticColumn, n_effective
from leaderboard.view import View


def tie_share(outcome: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of answered queries that are ties, the last LLM's unknown."""
    share = np.nanmean(outcome == 0.5, axis=1)
    share[-1] = np.nan
    return share


TIES = StatisticColumn("ties", tie_share, 2, "Ties", "Share of queries as good as the baseline's")


def test_n_effective_counts_answered_queries_by_weight() -> None:
    outcome = np.array([[1.0, 0.0, 0.5], [1.0, np.nan, np.nan], [np.nan, np.nan, np.nan]])

    assert n_effective(outcome, np.ones(3)).tolist() == [3, 1, 0]
    assert n_effective(outcome, np.array([1.0, 1.0, 0.0])).tolist() == [2, 1, 0]


def test_a_column_that_is_added_stands_in_json_and_on_the_page(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = own_service.leaderboard(View("dailybench"))
    plain = ranking_table(before, (), lambda llm: "", "red")
    for module in (ranking_module, export, tables):
        monkeypatch.setattr(module, "STATISTIC_COLUMNS", (*STATISTIC_COLUMNS, TIES))
    shown = own_service.leaderboard(View("dailybench", soft=True))

    rows = json.loads(ranking_json(shown.ranking))
    html = ranking_table(shown, (), lambda llm: "", "red")

    assert "Ties" not in plain
    assert {"n_effective", "ties"} <= rows[0].keys()
    assert sum(row["ties"] is None for row in rows) == 1
    assert "Share of queries as good as the baseline&#39;s" in html
    assert html.count("<td>–</td>") == 1
    assert html.count("<td>0.") >= len(rows) - 1
