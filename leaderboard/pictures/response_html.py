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

_LEVELS = {"h1": "h4", "h2": "h5", "h3": "h6", "h4": "h6", "h5": "h6", "h6": "h6"}
"""Headings of a response stand below those of the page."""
LONG_QUERY = 520
LONG_ON_A_PHONE = 260
"""Characters that fill about six lines."""
_SIX_LINES = 6
_STYLE = """
<style>
.usl-pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0.3rem 1rem; grid-template-rows: auto 1fr; }
.usl-pair > section { display: grid; grid-template-rows: subgrid; grid-row: span 2; min-width: 0; }
.usl-pair > section > p { margin: 0; color: color-mix(in srgb, currentColor 75%, transparent); }
.usl-response { border: 1px solid rgba(128,128,128,0.32); border-radius: 0.5rem; padding: 0.8rem 1rem;
  min-height: 12rem; max-height: min(54vh, 30rem); overflow: auto; overflow-wrap: anywhere;
  line-height: 1.55; }
.usl-response > :first-child { margin-top: 0; } .usl-response > :last-child { margin-bottom: 0; }
.usl-response p, .usl-response ul, .usl-response ol, .usl-response pre, .usl-response table,
.usl-response blockquote { margin: 0 0 0.75rem; font-size: inherit; }
.usl-response ul, .usl-response ol { padding-left: 1.5rem; }
.usl-response li { margin: 0 0 0.25rem; padding: 0; font-size: inherit; }
.usl-response li > p { margin: 0 0 0.25rem; }
.usl-response h4, .usl-response h5, .usl-response h6 { margin: 1rem 0 0.4rem; padding: 0; font-weight: 650;
  line-height: 1.3; }
.usl-response h4 { font-size: 1.2rem; } .usl-response h5 { font-size: 1.08rem; }
.usl-response h6 { font-size: 1rem; }
.usl-response pre { padding: 0.6rem 0.8rem; border-radius: 0.4rem; background: rgba(128,128,128,0.12);
  overflow-x: auto; }
.usl-response code { font-size: 0.88em; background: rgba(128,128,128,0.12); color: inherit;
  padding: 0.1em 0.25em; }
.usl-response pre code { background: none; padding: 0; }
.usl-response table { border-collapse: collapse; display: block; overflow-x: auto; }
.usl-response th, .usl-response td { border: 1px solid rgba(128,128,128,0.32); padding: 0.25rem 0.6rem; }
.usl-response blockquote { border-left: 3px solid rgba(128,128,128,0.4); padding-left: 0.8rem; }
.usl-response u { text-decoration-style: dotted; text-underline-offset: 0.2em; }
@media (max-width: 640px) {
  .usl-pair { grid-template-columns: 1fr; grid-template-rows: none; gap: 0.8rem; }
  .usl-pair > section { grid-template-rows: auto; grid-row: auto; row-gap: 0.3rem; }
  .usl-response { min-height: 0; max-height: none; }
}
</style>
"""
_QUERY_STYLE = """
<style>
.usl-query { font-size: 1.1rem; font-weight: 600; line-height: 1.4; margin: 0; white-space: pre-wrap;
  overflow-wrap: anywhere; scroll-margin-top: 4.5rem; }
details.usl-query > summary { list-style: none; cursor: pointer; }
details.usl-query > summary::-webkit-details-marker { display: none; }
details.usl-query:not([open]) > summary > span { display: -webkit-box; -webkit-box-orient: vertical;
  -webkit-line-clamp: 6; overflow: hidden; }
details.usl-query > summary::after { content: "Show all of it"; font-size: 0.85rem; font-weight: 400;
  text-decoration: underline; opacity: 0.75; }
details.usl-query[open] > summary::after { content: "Show less"; }
@media (min-width: 641px) {
  details.usl-phone:not([open]) > summary > span { display: inline; }
  details.usl-phone > summary { cursor: auto; } details.usl-phone > summary::after { content: none; }
}
</style>
"""


def pair_html(responses: Sequence[tuple[str, str]]) -> str:
    """Responses side by side at the same height, one below the other on a phone.

    Args:
        responses: Title and text of each.
    """
    sections = "".join(
        f'<section><p>{escape(title)}</p><div class="usl-response" tabindex="0" role="region" '
        f'aria-label="{escape(title)}">{markdown_html(text)}</div></section>'
        for title, text in responses
    )
    return f'{_STYLE}<div class="usl-pair">{sections}</div>'


def query_html(text: str) -> str:
    """A query as a heading over the responses, literally; folded where it is longer than six lines."""
    lines = text.count("\n") + 1
    if len(text) <= LONG_ON_A_PHONE and lines <= _SIX_LINES:
        return f'{_QUERY_STYLE}<p class="usl-query">{escape(text)}</p>'
    long = len(text) > LONG_QUERY or lines > _SIX_LINES
    kind = "usl-query" if long else "usl-query usl-phone"
    return f'{_QUERY_STYLE}<details class="{kind}"><summary><span>{escape(text)}</span></summary></details>'


def markdown_html(text: str) -> str:
    """A text's Markdown as HTML, with no picture, link or HTML of its own; lines break where its own do."""
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        token.tag = _LEVELS.get(token.tag, token.tag)
    return str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def _link_open(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    return f'<u title="{escape(str(tokens[place].attrGet("href") or ""))}">'


def _link_close(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    return "</u>"


def _image(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    described = renderer.renderInlineAsText(tokens[place].children, options, env).strip()
    return f"[{escape(described or 'picture')}]"


def _markdown() -> MarkdownIt:
    """CommonMark with tables and strikethrough, without HTML."""
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    for name, rule in (("link_open", _link_open), ("link_close", _link_close), ("image", _image)):
        parser.add_render_rule(name, rule)
    return parser


_MARKDOWN = _markdown()
