from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion
from leaderboard.render.robustness_sentences import (
    against_the_favourite,
    comparison_sentences,
    headline,
    sensitivity_sentences,
)
from leaderboard.render.tables import groups_table
from leaderboard.result import Leaderboard
from leaderboard.robustness import Robustness, WithoutOne, assess_robustness
from leaderboard.service import Service
from leaderboard.statistics.style_control import Control
from leaderboard.view import View
from tests.judges import SlowCRM, register

TWO = View("dailybench", criteria=CriteriaSet.of(["Concise and direct", "Warm and encouraging"]))
NAMES = {name: name.title() for name in ("ann", "bob", "cid", "dan")}


def both(service: Service, view: View) -> tuple[Leaderboard, Robustness]:
    found = assess_robustness(service, view)
    assert found is not None
    return service.leaderboard(view), found


def test_it_is_about_the_ranking_that_is_shown(service: Service) -> None:
    for control in Control:
        view = View("dailybench", ("Humor & Entertainment",), TWO.criteria, control=control)
        leaderboard, found = both(service, view)

        assert found.significance.llms == leaderboard.ranking.llms
        np.testing.assert_allclose(found.significance.win_rate, leaderboard.ranking.win_rate)


def test_without_a_criterion_the_top_is_that_of_the_others(service: Service) -> None:
    _, found = both(service, TWO)
    concise = next(item for item in found.without_one if item.left_out == "Concise and direct")
    warm = service.leaderboard(View("dailybench", criteria=CriteriaSet.of(["Warm and encouraging"])))

    assert concise.is_criterion
    assert concise.after == warm.ranking.llms[:3]
    assert concise.changes == (concise.before != concise.after)


def test_without_a_category_the_top_is_that_of_the_other_queries(service: Service) -> None:
    names = service.benchmark("dailybench").category_names
    _, found = both(service, TWO)
    categories = [item for item in found.without_one if not item.is_criterion]
    rest = service.leaderboard(View("dailybench", names[1:], TWO.criteria)).ranking

    assert [item.left_out for item in categories] == list(names)
    assert categories[0].after == rest.llms[:3]


def test_what_is_left_out_of_the_ranking_is_not_left_out_in_turn(service: Service) -> None:
    with_finnish = replace(TWO, criteria=CriteriaSet((*TWO.criteria, Criterion("Written in Finnish"))))
    leaderboard, found = both(service, with_finnish)

    assert leaderboard.criteria == TWO.criteria
    assert found.without_one == both(service, TWO)[1].without_one


def test_one_category_alone_cannot_be_left_out(service: Service) -> None:
    _, found = both(service, View("dailybench", ("Arts & Culture",)))

    assert found.without_one == ()


def test_a_slow_judge_is_not_asked_for_other_criteria(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    crm = SlowCRM()
    register(monkeypatch, crm)
    view = View(
        "dailybench", ("Arts & Culture", "Puzzles & Logic"), CriteriaSet.of(["long", "warm"]), crm=crm.name
    )

    assert assess_robustness(own_service, view) is None
    own_service.judge(view, compare=False)
    leaderboard, found = both(own_service, view)
    assert found.significance.llms == leaderboard.ranking.llms
    assert not found.criteria_tried
    assert not any(item.is_criterion for item in found.without_one)


def test_the_groups_are_a_table_in_the_order_of_the_ranking(service: Service) -> None:
    leaderboard, found = both(service, View("alpaca-eval"))
    table = groups_table(leaderboard, found.significance)
    listed = [part.split('"', 1)[0] for part in table.split('data-llm="')[1:]]

    assert listed == list(leaderboard.ranking.llms)
    assert table.count("<tbody>") == found.significance.group[-1] + 1


def test_odd_names_are_shown_as_they_are_written(oddly_named: Leaderboard, own_service: Service) -> None:
    found = assess_robustness(own_service, oddly_named.view)
    assert found is not None

    assert "<img" not in groups_table(oddly_named, found.significance)
    assert "&lt;b&gt;Zed" in groups_table(oddly_named, found.significance)


class TestWords:
    def test_say_who_comes_first_and_who_is_as_good(self, service: Service) -> None:
        leaderboard, found = both(service, View("alpaca-eval"))
        said = headline(found.significance, leaderboard.titles)

        first, second = (leaderboard.titles[llm] for llm in found.significance.llms[:2])
        certainty = round(100 * found.significance.first[0])
        assert said.startswith(
            f"With other questions like these, {first} would come first {certainty} times in 100."
        )
        assert f" It cannot be told apart from {second}, " in said

    def test_warn_of_few_queries(self, service: Service) -> None:
        leaderboard, found = both(service, View("dailybench", ("Short fiction",)))

        assert "This rests on only 6 questions" in headline(found.significance, leaderboard.titles)

    def test_compare_the_first_with_the_crowds_favourite(self, service: Service) -> None:
        leaderboard, found = both(service, TWO)
        assert leaderboard.default is not None
        said = against_the_favourite(found.significance, leaderboard.default, leaderboard.titles)

        crowd, first = (
            leaderboard.titles[each.llms[0]] for each in (leaderboard.default, leaderboard.ranking)
        )
        assert said.startswith(f"The favourite without criteria, {crowd}, is ")
        assert said.endswith(f" points behind your first, {first}: more than chance.")

    def test_say_what_would_settle_a_close_race_in_either_order(self, service: Service) -> None:
        leaderboard, found = both(service, View("alpaca-eval"))
        first, second = found.significance.llms[:2]
        said = comparison_sentences(found.significance, first, second, leaderboard.titles)

        assert "That may be chance. " in said
        assert said == comparison_sentences(found.significance, second, first, leaderboard.titles)
        assert comparison_sentences(found.significance, first, first, leaderboard.titles).startswith("Choose")

    def test_say_that_queries_do_not_mend_the_judges_error(self, service: Service) -> None:
        leaderboard, found = both(service, View("alpaca-eval"))
        exact = replace(found.significance, samples=found.significance.drawn)
        first, second = found.significance.llms[2:4]
        of_judge, of_queries = (
            comparison_sentences(each, first, second, leaderboard.titles)
            for each in (found.significance, exact)
        )

        assert of_judge.endswith("More questions would not settle it: what remains is the judge's own error.")
        assert " That may be chance. About " in of_queries
        assert "more questions like these would settle it four times in five" in of_queries

    def test_say_what_the_top_hangs_on(self) -> None:
        before = ("ann", "bob", "cid")
        items = [
            WithoutOne("Warm", True, before, ("dan", "ann", "bob")),
            WithoutOne("Brief", True, before, before),
            WithoutOne("Home", False, before, ("bob", "ann", "cid")),
            WithoutOne("Work", False, before, ("bob", "ann", "cid")),
        ]

        assert sensitivity_sentences(items, NAMES, criteria_tried=True) == [
            "Without the criterion “Warm”, Dan replaces Cid in the top 3.",
            "Without one of the categories Home or Work, the order of the top 3 is Bob, Ann and Cid.",
            "Leaving out any other criterion or category leaves the top 3 as it is.",
        ]

    def test_say_that_the_top_hangs_on_nothing(self) -> None:
        same = [WithoutOne("Home", False, ("ann",), ("ann",))]

        assert sensitivity_sentences(same, NAMES, criteria_tried=False) == [
            "The top 3 stays as it is whichever category is left out."
        ]
        assert sensitivity_sentences([], NAMES, criteria_tried=True) == []
