"""Counted wishes: how well responses do under the part of a criterion that can be counted.

“Uses tables”, “no emojis” and “at most two sentences” say what to count. Which counts a criterion names, and
whether it wants more or less of them, is read by ``crm.embedded.concepts``; a number with “at most” and the
like by ``crm.embedded.limits``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.embedded.beside_limits import limits_and_rest
from crm.embedded.counts import Countable, count_names, countables, limited_columns, root_of_length
from crm.embedded.limits import Limit, read_limit
from crm.protocol import Floats

_BEYOND = 1.5
"""Log-odds that a response loses by being beyond a limit at all, however little."""
SURE = 0.4
"""From this weight on a criterion surely asks for something: a number in it is a limit of that."""
_TOLERANCE = 1e-3
UNCOUNTED = ("language",)
"""Counts of which only less can be asked: which other language a text is in is not told apart."""


@dataclass(frozen=True)
class CountedWish:
    """More or less of a property, or an amount within limits.

    Attributes:
        column: Which count.
        weight: Positive for more, negative for less, from −1 to 1.
        limit: What amounts are wished, where a limit is named; the weight then only says how sure that is.
    """

    column: int
    weight: float
    limit: Limit | None = None

    @property
    def countable(self) -> Countable:
        """What is counted."""
        return countables()[self.column]

    def in_words(self, sign: float) -> str:
        """Return what is wished: “fewer emojis”, “at most 2 sentences”; the contrary for a sign of −1."""
        if self.limit is None:
            return f"{'more' if sign * self.weight > 0 else 'fewer'} {self.countable.unit}"
        highest = self.limit.high if self.limit.high is not None else self.limit.low
        wished = f"{self.limit} {self.countable.unit_of(highest or 0.0)}"
        return wished if sign > 0 else f"anything but {wished}"

    def kept(self, amount: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which amounts ``[...]`` are within the limit; all are where none is named."""
        if self.limit is None:
            return np.ones(np.shape(amount), dtype=np.bool_)
        return np.asarray(self.limit.missed_by(amount) <= _TOLERANCE, dtype=np.bool_)

    def amount(self, counts: NDArray[Any]) -> Floats:
        """Return the amounts of responses with counts ``[..., C]``, as ``[...]``."""
        amount = np.asarray(counts[..., self.column], dtype=np.float32)
        if self.countable.per_root and self.limit is None:
            amount = np.asarray(amount / root_of_length(counts), dtype=np.float32)
        return amount

    def margins(self, counts: NDArray[Any], gain: float) -> Floats:
        """Return how well responses with counts ``[..., C]`` do, in log-odds ``[...]``.

        Args:
            gain: Log-odds per unit of log(1 + amount).
        """
        amount = self.amount(counts)
        if self.limit is None:
            return np.asarray(self.weight * gain * np.log1p(amount), dtype=np.float32)
        missed = self.limit.missed_by(amount)
        lost = gain * missed + _BEYOND * (missed > _TOLERANCE)
        return np.asarray(-abs(self.weight) * lost, dtype=np.float32)


_A_LINE, _A_SENTENCE = 12.0, 18.0
"""Words."""
_BY_UNIT = {
    ("sentences", "word"): ("sentence_length", 1.0),
    ("sentence_length", "sentence"): ("sentences", 1.0),
    ("sentence_length", "line"): ("sentence_length", _A_LINE),
    ("paragraphs", "word"): ("paragraph_length", 1.0),
    ("paragraphs", "line"): ("paragraph_length", _A_LINE),
    ("paragraphs", "sentence"): ("paragraph_length", _A_SENTENCE),
    ("paragraph_length", "line"): ("paragraph_length", _A_LINE),
    ("paragraph_length", "sentence"): ("paragraph_length", _A_SENTENCE),
    ("paragraph_length", "paragraph"): ("paragraphs", 1.0),
    ("words", "line"): ("words", _A_LINE),
    ("words", "sentence"): ("sentences", 1.0),
    ("words", "paragraph"): ("paragraphs", 1.0),
}
"""What a limit is of, and how many of that make one of its unit, where a number is in another unit than what
is counted: “sentences under 15 words”, “paragraphs of three lines”."""


