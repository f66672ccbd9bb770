"""Wishes that can be counted: which property a criterion names, whether more or less of it, and limits.

“Uses tables”, “no emojis” and “at most two sentences” say what to count. They are read word by word: names of
properties, words that ask for less, limits with a number, and words that add nothing. What is left over was
not understood, and the more of it there is, the less sure it is that counting does justice to the wish.

``countable.toml`` lists the properties and how people name them, ``countable_words.toml`` the other words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.embedded.style import style_sheet
from crm.protocol import Floats

PROPERTIES_FILE = Path(__file__).with_name("countable.toml")
WORDS_FILE = Path(__file__).with_name("countable_words.toml")
_GAIN = 4.0
_BEYOND = 1.5
"""Log-odds that a response loses by being beyond a limit at all, however little."""
_ABOUT = 0.15
"""How far “in 100 words” may be missed on either side."""
_CERTAINTY = (1.0, 0.7, 0.35, 0.15)
"""How sure a reading is by the number of words that were not understood; none beyond that."""
_HUNDRED = 100
_TOLERANCE = 1e-3
_SMALL_NUMBERS = (
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_NUMBERS = {word: number for number, word in enumerate(_SMALL_NUMBERS, start=1)} | {
    **{"single": 1, "couple": 2, "several": 3, "dozen": 12, "fifteen": 15, "twenty": 20},
    **{"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "eighty": 80, "hundred": _HUNDRED},
}


@dataclass(frozen=True)
class Property:
    """What is counted in a response.

    Attributes:
        name: In words, for an amount a plural noun.
        value: Columns of the stored style counts that are added.
        per: Column they are divided by; that of words stands for 100 words; None for a plain count.
        gain: Log-odds per unit of log(1 + value).
    """

    name: str
    value: tuple[int, ...]
    per: int | None
    gain: float = _GAIN

    def of(self, style: NDArray[Any]) -> Floats:
        """Return the values of responses with style counts ``[..., S]``, as ``[...]``."""
        total = np.asarray(style[..., list(self.value)], dtype=np.float32).sum(axis=-1)
        if self.per is not None:
            scale = 100.0 if self.per == style_sheet().words else 1.0
            total = total * scale / np.maximum(np.asarray(style[..., self.per], dtype=np.float32), 1.0)
        return np.asarray(total, dtype=np.float32)


@dataclass(frozen=True)
class CountedWish:
    """More or less of a property, or an amount within limits.

    Attributes:
        property: What is counted.
        sign: 1 for more, −1 for less.
        low: The least wanted, where a limit is named.
        high: The most wanted, where a limit is named.
    """

    property: Property
    sign: int
    low: float | None = None
    high: float | None = None

    def margins(self, style: NDArray[Any]) -> Floats:
        """Return how well responses with style counts ``[..., S]`` do, in log-odds ``[...]``."""
        value = np.log1p(self.property.of(style))
        if self.low is None and self.high is None:
            return np.asarray(self.sign * self.property.gain * value, dtype=np.float32)
        beyond = np.zeros_like(value)
        if self.low is not None:
            beyond = np.maximum(beyond, np.log1p(np.float32(self.low)) - value)
        if self.high is not None:
            beyond = np.maximum(beyond, value - np.log1p(np.float32(self.high)))
        broken = beyond > _TOLERANCE
        return np.asarray(-self.sign * broken * (self.property.gain * beyond + _BEYOND), dtype=np.float32)


@dataclass(frozen=True)
class Recognition:
    """What of a criterion can be counted.

    Attributes:
        wishes: The countable parts; none where there are none.
        certainty: From 0, where counts say nothing, to 1, where every word was understood.
        left_over: The words that were not.
    """

    wishes: tuple[CountedWish, ...] = ()
    certainty: float = 0.0
    left_over: tuple[str, ...] = ()

    def margins(self, style: NDArray[Any]) -> Floats:
        """Return how well responses with style counts ``[..., S]`` do under all parts together ``[...]``.

        In log-odds, added as those of several criteria, and as sure as the wording was understood.
        """
        total = sum(
            (wish.margins(style) for wish in self.wishes), np.zeros(style.shape[:-1], dtype=np.float32)
        )
        return np.asarray(self.certainty / max(1, len(self.wishes)) ** 0.5 * total, dtype=np.float32)


@lru_cache(maxsize=4096)
def recognise(criterion: str) -> Recognition:
    """Return what of a criterion's wording can be counted."""
    tokens = list(_tokens(criterion))
    if not any(token.kind == "property" for token in tokens):
        return Recognition()
    wishes: list[CountedWish] = []
    for clause in _clauses(tokens):
        wishes += _wishes(clause)
    left_over = tuple(token.text for token in tokens if token.kind == "unknown")
    if not wishes or len(left_over) >= len(_CERTAINTY):
        return Recognition(left_over=left_over)
    return Recognition(tuple(dict.fromkeys(wishes)), _CERTAINTY[len(left_over)], left_over)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    property: Property | None = None
    sign: int = 0
    number: float = 0.0
    weak: bool = False


