"""Limits: “two sentences at most”, “under 100 words”, “exactly three examples”, “5–7 bullets”."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from crm.embedded.idioms import plainly
from crm.embedded.limit_cues import Kind, LimitReader, numbers_in, phrase_around, said_of_each
from crm.embedded.numerals import Numeral
from crm.embedded.representation import load_arrays
from crm.paths import LIMITS_FILE
from crm.protocol import Floats

_ABOUT = 0.15
"""How far “around 200 words” may be missed on either side."""
_FEW = 20
"""Up to so many, a bare number means exactly so many; above, about so many."""
_BETWEEN_ENDS = re.compile(r"\s*(?:-|–|to|or|and|until|bis|oder|und|à|ou|et|a|o|y)\s*")
_LISTED = re.compile(r"\.?\s*,\s*|\.\s*")
"""Between numbers that only stand in a row: “1, 2, 3”."""
_UNITS = {
    "word": r"words?|wort|wörtern?|worten?|mots?|palabras?",
    "line": r"lines?|zeilen?|lignes?|líneas?",
    "sentence": r"sent[ea]nces?|satz|sätzen?|phrases?|frases?",
    "paragraph": r"paragra(?:ph|f)s?|paras?|abs[aä]tze?n?|paragraphes?|párrafos?",
    "bullet": r"bullets?(?: points?)?|stichpunkten?|aufzählungspunkten?|puces?|viñetas?",
    "item": r"items?|list items?|tips?|listenpunkten?|tipps?|conseils?|consejos?",
    "heading": r"headings?|headers?|headlines?|überschriften?|titres?|títulos?",
    "table": r"tables?|tabellen?|tableaux?|tablas?",
    "emoji": r"emojis?|emoticons?|smileys?|émojis?",
    "exclamation": r"exclamation (?:marks?|points?)|ausrufezeichen|points? d['’]exclamation"
    r"|signos? de exclamación",
    "question": r"questions?|fragen?|preguntas?",
    "link": r"links?|urls?|liens?|enlaces?",
    "example": r"examples?|beispielen?|exemples?|ejemplos?",
    "source": r"sources?|references?|citations?|quellen?|références?|fuentes?",
    "quote": r"quotes?|quotations?|zitaten?|citas?",
}
"""What numbers of are wished, in English, German, French and Spanish."""
_UNIT = re.compile(
    r"[\W_]*(?:(?:short|long|brief|full|whole|single|little|tiny|good|clear|concrete|or \w+|[\w-]+ed)[\W_]+)?"
    rf"(?:{'|'.join(f'(?P<{unit}>{words})' for unit, words in _UNITS.items())})(?!\w)"
)


@dataclass(frozen=True)
class Limit:
    """An amount from ``low`` to ``high``; None for no limit on that side.

    Attributes:
        unit: What stands behind the number, ``word``, ``line``, ``emoji``; empty where that is nothing known.
    """

    low: float | None = None
    high: float | None = None
    unit: str = field(default="", compare=False)

    def times(self, factor: float) -> Limit:
        """Return the limit in a unit of which ``factor`` make one of this."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return Limit(low, high)

    def missed_by(self, amount: NDArray[np.floating]) -> Floats:
        """Return how far amounts lie beyond the limits, in units of log(1 + amount),
        0 where they are kept."""
        value = np.log1p(np.asarray(amount, dtype=np.float32))
        beyond = np.zeros_like(value)
        if self.low is not None:
            beyond = np.maximum(beyond, np.log1p(np.float32(self.low)) - value)
        if self.high is not None:
            beyond = np.maximum(beyond, value - np.log1p(np.float32(self.high)))
        return np.asarray(beyond, dtype=np.float32)

    def __str__(self) -> str:
        """As an explanation names it: “at most 3”."""
        if self.low == self.high:
            return f"exactly {self.low:g}"
        if self.low is None:
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if self.high is None else f"{self.low:g} to {self.high:g}"


@cache
def limit_reader() -> LimitReader:
    """Return the bundled model that tells which numbers are limits.

    Raises:
        UnavailableError: Its file is absent or damaged.
    """
    return LimitReader.from_arrays(load_arrays(LIMITS_FILE, "weight", "bias"))


@lru_cache(maxsize=4096)
def read_limit(criterion: str) -> Limit | None:
    """Return the limit that a criterion names, None where it names no number or none that limits anything.

    “1, 2, 3”, “the shorter one”, “not a single emoji” and “I hate one-liners” limit nothing.
    """
    return limit_in(plainly(criterion).casefold(), limit_reader())