_COUNT_OF = {
    "word": "words",
    "sentence": "sentences",
    "paragraph": "paragraphs",
    "bullet": "bullets",
    "item": "list_items",
    "heading": "headings",
    "table": "tables",
    "emoji": "emojis",
    "exclamation": "exclamations",
    "question": "questions",
    "link": "links",
    "example": "examples",
    "source": "citations",
    "quote": "quotations",
}


def count_of(limit: Limit) -> int | None:
    """Return which count a limit is on, by its unit; None where that does not say."""
    name = _COUNT_OF.get(limit.unit)
    return None if name is None else count_names().index(name)


def counted_wishes(criterion: str, wanted: Floats) -> Iterator[CountedWish]:
    """Yield the counted parts of a criterion, of which more (or less) is wanted as ``[K]`` says."""
    yield from counted_by_column(criterion, wanted).values()


def counted_by_column(criterion: str, wanted: Floats) -> dict[int, CountedWish]:
    """Return the counted parts of a criterion by the concept that is wanted, of which a limit's unit may say
    that it is of another count: “paragraphs of three lines”."""
    found = {}
    countable = wanted[: len(count_names())]
    limits = _limits_by_column(criterion, wanted)
    for column in np.flatnonzero(countable).tolist():
        weight = float(countable[column])
        if weight > 0 and count_names()[column] in UNCOUNTED:
            continue
        limit = limits.get(column)
        found[column] = CountedWish(column, weight) if limit is None else _limited(column, weight, limit)
    return found


def _limits_by_column(criterion: str, wanted: Floats) -> dict[int, Limit]:
    """Return which counts a criterion limits, as it was read, and how: by a limit's unit, or else the one
    that is wanted most of those without."""
    limits = _limits_of(criterion)
    strongest = int(np.argmax(np.abs(wanted)))
    if not limits or strongest not in limited_columns():
        return {}
    asked = [
        column
        for column in np.argsort(-np.abs(wanted), kind="stable").tolist()
        if abs(wanted[column]) >= SURE
    ]
    open_ = [column for column in asked if column in limited_columns()]
    found: dict[int, Limit] = {}
    for limit in limits:
        by_unit = count_of(limit) if len(limits) > 1 or len(open_) > 1 else None
        column = by_unit if by_unit in open_ else next(iter(open_), None)
        if column is not None:
            open_.remove(column)
            found[column] = limit
    return found


def _limits_of(criterion: str) -> list[Limit]:
    """Return the limits that a criterion names.

    Where it asks for something else, too, that is as the part with the limit says it, if that names one side:
    “under 180 words. Also I love a good metaphor”.
    """
    whole, parts = read_limit(criterion), limits_and_rest(criterion)
    if whole is None:
        return []
    of_parts = [] if parts is None else [*filter(None, map(read_limit, parts.limits))]
    if len(of_parts) > 1:
        return of_parts
    one_sided = [limit for limit in of_parts if None in {limit.low, limit.high}]
    return one_sided or [whole]


def _limited(column: int, weight: float, limit: Limit) -> CountedWish:
    """Return a wish with a limit, of what the limit's unit says."""
    name, factor = _BY_UNIT.get((count_names()[column], limit.unit), (count_names()[column], 1.0))
    return CountedWish(count_names().index(name), weight, limit.times(factor))


def counted_margins(wishes: Sequence[CountedWish], counts: NDArray[Any], gains: Floats) -> Floats:
    """Return the sum of what responses with counts ``[..., C]`` gain or lose, in log-odds ``[...]``."""
    total = np.zeros(counts.shape[:-1], dtype=np.float32)
    for wish in wishes:
        total += wish.margins(counts, float(gains[wish.column]))
    return total
