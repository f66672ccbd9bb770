import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from leaderboard.compare import Column, SideBySide, in_words, read, side_by_side, written
from leaderboard.export import rank_agreement_csv, ranks_csv
from leaderboard.render.chart_style import LIGHT
from leaderboard.render.ranking_charts import bump_chart
from leaderboard.render.tables import rank_agreement_table, ranks_table
from leaderboard.result import Leaderboard
from leaderboard.service import Service
from leaderboard.statistics.correlation import Measure, correlate
from leaderboard.statistics.style_control import Control
from leaderboard.view import TopicWeight, View

CONCISE = CriteriaSet.of(["Concise and direct"])
WARM = CriteriaSet.of(["Warm and encouraging"])


def columns(service: Service, *chosen: View) -> list[Column]:
    boards = [service.leaderboard(view) for view in chosen]
    return [
        Column(letter, in_words(board.view, board.benchmark.info.title), board)
        for letter, board in zip("ABCDEFGH", boards, strict=False)
    ]


@pytest.fixture(scope="module")
def compared(service: Service) -> SideBySide:
    crowd = View("dailybench")
    return side_by_side(
        columns(service, crowd, replace(crowd, criteria=CONCISE), replace(crowd, criteria=WARM))
    )


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_ranks_stand_beside_each_other_in_the_order_of_the_first_view(
    compared: SideBySide, service: Service
) -> None:
    assert compared.llms == service.leaderboard(View("dailybench")).ranking.llms
    assert compared.ranks.shape == (7, 3)
    np.testing.assert_array_equal(compared.ranks[:, 0], np.arange(1, 8))
    assert compared.ranks[compared.llms.index("brevia"), 1] == 1


@pytest.mark.parametrize("measure", Measure)
def test_agreement_is_that_of_the_leaderboard_with_the_crowd(
    compared: SideBySide, service: Service, measure: Measure
) -> None:
    concise = service.leaderboard(View("dailybench", criteria=CONCISE)).correlations
    assert concise is not None
    values = {
        Measure.KENDALL: concise.tau,
        Measure.NDCG: concise.ndcg,
        Measure.RBO: concise.rbo,
        Measure.WEIGHTED_TAU: concise.weighted_tau,
        Measure.SPEARMAN: concise.spearman,
    }
    found = compared.likeness(measure)

    assert found[1, 0] == pytest.approx(values[measure])
    assert measure.is_symmetric == np.allclose(found, found.T)
    p_values = compared.p_values(measure)
    assert np.all((p_values > 0) & (p_values <= 1))


def test_views_of_two_benchmarks_share_no_llm_and_have_no_agreement(service: Service) -> None:
    both = side_by_side(columns(service, View("dailybench"), View("alpaca-eval")))

    assert both.ranks.shape == (54, 2)
    assert both.n_common(0, 1) == 0
    assert np.isnan(both.likeness(Measure.NDCG)[0, 1])
    assert ">–</td>" in rank_agreement_table(both, Measure.NDCG, LIGHT)
    assert ">–</td>" in ranks_table(both, "#123456", "#ffffff")
    bump_chart(both, replace(LIGHT, series=("#123456",)))


def test_a_view_is_said_in_words() -> None:
    view = View("dailybench", ("Short fiction", "Poetry"), CONCISE, "longer", True, Control.LENGTH)

    assert in_words(View("dailybench"), "DailyBench") == "without criteria · all topics · DailyBench"
    weighted = View("dailybench", topic_weights=(TopicWeight("Poetry", 2),), interests=("emails",))
    assert in_words(weighted, "DailyBench") == (
        "without criteria · all topics · weights Poetry=2 · interests emails · DailyBench"
    )
    assert in_words(view, "DailyBench") == (
        "Concise and direct · Short fiction, Poetry · DailyBench · judged by longer · average confidence · "
        "adjusted for length"
    )


@pytest.mark.parametrize(
    "view",
    [
        View(),
        View("dailybench", ("Arts & Culture",), CriteriaSet.of(["a=b&c", "100 % sure"], ["so | so"])),
        View("mine", criteria=CONCISE, crm="longer", soft=True, control=Control.STYLE),
    ],
)
def test_a_view_survives_the_way_through_a_parameter(view: View) -> None:
    assert read(written(view)) == view


def test_the_table_tints_the_best_most_and_escapes_names(
    compared: SideBySide, oddly_named: Leaderboard
) -> None:
    table = ranks_table(compared, "#123456", "#ffffff")
    odd = side_by_side([Column("A", '<i>"odd"</i>', oddly_named)])

    assert table.count("<tr data-llm=") == 7
    assert '"--usl-tint:48%" title="B: score 100.0' in table
    assert "<i>" not in ranks_table(odd, "#123456", "#ffffff")
    assert "<b>Zed" not in ranks_table(odd, "#123456", "#ffffff")


def test_the_heatmap_writes_a_p_value_under_every_pair_but_a_view_with_itself(compared: SideBySide) -> None:
    table = rank_agreement_table(compared, Measure.KENDALL, LIGHT)

    assert table.count("<small>") == 6
    assert table.count(">1.00</td>") == 3
    assert LIGHT.down in table


def test_lines_end_in_names_and_only_those_that_move_most_are_coloured(compared: SideBySide) -> None:
    figure = bump_chart(compared, replace(LIGHT, series=("#000001", "#000002")))

    assert len(figure.data) == 7
    assert all(tuple(line.x) == ("A", "B", "C") for line in figure.data)
    names = {line.text[-1].removesuffix("…") for line in figure.data}
    assert len(names) == 7
    assert all(
        any(title.startswith(name) for name in names) for title in map(compared.titles.get, compared.llms)
    )
    assert sum(line.line.color in {"#000001", "#000002"} for line in figure.data) <= 5
    for column in range(3):
        assert sorted(line.y[column] for line in figure.data) == list(range(1, 8))


class TestFiles:
    def test_ranks_have_a_column_for_each_view(self, compared: SideBySide) -> None:
        rows = rows_of(ranks_csv(compared))
        heading = list(rows[0])

        assert heading[:2] == ["llm", "rank A: without criteria · all topics · DailyBench, open edition"]
        assert [row["llm"] for row in rows] == list(compared.llms)
        assert [int(row[heading[1]]) for row in rows] == compared.ranks[:, 0].tolist()
        assert all(0 <= float(row["win_rate C"]) <= 1 for row in rows)

    def test_agreement_has_a_row_for_each_ordered_pair(self, compared: SideBySide) -> None:
        rows = rows_of(rank_agreement_csv(compared))
        ranks = [dict(zip(compared.llms, column, strict=True)) for column in compared.ranks.T.tolist()]

        assert len(rows) == 6
        assert {row["llms"] for row in rows} == {"7"}
        assert float(rows[0]["ndcg"]) == pytest.approx(correlate(ranks[0], ranks[1]).ndcg, abs=1e-4)
        assert 0 < float(rows[0]["rbo_p"]) <= 1

    def test_nothing_in_them_is_run_by_a_spreadsheet(
        self, service: Service, oddly_named: Leaderboard
    ) -> None:
        formula = CriteriaSet.of(["=HYPERLINK(1)", "@SUM(A1)"])
        evil = replace(service.leaderboard(View("dailybench", criteria=formula)))
        named = Column("A", "=1+1", oddly_named), Column("B", str(formula), evil)
        for text in (ranks_csv(side_by_side(named)), rank_agreement_csv(side_by_side(named))):
            for row in csv.reader(io.StringIO(text)):
                assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in row)