def limit_in(text: str, reader: LimitReader) -> Limit | None:
    """Return the limit that a text in plain words and small letters names, as a model reads it."""
    numbers = numbers_in(text)
    if not numbers or _are_in_a_row(text, numbers):
        return None
    if (both := _both_ends(text, numbers)) is not None:
        return both
    prob = reader.prob(text, numbers)
    kinds = [Kind(int(each.argmax())) for each in prob]
    place = int(prob[:, Kind.NONE].argmin())
    if kinds[place] is Kind.NONE:
        return None
    said = [phrase_around(text, number) for number in numbers]
    sides = [kind if kind in _SIDES else _SAID.get(each) for kind, each in zip(kinds, said, strict=True)]
    limit = _range_at(text, numbers, place) if kinds[place] is Kind.WITHIN else None
    if limit is None:
        is_an_end = sum(side is not None for side in sides) > 1
        kind = (sides[place] if is_an_end else None) or kinds[place]
        limit = _limited(numbers[place].value, kind, said[place])
    for other, side in enumerate(sides):
        if other != place and side is not None:
            limit = _narrowed(limit, _limited(numbers[other].value, side, ""))
    last = numbers[place + 1] if limit.low != limit.high and place + 1 < len(numbers) else numbers[place]
    return replace(limit, unit=_unit_after(text, numbers[place]) or _unit_after(text, last))


def _both_ends(text: str, numbers: Sequence[Numeral]) -> Limit | None:
    """Return the range whose ends two plain turns of phrase name, “at least 50 words and at most 150”; None
    where two numbers are no such ends of one amount."""
    if len(numbers) != 2:  # noqa: PLR2004
        return None
    sides = [_SAID.get(said) for said in said_of_each(text, numbers)]
    units = [_unit_after(text, number) for number in numbers]
    if _OF_EACH.search(text, numbers[1].end) or (all(units) and units[0] != units[1]):
        return None
    ends = [
        _limited(number.value, side, "")
        for number, side in zip(numbers, sides, strict=True)
        if side is not None
    ]
    lows, highs = (
        [end for each in ends if (end := getattr(each, side)) is not None] for side in ("low", "high")
    )
    if len(lows) != 1 or len(highs) != 1 or lows[0] > highs[0]:
        return None
    return Limit(lows[0], highs[0], next(filter(None, units), ""))


EACH = "each|every|per|apiece|jeweils|je|chacune?s?|cada"
"""Words by which a number is of each of several things, for a pattern."""
_OF_EACH = re.compile(rf"\b(?:{EACH}|par|por)\b")
"""What says that a second number is of something else: “three bullets, at most ten words each”."""
_SAID = {"most": Kind.MOST, "fewer": Kind.FEWER, "least": Kind.LEAST, "more": Kind.MORE}
_SIDES = frozenset(_SAID.values())


def _are_in_a_row(text: str, numbers: Sequence[Numeral]) -> bool:
    one, *others = numbers
    return bool(others) and _LISTED.fullmatch(text[one.end : others[0].start]) is not None


def _range_at(text: str, numbers: Sequence[Numeral], place: int) -> Limit | None:
    """Return the range of which a number is an end, “two to four” or “one or two”; None where it is none."""
    for one, other in ((place, place + 1), (place - 1, place)):
        if one >= 0 and other < len(numbers):
            between = text[numbers[one].end : numbers[other].start]
            if _BETWEEN_ENDS.fullmatch(between):
                low, high = sorted((numbers[one].value, numbers[other].value))
                return Limit(low, high)
    return None


def _limited(number: float, kind: Kind, phrase: str) -> Limit:
    step = 1.0 if number <= _FEW else 0.0
    match kind:
        case Kind.MOST:
            return Limit(high=number)
        case Kind.LEAST:
            return Limit(low=number)
        case Kind.FEWER:
            return Limit(high=max(0.0, number - step))
        case Kind.MORE:
            return Limit(low=number + step)
    if phrase == "exactly" or (phrase != "about" and number <= _FEW):
        return Limit(number, number)
    room = max(1.0, round(_ABOUT * number))
    return Limit(number - room, number + room)


def _narrowed(limit: Limit, other: Limit) -> Limit:
    """Return a limit with what another says of the side that it leaves open: “over two, under five”."""
    if limit.low is None and other.low is not None and other.low <= (limit.high or 0.0):
        return replace(limit, low=other.low)
    if limit.high is None and other.high is not None and other.high >= (limit.low or 0.0):
        return replace(limit, high=other.high)
    return limit


def _unit_after(text: str, number: Numeral) -> str:
    found = _UNIT.match(text, number.end)
    return "" if found is None else str(found.lastgroup)
