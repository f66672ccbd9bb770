from dataclasses import replace

import pytest

from crm.criteria import CriteriaSet
from leaderboard.errors import LeaderboardError
from leaderboard.judges import Agreement, able_judges, agreement, comparable
from leaderboard.render.chart_style import LIGHT
from leaderboard.render.judge_charts import accuracy_chart, agreement_chart, calibration_chart
from leaderboard.render.judge_tables import accuracy_table, duration, property_table
from leaderboard.result import Leaderboard
from leaderboard.service import Service
from leaderboard.view import View
from tests.crm.evaluation.samples import report


@pytest.fixture(scope="module")
def compared(service: Service) -> Agreement:
    concise = CriteriaSet.of(["concise and direct"])
    return agreement(
        service.leaderboard(View("dailybench", criteria=concise)),
        service.leaderboard(View("dailybench", criteria=concise, crm="longer"), patience=60),
    )


class TestAgreement:
    def test_of_opposite_judges_is_negative(self, compared: Agreement) -> None:
        assert (compared.first, compared.second) == ("embedded", "longer")
        assert compared.correlations.n == 7
        assert compared.correlations.tau < -0.5
        assert compared.llms[0].title == "brevia (extremely concise)"
        assert (compared.llms[0].first, compared.llms[0].second) == (1, 7)
        assert compared.llms[0].change == -6

    def test_of_a_judge_with_itself_is_perfect(self, service: Service) -> None:
        one = service.leaderboard(View("dailybench"))
        same = agreement(one, one)

        assert same.correlations.tau == 1
        assert same.sentence == "“embedded” and “embedded” rank the LLMs in the same order."
        assert {item.change for item in same.llms} == {0}

    def test_llms_stand_in_the_first_judges_order_with_their_win_rates(self, compared: Agreement) -> None:
        assert [item.first for item in compared.llms] == sorted(item.first for item in compared.llms)
        assert all(
            0 <= rate <= 1 for item in compared.llms for rate in (item.first_win_rate, item.second_win_rate)
        )

    @pytest.mark.parametrize(
        ("tau", "p_value", "n", "words"),
        [
            (0.9, 0.001, 8, "hardly differ."),
            (0.6, 0.01, 9, "largely agree, with some LLMs changing places."),
            (0.3, 0.01, 46, "partly agree."),
            (0.3, 0.4, 8, "show no clear agreement: with 8 LLMs, this could be chance."),
            (-0.6, 0.01, 9, "lean opposite ways."),
            (-0.9, 0.001, 8, "are nearly the reverse of each other."),
            (1.0, 0.1, 4, "rank only 4 LLMs in common: any agreement could be chance."),
        ],
    )
    def test_is_put_into_words(
        self, compared: Agreement, tau: float, p_value: float, n: int, words: str
    ) -> None:

        changed = replace(compared.correlations, tau=tau, p_value=p_value, n=n)
        assert replace(compared, correlations=changed).sentence == f"“embedded” and “longer” {words}"

    def test_with_a_judge_that_has_judged_nothing_is_refused(self, service: Service) -> None:
        ready = service.leaderboard(View("dailybench"))
        unseen = CriteriaSet.of(["a wish that nobody had before"])
        idle = service.leaderboard(View("dailybench", criteria=unseen, crm="cosine"), subscriber=None)

        with pytest.raises(LeaderboardError, match="“cosine” has not judged anything yet"):
            agreement(ready, idle)


class TestAbleJudges:
    def test_texts_are_for_all_judges_and_representations_for_those_that_read_them(
        self, service: Service
    ) -> None:
        judges = {summary.slug: able_judges(service.database, summary) for summary in service.benchmarks()}

        assert {"embedded", "longer", "cosine"} <= set(judges["dailybench"])
        assert "embedded" in judges["alpaca-eval"]
        assert {"longer", "cosine", "smollm2"}.isdisjoint(judges["alpaca-eval"])


