"""Style features: what can be counted in a response, as raw counts that an explanation can quote.

Two kinds of feature are counted. *Structure* (words, numbered steps, headings, …) enters the model
as log(1 + count); *wording* (warm, hedging, playful, … expressions) as log(1 + occurrences per 100
words), so that a long answer does not seem warm only because it is long.

``style_features.toml`` lists the features, their word lists and their patterns. Each is counted by ``words``,
by a pattern (``pattern``; ``exact_pattern`` minds capitals, ``line_pattern`` reads line by line; ``opening``
and ``closing`` look at either end of the text), or by a ``function`` of this module.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parsing.documents import read_toml

FEATURES_FILE = Path(__file__).with_name("style_features.toml")
Count = Callable[[str], float]


@dataclass(frozen=True)
class StyleFeature:
    """One countable property of a response.

    Attributes:
        name: Identifier stored with the weights.
        count: Raw value from the response's text.
        more: How a response with more of it is described in an explanation.
        less: How a response with less of it is described.
        unit: Plural noun where the count itself is worth quoting (“words”), else empty.
        per_100_words: True if it enters the model per 100 words.
    """

    name: str
    count: Count
    more: str
    less: str
    unit: str = ""
    per_100_words: bool = False


@dataclass(frozen=True)
class StyleSheet:
    """S style features in their stored order; the number of words must be among them."""

    features: tuple[StyleFeature, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Identifiers of the features, stored with what was fitted on them."""
        return tuple(feature.name for feature in self.features)

    @property
    def words(self) -> int:
        """Place of the number of words among the counts."""
        return self.names.index("words")

    def count(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return raw counts ``[len(texts), S]``."""
        counts = {text: [feature.count(text) for feature in self.features] for text in dict.fromkeys(texts)}
        rows = [counts[text] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), len(self.features))

    def transform(self, counts: NDArray[Any]) -> NDArray[np.float32]:
        """Return what the model reads of raw counts ``[..., S]``: log(1 + count), wording per 100 words."""
        values = np.asarray(counts, dtype=np.float32)
        words = np.maximum(values[..., self.words : self.words + 1], 1.0)
        per_words = np.array([feature.per_100_words for feature in self.features])
        rates = np.where(per_words, values * 100.0 / words, values)
        transformed: NDArray[np.float32] = np.log1p(rates)
        return transformed


@cache
def style_sheet() -> StyleSheet:
    """Return the style features that representations count."""
    return StyleSheet(tuple(map(_feature, read_toml(FEATURES_FILE.read_bytes())["feature"])))


def _feature(table: Mapping[str, Any]) -> StyleFeature:
    [(way, value)] = [(key, table[key]) for key in table.keys() & WAYS_OF_COUNTING.keys()]
    described = {key: value for key, value in table.items() if key != way}
    return StyleFeature(count=WAYS_OF_COUNTING[way](value), **described)


def _matches(pattern: str, flags: int = re.IGNORECASE) -> Count:
    compiled = re.compile(pattern, flags)
    return lambda text: float(sum(1 for _ in compiled.finditer(text)))


def _line_matches(pattern: str) -> Count:
    """Count the matches of a pattern in which ``^`` and ``$`` stand for the ends of lines."""
    return _matches(pattern, re.MULTILINE)


def expression_pattern(alternatives: str) -> str:
    """Return what matches expressions listed with ``|``, in lower case, final ``*`` for any ending.

    They are sorted by their first letters, which is quicker.
    """
    by_letter: dict[str, list[str]] = {}
    for alternative in alternatives.split("|"):
        expression = alternative.strip()
        rest = re.escape(expression[1:]).replace(r"\*", r"\w*").replace(r"\ ", r"\s+").replace("'", "['’]")
        by_letter.setdefault(re.escape(expression[0]), []).append(rest)
    branches = "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
    return rf"\b(?:{branches})\b"


def _expressions(alternatives: str) -> Count:
    count = _matches(expression_pattern(alternatives), 0)
    return lambda text: count(_lower(text))


@lru_cache(maxsize=2)
def _lower(text: str) -> str:
    return text.lower()


_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?…]+(?=[\s\"'”’)*]|$)")
_LATINATE = re.compile(r"(?:tion|sion|ment|ence|ance|ity|ical|ism|ology|ous|ive)s?$", re.IGNORECASE)


@lru_cache(maxsize=2)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text, without punctuation."""
    return tuple(_WORD.findall(text))


def _mean_word_length(text: str) -> float:
    found = words(text)
    return sum(map(len, found)) / len(found) if found else 0.0


def _mean_sentence_length(text: str) -> float:
    return len(words(text)) / max(1, len(_SENTENCE_END.findall(text)))


def _distinct_share(text: str) -> float:
    """Return Guiraud's index, distinct words per square root of words, which hardly depends on length."""
    found = [word.casefold() for word in words(text)]
    return len(set(found)) / len(found) ** 0.5 if found else 0.0


def short_lines(text: str) -> float:
    """Count lines of verse: at most 60 characters, neither list item nor heading."""
    return float(
        sum(
            1
            for line in text.split("\n")
            if 0 < len(line.strip()) <= 60 and not re.match(r"\s*(?:[-*•#]|\d+[.)])", line)  # noqa: PLR2004
        )
    )


def _opening(pattern: str) -> Count:
    """Return 1 where a text begins like the pattern, marks of format left aside."""
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: float(compiled.match(text.lstrip(" *#\n\"'“")) is not None)


def _closing(pattern: str) -> Count:
    """Return 1 where the pattern is found in the last 160 characters."""
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: float(compiled.search(text.rstrip()[-160:]) is not None)


_LIST_ITEM = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.):])\s+\S", re.IGNORECASE)
_PARAGRAPH_BREAK = re.compile(r"\n\s*\n")
_WHOLE_LINES = 4
"""A text of fewer lines has no shape that a share of its lines could show."""


