"""Where in a response's text stands what is counted, so that a person can see it.

Structure is found in the tokens of the same Markdown parser that counts it, wording by the same patterns.
What is a measure of the whole answer, such as its words, stands nowhere: its number is all there is to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import emoji

from crm.embedded.counts import Countable, countables

_TOKENS: Mapping[str, tuple[str, ...]] = {
    "bullets": ("bullet_list:list_item_open",),
    "numbered": ("ordered_list:list_item_open",),
    "list_items": ("bullet_list:list_item_open", "ordered_list:list_item_open"),
    "headings": ("heading_open",),
    "bold": ("strong_open",),
    "italics": ("em_open",),
    "tables": ("table_open",),
    "code_blocks": ("fence",),
    "inline_code": ("code_inline",),
    "block_quotes": ("blockquote_open",),
}
_EMOJIS = "emojis"


@dataclass(frozen=True)
class Evidence:
    """What of a text is to be marked.

    Attributes:
        tokens: Types of the Markdown parser's tokens, those of list items after their list's and a colon.
        found_by: What is counted in words and marks.
    """

    tokens: frozenset[str] = frozenset()
    found_by: tuple[Countable, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything can be marked."""
        return bool(self.tokens or self.found_by)

    @classmethod
    def of(cls, counted: Iterable[Countable]) -> Evidence:
        """Return what of these properties stands somewhere in a text."""
        properties = tuple(counted)
        tokens = frozenset(token for item in properties for token in _TOKENS.get(item.name, ()))
        return cls(tokens, tuple(item for item in properties if item.pattern or item.name == _EMOJIS))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where counted words and marks begin and end in a text, in order, none overlapping."""
        found = sorted(span for item in self.found_by for span in _spans(item, text))
        spans: list[tuple[int, int]] = []
        for start, end in found:
            if start < end and (not spans or start >= spans[-1][1]):
                spans.append((start, end))
        return spans


def _spans(counted: Countable, text: str) -> list[tuple[int, int]]:
    if counted.pattern is not None:
        return [match.span() for match in counted.pattern.finditer(text)]
    return [(int(found["match_start"]), int(found["match_end"])) for found in emoji.emoji_list(text)]


def can_be_marked(counted: Countable) -> bool:
    """Return whether a property stands somewhere in a text, rather than being a measure of the whole."""
    return bool(Evidence.of([counted]))


@cache
def _by_unit() -> Mapping[str, Countable]:
    return {item.unit_of_mean: item for item in countables()}


def counted_in(unit: str) -> Countable | None:
    """Return the property whose mean amounts have this unit, as of ``Amounts``; None where there is none."""
    return _by_unit().get(unit)
