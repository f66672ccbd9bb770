"""Texts of strangers are shown to the letter, and nothing in them becomes a link."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pages._ui.session import plain, with_links

READER = MarkdownIt("commonmark")
ADDRESSES = [
    re.compile(r"(https?://|www(?=\.))([-.\w]+)([^ \t\r\n]*)", re.IGNORECASE),
    re.compile(r"(?:^|(?<=\s)|(?<=[^\w\s]))([-.\w+]+)@([-\w]+(?:\.[-\w]+)+)"),
]
"""What the browser makes links of once Markdown has been read (mdast-util-gfm-autolink-literal)."""
HOSTILE = [
    "see https://evil.example/a?b=c, HTTP://evil.example",
    "www.evil.example/path and WWW.evil.example",
    "me@evil.example, mailto:me@evil.example, xmpp:me@evil.example",
    "[free tokens](https://evil.example) ![](https://evil.example/p.png) <https://evil.example>",
    "https&colon;//evil.example https&#58;//evil.example www&period;evil.example me&commat;evil.example",
    "https\\://evil.example",
    "[x][y]\n\n[y]: https://evil.example",
    "a\n===",
]


def read(markdown: str) -> str:
    """The text that is left when Markdown has been read; fails if anything but text and lines is in it."""
    parts = [part for block in READER.parse(markdown) for part in block.children or []]
    assert {part.type for part in parts} <= {"text", "softbreak", "hardbreak", "text_special"}
    return "".join(part.content or "\n" for part in parts)


def pieces(markdown: str) -> list[str]:
    """The texts of a browser's elements: Streamlit makes an empty element of ``:small[]``."""
    return read(markdown).split(":small[]")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_strangers_text_becomes_a_link(text: str) -> None:
    shown = pieces(plain(text))
    assert not any(address.search(piece) for address in ADDRESSES for piece in shown)
    assert "".join("".join(shown).split()) == "".join(text.split())


@given(st.lists(st.sampled_from([*"ab.:/@&;-_ \\", "www", "http", "https", "://", "&colon;"])).map("".join))
def test_no_pieces_make_a_link_together(text: str) -> None:
    assert not any(address.search(piece) for address in ADDRESSES for piece in pieces(plain(text)))


def test_addresses_of_sources_are_links_with_their_address_as_text() -> None:
    text = "*By* us (https://example.org/a_(b)?c=1#d), http://example.net. www.evil.example [x](https://e.x)"
    html = READER.render(with_links(text))
    assert re.findall(r"<a href=\"([^\"]*)\">([^<]*)</a>", html) == [
        (address, address)
        for address in ("https://example.org/a_(b)?c=1#d", "http://example.net", "https://e.x")
    ]
    assert html.count("<") == 2 * 4  # of the links and the paragraph
