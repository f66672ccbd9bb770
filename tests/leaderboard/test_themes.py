import html

import pytest

from crm.criterion_themes import THEMES_FILE, CriterionThemes, Part, Theme
from crm.errors import DatasetError
from db import PreferenceSetInfo, StepCount
from db.repositories import extractions, preferences
from leaderboard.pictures.charts import DARK, LIGHT
from leaderboard.pictures.theme_charts import theme_chart
from leaderboard.pictures.themes_html import themes_table
from leaderboard.service import Service
from leaderboard.themes import SHIPPED, stored_themes

ODD = CriterionThemes(
    "<b>odd</b>",
    2,
    3,
    (
        Theme(
            "<i>Tone</i>",
            ("tone",),
            30,
            (("warm & kind", 9), ("%{y}", 2)),
            ("<script>",),
            (Part(("a",), 30),),
        ),
        Theme("Code", ("code",), 10, (), (), (Part(("b", "c"), 7), Part(("d",), 3))),
    ),
)


def test_a_bar_is_as_long_as_the_share_and_its_parts_are_the_clusters() -> None:
    figure = theme_chart(ODD, LIGHT)
    first, second = figure.data
    assert list(first.x) == [75.0]
    assert (list(second.base), list(second.x)) == ([0.0, 17.5], [17.5, 7.5])
    assert list(second.customdata[0]) == ["Code", "b, c", 7]
    assert figure.layout.xaxis.range[1] >= 75
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_names_are_shown_as_they_stand() -> None:
    first, second = theme_chart(ODD, DARK).layout.annotations
    assert first.text == "<b>‹i›Tone‹/i›</b>  75.0 %  <i>warm & kind, % {y}</i>"
    assert second.text == "<b>Code</b>  25.0 %"
    table = themes_table(ODD)
    assert html.escape("<i>Tone</i>") in table
    assert "&lt;script&gt;" in table
    assert "warm &amp; kind" in table
    assert "<i>" not in table


def test_a_line_has_as_many_adjectives_as_a_phone_has_room_for() -> None:
    shipped = CriterionThemes.load(THEMES_FILE)
    for theme, line in zip(shipped.themes, theme_chart(shipped, LIGHT).layout.annotations, strict=True):
        text = line.text.replace("<b>", "").replace("</b>", "").replace("<i>", "").replace("</i>", "")
        assert len(text) <= 66
        assert theme.adjectives[0][0] in text


def test_the_table_shows_adjectives_examples_and_counts() -> None:
    table = themes_table(CriterionThemes.load(THEMES_FILE), n_adjectives=2)
    assert table.count("<tr>") == 13
    assert table.count(" times") == 24
    assert "16.3 % · 8,451 criteria" in table


def test_themes_of_preference_data_come_after_the_shipped_ones(own_service: Service) -> None:
    assert list(stored_themes(own_service.database)) == [SHIPPED]
    with own_service.database.session() as session:
        info = PreferenceSetInfo("arena", "Arena", "file", "0" * 64, {}, (StepCount("rows", 0),))
        preferences.put_preference_set(session, info)
        extractions.put_themes(session, "arena", ODD.to_json())
    found = stored_themes(own_service.database)
    assert (list(found), found["arena"]) == ([SHIPPED, "arena"], ODD)
    with own_service.database.session() as session:
        extractions.put_themes(session, "arena", {"format": 99})
    with pytest.raises(DatasetError, match="no themes of criteria"):
        stored_themes(own_service.database)
