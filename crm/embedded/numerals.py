"""Numerals: the numbers that a wish names, in digits or in English, German, French or Spanish words.

Ordinals are among them: “nobody needs a fourth paragraph” says how many are wished.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_IN_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve",
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
)
_WORDS = {
    **{word: float(value) for words in _IN_WORDS for value, word in enumerate(words.split())},
    **dict.fromkeys(("once", "single", "lone", "solitary", "eine", "einen", "une", "una"), 1.0),
    **dict.fromkeys(("einziger", "einzige", "einzigen", "einziges", "seul", "seule"), 1.0),
    **dict.fromkeys(("twice", "couple", "pair"), 2.0),
    **dict.fromkeys(("fifteen", "fünfzehn", "quinze", "quince"), 15.0),
    **dict.fromkeys(("twenty", "zwanzig", "vingt", "veinte"), 20.0),
    **dict.fromkeys(("thirty", "dreißig", "trente", "treinta"), 30.0),
    **dict.fromkeys(("forty", "vierzig", "quarante", "cuarenta"), 40.0),
    **dict.fromkeys(("fifty", "fünfzig", "cinquante", "cincuenta"), 50.0),
    **dict.fromkeys(("sixty", "sechzig", "soixante", "sesenta"), 60.0),
    **{"seventy": 70.0, "eighty": 80.0, "achtzig": 80.0, "ochenta": 80.0, "ninety": 90.0},
    **dict.fromkeys(("hundred", "hundert", "cent", "cien"), 100.0),
    **dict.fromkeys(("thousand", "tausend", "mille", "mil"), 1000.0),
    **{"dozen": 12.0, "dutzend": 12.0, "douzaine": 12.0, "docena": 12.0, "dizaine": 10.0, "decena": 10.0},
    **{"quinzaine": 15.0, "vingtaine": 20.0, "veintena": 20.0, "trentaine": 30.0, "treintena": 30.0},
    **{"cinquantaine": 50.0, "centaine": 100.0, "centenar": 100.0},
}
_ORDINALS_IN_WORDS = (
    "second third fourth fifth sixth seventh eighth ninth tenth",
    "zweite dritte vierte fünfte sechste siebte achte neunte zehnte",
    "zweiten dritten vierten fünften sechsten siebten achten neunten zehnten",
    "deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième",
    "segundo tercero cuarto quinto sexto séptimo octavo noveno décimo",
    "segunda tercera cuarta quinta sexta séptima octava novena décima",
)
_ORDINALS = {
    **{word: float(value) for words in _ORDINALS_IN_WORDS for value, word in enumerate(words.split(), 2)},
    **{"tercer": 3.0, "hundredth": 100.0},
}
_ARTICLES = frozenset({"ein", "eine", "einen", "un", "une", "una", "uno"})
_HALF = 0.5
_MULTIPLIED = frozenset({12.0, 100.0, 1000.0})
"""A number before one of these, and not greater, is how many of it: “two hundred”, “half a dozen”."""


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_NUMBER = re.compile(
    r"(?<![\w.,])(?:(?P<digits>\d+(?:[.,]\d{3})*)"
    r"|(?P<half>(?:half|demi|halbes|media)(?=[ -](?:an? )?(?:dozen|dutzend|douzaine|docena)\b))"
    rf"|(?P<word>{_any_of({**_WORDS, **_ORDINALS})}))"
    r"(?=(?P<ordinal>nd|rd|th)?(?:ish|x)?(?!\w|[.,]\d))",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[ -]| an? ", re.IGNORECASE)
_AND = re.compile(r"[ -]| and ", re.IGNORECASE)


@dataclass(frozen=True)
class Numeral:
    """A number, and where it stands in a text: from ``start`` to ``end``.

    Attributes:
        in_digits: Whether it is written in digits.
        is_ordinal: Whether it is one, “third” or “3rd”.
        is_article: Whether it may be no number at all, as “eine” or “un”.
    """

    value: float
    start: int
    end: int
    in_digits: bool
    is_ordinal: bool = False
    is_article: bool = False


def numerals(text: str) -> list[Numeral]:
    """Return the numbers of a text, each once: “two hundred” is one, “one or two” are two.

    “3.5” and “GPT-4o” are none.
    """
    return [*_joined(map(_numeral, _NUMBER.finditer(text)), text)]


def _numeral(found: re.Match[str]) -> Numeral:
    digits, word = found.group("digits"), (found.group("word") or "").casefold()
    if digits:
        is_ordinal = found.group("ordinal") is not None
        value = float(re.sub("[.,]", "", digits))
        return Numeral(value, *found.span(), in_digits=True, is_ordinal=is_ordinal)
    value = _WORDS.get(word, _ORDINALS.get(word, _HALF))
    kinds = {"is_ordinal": word in _ORDINALS, "is_article": word in _ARTICLES}
    return Numeral(value, *found.span(), in_digits=False, **kinds)


def _joined(found: Iterator[Numeral], text: str) -> Iterator[Numeral]:
    before: Numeral | None = None
    for number in found:
        if before is not None and (value := _together(before, number, text)) is not None:
            in_digits = before.in_digits or number.in_digits
            before = Numeral(value, before.start, number.end, in_digits)
            continue
        if before is not None:
            yield before
        before = number
    if before is not None:
        yield before


def _together(one: Numeral, other: Numeral, text: str) -> float | None:
    """Return what two numbers are as one, “two” and “hundred”; None where they are two."""
    between = text[one.end : other.start]
    if other.value in _MULTIPLIED and one.value < other.value and _BETWEEN.fullmatch(between):
        return one.value * other.value
    if one.is_ordinal or other.is_ordinal:
        return None
    if one.value == 1 and between in (" ", "-") and not (one.in_digits or other.in_digits):
        return other.value
    is_round = one.value >= 20 and not one.in_digits and not other.in_digits  # noqa: PLR2004
    if is_round and other.value < _ones_of(one.value) and _AND.fullmatch(between):
        return one.value + other.value
    return None


def _ones_of(value: float) -> float:
    """Return the unit of a round number: what may be added to it is less."""
    return next((unit for unit in (1000.0, 100.0, 10.0) if value % unit == 0), 0.0)
