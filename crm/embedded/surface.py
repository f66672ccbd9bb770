"""The surface of a criterion: turns of less and more, and its words and their pieces.

A sentence encoder's embedding is the mean over words, which blurs a “no” and knows little of words that are
rare, misspelt or foreign. Both are kept beside it: turns as indicators, words and pieces of words hashed
(Weinberger et al. 2009), as in fastText (Joulin et al. 2017).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_TURNS = (
    r"\b(?:no|not|never|none|without|n't|cannot|nothing|zero|nor|neither|free of|-free)\b|n't\b",
    (
        r"\b(?:avoid|skip|stop|drop|cut|omit|ban|remove|leav(?:e|es|ing) out|refrain|spare me|ditch|lose"
        r"|minus|exclude|forget|steer clear|ke(?:ep|eps|pt) away|do without)\w*"
    ),
    r"\b(?:hate|dislike|can't stand|allergic|tired of|sick of|annoy|fed up|put off|bother)\w*",
    (
        r"\b(?:less|fewer|little|few|hardly|barely|minimal|minimum|rarely|seldom|reduce|limit|sparing"
        r"|light on|low)\w*"
    ),
    r"\b(?:more|lots|many|plenty|full|much|always|every|often|love|want|heavy|rich|tons|loads)\b",
    r"\b(?:instead of|rather than|over|than|but not|and not|anything but)\b",
)
N_TURNS_OF_LESS = 4
"""The first so many of the turns ask for less."""
_COMPILED_TURNS = tuple(re.compile(turn, re.IGNORECASE) for turn in _TURNS)
_TURN_SIZE = np.float32(3.0)
N_TURNS = len(_TURNS)

N_BUCKETS = 1 << 14
"""So many different hashes of words and pieces are told apart."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[^\w\s]|_")
_PIECE = 4
"""Characters of a piece of a word, whose ends are marked."""


def turns(criteria: Sequence[str]) -> NDArray[np.float32]:
    """Return which turns of less and more N criteria have ``[N, N_TURNS]``."""
    plain = [criterion.replace("’", "'") for criterion in criteria]
    found = [[turn.search(criterion) is not None for turn in _COMPILED_TURNS] for criterion in plain]
    return np.array(found, dtype=np.float32).reshape(len(plain), N_TURNS) * _TURN_SIZE


def asks_for_less(criterion: str) -> bool:
    """Return whether a criterion has a turn of less."""
    return any(turn.search(criterion.replace("’", "'")) for turn in _COMPILED_TURNS[:N_TURNS_OF_LESS])


def turn_of_less(part: str) -> str:
    """Return what stands up to the end of a turn of less: “no” of “no tables”; empty without one."""
    found = [match for turn in _COMPILED_TURNS[:N_TURNS_OF_LESS] if (match := turn.search(part))]
    return part[: max(match.end() for match in found)].strip() if found else ""


def word_hashes(criterion: str) -> list[int]:
    """Return the buckets of a criterion's words, pairs and triples of words, and pieces of words.

    Case and accents make no difference. Each bucket stands once; a criterion without a word has none.
    """
    decomposed = unicodedata.normalize("NFKD", criterion.replace("’", "'").lower())
    words = _WORD.findall("".join(char for char in decomposed if not unicodedata.combining(char)))
    if not words:
        return []
    bounded = ["^", *words, "$"]
    grams = [
        *(f"1 {word}" for word in words),
        *(f"2 {one} {two}" for one, two in pairwise(bounded)),
        *(f"3 {' '.join(three)}" for three in zip(bounded, bounded[1:], bounded[2:], strict=False)),
        *(f"4 {piece}" for word in words for piece in _pieces(f"<{word}>")),
    ]
    return sorted({crc32(gram.encode()) % N_BUCKETS for gram in grams})


def _pieces(word: str) -> list[str]:
    return [word[start : start + _PIECE] for start in range(max(1, len(word) - _PIECE + 1))]
