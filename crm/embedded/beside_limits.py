"""What a criterion with a limit asks for besides: “warm” of “warm, in at most three sentences”.

A limit is read by the whole of its words, which leaves no room for anything else, another limit included. So
a criterion is parted where its form allows it: each limit is read by itself, and so is all the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from crm.embedded.forms import is_context
from crm.embedded.idioms import plainly
from crm.embedded.limit_cues import numbers_in
from crm.embedded.limits import EACH, read_limit

_LINK = re.compile(
    r"\s*[,;()\[\]]+\s*(?:(?:and|but|yet|und|aber|et|mais|y|pero)\b)?\s*"
    r"|\s*:\s+|\s+[-–—/+]+\s+|\s+&\s+(?!cons\b|don)|(?<=[^\W\d]{2})(?<!\bmax)(?<!\bmin)(?<!\bapprox)(?<!\bca)[.!?…]+\s+(?:(?:and|but|also)\b\s*)*"
    r"|\s+(?:and(?: (?:also|yet|still))?|but(?: also)?|yet|while|whilst|though|although|plus|as well as"
    r"|along(?:side| with)|together with|with(?! (?:you|me|it|regards)\b)"
    r"|und|aber|sowie|mit|et|mais|tout en|avec|y|pero|con)\s+",
    re.IGNORECASE,
)
"""What stands between parts that are wishes by themselves."""
_IN = re.compile(
    r"(?<!\bnot)(?<!\bnever)(?<!\beach)(?<!\bevery)\s+"
    r"(?=(?:in|within|using|under|below|all in)\s+(?:\w+\s+){0,3}?$)",
    re.IGNORECASE,
)
"""Before a number: what follows is its part, “tell it as a story in under 100 words”."""
_ONE_THING = re.compile(r"(?<=\bpros) and (?=cons\b)|(?<=\bdos) and (?=don'?ts\b)", re.IGNORECASE)
_LEAST_WORDS = re.compile(r"[^\W\d_]{2}")
_OF_LIMIT = re.compile(
    r"(?:(?:please|pls|and|but|just|also|always|then|still|to|be|is|are|it|it's|its|that|all|everything|things"
    r"|(?:the |your |my |an |any |every |each )?(?:answers?|respon[sc]es?|repl(?:y|ies)|text|lengths?)"
    r"|not an? (?:novel|essay|book|lecture|thesis|saga|epic)"
    r"|(?:no|not|nothing) (?:more|less|fewer|longer|shorter|else|over)"
    r"|not a (?:single )?word (?:beyond|more|over|longer)|keep\w*|kept|stay\w*|stick\w*|done|do|say|said"
    r"|fit\w*|remain\w*|hold\w*|give me|I (?:want|need|like|prefer))\s*)*",
    re.IGNORECASE,
)
"""What only leads to a limit: “keep it” of “keep it under 100 words”."""
_POLITE = re.compile(
    r"(?:please|pls|plz|(?:many )?thanks?\b.*|thx|cheers\b.*|ta|ok(?:ay)?|sorry\b.*|bitte|danke\b.*|merci\b.*"
    r"|gracias\b.*|(?:(?:kind|best|with) )*regards\b.*|that's (?:it|all|enough|plenty)|that is all"
    r"|(?:then |you're |I'm )?(?:out|done|stop|gone|happy)|one would do|no exceptions?|period|full stop"
    r"|I beg (?:of )?you|if (?:possible|you (?:can|could|would)|at all possible|that's .*|it's .*))",
    re.IGNORECASE,
)
_OF_EACH = re.compile(rf"(?:{EACH}|all)\b", re.IGNORECASE)
"""How a part begins that says how long what was counted before is: “three bullets, each under ten words”."""
_FOR_EACH = re.compile(
    r"\b(?:each|apiece|jeweils"
    r"|(?:per|for (?:each|every)) (?:bullet(?: point)?|point|item|section|step|tip|one))\W*$",
    re.IGNORECASE,
)
"""How one ends: “three bullets, ten words each”."""
_NOT = re.compile(r"(?:no|not|nor|never)\b", re.IGNORECASE)
_OF_NUMBER = re.compile(
    r"\W*(?:(?:or |and )?(?:more|less|fewer|over|above|below|extra|tops|max(?:imum)?"
    r"|at (?:the )?(?:very )?(?:most|least))\b\W*)*$",
    re.IGNORECASE,
)
"""What stands behind a number of what was named before: “three bullets and not one over”."""
_MARKS = " .,;:!?-–—"


@dataclass(frozen=True)
class LimitsAndRest:
    """A criterion that names an amount and asks for something else, too, or names several amounts.

    Attributes:
        limits: The parts with an amount each, one at least.
        rest: What else is asked for, in the words of the criterion; empty where that is nothing.
    """

    limits: tuple[str, ...]
    rest: str


@lru_cache(maxsize=4096)
def limits_and_rest(criterion: str) -> LimitsAndRest | None:
    """Return the parts of a criterion with a limit; None where it names none, or one and nothing else.

    How long each of what was counted may be is no part: “three paragraphs, each of two sentences at most”.
    """
    text = _ONE_THING.sub(" & ", plainly(criterion))
    if read_limit(text) is None:
        return None
    limits: list[tuple[int, int]] = []
    rest, unit, is_of_each = [], "", False
    for start, end in _parts(text):
        part = text[start:end].strip(_MARKS)
        limit = read_limit(part)
        if limits and (_OF_EACH.match(part) or _NOT.match(part)) and (limit is None or not limit.unit):
            if limit is not None and _ends_in_number(part):
                limits[-1] = (limits[-1][0], end)
            elif not _ends_in_number(part):
                rest.append(part)
        elif limits and (_OF_EACH.match(part) or (limit is not None and _FOR_EACH.search(part))):
            is_of_each = True
        elif limit is None or (limits and unit and not limit.unit and not _ends_in_number(part)):
            rest.append(part)
        elif limits and (not unit or limit.unit in {"", unit}):  # “between 100 and 200 words” is one limit
            limits[-1], unit = (limits[-1][0], end), unit or limit.unit
        else:
            limits, unit = [*limits, (start, end)], limit.unit
    asked = ", ".join(part for part in rest if _says_something(part) and not is_context(part))
    if not limits or (len(limits) == 1 and not asked and not is_of_each):
        return None
    return LimitsAndRest(tuple(text[start:end].strip(_MARKS) for start, end in limits), asked)


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a text begin and end; what stands before a limit is one by itself, “funny” of
    “funny in under 100 words”."""
    links = [found.span() for found in _LINK.finditer(text)]
    starts, ends = [0, *(end for _, end in links)], [*(start for start, _ in links), len(text)]
    for start, end in zip(starts, ends, strict=True):
        part = text[start:end]
        before = [_IN.search(part[: number.start]) for number in reversed(numbers_in(part.casefold()))]
        found = next(filter(None, before), None)
        if found is not None:
            yield start, start + found.start()
            start += found.end()  # noqa: PLW2901
        yield start, end


def _ends_in_number(part: str) -> bool:
    numbers = numbers_in(part.casefold())
    return bool(numbers) and _OF_NUMBER.match(part, numbers[-1].end) is not None


def _says_something(part: str) -> bool:
    plain = part.strip(_MARKS)
    return not (_POLITE.fullmatch(plain) or _OF_LIMIT.fullmatch(plain)) and bool(_LEAST_WORDS.search(plain))
