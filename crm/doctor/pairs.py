"""Pairs that any reader of criteria judges alike, and a long one."""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path

from crm.criteria import CriteriaSet
from crm.data.pairs import LabelledPair, read_labelled_pairs
from crm.protocol import Pair, Question

_FILE = Path(__file__).with_name("plain_pairs.jsonl")
SHOWN = 4
"""The pair of which the prompt is shown: it has quotes and an ampersand."""
LONG = 600
"""Words of each long response."""
_ENDS = ("In short: yes.", "To sum it up, there are good reasons against it.", "1 2 3 4 5 6 7 8 9 10!")


def plain_pairs() -> list[LabelledPair]:
    """Return 20: ten pairs of responses, each under a wish for either side, one after the other.

    Who goes by length or position alone, or by no criteria, is right on half of them.
    """
    return read_labelled_pairs(_FILE, Path(), None)


def general_pairs() -> list[LabelledPair]:
    """Return as many without criteria: an answer to the query, and one to another query."""
    pairs = [item.pair for item in plain_pairs()[::2]]
    found = []
    for place, pair in enumerate(pairs):
        other = pairs[place - 1]
        found += [
            LabelledPair(Pair(pair.query, pair.response_a, other.response_a), CriteriaSet(), 1.0),
            LabelledPair(Pair(pair.query, other.response_b, pair.response_b), CriteriaSet(), -1.0),
        ]
    return found


def long_questions(criteria: CriteriaSet) -> list[Question]:
    """Return one pair of long responses, several times: only the last words of the first response differ."""
    words = " ".join(item.pair.response_b for item in plain_pairs()[::2]).split()
    first, second = (" ".join(islice(cycle(words[start:]), LONG)) for start in (0, len(words) // 2))
    return [Question(criteria, Pair("What do you think?", f"{first} {end}", second)) for end in _ENDS]
