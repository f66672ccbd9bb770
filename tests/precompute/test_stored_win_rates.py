"""The win rates of a whole score matrix, over all queries and by category."""

import numpy as np
import pytest

from leaderboard.service import Service
from precompute.score import win_rate_records


def test_every_llm_has_one_for_all_queries_and_one_a_category(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    prob = np.full((7, 522), 0.75, dtype=np.float32)
    prob[1] = 0.25
    prob[2, :261] = np.nan
    records = {(item.llm, item.category): item for item in win_rate_records(benchmark, prob)}

    assert len(records) == sum(
        np.isfinite(prob[:, inside]).any(axis=1).sum()
        for inside in (np.ones(522, bool), *(benchmark.category_index == c for c in range(12)))
    )
    winner, loser, partial = (records[llm, ""] for llm in benchmark.llms[:3])
    # Who wins all has no spread to draw from: Wilson’s interval.
    assert (winner.hard, winner.ci_low, winner.ci_high) == (
        1,
        pytest.approx(522 / (522 + 1.96**2), abs=1e-5),
        1,
    )
    assert (loser.hard, loser.n_queries) == (0, 522)
    assert (winner.soft, loser.soft) == pytest.approx((0.75, 0.25))
    assert partial.n_queries == 261
    assert all(0 <= item.ci_low <= item.hard <= item.ci_high <= 1 for item in records.values())


def test_a_mistaken_judge_widens_the_intervals(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    prob = np.random.default_rng(0).random((7, 522)).astype(np.float32)
    sure, mistaken = (win_rate_records(benchmark, prob, judge_error=error) for error in (0.0, 0.8))

    assert [item.hard for item in sure] == [item.hard for item in mistaken]
    everywhere = [(a, b) for a, b in zip(sure, mistaken, strict=True) if a.category == ""]
    assert all(b.ci_high - b.ci_low > 2 * (a.ci_high - a.ci_low) for a, b in everywhere)


def test_an_llm_without_any_verdict_has_none(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    prob = np.full((7, 522), np.nan, dtype=np.float32)
    prob[0] = 0.5
    assert {item.llm for item in win_rate_records(benchmark, prob)} == {benchmark.llms[0]}
