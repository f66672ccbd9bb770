"""Turns of phrase about length, put as the rest of the judge reads them.

A judge that has learnt “longer” as a wish for more easily takes “no longer than a tweet” for one, and “two
pages at most” names nothing that is counted. Such phrases are put in other words before a criterion is read.
"""

from __future__ import annotations

import re
from functools import lru_cache

WORDS_A_PAGE = 500
"""Of single-spaced text, as is usual."""

_UNIT = r"(?:(?:single|short|long) )?(?:word|sentence|paragraph|line|bullet|example|question|emoji)s?\b"
_NOT = r"\b(?:no|not|never|nothing|\w+n't)(?: (?:be|go|get|run|much|any|a bit|ever))*"
_PAGES = {"half a": 0.5, "a": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
_ABOUT_PAGES = re.compile(
    r"(?P<before>\b(?:than|most|least|under|below|over|above|exceed(?:ing)?|within|about|around|max(?:imum)?"
    r"|maximum of|(?:limit|keep|kept|cut|cap|trim|stick|hold|down|up)\w*(?: \w+)? to"
    r"|fits? (?:on|in|into|onto)) )?"
    rf"\b(?P<pages>{'|'.join(_PAGES)}|\d{{1,2}})(?: (?:single|full|whole))? pages?\b"
    r"(?P<after> (?:at (?:the )?(?:very )?most|max(?:imum)?|tops|or less|or shorter|long|in length)\b)?",
    re.IGNORECASE,
)
_A_UNIT = re.compile(rf"\bthan an? (?={_UNIT})", re.IGNORECASE)
_WITHIN_ONE = re.compile(rf"\b(?:shorter|less|fewer) than one (?={_UNIT})", re.IGNORECASE)
_LONGER = re.compile(rf"\b(?:longer|bigger|lengthier) than (?=\S+ {_UNIT})", re.IGNORECASE)
_SHORTER = re.compile(rf"\b(?:shorter|smaller) than (?=\S+ {_UNIT})", re.IGNORECASE)
_NO_LONGER = re.compile(
    r"\bfits? (?:on|in|into) (?=(?:a|one) (?:single )?(?:screen|tweet|text message|postcard)\b)"
    rf"|{_NOT} (?:(?:longer|bigger|larger|lengthier|wordier) than "
    r"|more than (?=(?:a|an|one) (?:few (?:short )?lines|screen|tweet|text|glance|minute|breath)\b))(?!\d)",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def plainly(criterion: str) -> str:
    """Return a criterion with its turns of phrase about length put in other words.

    “No longer than a tweet” becomes “shorter than a tweet”, “longer than two sentences” “more than two
    sentences”, as it does not ask for longer ones, and “two pages at most” “1000 words at most”.
    """
    plain = criterion.replace("’", "'")
    plain = _ABOUT_PAGES.sub(_in_words, plain)
    plain = _A_UNIT.sub("than one ", plain)
    plain = _LONGER.sub("more than ", plain)
    plain = _WITHIN_ONE.sub("at most one ", plain)
    plain = _SHORTER.sub("fewer than ", plain)
    return _NO_LONGER.sub("shorter than ", plain)


def _in_words(found: re.Match[str]) -> str:
    before, after = found["before"] or "", found["after"] or ""
    if not before and not after:
        return found.group()
    pages = found["pages"].lower()
    amount = _PAGES[pages] if pages in _PAGES else float(pages)
    if before.lower().startswith("fit"):
        before = "at most "
    return f"{before}{round(amount * WORDS_A_PAGE)} words{after}"
