"""Responses as HTML: their Markdown laid out, and nothing in it that loads, links or runs.

Headings, lists and bold are part of what people like in an answer, so they are shown as a chat would show
them. HTML in a response is shown as its letters, links are text with the address as a tooltip, and pictures
are their descriptions: nobody who reads an LLM's answer should call somebody else's server by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from crm.embedded.evidence import Evidence
from leaderboard.query_checklists.checklist import QueryChecklist
from leaderboard.render.html import render

_LEVELS = {"h1": "h4", "h2": "h5", "h3": "h6", "h4": "h6", "h5": "h6", "h6": "h6"}
"""Headings of a response stand below those of the page."""
LONG_QUERY = 520
LONG_ON_A_PHONE = 260
"""Characters that fill about six lines."""
_SIX_LINES = 6


def pair_html(responses: Sequence[tuple[str, str]]) -> str:
    """Return responses, each a title and a text, side by side at the same height, on a phone one by one."""
    laid_out = [(title, Markup(markdown_html(text))) for title, text in responses]
    return render("responses", responses=laid_out)


def query_html(text: str) -> str:
    """Return a query as a heading over the responses, literally; folded where it has more than six lines."""
    lines = text.count("\n") + 1
    short = len(text) <= LONG_ON_A_PHONE and lines <= _SIX_LINES
    long = len(text) > LONG_QUERY or lines > _SIX_LINES
    return render("query", text=text, folded_on="" if short else "every screen" if long else "phone")


def checklist_html(checklist: QueryChecklist, writer: str) -> str:
    """Return the checklist of a query: what counts how much, each line with what it rests on."""
    return render("query_checklist", lines=[line.to_json() for line in checklist.lines], writer=writer)


def revealed_html(pairs: Sequence[tuple[str, str, str, str]]) -> str:
    """Return who was behind pairs of answers, each a question, both names, and what was said of them."""
    return render("revealed", pairs=pairs)


def verdict_html(prob: float, text: str, lines: Sequence[str] = ()) -> str:
    """Return a probability and what it is of, with more lines in fainter print."""
    return render("verdict", prob=prob, text=text, lines=lines)


def faint_html(text: str) -> str:
    """Return a line in fainter print."""
    return render("faint", text=text)


def markdown_html(text: str, evidence: Evidence | None = None) -> str:
    """Return a text's Markdown as HTML, without pictures, links or HTML of its own; its line breaks stay.

    Args:
        evidence: What is to be marked in it.
    """
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        token.tag = _LEVELS.get(token.tag, token.tag)
    if evidence is not None:
        _mark_structure(tokens, evidence)
    return str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {_EVIDENCE: evidence}))


_EVIDENCE = "evidence"
_MARKED = "usl-mark"
_LISTS = ("bullet_list_open", "ordered_list_open")


def _mark_structure(tokens: Sequence[Token], evidence: Evidence) -> None:
    """Give elements that are counted a class."""
    lists: list[str] = []
    for token in tokens:
        kind = token.type
        if kind in _LISTS:
            lists.append(kind.removesuffix("_open"))
        elif kind.removesuffix("_close") + "_open" in _LISTS:
            lists.pop()
        elif kind == "list_item_open":
            kind = f"{lists[-1]}:{kind}"
        if kind in evidence.tokens:
            token.attrJoin("class", _MARKED)
        _mark_structure(token.children or (), evidence)


def _text(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    """Return a text, with the words and marks in it that are counted marked."""
    content, evidence = tokens[place].content, env.get(_EVIDENCE)
    if evidence is None:
        return escape(content)
    parts, done = [], 0
    for start, end in evidence.spans(content):
        parts += [escape(content[done:start]), f"<mark>{escape(content[start:end])}</mark>"]
        done = end
    return "".join((*parts, escape(content[done:])))


def _image(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    described = renderer.renderInlineAsText(tokens[place].children, options, env).strip()
    return f"[{escape(described or 'picture')}]"


_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
_MARKDOWN.add_render_rule("link_close", lambda *_: "</u>")
_MARKDOWN.add_render_rule("image", _image)
_MARKDOWN.add_render_rule("text", _text)
_MARKDOWN.add_render_rule(
    "link_open", lambda _, tokens, at, *__: f'<u title="{escape(str(tokens[at].attrGet("href") or ""))}">'
)
