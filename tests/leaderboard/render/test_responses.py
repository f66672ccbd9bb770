"""Markdown of responses is laid out, and nothing in it loads, links or runs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.embedded.counts import countables
from crm.embedded.evidence import Evidence
from leaderboard.render.responses import LONG_QUERY, markdown_html, pair_html, query_html

SAFE_TAG = re.compile(
    r"</?(p|strong|em|s|h[456]|ul|ol|li|pre|code|blockquote|table|thead|tbody|tr|th|td|br|hr|u)"
    r'( (title|start|class|style)="[^"<>]*")*\s*/?>'
)


def test_what_people_like_in_an_answer_is_laid_out() -> None:
    shown = markdown_html(
        "# Eggs\n\n1. **Boil** it\n2. Cool it\n\n- soft\n- hard\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )

    for part in ("<h4>Eggs</h4>", "<ol>", "<strong>Boil</strong>", "<ul>", "<table>"):
        assert part in shown


MARKS = re.compile(r'</?mark>| class="usl-mark"')


@pytest.mark.parametrize(
    ("name", "text", "marked"),
    [
        ("bold", "**a** b", '<strong class="usl-mark">a</strong>'),
        ("bullets", "- a\n\n1. b", '<li class="usl-mark">a</li>'),
        ("headings", "# A", '<h4 class="usl-mark">A</h4>'),
        ("tables", "| a |\n|---|\n| 1 |", '<table class="usl-mark">'),
        ("emojis", "**so 🎉** `🎉`", "<strong>so <mark>🎉</mark></strong> <code>🎉</code>"),
        ("exclamations", "<b>Oh!</b>", "&lt;b&gt;Oh<mark>!</mark>&lt;/b&gt;"),
    ],
)
def test_what_is_counted_is_marked_and_nothing_else_changes(name: str, text: str, marked: str) -> None:
    shown = markdown_html(text, Evidence.of(item for item in countables() if item.name == name))

    assert marked in shown
    assert MARKS.sub("", shown) == markdown_html(text)


@given(st.text(max_size=80))
def test_marks_change_no_text(text: str) -> None:
    assert MARKS.sub("", markdown_html(text, Evidence.of(countables()))) == markdown_html(text)


def test_lines_of_a_poem_stay_lines() -> None:
    assert (
        markdown_html("Roses are red\nViolets are blue") == "<p>Roses are red<br />\nViolets are blue</p>\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![a cat](https://elsewhere.example/cat.png)",
        "[click](javascript:alert(1))",
        '[click](https://elsewhere.example "t")',
        "<https://elsewhere.example>",
        '[x](<https://a.example/"onmouseover="alert(1)>)',
        "```<script>\nalert(1)\n```",
        "[a]\n\n[a]: data:text/html,x",
        "&lt;script&gt;",
    ],
)
def test_nothing_loads_links_or_runs(text: str) -> None:
    shown = markdown_html(text)

    assert "<" not in SAFE_TAG.sub("", shown)
    assert " href=" not in shown
    assert " src=" not in re.sub("&lt;.*?&gt;", "", shown)


@given(st.text(alphabet="<>\"'&[]()!`*_#|-:\n ab/=", max_size=60))
def test_whatever_is_written_only_safe_tags_come_out(text: str) -> None:
    assert "<" not in SAFE_TAG.sub("", markdown_html(text))


def test_a_link_says_where_it_would_lead_and_a_picture_what_it_shows() -> None:
    assert markdown_html("[here](https://a.example)") == '<p><u title="https://a.example">here</u></p>\n'
    assert markdown_html("![a cat](https://a.example/x)![](y)") == "<p>[a cat][picture]</p>\n"


def test_titles_are_text() -> None:
    assert "<b>" not in pair_html([("<b>A</b>", "x"), ('"', "y")])


def test_a_long_query_is_folded_and_a_short_one_is_not() -> None:
    assert "<details" not in query_html("How do I boil an egg?")
    assert 'class="usl-query usl-phone"' in query_html("egg " * 100)
    assert 'class="usl-query"><summary>' in query_html("e" * (LONG_QUERY + 1))
    assert 'class="usl-query"><summary>' in query_html("line\n" * 7)
    assert "<b>" not in query_html("<b>" * 300)
