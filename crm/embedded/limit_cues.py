"""Limit cues: what of a wish says whether a number in it limits an amount, and on which side.

“Anything beyond two hundred words and I stop reading” names the most that is wished, “three sources or it
isn't worth it” the least, and “half the links gave me a 404” no amount at all. A logistic model over the
words around a number tells them apart; it was fitted to wishes with numbers (``crm.training.limits``).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from crm.embedded.numerals import Numeral, numerals
from crm.protocol import Floats

N_BUCKETS = 1 << 15
"""Cues are hashed into so many."""
_REACH = 9
"""So many words to either side of a number are looked at."""
_PLACED = {"left": 5, "right": 6}
"""So many of them with their place."""
_STEM = 5
_A_YEAR = range(1900, 2100)
_SIZES = ((1, "one"), (6, "some"), (20, "many"), (99, "tens"), (999, "hundreds"))
_BEFORE = {
    "most": r"(?:at (?:the )?(?:very )?most|(?:no|not|never|nothing|hardly|\w+n't|don't want|do not want)"
    r"(?: \w+)? (?:more|longer|over|above|beyond|bigger|further)(?: th[ae]n)?|no longer th[ae]n"
    r"|max(?:imum|\.)?(?: of)?|up to|within"
    r"|(?:not|never|don't|do not|doesn't|without) (?:exceed\w*|go(?:ing)? (?:over|above|beyond|past))"
    r"|(?:limit|cap|restrict|cut|keep|hold|trim|boil|kept|condense|compress|reduce|squeeze|stick)\w*"
    r"(?: \w+){0,3}? (?:to|at|down to|within)"
    r"|capped at|stop(?:s|ping)? (?:at|after)|as many as"
    r"|höchstens|maximal|nicht mehr als|nicht über|bis zu|au (?:grand )?maximum|au plus|pas plus de|jusqu'à"
    r"|máximo(?: de)?|como (?:máximo|mucho)|no más de|hasta)",
    "least": r"(?:at (?:the )?(?:very )?least|(?:no|not|never) (?:fewer|less|shorter|under|below)"
    r"(?: th[ae]n)?"
    r"|min(?:imum|\.)?(?: of)?|from|starting at"
    r"|mindestens|nicht weniger als|wenigstens|au (?:grand )?minimum|au moins|pas moins de"
    r"|mínimo(?: de)?|como mínimo|al menos|por lo menos|no menos de)",
    "fewer": r"(?:fewer|less|lower|shorter|smaller) th[ae]n|under|below|beneath"
    r"|unter|weniger als|moins de|menos de",
    "more": r"(?:(?<!no )(?<!not )(?:more|longer|greater|bigger) th[ae]n|not (?:just|only)"
    r"|over|above|beyond|upwards of|exceed\w*|mehr als|über|plus de|más de)",
    "exactly": r"(?:exactly|precisely|only|just|a total of|always|one and only"
    r"|genau|nur|exactement|seulement|exactamente|solo|sólo|solamente)",
    "about": r"(?:about|around|roughly|approximately|approx\.?|circa|some|near|close to|or so|~"
    r"|ungefähr|etwa|rund|environ|unos|unas|alrededor de|más o menos)",
}
_AFTER = {
    "more": r"(?:just |simply |alone )?(?:is|are|was|were|do|does|will)(?:n't| not| never)"
    r"(?: (?:nearly|really|quite|ever))? (?:enough|sufficient|do|suffice)"
    r"|won't (?:do|suffice|cut it|be (?:enough|sufficient))",
    "most": r"(?:or (?:less|fewer|under|below|shorter)|max(?:imum)?|tops|at (?:the )?(?:very )?most"
    r"|(?:is|are) (?:the (?:limit|maximum|max|most|cap)|enough|plenty|my limit)"
    r"|limit|and (?:no|not one|not a (?:single|word)) more|(?:not|no) more(?! th[ae]n)|or it'?s too"
    r"|höchstens|maximal|nicht mehr|(?:reicht|reichen|genügt|genügen)|au (?:maximum|plus)|pas plus|maxi"
    r"|máximo|como (?:máximo|mucho)|no más|nada más)",
    "least": r"(?:or (?:more|longer|over|above|up)|at (?:the )?(?:very )?least|min(?:imum)?"
    r"|and (?:up|more|upwards|above)|plus|\+|(?:is|are) the (?:minimum|least)"
    r"|mindestens|oder mehr|au (?:minimum|moins)|ou plus|como mínimo|al menos|por lo menos|o más)",
    "exactly": r"(?:exactly|precisely|sharp|not more,? not less|no more,? no less|no more and no less)",
    "about": r"(?:or so|or thereabouts|-ish|ish|give or take)",
}
_PHRASES_BEFORE = {
    said: re.compile(rf"(?<!\w)(?:{phrase})(?: (?:a|the|some|your|them|it))?\s*$")
    for said, phrase in _BEFORE.items()
}
_PHRASES_AFTER = {said: re.compile(rf"(?<!\w){phrase}(?!\w)") for said, phrase in _AFTER.items()}
_RIGHT_AFTER = {said: re.compile(rf"(?:\W*\w+)?\W*?(?<!\w){phrase}(?!\w)") for said, phrase in _AFTER.items()}
"""The same with a unit at most before them: “100 words minimum”."""
_REACH_BEFORE, _REACH_AFTER = 36, 44
"""Letters among which such a phrase stands."""
_NEGATED = re.compile(
    r"(?<!\w)(?:no|not|never|without|don't|dont|doesn't|isn't|can't|stop\w*|quit|avoid\w*|hate\w*|dislike\w*"
    r"|annoy\w*|bore\w*|skip|drop|minus|spare|enough|why|rather than|instead of|insult|awful|ridiculous"
    r"|too (?:few|little|many|much|short|long))(?!\w)"
)
"""Words by which a bare number is often what is not wished."""
_COUNTED = re.compile(
    r"\W*(?:(?:of|short|long|brief|good|concrete|simple|small|big|clear|or two) )*"
    r"(?:or more )?(?:sentence|sentance|line|word|paragraph|paragraf|bullet|point|item|example|heading|header"
    r"|title|section|emoji|smiley|question|exclamation|link|url|source|reference|citation|quot|table|list|block|chunk"
    r"|snippet|figure|statistic|number|joke|analog|simile|metaphor|comparison|step|tip|page|dash|bracket|verse"
    r"|stanza|character|term|phrase|percentage|date|price|formula|semicolon|contraction|command|code|\"|“)"
)
"""What is counted, after its number."""
_NOT_COUNTED = re.compile(r"\W*(?:screen|tweet|text message|e-?mail|glance|postcard|breath)\b")
"""What says how long an answer is without being counted in it."""
_NOT_ONE = re.compile(
    r"(?:\b(?:not|never|no|without)(?: even)?(?: an?)?|\bkein(?:e[mnrs]?)?|\bohne(?: ein(?:e[mnrs]?)?)?"
    r"|\b(?:pas|sans)(?: une?)?|\b(?:sin|ni)(?: una?)?) $"
)
"""Before a “single” one: none at all is wished."""
_WORD = re.compile(r"[^\W\d]+(?:['’][^\W\d]+)?|#|[^\w\s]")
_NUMBER = "#"


class Kind(IntEnum):
    """What a number in a wish is."""

    NONE = 0
    """No amount that is wished."""
    MOST = 1
    FEWER = 2
    """What an amount must stay under."""
    LEAST = 3
    MORE = 4
    """What an amount must be above."""
    WITHIN = 5
    """The amount itself, or an end of a range."""


def numbers_in(text: str) -> list[Numeral]:
    """Return the numbers of a text in small letters that may limit something.

    A size such as “one screen” is none, nor is the one of “not a single”; “eine” or “un” is a number where a
    turn of phrase makes it one, “höchstens eine”.
    """
    return [
        number
        for number in numerals(text)
        if not _NOT_COUNTED.match(text, number.end)
        and not (number.value == 1 and not number.in_digits and _NOT_ONE.search(text[: number.start]))
        and (not number.is_article or phrase_around(text, number))
    ]


def cues(text: str, numbers: Sequence[Numeral], place: int) -> Iterator[str]:
    """Yield what is to be seen around a number.

    Args:
        text: The wish in small letters.
        numbers: All numbers in it.
        place: Which of them.
    """
    number = numbers[place]
    left = _words(text[: number.start], numbers[:place], 0)[::-1]
    right = _words(text[number.end :], numbers[place + 1 :], number.end)
    yield "any"
    yield f"size {_size(number.value)}"
    yield f"size {_size(number.value)} in digits {number.in_digits}"
    yield f"ordinal {number.is_ordinal} with {'' if not right else right[0]}"
    yield f"number {place} of {min(len(numbers), 3)}"
    yield f"begins {not left} ends {not ''.join(right).strip('.!')}"
    for word in {*left, *right}:
        yield f"with {word}"
    for side, words in (("left", left[:_REACH]), ("right", right[:_REACH])):
        for distance, word in enumerate(words):
            if distance < _PLACED[side]:
                yield f"{side} {distance} {word}"
            yield f"{side} {word}"
            yield f"{side} {word[:_STEM]}-"
        for length in (2, 3):
            for distance in range(len(words) - length + 1):
                phrase = " ".join(words[distance : distance + length])
                yield f"{side} {phrase}"
                if distance < 2:  # noqa: PLR2004
                    yield f"{side} {distance} {phrase}"
    said = phrase_around(text, number)
    negated = _NEGATED.search(text[: number.start] + text[number.end :]) is not None
    counted = _COUNTED.match(text[number.end :]) is not None
    yield from (f"says {said}", f"says {said} negated {negated}", f"says {said} of what is counted {counted}")
    for near, other in pairwise(("", *left[:1], *right[:1], "")):
        yield f"between {near} {other}"


def phrase_around(text: str, number: Numeral) -> str:
    """Return what the plainest turns of phrase say of a number: most, fewer, least, more, exactly, about or
    nothing."""
    before, after = text[: number.start][-_REACH_BEFORE:], text[number.end :][:_REACH_AFTER]
    for place, phrases in ((after, _PHRASES_AFTER), (before, _PHRASES_BEFORE)):
        for said, phrase in phrases.items():
            if phrase.search(place):
                return said
    return ""


def said_of_each(text: str, numbers: Sequence[Numeral]) -> list[str]:
    """Return what the plainest turns of phrase say of each of N numbers, as ``phrase_around`` calls it.

    Before it as far as the last number, else after it as far as the next: “at least 50 and at most 150”.
    """
    ends = [0, *(number.end for number in numbers)]
    starts = [*(number.start for number in numbers), len(text)]
    said = []
    for place in range(len(numbers)):
        before, after = text[ends[place] : starts[place]], text[ends[place + 1] : starts[place + 1]]
        found = next((each for each, phrase in _PHRASES_BEFORE.items() if phrase.search(before)), "")
        said.append(found or next((each for each, phrase in _RIGHT_AFTER.items() if phrase.match(after)), ""))
    return said


def _words(part: str, numbers: Sequence[Numeral], start: int) -> list[str]:
    """Return the words of a part of a text that begins at ``start``, numbers in it as #."""
    for number in reversed(numbers):
        part = f"{part[: number.start - start]}{_NUMBER}{part[number.end - start :]}"
    return _WORD.findall(part)


