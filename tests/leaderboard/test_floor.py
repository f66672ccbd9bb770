"""A floor of general quality, from the view to what is shown."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from leaderboard.compare import in_words
from leaderboard.export import FLOOR_COLUMNS, ranking_csv, ranking_json, read_ranking_csv
from leaderboard.render.tables import ranking_table, under_floor_table
from leaderboard.robustness import assess_robustness
from leaderboard.scoring_jobs.progress import State
from leaderboard.service import Service
from leaderboard.statistics.correlation import correlate
from leaderboard.statistics.style_control import Control
from leaderboard.view import View
from tests.judges import SlowCRM, register

ALONE = View("alpaca-eval", criteria=CriteriaSet.of(["Short answers"]))
VIEW = replace(ALONE, floor=0.5)


@pytest.mark.parametrize("control", [Control.NONE, Control.LENGTH])
def test_who_is_generally_not_preferred_has_no_place(service: Service, control: Control) -> None:
    alone = service.leaderboard(replace(ALONE, control=control))
    shown = service.leaderboard(replace(VIEW, control=control))
    assert alone.default is not None
    crowd = alone.default.ranks
    better = {llm for llm, rank in crowd.items() if rank <= 24}

    assert len(crowd) == 47
    assert shown.ranking.llms == tuple(llm for llm in alone.ranking.llms if llm in better)
    assert shown.ranking.rank.tolist() == [
        1 + int(np.sum(shown.ranking.win_rate.round(12) > rate)) for rate in shown.ranking.win_rate.round(12)
    ]
    assert shown.ranking.under_floor == tuple(llm for llm in alone.ranking.llms if llm not in better)
    assert shown.ranking.without_floor is not None
    assert shown.ranking.without_floor.ranks == alone.ranking.ranks
    assert shown.llms == (*shown.ranking.llms, *shown.ranking.under_floor)
    np.testing.assert_allclose(
        shown.changes, [crowd[llm] - rank for llm, rank in shown.ranking.ranks.items()]
    )
    assert shown.correlations == correlate(shown.ranking.ranks, {llm: crowd[llm] for llm in better})
    assert "Only the better half of the ranking without criteria: 23 are below the floor" in shown.caveats


def test_without_criteria_nobody_is_under_the_floor(service: Service) -> None:
    crowd = service.leaderboard(View("alpaca-eval", floor=0.5))
    finnish = CriteriaSet.of(["Written in Finnish"])
    none_left = service.leaderboard(View("alpaca-eval", criteria=finnish, floor=0.5))

    for shown in (crowd, none_left):
        assert len(shown.ranking.ranks) == 47
        assert not any("floor" in caveat for caveat in shown.caveats)


def test_how_sure_it_is_is_said_of_those_above(service: Service) -> None:
    shown, found = service.leaderboard(VIEW), assess_robustness(service, VIEW)
    assert found is not None

    assert found.significance.llms == shown.ranking.llms
    assert found.significance.first.sum() == pytest.approx(1)
    assert found.without_one[0].before == shown.ranking.llms[:3]
    assert not {llm for item in found.without_one for llm in item.after} & set(shown.ranking.under_floor)


def test_files_say_who_is_under_the_floor(service: Service) -> None:
    ranking = service.leaderboard(VIEW).ranking
    text = ranking_csv(ranking, ["Puzzles & Logic"], note="a note")
    rows = list(csv.DictReader(io.StringIO(text)))
    listed = json.loads(ranking_json(ranking))

    assert list(rows[0])[-4:] == ["Puzzles & Logic", *FLOOR_COLUMNS, "note"]
    assert [row["llm"] for row in rows] == [*ranking.llms, *ranking.under_floor]
    assert [row["under_floor"] for row in rows] == ["no"] * 24 + ["yes"] * 23
    assert [row["rank"] for row in rows] == [*map(str, ranking.rank), *[""] * 23]
    assert ranking.without_floor is not None
    ranks = ranking.without_floor.ranks
    assert {row["llm"]: int(row["rank_without_floor"]) for row in rows} == ranks
    assert read_ranking_csv(text) == ranking.ranks
    assert [item["under_floor"] for item in listed] == [False] * 24 + [True] * 23
    assert [item["rank_low"] for item in listed[24:]] == [None] * 23
    assert [str(item["rank_without_floor"]) for item in listed] == [row["rank_without_floor"] for row in rows]


def test_the_table_shows_them_apart(service: Service) -> None:
    shown = service.leaderboard(VIEW)
    above, below = ranking_table(shown, (), str, "#123"), under_floor_table(shown, str, "#123")

    assert above.count("data-llm=") == 24
    assert below.count("data-llm=") == 23
    assert under_floor_table(service.leaderboard(ALONE), str, "#123") == ""
    assert "only the better half without criteria" in in_words(VIEW, "AlpacaEval")
    assert "only the best 70 % without criteria" in in_words(replace(VIEW, floor=0.3), "AlpacaEval")


def test_a_slow_judges_floor_comes_with_the_comparison(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, SlowCRM())
    view = View("dailybench", ("Poetry",), CriteriaSet.of(["short"]), crm="slow", floor=0.5)
    own_service.judge(view, compare=False)
    waiting = own_service.leaderboard(view, subscriber=None)
    assert waiting.floor_waits
    assert len(waiting.ranking.ranks) == 7
    assert "The floor comes with the comparison with the average ranking" in waiting.caveats
    own_service.judge(view)
    shown = own_service.leaderboard(view, subscriber=None)
    found = assess_robustness(own_service, view)

    assert shown.judging is not None
    assert shown.judging.current.state is State.FINISHED
    assert not shown.floor_waits
    assert shown.default is not None
    assert set(shown.ranking.llms) == {llm for llm, rank in shown.default.ranks.items() if rank <= 4}
    assert found is not None
    assert found.significance.llms == shown.ranking.llms
