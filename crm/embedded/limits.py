"""Limits: “two sentences at most”, “under 100 words”, “exactly three examples”, “5–7 bullets”."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crm.embedded.idioms import plainly
from crm.protocol import Floats

_ONES = (
    "zero",
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
_NUMBERS = {word: float(number) for number, word in enumerate(_ONES)} | {
    **{"single": 1.0, "once": 1.0, "twice": 2.0, "couple": 2.0, "pair": 2.0, "dozen": 12.0, "fifteen": 15.0},
    **{"twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "eighty": 80.0},
    **{"hundred": 100.0, "thousand": 1000.0, "solitary": 1.0, "lone": 1.0},
}
_HUNDRED = 100.0
_ABOUT = 0.15
"""How far “around 200 words” may be missed on either side."""
_FEW = 20
"""Up to so many, a bare number means exactly so many; above, about so many."""
_NUMBER = re.compile(
    rf"(?<![\w.])(?:(?P<digits>\d+(?:,\d{{3}})*)"
    rf"|(?P<word>{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}))(?![\w])"
)
_RANGE = re.compile(r"\s*(?:-|–|to|or|and)\s*")
_LISTED = re.compile(r"\.?\s*,\s*|\.\s*")
_BEFORE = {
    "about": r"(?:about|around|roughly|approximately|approx\.?|circa|some|near|close to|or so|~)",
    "fewer": r"(?:fewer|less|lower|shorter|smaller) than|under|below|less then|beneath",
    "most": r"(?:at (?:the )?(?:very )?most|(?:no|not|never|nothing|hardly|\w+n't|don't want|do not want)"
    r"(?: \w+)? (?:more|longer|over|above|beyond|bigger|further)(?: than)?|no longer than"
    r"|max(?:imum|\.)?(?: of)?|up to|within"
    r"|(?:not|never|don't|do not|doesn't|without) (?:exceed\w*|go(?:ing)? (?:over|above|beyond|past))"
    r"|(?:limit|cap|restrict|cut|keep|hold|trim|boil|kept|condense|compress|reduce|squeeze|stick)\w*"
    r"(?: \w+){0,3}? (?:to|at|down to|within)"
    r"|capped at|stop(?:s|ping)? (?:at|after)|as many as)",
    "more": r"(?:(?<!no )(?<!not )(?:more|longer|greater|bigger) than|not (?:just|only)"
    r"|over|above|beyond|upwards of|exceed\w*)",
    "least": r"(?:at (?:the )?(?:very )?least|(?:no|not|never) (?:fewer|less|shorter|under|below)(?: than)?"
    r"|min(?:imum|\.)?(?: of)?|from|starting at)",
    "exactly": r"(?:exactly|precisely|only|just|a total of|always|one and only)",
}
_AFTER = {
    "most": r"(?:or (?:less|fewer|under|below|shorter)|max(?:imum)?|tops|at (?:the )?(?:very )?most"
    r"|(?:is|are) (?:the (?:limit|maximum|max|most|cap)|enough|plenty|my limit)"
    r"|limit|and (?:no|not one|not a (?:single|word)) more|not more|no more|or it'?s too)",
    "least": r"(?:or (?:more|longer|over|above|up)|at (?:the )?(?:very )?least|min(?:imum)?"
    r"|and (?:up|more|upwards|above)|plus|\+|(?:is|are) the (?:minimum|least))",
    "more": r"(?:just |simply |alone )?(?:is|are|was|were|do|does|will)(?:n't| not| never)"
    r"(?: (?:nearly|really|quite|ever))? (?:enough|sufficient|do|suffice)",
    "about": r"(?:or so|or thereabouts|-ish|ish|give or take)",
    "exactly": r"(?:exactly|precisely|sharp|not more,? not less|no more,? no less|no more and no less)",
}
_REACH_BEFORE, _REACH_AFTER = 36, 44
_LESS = re.compile(
    r"(?<!\w)(?:no|not|never|without|don't|dont|doesn't|isn't|can't|stop\w*|quit|avoid\w*|hate\w*|dislike\w*"
    r"|annoy\w*|bore\w*|skip|drop|minus|spare|enough|why|rather than|instead of|insult|awful|ridiculous"
    r"|too (?:few|little|many|much|short|long))(?!\w)"
)
"""Words by which a bare number is what is not wished, or another thing altogether."""
_LOOSE = frozenset(
    {"one", "single", "once", "twice", "couple", "pair", "lone", "solitary", "hundred", "thousand"}
)
"""Number words that mostly are none: they count where a thing that is counted follows."""
_THINGS = re.compile(
    r"\W*(?:(?:of|short|long|brief|good|concrete|simple|small|big|clear|or two) )*"
    r"(?:or more )?(?:sentence|sentance|line|word|paragraph|paragraf|bullet|point|item|example|heading|header"
    r"|title|section|emoji|smiley|question|exclamation|link|url|source|reference|citation|quot|table|list|block|chunk"
    r"|snippet|figure|statistic|number|joke|analog|simile|metaphor|comparison|step|tip|page|dash|bracket|verse"
    r"|stanza|character|term|phrase|percentage|date|price|formula|semicolon|contraction|command|code|\"|“)"
)
_OTHER_THINGS = re.compile(
    r"\W*(?:[-\w]+ )?(?:second|minute|hour|day|week|month|year|dollar|euro|people|friend|thing|place|breath"
    r"|dot|letter|syllable|column|row|third|quarter|voice|person|metre|meter|mile|gram|time|comma|thought|idea|hand"
    r"|breaks|stars?|asterisk|tick|backtick|item per|line per)"
)
_SIZES = re.compile(r"\W*(?:screen|tweet|text message|e-?mail|glance|postcard|breath)\b")
"""What says how long an answer is without being counted in it."""
_NONE_OF_IT = re.compile(
    r"\b(?:not|never|no|without|hardly|every|any|each|this|that|last|the|which|another|rather than|like)"
    r" (?:even )?(?:an? )?$"
)
_NAMED_NUMBER = re.compile(r"\b(?:step|point|grade|age|level|number|top|aged|line|i'm|am|are) $")
_PART_OF_A_WORD = re.compile(r"-(?!\d|to-|(?:word|sentence|paragraph) (?!para|brush))|-\w+s\b")
_YEARS = range(1500, 2100)


@dataclass(frozen=True)
class Limit:
    """An amount from ``low`` to ``high``; None for no limit on that side."""

    low: float | None = None
    high: float | None = None

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


@lru_cache(maxsize=4096)
def read_limit(criterion: str) -> Limit | None:
    """Return the limit that a criterion names, None where it names no number or none that limits anything.

    “1, 2, 3”, “the shorter one”, “not a single emoji” and “I hate one-liners” limit nothing.
    """
    text = plainly(criterion).casefold().replace("a hundred and fifty", "150")
    found = [*_NUMBER.finditer(text)]
    while found and not _is_amount(text, found[0]):
        found.pop(0)
    if not found:
        return None
    if len(found) > 1 and _LISTED.fullmatch(text[found[0].end() : found[1].start()]):
        return None
    first = found[0]
    number, end = _value(first), first.end()
    if len(found) > 1 and _RANGE.fullmatch(text[first.end() : found[1].start()]):
        low, high = sorted((number, _value(found[1])))
        if found[1].group() in ("hundred", "thousand"):
            number, end = number * high, found[1].end()
        else:
            return Limit(low, high)
    elif len(found) > 1 and text[first.end() : found[1].start()] == " ":
        number, end = number * _value(found[1]), found[1].end()
    kind = _kind(text[: first.start()], text[end:])
    if kind in ("", "exactly") and _LESS.search(text[: first.start()] + text[end:]):
        return None
    return _limited(number, kind)


def _is_amount(text: str, found: re.Match[str]) -> bool:
    """Whether a number says how many of a thing that can be counted are wished."""
    before, after = text[: found.start()], text[found.end() :]
    if re.search(r"[$€£(\[-]$", before) or re.match(r"[%)\]:]|°|th\b", after):
        return False
    is_loose = found.group() in _LOOSE
    if is_loose and (_NONE_OF_IT.search(before) or _SIZES.match(after)):
        return False
    if _kind(before, after):
        return True
    if _OTHER_THINGS.match(after) or _NAMED_NUMBER.search(before) or _PART_OF_A_WORD.match(after):
        return False
    return not (is_loose or _value(found) in _YEARS) or _THINGS.match(after) is not None


def _value(found: re.Match[str]) -> float:
    if digits := found.group("digits"):
        return float(digits.replace(",", ""))
    return _NUMBERS[found.group("word")]


def _kind(before: str, after: str) -> str:
    near_before, near_after = before[-_REACH_BEFORE:], after[:_REACH_AFTER]
    for kind in ("more", "most", "least", "exactly", "about"):
        if re.search(rf"(?<!\w){_AFTER[kind]}(?!\w)", near_after):
            return kind
    for kind in ("most", "least", "fewer", "more", "exactly", "about"):
        if re.search(rf"(?<!\w){_BEFORE[kind]}(?: (?:a|the|some|your|them|it))?\s*$", near_before):
            return kind
    return ""


def _limited(number: float, kind: str) -> Limit:
    step = 1.0 if number <= _FEW else 0.0
    match kind:
        case "most":
            return Limit(high=number)
        case "least":
            return Limit(low=number)
        case "fewer":
            return Limit(high=max(0.0, number - step))
        case "more":
            return Limit(low=number + step)
        case _ if kind == "exactly" or (kind == "" and number <= _FEW):
            return Limit(number, number)
        case _:
            room = max(1.0, round(_ABOUT * number))
            return Limit(number - room, number + room)