class TestComparable:
    def test_only_reports_on_the_same_questions_stand_side_by_side(self) -> None:
        found = comparable([report("a"), report("old", data="x"), report("b")])

        assert [one.judge for one in found.shown] == ["a", "b"]
        assert found.left_out == ("old",)

    def test_of_nothing_is_nothing(self) -> None:
        assert comparable([]) == comparable(())
        assert comparable([]).shown == ()


class TestTables:
    def test_accuracies_have_their_interval_at_hand(self) -> None:
        table = accuracy_table([report()], LIGHT, "#fff")

        assert table.count("<td") == 2 + 2 * 7  # the corner over the judges among them
        assert 'title="95 % between 85.0 and 93.0; 100 questions"' in table
        assert ">90.0</td>" in table
        assert '<td class="usl-average">88.0</td><td>+1.0</td>' in table

    def test_what_is_worse_than_chance_has_another_colour(self) -> None:

        accuracies = dict(report().accuracies)
        accuracies["topic_minus"] = replace(accuracies["topic_minus"], value=0.2)
        table = accuracy_table([report(accuracies=accuracies)], LIGHT, "#fff")

        assert table.count(LIGHT.down) == 1
        assert table.count(LIGHT.accent) == 9

    def test_what_is_unknown_is_a_dash(self) -> None:
        bare = report(accuracies={}, length=None)

        assert accuracy_table([bare], LIGHT, "#fff").count(">–</td>") == 14
        assert property_table([bare], "#fff").count(">–</td>") == 5

    def test_names_and_notes_are_escaped(self) -> None:
        odd = report("<script>", held_out_judge="<b>", limit=60)

        for table in (accuracy_table([odd], LIGHT, "#fff"), property_table([odd], "#fff")):
            assert "<script>" not in table
            assert "&lt;script&gt;</b>" in table
        assert "<small>60 of each set</small>" in accuracy_table([odd], LIGHT, "#fff")
        assert "<small>on new criteria: trained without them</small>" in accuracy_table([odd], LIGHT, "#fff")

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(0.034, "0.034 s"), (12.4, "12 s"), (119, "119 s"), (1500, "25 min"), (9000, "2.5 h")],
    )
    def test_times_read_well(self, seconds: float, text: str) -> None:
        assert duration(seconds) == text


class TestCharts:
    def test_accuracies_are_marks_with_intervals(self) -> None:
        figure = accuracy_chart([report("a"), report("b")], "topic", LIGHT)
        first, second = figure.data

        assert (first.name, second.name) == ("a", "b")
        assert list(first.x) == pytest.approx([90, 89, 88, 87, 86])
        assert list(first.error_x.array) == pytest.approx([3] * 5)
        assert list(first.error_x.arrayminus) == pytest.approx([5] * 5)
        assert set(first.y).isdisjoint(second.y)
        assert first.marker.color != second.marker.color

    def test_calibration_is_drawn_against_the_diagonal(self) -> None:
        diagonal, judge = calibration_chart([report()], LIGHT).data

        assert list(diagonal.x) == list(diagonal.y)
        assert list(judge.x) == [20, 80]
        assert list(judge.y) == [30, 75]
        assert judge.marker.size[1] > judge.marker.size[0]

    def test_agreement_has_a_mark_an_llm(self, compared: Agreement) -> None:
        _, marks = agreement_chart(compared, LIGHT).data

        assert list(marks.x) == [item.first for item in compared.llms]
        assert list(marks.y) == [item.second for item in compared.llms]
        assert all(marks.text)
        assert marks.marker.color[0] == LIGHT.down

    def test_of_many_llms_only_those_that_move_are_named(self, service: Service) -> None:
        one = service.leaderboard(View())
        other = service.leaderboard(View(criteria=CriteriaSet.of(["concise and direct"])))
        figure = agreement_chart(agreement(one, other), LIGHT)

        assert sum(map(bool, figure.data[1].text)) == 8

    def test_odd_names_are_no_markup(self, oddly_named: Leaderboard) -> None:
        _, marks = agreement_chart(agreement(oddly_named, oddly_named), LIGHT).data

        assert not any("<" in text or "%{" in text for text in marks.text)