@dataclass(frozen=True)
class _Lexicon:
    pattern: re.Pattern[str]
    meaning: Mapping[str, _Token] = field(repr=False)


@cache
def countable_properties() -> tuple[Property, ...]:
    """Return the properties that wishes are recognised of."""
    return tuple(found for found, _ in _tables())


@cache
def _tables() -> tuple[tuple[Property, Mapping[str, Any]], ...]:
    names = style_sheet().names
    return tuple(
        (
            Property(
                table["name"],
                tuple(map(names.index, table["value"])),
                names.index(table["per"]) if "per" in table else None,
                table.get("gain", _GAIN),
            ),
            table,
        )
        for table in tomllib.loads(PROPERTIES_FILE.read_text("utf-8"))["property"]
    )


@cache
def _lexicon() -> _Lexicon:
    words = tomllib.loads(WORDS_FILE.read_text("utf-8"))
    entries: list[tuple[str, _Token]] = []
    for kind, listed in words.items():
        entries += [(expression, _Token(kind, expression)) for expression in _listed(listed)]
    for found, table in _tables():
        for key, sign in (("nouns", 0), ("weak", 0), ("more", 1), ("less", -1)):
            entries += [
                (expression, _Token("property", expression, found, sign, weak=key == "weak"))
                for expression in _listed(table.get(key, ""))
            ]
    entries += [(word, _Token("number", word, number=number)) for word, number in _NUMBERS.items()]
    # The longest expression wins; of equally long ones that of a property.
    entries.sort(key=lambda entry: (-len(entry[0].split()), -len(entry[0]), entry[1].kind != "property"))
    meaning = {f"e{number}": token for number, (_, token) in enumerate(entries)}
    branches = "|".join(
        f"(?P<e{number}>{_regex(expression)})" for number, (expression, _) in enumerate(entries)
    )
    return _Lexicon(
        re.compile(rf"(?:{branches}|(?P<digits>\d+)|(?P<unknown>[^\W_]+)|(?P<mark>[,.;:!?]))(?!\w)"), meaning
    )


def _listed(expressions: str) -> list[str]:
    return [expression for each in expressions.split("|") if (expression := each.strip())]


def _regex(expression: str) -> str:
    return r"[\s,-]+".join(re.escape(word).replace(r"\*", r"\w*") for word in expression.split())


_EXPANDED = (
    *(("n't", " not"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"), ("'d", " would"), ("'m", " am")),
    *(("ca not", "can not"), ("wo not", "will not")),
)


def _normalised(text: str) -> str:
    folded = text.casefold().replace("’", "'")
    for short, long in _EXPANDED:
        folded = folded.replace(short, long)
    return folded.replace("'s", " s")


def _tokens(criterion: str) -> Iterator[_Token]:
    lexicon = _lexicon()
    for found in lexicon.pattern.finditer(_normalised(criterion)):
        kind = found.lastgroup or "unknown"
        if kind == "digits":
            yield _Token("number", found.group(), number=float(found.group()))
        elif kind in ("unknown", "mark"):
            yield _Token(kind, found.group())
        else:
            yield replace(lexicon.meaning[kind], text=found.group())


def _clauses(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    """Split where “no” ends: at “but”, a full stop or a semicolon."""
    clause: list[_Token] = []
    for token in tokens:
        if token.text in ("but", ";", "."):
            yield clause
            clause = []
        else:
            clause.append(token)
    yield clause


def _wishes(clause: Sequence[_Token]) -> list[CountedWish]:
    sign = 1
    limit: str | None = None
    number: float | None = None
    last_number = 0.0
    found: list[CountedWish] = []
    weak: list[CountedWish] = []
    for token in clause:
        match token.kind:
            case "less":
                sign = -1
            case "less_before":
                found, weak = ([replace(wish, sign=-wish.sign) for wish in each] for each in (found, weak))
            case "such_as" if found:
                break
            case "at_most" | "at_least" | "exactly":
                limit = token.kind
            case "at_most_after" if found and found[-1].high is not None:
                found[-1] = replace(found[-1], low=None, high=last_number)
            case "at_least_after" if found and found[-1].low is not None:
                found[-1] = replace(found[-1], low=last_number, high=None)
            case "number":
                hundreds = number is not None and token.number >= _HUNDRED
                number = token.number * (number or 1) if hundreds else token.number
            case "property" if token.property is not None:
                if number is not None and token.sign == 0:
                    found.append(_limited(token.property, sign, limit, number))
                    last_number, number, limit = number, None, None
                else:
                    wish = CountedWish(token.property, sign * (token.sign or 1))
                    (weak if token.weak else found).append(wish)
    return found or weak


def _limited(counted: Property, sign: int, limit: str | None, number: float) -> CountedWish:
    match limit:
        case "at_most":
            return CountedWish(counted, 1, high=number)
        case "at_least":
            return CountedWish(counted, 1, low=number)
        case _ if sign < 0:
            return CountedWish(counted, -1)
        case "exactly":
            return CountedWish(counted, 1, number, number)
        case _:
            room = round(_ABOUT * number)
            return CountedWish(counted, 1, number - room, number + room)
