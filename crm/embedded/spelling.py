"""Slips of the pen: “fewer heddings” is read as “fewer headings”.

Only words that no English dictionary has are mended, and only to a word that wishes often have: what is
meant by “tabels” is said by the wishes, not by how often a language uses a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spellchecker import SpellChecker

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_OFTEN = 6
"""A word that so many wishes have is one that people write, whatever dictionaries say."""
_LONG = 5
"""Shorter words are left as they are: too many others are one letter away."""


class Spelling:
    """Mends words that are one slip away from a word of the wishes.

    Attributes:
        words: Words that wishes often have, the commonest first.
        foreign: Words of wishes in other languages that no English dictionary has; beside one of these
            nothing is mended.
    """

    def __init__(self, words: Sequence[str], foreign: Iterable[str]) -> None:
        """Take the words of the wishes."""
        self.words, self.foreign = tuple(words), frozenset(foreign)
        self._place = {word: place for place, word in enumerate(self.words)}

    @classmethod
    def of(cls, wishes: Iterable[str], in_other_languages: Iterable[str]) -> Spelling:
        """Return the spelling of English wishes and of those in other languages."""
        english = Counter(word for wish in wishes for word in _words(wish))
        often = [word for word, number in english.most_common() if number >= _OFTEN]
        foreign = {word for wish in in_other_languages for word in _words(wish)}
        return cls(often, {word for word in foreign if word not in english and not _is_english(word)})

    def is_foreign(self, wish: str) -> bool:
        """Return whether a wish has a word of another language."""
        return any(word in self.foreign for word in _words(wish))

    def corrected(self, wish: str) -> str:
        """Return a wish without slips; as it is where it is in another language."""
        if self.is_foreign(wish):
            return wish
        return _WORD.sub(lambda found: self._meant(found.group()), wish)

    def _meant(self, written: str) -> str:
        word = written.lower()
        if len(word) < _LONG or not word.isalpha() or word in self._place:
            return written
        # Only now, as it takes longer to load than most wishes to be read.
        if _is_english(word):
            return written
        near = self._checker.known(self._checker.edit_distance_1(word))
        return min(near, key=self._place.__getitem__, default=written)

    @cached_property
    def _checker(self) -> SpellChecker:
        """Of the words that are meant: those of the wishes that are English."""
        checker = SpellChecker(language=None, distance=1)
        checker.word_frequency.load_words([word for word in self.words if _is_english(word)])
        return checker

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file stores."""
        return {"words": np.array(self.words), "foreign": np.array(sorted(self.foreign))}


def _words(wish: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in _WORD.findall(wish)]


def _is_english(word: str) -> bool:
    english, written = _english(), word.encode()
    place = int(np.searchsorted(english, written))
    return place < len(english) and english[place] == written


@cache
def _english() -> NDArray[np.bytes_]:
    """Return the words of the dictionary in order: as an array they take a tenth of its memory."""
    dictionary = SpellChecker(language="en").word_frequency
    return np.sort(np.array([word.encode() for word in dictionary.words()]))
