"""Essential criteria as a must, from the view to what is shown."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion, Weight
from leaderboard.compare import in_words
from leaderboard.export import ranking_csv, ranking_json
from leaderboard.render.tables import ranking_table, under_floor_table
from leaderboard.request import MAX_MUSTS
from leaderboard.robustness import assess_robustness
from leaderboard.sentences import NO_MUSTS
from leaderboard.service import Service
from leaderboard.view import View
from tests.judges import SlowCRM, register

SHORT = Criterion("Short answers")
WARM = Criterion("Warm and encouraging")
HUMOR = Criterion("Playful humor", Weight.OPTIONAL)
ALONE = View("alpaca-eval", criteria=CriteriaSet((SHORT, WARM, HUMOR)))
VIEW = replace(ALONE, must_have=True)


def test_who_misses_a_must_comes_after_all_that_meet_it(service: Service) -> None:
    alone, shown = service.leaderboard(ALONE), service.leaderboard(VIEW)
    n_missed = [len(shown.misses.get(llm, ())) for llm in shown.ranking.llms]
    rates = dict(zip(alone.ranking.llms, alone.ranking.win_rate, strict=True))

    assert shown.musts == (SHORT, WARM)
    assert n_missed == sorted(n_missed)
    assert 0 < n_missed.count(0) < 47
    assert n_missed.count(2) > 0
    for count in range(3):
        tier = [rates[llm] for llm, n in zip(shown.ranking.llms, n_missed, strict=True) if n == count]
        assert tier == sorted(tier, reverse=True)
    assert dict(zip(shown.ranking.llms, shown.ranking.win_rate, strict=True)) == rates
    assert f"Essential criteria are a must: {len(shown.misses)} of 47 LLMs miss one" in shown.caveats
    assert (alone.musts, alone.misses) == ((), {})


def test_each_must_is_missed_by_about_half_and_by_the_worst_under_it(service: Service) -> None:
    shown = service.leaderboard(VIEW)
    for must in (SHORT, WARM):
        missing = [llm for llm, missed in shown.misses.items() if must in missed]
        under_it = service.leaderboard(replace(ALONE, criteria=CriteriaSet((must,)), soft=True)).ranking.llms

        assert 12 < len(missing) < 35
        assert under_it[-1] in missing
        assert under_it[0] not in missing


def test_a_floor_is_below_all_that_miss(service: Service) -> None:
    shown = service.leaderboard(replace(VIEW, floor=0.5))
    n_missed = [len(shown.misses.get(llm, ())) for llm in shown.ranking.llms]

    assert len(n_missed) == 24
    assert n_missed == sorted(n_missed)
    assert shown.misses == service.leaderboard(VIEW).misses
    below = under_floor_table(shown, str, "#123")
    assert below.count("misses “") == sum(llm in shown.misses for llm in shown.ranking.under_floor)


def test_how_sure_it_is_is_said_of_those_that_can_lead(service: Service) -> None:
    shown, found = service.leaderboard(VIEW), assess_robustness(service, VIEW)
    assert found is not None

    assert found.significance.llms == tuple(llm for llm in shown.ranking.llms if llm not in shown.misses)
    assert found.without_one[0].before == shown.ranking.llms[:3]
    without_short = service.leaderboard(replace(VIEW, criteria=CriteriaSet((WARM, HUMOR)))).ranking.llms
    assert found.without_one[0].after == without_short[:3]


def test_table_and_files_say_what_is_missed(service: Service) -> None:
    shown = service.leaderboard(VIEW)
    rows = list(csv.DictReader(io.StringIO(ranking_csv(shown.ranking, misses=shown.misses, note="x"))))
    listed = json.loads(ranking_json(shown.ranking, misses=shown.misses))
    table = ranking_table(shown, (), str, "#123")

    assert list(rows[0])[-2:] == ["misses", "note"]
    assert [row["misses"] for row in rows] == [
        "; ".join(map(str, shown.misses.get(llm, ()))) for llm in shown.ranking.llms
    ]
    assert [item["misses"] for item in listed] == [
        list(map(str, shown.misses.get(llm, ()))) for llm in shown.ranking.llms
    ]
    assert table.count("misses “") == len(shown.misses)
    assert "Essential criteria are a must" in in_words(VIEW, "AlpacaEval")


def test_only_so_many_criteria_are_a_must(service: Service) -> None:
    many = CriteriaSet(tuple(Criterion(f"Wish number {place}") for place in range(MAX_MUSTS + 5)))
    shown = service.leaderboard(View("dailybench", criteria=many, keep_unjudged=True, must_have=True))

    assert len(shown.musts) == MAX_MUSTS


def test_a_slow_judge_is_not_asked_for_each(own_service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, judge := SlowCRM())
    view = replace(VIEW, benchmark="dailybench", topics=("Poetry",), crm="slow")
    own_service.judge(view)
    shown = own_service.leaderboard(view, subscriber=None)

    assert len(judge.asked) == 2 * 7 * 6
    assert (shown.musts, shown.misses) == ((), {})
    assert shown.no_musts == NO_MUSTS
    assert NO_MUSTS.removesuffix(".") in shown.caveats
    alone = own_service.leaderboard(replace(view, must_have=False), subscriber=None)
    assert alone.no_musts == ""
    np.testing.assert_array_equal(alone.ranking.rank, shown.ranking.rank)


def test_who_never_keeps_to_a_limit_comes_after_those_that_mostly_do(service: Service) -> None:
    page = CriteriaSet.of(["keeps it under a page"])
    nearest, strict = (
        service.leaderboard(View("modern", criteria=page, must_have=must)) for must in (False, True)
    )
    [amount] = nearest.amounts

    # It was asked only what takes pages, and is nearest there.
    assert amount.kept[nearest.ranking.llms[0]] < 0.1
    assert amount.kept[strict.ranking.llms[0]] > 0.9
    assert {llm for llm, share in amount.kept.items() if share < 0.5} <= set(strict.misses)
