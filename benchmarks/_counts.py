"""What can be counted in a response, counted apart from the judge: the truth that rankings are held against.

Structure is counted by a Markdown parser and emojis by the list of the Unicode standard; the judge's own
counts (``crm.embedded.style``) share no code with these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

import emoji
from markdown_it import MarkdownIt
from markdown_it.token import Token

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_WORD = re.compile(r"\w+(?:['’\-]\w+)*")
_SENTENCE = re.compile(r"[^.!?…\n]*\w[^.!?…\n]*(?:[.!?…]+|\n|$)")


def _pattern(pattern: str) -> Callable[[str], float]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: float(len(compiled.findall(text)))


@lru_cache(maxsize=1)
def _parsed(text: str) -> tuple[Token, ...]:
    return tuple(_MARKDOWN.parse(text))


def _tokens(text: str) -> list[Token]:
    return [inner for token in _parsed(text) for inner in (token, *(token.children or ()))]


def _structure(*types: str) -> Callable[[str], float]:
    return lambda text: float(sum(token.type in types for token in _tokens(text)))


def _items(kind: str) -> Callable[[str], float]:
    def count(text: str) -> float:
        found, lists = 0, []
        for token in _parsed(text):
            if token.type.endswith("_list_open"):
                lists.append(token.type.removesuffix("_list_open"))
            elif token.type.endswith("_list_close"):
                lists.pop()
            elif token.type == "list_item_open":
                found += lists[-1] == kind
        return float(found)

    return count


def _words(text: str) -> float:
    return float(len(_WORD.findall(text)))


def _sentences(text: str) -> float:
    return float(len(_SENTENCE.findall(text)))


def _per_word(count: Callable[[str], float]) -> Callable[[str], float]:
    return lambda text: 100 * count(text) / max(1.0, _words(text))


def _asks_back(text: str) -> float:
    return float(text.rstrip(" \n*_\"”'").endswith("?"))


COUNTERS: Mapping[str, Callable[[str], float]] = {
    "words": _words,
    "sentences": _sentences,
    "paragraphs": lambda text: float(sum(bool(part.strip()) for part in re.split(r"\n\s*\n", text))),
    "bullets": _items("bullet"),
    "numbered": _items("ordered"),
    "headings": _structure("heading_open"),
    "bold": _structure("strong_open"),
    "tables": _structure("table_open"),
    "code_blocks": _structure("fence"),
    "emojis": lambda text: float(emoji.emoji_count(text)),
    "exclamations": _pattern("!"),
    "questions": _pattern(r"\?"),
    "asks_back": _asks_back,
    "refusals": _pattern(
        r"\b(?:I(?:['’]m| am) (?:sorry|unable|not able)|I (?:can['’]t|cannot|can not|won['’]t) "
        r"(?:help|assist|provide|do that|fulfil|answer|comply|engage|support|create|write))"
    ),
    "greetings": _pattern(r"\A\W*(?:hello|hi|hey|dear|greetings|good (?:morning|day|evening))\b"),
    "numbers": _pattern(r"(?<![\w.])\d[\d,.]*(?!\s*[.)]\s)"),
    "links": _pattern(r"https?://|www\."),
    "quotes": _pattern(r"“[^”\n]+”|\"[^\"\n]+\""),
    "first_person": _per_word(_pattern(r"\b(?:I|I['’]\w+|me|my|mine|myself)\b")),
    "second_person": _per_word(_pattern(r"\b(?:you|you['’]\w+|your|yours|yourself)\b")),
    "sentence_length": lambda text: _words(text) / max(1.0, _sentences(text)),
    "word_length": lambda text: sum(map(len, _WORD.findall(text))) / max(1.0, _words(text)),
    "parentheses": _pattern(r"\([^)\n]+\)"),
    "contractions": _per_word(
        _pattern(r"\b\w+(?:n['’]t|['’](?:re|ve|ll|d|m))\b|\b(?:it|that|there|he|she)['’]s\b")
    ),
    "ai_mentions": _pattern(
        r"\bas an? (?:AI|artificial)|\bI(?:['’]m| am) an? (?:AI|artificial)|\blanguage model\b"
    ),
}
"""Number of each in a text, or per 100 words where only that is a habit."""
