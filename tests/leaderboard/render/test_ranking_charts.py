import subprocess
import sys

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from leaderboard.explain import TopicScore
from leaderboard.render.chart_style import DARK, LIGHT
from leaderboard.render.ranking_charts import interval_chart, slope_chart, topic_chart
from leaderboard.result import Leaderboard
from leaderboard.service import Service
from leaderboard.view import View


@pytest.fixture
def concise(service: Service) -> Leaderboard:
    return service.leaderboard(View("dailybench", criteria=CriteriaSet.of(["concise and direct"])))


def test_intervals_are_bars_best_on_top(concise: Leaderboard) -> None:
    figure = interval_chart(concise, LIGHT)
    [bars] = figure.data

    assert bars.y[0] == "brevia (extremely concise)"
    assert figure.layout.yaxis.autorange == "reversed"
    np.testing.assert_allclose(bars.x, 100 * concise.ranking.win_rate)
    np.testing.assert_allclose(bars.x + bars.error_x.array, 100 * concise.ranking.ci_high)
    np.testing.assert_allclose(bars.x - bars.error_x.arrayminus, 100 * concise.ranking.ci_low)
    assert tuple(figure.layout.xaxis.range) == (0, 100)


def test_slopes_join_the_crowds_rank_with_ones_own(concise: Leaderboard) -> None:
    figure = slope_chart(concise, LIGHT)

    assert len(figure.data) == 7
    for line in figure.data:
        assert tuple(line.x) == (0, 1)
        colour = LIGHT.up if line.y[0] > line.y[1] else LIGHT.down if line.y[0] < line.y[1] else LIGHT.muted
        assert line.line.color == colour
    brevia = next(line for line in figure.data if "brevia" in line.text[0])
    assert brevia.y[1] == 1
    assert brevia.text[1] == "1  brevia (extremely c…"
    assert brevia.text[0].endswith(f"  {concise.default.ranks['brevia']}")


def test_tied_llms_do_not_lie_on_each_other(oddly_named: Leaderboard) -> None:
    lines = slope_chart(oddly_named, DARK).data

    assert len(set(oddly_named.ranking.ranks.values())) < 4
    assert sorted(line.y[1] for line in lines) == [1, 2, 3, 4]
    assert {line.line.color for line in lines} == {DARK.muted}


def test_topics_are_coloured_by_whether_they_are_won(service: Service) -> None:
    scores = [
        TopicScore("Home", "Soup", 0.75, 4),
        TopicScore("Home", "Garden", 0.25, 4),
        TopicScore("Work", "Mail", float("nan"), 0),
    ]
    [bars] = topic_chart(scores, LIGHT).data

    assert list(bars.x) == [75, 25]
    assert list(bars.y) == ["Soup", "Garden"]
    assert list(bars.marker.color) == [LIGHT.up, LIGHT.down]
    assert [list(row) for row in bars.customdata] == [["Home", 4], ["Home", 4]]
    all_topics = service.topic_scores(View("dailybench"), "jester")
    assert len(topic_chart(all_topics, LIGHT).data[0].x) == 87


def test_topics_of_one_name_in_two_categories_have_a_bar_each() -> None:
    scores = [TopicScore("Home", "Soup", 0.75, 4), TopicScore("Travel", "Soup", 0.25, 4)]
    [bars] = topic_chart(scores, LIGHT).data

    assert len(set(bars.y)) == 2


def test_an_llm_without_responses_has_no_bar(oddly_named: Leaderboard) -> None:
    [bars] = interval_chart(oddly_named, LIGHT).data

    assert len(bars.x) == len(oddly_named.ranking.llms) - 1 == 4


def test_brackets_of_names_are_harmless(oddly_named: Leaderboard) -> None:
    for figure in (interval_chart(oddly_named, LIGHT), slope_chart(oddly_named, LIGHT)):
        assert "<b>" not in str(figure.to_dict())
        assert "&lt;b&gt;Zed&lt;/b&gt;" in str(figure.to_dict())


def test_titles_that_only_differ_at_their_end_have_a_bar_each(
    oddly_named: Leaderboard, own_service: Service
) -> None:
    view = View(oddly_named.view.benchmark, crm="longer", keep_partial=True)
    everywhere = own_service.leaderboard(view, patience=60)
    [bars] = interval_chart(everywhere, LIGHT).data

    assert len(bars.y) == 5
    assert len(set(bars.y)) == 5


def test_a_chart_grows_with_its_rows(service: Service, concise: Leaderboard) -> None:
    many = service.leaderboard(View("alpaca-eval"))

    assert interval_chart(many, LIGHT).layout.height > 2 * interval_chart(concise, LIGHT).layout.height
    assert len(slope_chart(many, LIGHT).data) == 47


def test_loading_plotly_ahead_makes_the_first_figure_as_quick_as_others() -> None:
    code = (
        "import sys; from leaderboard.render.chart_style import load_plotly; load_plotly(); "
        "before = set(sys.modules); import plotly.graph_objects as go; "
        "figure = go.Figure(go.Bar(x=[1], error_x={'array': [1]})); figure.add_vline(x=1); figure.to_json(); "
        "print(*(name for name in set(sys.modules) - before if name.startswith('plotly')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
