"""Wishes in one line: “short, friendly, no emojis” is three criteria, “short, but not curt” is one."""

from __future__ import annotations

import re
from dataclasses import replace

from crm.criteria import CriteriaSet, Criterion

_MOST_WORDS = 4
"""Of a wish; a longer part of a line is a clause."""
_GOES_ON = re.compile(
    r"(but|yet|not|nor|or|so|if|when|unless|although|though|while|because|since|except|without|rather|"
    r"instead|even|especially|ideally|please|which|that|like|such|as|e\.g\.|i'm|i am|i have"
    r"|pls|plz|thanks|thank you|thx|bitte|danke|svp|s'il (?:te|vous)|merci|por favor|gracias"
    r"|aber|sondern|nicht|damit|weil|wenn|mais|pas|parce|sauf|pero|sino|porque)\b",
    re.IGNORECASE,
)
"""What a part begins with that says more of the one before it."""
_COMMA = re.compile(r",(?!\d)|(?<!\d),")
_AND = re.compile(r"and\s+", re.IGNORECASE)


def parts_of(criterion: Criterion) -> tuple[Criterion, ...]:
    """Return the wishes that a line with commas lists, with its weight and polarity; none if it is one."""
    texts = [part.strip(" .;") for part in _COMMA.split(criterion.text)]
    texts = [*texts[:1], *(_AND.sub("", text, count=1) if _AND.match(text) else text for text in texts[1:])]
    if len(texts) == 1 or any(
        not text or len(text.split()) > _MOST_WORDS or _GOES_ON.match(text) for text in texts
    ):
        return ()
    return tuple(replace(criterion, text=text) for text in texts)


def split(criteria: CriteriaSet, listed: Criterion) -> CriteriaSet:
    """Return the criteria with the wishes that one of them lists in its place."""
    return CriteriaSet(
        tuple(part for item in criteria for part in (parts_of(item) if item == listed else (item,)))
    )
