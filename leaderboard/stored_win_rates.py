"""The win rates of a whole score matrix as they are stored: over all queries and within each category."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from db import WinRateRecord
from db.repositories.win_rates import ALL_QUERIES
from leaderboard.contest import StoredContest
from leaderboard.statistics.interval import bootstrap_win_rates, win_rate_interval
from leaderboard.statistics.matrix import Mask
from leaderboard.statistics.win_rate import outcomes, win_rates


def win_rate_records(contest: StoredContest, prob: NDArray[np.float32]) -> list[WinRateRecord]:
    """The win rates of every LLM, each the same that the leaderboard shows for these topics.

    Args:
        contest: The benchmark.
        prob: Its score matrix ``[L, Q]``, NaN where there is no verdict.

    Returns:
        All queries first, then the categories that have queries in display order; LLMs without a verdict on
        any of the queries are left out.

    Raises:
        ProbabilityError: A value lies outside [0, 1].
    """
    records = _records(contest, prob, ALL_QUERIES, np.ones(contest.n_queries, dtype=np.bool_))
    for index, name in enumerate(contest.category_names):
        inside = contest.category_index == index
        if inside.any():
            records += _records(contest, prob, name, inside)
    return records


def _records(
    contest: StoredContest, prob: NDArray[np.float32], category: str, selected: Mask
) -> list[WinRateRecord]:
    chosen = prob[:, selected]
    outcome = outcomes(chosen)
    hard, soft = win_rates(outcome), win_rates(outcomes(chosen, soft=True))
    n_queries = np.sum(~np.isnan(outcome), axis=1)
    samples = bootstrap_win_rates(outcome, contest.topic_index[selected])
    ci_low, ci_high = win_rate_interval(samples, hard, n_queries)
    return [
        WinRateRecord(
            llm,
            category,
            float(hard[row]),
            float(soft[row]),
            float(ci_low[row]),
            float(ci_high[row]),
            int(n_queries[row]),
        )
        for row, llm in enumerate(contest.llms)
        if n_queries[row]
    ]