def _written_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _paragraphs(text: str) -> list[str]:
    return [part for part in _PARAGRAPH_BREAK.split(text) if part.strip()]


def _share_of_list_lines(text: str) -> float:
    given = _written_lines(text)
    return 100.0 * sum(1 for line in given if _LIST_ITEM.match(line)) / max(_WHOLE_LINES, len(given))


def _words_per_list_item(text: str) -> float:
    items = [line for line in _written_lines(text) if _LIST_ITEM.match(line)]
    return sum(len(words(item)) for item in items) / len(items) if items else 0.0


def _words_until_list(lines: Iterable[str]) -> float:
    """Return the words of the lines before the first item of a list; 0 without a list."""
    before = 0
    for line in lines:
        if _LIST_ITEM.match(line):
            return float(before)
        before += len(words(line))
    return 0.0


def _longest_paragraph(text: str) -> float:
    return float(max((len(words(part)) for part in _paragraphs(text)), default=0))


def _first_sentence(text: str) -> float:
    parts = re.split(r"(?<=[.!?:])\s|\n", text.strip(), maxsplit=1)
    return float(len(words(parts[0]))) if parts else 0.0


def _repetition(text: str) -> float:
    """Return bytes per compressed byte, less what ordinary prose of that length has; 0 for a short text."""
    data = text.encode("utf-8", "replace")
    if len(data) < 200:  # noqa: PLR2004
        return 0.0
    ratio = len(data) / len(zlib.compress(data, 6))
    return max(0.0, ratio - 1.0)


def _sentence_variation(text: str) -> float:
    lengths = [len(words(part)) for part in re.split(r"[.!?…]+\s|\n", text) if words(part)]
    if len(lengths) < 2:  # noqa: PLR2004
        return 0.0
    mean = sum(lengths) / len(lengths)
    return float((sum((length - mean) ** 2 for length in lengths) / len(lengths)) ** 0.5)


def _foreign_letters(text: str) -> float:
    """Count letters outside the English alphabet, per 1,000 characters."""
    return 1000.0 * sum(1 for char in text if char.isalpha() and ord(char) > 127) / max(1, len(text))  # noqa: PLR2004


def _broken_off(text: str) -> float:
    """Return 1 where the last line ends neither like a sentence nor like a list."""
    given = _written_lines(text)
    if not given:
        return 0.0
    last = given[-1].strip()
    return float(not _LIST_ITEM.match(last) and re.search(r"[.!?…:)\]\"'”’*`|]$", last) is None)


def rhyming_lines(text: str) -> float:
    """Count neighbouring or alternate short lines that end alike, per 10 short lines."""
    if short_lines(text) < _WHOLE_LINES:
        return 0.0
    endings = [found[-1][-3:].casefold() for line in _written_lines(text) if (found := words(line))]
    pairs = sum(
        1
        for step in (1, 2)
        for first, second in zip(endings, endings[step:], strict=False)
        if first[-2:] == second[-2:]
    )
    return 10.0 * pairs / max(1, len(endings))


_FUNCTIONS: Mapping[str, Count] = {
    "word_count": lambda text: float(len(words(text))),
    "paragraph_count": lambda text: float(len(_paragraphs(text))),
    "latinate_words": lambda text: float(sum(1 for word in words(text) if _LATINATE.search(word))),
    "is_empty": lambda text: float(not words(text)),
    "mean_sentence_length": _mean_sentence_length,
    "mean_word_length": _mean_word_length,
    "distinct_share": _distinct_share,
    "short_lines": short_lines,
    "repetition": _repetition,
    "share_of_list_lines": _share_of_list_lines,
    "words_per_list_item": _words_per_list_item,
    "words_before_list": lambda text: _words_until_list(_written_lines(text)),
    "words_after_list": lambda text: _words_until_list(reversed(_written_lines(text))),
    "longest_paragraph": _longest_paragraph,
    "first_sentence": _first_sentence,
    "sentence_variation": _sentence_variation,
    "foreign_letters": _foreign_letters,
    "broken_off": _broken_off,
    "rhymes": rhyming_lines,
}
WAYS_OF_COUNTING: Mapping[str, Callable[[str], Count]] = {
    "function": _FUNCTIONS.__getitem__,
    "words": _expressions,
    "pattern": _matches,
    "exact_pattern": lambda pattern: _matches(pattern, 0),
    "line_pattern": _line_matches,
    "opening": _opening,
    "closing": _closing,
}
