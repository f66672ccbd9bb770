"""Queries that data sets made from templates: one instruction, written once, around ever other contents.

Such families are no topic that people ask about, and so alike that they would be topics of their own, or pull
others towards their wording. They are recognised by a run of words that too many queries share to be chance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

NO_TEMPLATE = -1
_WORD = re.compile(r"\w+")


def template_families(texts: Sequence[str], shared_words: int, shared_by: int) -> NDArray[np.int32]:
    """Return the family of each of Q texts ``[Q]``, the largest first, −1 for those that follow no template.

    Texts are of one family if they share a run of words, or if each shares one with a third text.

    Args:
        texts: The texts, each once.
        shared_words: How many words in a row they share at least, case and punctuation apart.
        shared_by: How many texts share them at least.
    """
    holders = _holders(texts, shared_words)
    family = _Families(len(texts))
    in_family = np.zeros(len(texts), dtype=bool)
    for rows in holders.values():
        if len(rows) >= shared_by:
            in_family[rows] = True
            family.join(rows)
    roots = np.array([family.root(row) for row in range(len(texts))])
    return _numbered(roots, in_family)


def _holders(texts: Sequence[str], shared_words: int) -> Mapping[int, list[int]]:
    """Return the texts in which each run of words stands, by the run's hash: the runs themselves are many."""
    holders: dict[int, list[int]] = defaultdict(list)
    for row, text in enumerate(texts):
        words = _WORD.findall(text.casefold())
        runs = {
            hash(tuple(words[start : start + shared_words])) for start in range(len(words) - shared_words + 1)
        }
        for run in runs:
            holders[run].append(row)
    return holders


class _Families:
    """Texts joined step by step; the least of a family stands for it."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def root(self, row: int) -> int:
        while self._parent[row] != row:
            self._parent[row] = self._parent[self._parent[row]]
            row = self._parent[row]
        return row

    def join(self, rows: Sequence[int]) -> None:
        roots = sorted({self.root(row) for row in rows})
        for root in roots[1:]:
            self._parent[root] = roots[0]


def _numbered(roots: NDArray[np.intp], in_family: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the number of each text's family, largest first; of two as large, that of the earlier text."""
    family_of = np.full(len(roots), NO_TEMPLATE, dtype=np.int32)
    found, first, counts = np.unique(roots[in_family], return_index=True, return_counts=True)
    for number, place in enumerate(np.lexsort((first, -counts))):
        family_of[in_family & (roots == found[place])] = number
    return family_of
