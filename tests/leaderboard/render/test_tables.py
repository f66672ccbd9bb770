import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import pytest

from crm.criteria import CriteriaSet, Criterion
from crm.protocol import CriterionWarning
from leaderboard.render.html import percent
from leaderboard.render.tables import not_compared_table, ranking_table
from leaderboard.result import Leaderboard
from leaderboard.service import Service
from leaderboard.view import View


class Table(HTMLParser):
    """A table as a browser reads it: tags, links, and the text of every cell."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.llms: list[str] = []
        self.styles: list[tuple[str, str]] = []
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.tags.append(tag)
        if tag == "a":
            self.links.append(found["href"])
        if tag == "tr":
            self.rows.append([])
        if "data-llm" in found:
            self.llms.append(found["data-llm"])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag == "i":
            self.styles.append((found["class"], found.get("style", "")))

    def handle_data(self, data: str) -> None:
        if self.rows:
            self.rows[-1][-1] += data


def table_of(leaderboard: Leaderboard, *columns: str) -> Table:
    return Table(
        ranking_table(leaderboard, columns, lambda llm: leaderboard.view.to_link("/llm", llm=llm), "#123456")
    )


@pytest.fixture
def concise(service: Service) -> Leaderboard:
    return service.leaderboard(View("dailybench", criteria=CriteriaSet.of(["concise and direct"])))


def test_every_llm_has_a_row_best_first(concise: Leaderboard) -> None:
    table = table_of(concise, "Puzzles & Logic")
    heading, *rows = table.rows

    assert heading[:4] == ["Rank", "LLM", "± average", "Score"]
    assert heading[-1] == "Puzzles & Logic"
    assert table.llms == list(concise.ranking.llms)
    assert rows[0][1] == "brevia (extremely concise)"
    assert [row[0] for row in rows] == [str(rank) for rank in concise.ranking.rank]
    assert [row[3] for row in rows] == [f"{100 * rate:.1f}" for rate in concise.ranking.win_rate]
    column = concise.ranking.category_names.index("Puzzles & Logic")
    assert [row[-1] for row in rows] == [
        f"{100 * rate:.0f}" for rate in concise.ranking.category_win_rate[:, column]
    ]


def test_changes_are_shown_with_their_direction(concise: Leaderboard) -> None:
    _, *rows = table_of(concise).rows

    for row, change in zip(rows, concise.changes, strict=True):
        arrow = "–" if change == 0 else f"{'▲' if change > 0 else '▼'} {abs(change):.0f}"
        assert row[2] == arrow


def test_the_default_ranking_has_no_changes(service: Service) -> None:
    heading, *rows = table_of(service.leaderboard(View("dailybench"))).rows

    assert "± average" not in heading
    assert {len(row) for row in rows} == {len(heading)}


def test_links_carry_the_view(concise: Leaderboard) -> None:
    links = table_of(concise).links

    assert len(links) == 7
    for link, llm in zip(links, concise.ranking.llms, strict=True):
        read = parse_qs(urlsplit(link).query)
        assert read.pop("llm") == [llm]
        assert View.from_query(read) == concise.view


def test_intervals_are_drawn_where_they_lie(concise: Leaderboard) -> None:
    table = table_of(concise)
    bars, whiskers, dots = (
        [style for name, style in table.styles if name == f"usl-{kind}"] for kind in ("bar", "whisker", "dot")
    )

    ranking = concise.ranking
    for row, (bar, whisker, dot) in enumerate(zip(bars, whiskers, dots, strict=True)):
        rate, low, high = (
            100 * values[row] for values in (ranking.win_rate, ranking.ci_low, ranking.ci_high)
        )
        assert bar == f"width:{rate:.1f}%"
        assert dot == f"left:{rate:.1f}%"
        left, width = map(float, re.findall(r"[\d.]+", whisker))
        assert (left, left + width) == (pytest.approx(low, abs=0.1), pytest.approx(high, abs=0.2))


def test_names_are_shown_as_they_are_and_never_run(oddly_named: Leaderboard) -> None:
    table = table_of(oddly_named)

    assert not {"img", "b", "script"} & set(table.tags)
    assert table.tags.count("i") == 4 * 4  # the drawn intervals, and no italics
    assert set(table.llms) == set(oddly_named.ranking.llms) - {"silent"}
    assert "<b>Zed</b> & [bold]sons[/bold]" in {row[1] for row in table.rows}
    assert parse_qs(urlsplit(table.links[0]).query)["llm"] == [oddly_named.ranking.llms[0]]


def test_what_a_picture_must_not_lose_stands_above_the_head(
    concise: Leaderboard, oddly_named: Leaderboard
) -> None:
    assert "caption" not in table_of(concise).tags
    narrow = "<caption>Too narrow to rank<br>1 LLM is not compared</caption>"
    assert narrow in ranking_table(oddly_named, (), str, "#123456")
    warnings = (
        CriterionWarning(Criterion("<b>1990</b>"), "It cannot."),
        CriterionWarning(None, "These are contrary."),
    )
    doubtful = ranking_table(replace(oddly_named, warnings=warnings, n_judged=1), (), str, "#123456")

    assert (
        "<caption>So far 1 of 2 queries are judged<br>1 LLM is not compared<br>"
        "Doubtful: “&lt;b&gt;1990&lt;/b&gt;”; These are contrary.</caption><thead>"
    ) in doubtful


def test_what_the_criteria_count_has_a_column_with_the_baselines_mean(service: Service) -> None:
    view = View("dailybench", criteria=CriteriaSet.of(["no emojis", "short sentences", "funny"]))
    leaderboard = service.leaderboard(view)
    heading, *rows = table_of(leaderboard, "Puzzles & Logic").rows
    emojis, length = leaderboard.amounts

    assert heading[-3:] == [
        f"emojis an answerbaseline {emojis.baseline:.2f}",
        f"words a sentencebaseline {length.baseline:.1f}",
        "Puzzles & Logic",
    ]
    assert [row[-3:-1] for row in rows] == [
        [f"{emojis.by_llm[llm]:.2f}", f"{length.by_llm[llm]:.1f}"] for llm in leaderboard.ranking.llms
    ]
    assert {len(row) for row in rows} == {len(heading)}


def test_without_a_comparison_there_are_no_changes(oddly_named: Leaderboard) -> None:
    heading, *rows = table_of(replace(oddly_named, default=None)).rows

    assert "± average" not in heading
    assert {len(row) for row in rows} == {len(heading)}


def test_an_llm_without_responses_is_listed_apart(oddly_named: Leaderboard) -> None:
    [apart] = Table(not_compared_table(oddly_named, str, "#000")).rows[1:]

    assert oddly_named.ranking.llms[-1] == "silent"
    assert 'data-llm="silent"' not in ranking_table(oddly_named, (), str, "#000")
    assert apart[1:] == ["0\N{NO-BREAK SPACE}%", "answered none of the 2 queries"]


def test_an_llm_of_which_nothing_is_judged_yet_has_dashes(oddly_named: Leaderboard) -> None:
    last = table_of(replace(oddly_named, not_compared={}, answered={})).rows[-1]

    assert [last[0], *last[2:]] == ["–", "–", "–", "", "–––"]


def test_a_colour_cannot_leave_its_attribute(oddly_named: Leaderboard) -> None:
    html = ranking_table(oddly_named, (), str, '"><script>')

    assert "script" not in Table(html).tags


@pytest.mark.parametrize(
    ("fraction", "decimals", "text"), [(0.12345, 1, "12.3"), (1.0, 0, "100"), (math.nan, 1, "–")]
)
def test_fractions_are_shown_as_percentages(fraction: float, decimals: int, text: str) -> None:
    assert percent(fraction, decimals) == text