def _size(value: float) -> str:
    if value in _A_YEAR:
        return "a year"
    named = next((name for most, name in _SIZES if value <= most), "thousands")
    return f"{named} round" if value >= 10 and value % 10 == 0 else named  # noqa: PLR2004


def hashed(seen: Iterator[str]) -> dict[int, float]:
    """Return the buckets of cues, each with its value: the cues of a number have unit length together."""
    buckets = {zlib.crc32(cue.encode()) % N_BUCKETS for cue in seen}
    return dict.fromkeys(sorted(buckets), 1 / max(1, len(buckets)) ** 0.5)


@dataclass(frozen=True)
class LimitReader:
    """The logistic model: probabilities ``softmax(x W + b)`` of the kinds.

    Attributes:
        weight: W ``[N_BUCKETS, 6]``.
        bias: b ``[6]``.
    """

    weight: Floats
    bias: Floats

    def prob(self, text: str, numbers: Sequence[Numeral]) -> Floats:
        """Return how probably each of N numbers is of each kind ``[N, 6]``."""
        logits = np.stack([self._logits(hashed(cues(text, numbers, place))) for place in range(len(numbers))])
        return np.asarray(softmax(logits, axis=1), dtype=np.float32)

    def _logits(self, seen: Mapping[int, float]) -> Floats:
        logits: Floats = np.array([*seen.values()], np.float32) @ self.weight[[*seen]] + self.bias
        return logits

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file stores."""
        return {"weight": self.weight.astype(np.float16), "bias": self.bias}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LimitReader:
        """Make one of what a file stores."""
        return cls(arrays["weight"].astype(np.float32), arrays["bias"].astype(np.float32))
