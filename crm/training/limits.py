"""Fit what tells which numbers in wishes are limits: what ``crm.embedded.limits`` reads with.

``wishes/limits/*.tsv`` hold wishes with numbers: the text, the least and the most that is wished, ``-`` where
there is none on that side; both are ``-`` where no number in it is an amount that is wished. The limits among
the wishes for what can be counted (``wishes/countable.tsv``) are learnt with them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crm.embedded.idioms import plainly
from crm.embedded.limit_cues import N_BUCKETS, Kind, LimitReader, cues, hashed, numbers_in
from crm.embedded.limits import Limit, limit_in
from crm.embedded.numerals import Numeral
from crm.errors import CRMError
from crm.training.concepts import WISHES, Wish

LIMITS = WISHES / "limits"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SIGNED = re.compile(r"(<=|>=|=|~)(\d+)(?:-(\d+))?")
_NEVER = -100.0
"""Log-odds of a kind that no wish has."""
_STRENGTH = 30.0
"""Inverse of the penalty, chosen by wishes kept apart."""


@dataclass(frozen=True)
class LimitWish:
    """A wish with a number in it, and what amount is wished.

    Attributes:
        low: The least; None for none.
        high: The most; both are None where no amount is wished.
    """

    text: str
    low: float | None
    high: float | None

    @property
    def plain(self) -> str:
        """The text as it is read."""
        return plainly(self.text).casefold()

    def kinds(self, numbers: Sequence[Numeral]) -> list[Kind]:
        """Return what each number in the text is."""
        each = [self._kind(number.value) for number in numbers]
        if any(kind in (Kind.MOST, Kind.LEAST, Kind.WITHIN) for kind in each):
            return [Kind.NONE if kind in (Kind.FEWER, Kind.MORE) else kind for kind in each]
        return each

    def _kind(self, value: float) -> Kind:
        if self.low is not None and self.high is not None:
            beside = {self.low - 1: Kind.MORE, self.high + 1: Kind.FEWER} if self.low < self.high else {}
            return Kind.WITHIN if value in (self.low, self.high) else beside.get(value, Kind.NONE)
        if self.high is not None:
            return {self.high: Kind.MOST, self.high + 1: Kind.FEWER}.get(value, Kind.NONE)
        if self.low is not None:
            return {self.low: Kind.LEAST, self.low - 1: Kind.MORE}.get(value, Kind.NONE)
        return Kind.NONE

    def is_met_by(self, read: Limit | None) -> bool:
        """Return whether a limit that was read is on the same side, or sides, as what is wished."""
        found = (False, False) if read is None else (read.low is not None, read.high is not None)
        return found == (self.low is not None, self.high is not None)


def read_limit_wishes(folder: Path = LIMITS) -> list[LimitWish]:
    """Read all wishes of a folder.

    Raises:
        CRMError: A line that is not as described.
    """
    wishes = []
    for path in sorted(folder.glob("*.tsv")):
        for row, line in enumerate(path.read_text("utf-8").removesuffix("\n").split("\n"), start=1):
            match line.split("\t"):
                case [text, low, high] if all(each == "-" or _NUMBER.fullmatch(each) for each in (low, high)):
                    ends = [None if each == "-" else float(each) for each in (low, high)]
                    wishes.append(LimitWish(text, *ends))
                case _:
                    raise CRMError(
                        f"{path.name}, row {row}: write wish, least and most amount (- for none), "
                        "with tabs between."
                    )
    if not wishes:
        raise CRMError(f"{folder} has no wishes: check the path.")
    return wishes


def limits_among(wishes: Sequence[Wish]) -> list[LimitWish]:
    """Return those of the wishes for concepts that name a limit, ``<=3`` or ``~5``."""
    found = []
    for wish in wishes:
        if wish.limit is not None and (signed := _SIGNED.fullmatch(wish.limit)):
            sign, number, _ = signed.groups()
            low, high = (None if sign == none else float(number) for none in ("<=", ">="))
            found.append(LimitWish(wish.text, low, high))
    return found


def fit_limits(wishes: Sequence[LimitWish]) -> LimitReader:
    """Return the fitted model; the same wishes give the same one.

    Wishes whose amount stands in no number, “a handful”, are left out.
    """
    from scipy.sparse import csr_matrix  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    rows: list[dict[int, float]] = []
    kinds: list[Kind] = []
    for wish in wishes:
        text = wish.plain
        numbers = numbers_in(text)
        of_wish = wish.kinds(numbers)
        if any(of_wish) or (wish.low is None and wish.high is None):
            rows += [hashed(cues(text, numbers, place)) for place in range(len(numbers))]
            kinds += of_wish
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.array([bucket for row in rows for bucket in row])
    seen = csr_matrix(
        ([value for row in rows for value in row.values()], columns, starts), (len(rows), N_BUCKETS)
    )
    fitted = LogisticRegression(C=_STRENGTH, max_iter=500).fit(seen, kinds)
    weight = np.zeros((N_BUCKETS, len(Kind)), np.float32)
    bias = np.full(len(Kind), _NEVER, np.float32)
    weight[:, fitted.classes_], bias[fitted.classes_] = fitted.coef_.T, fitted.intercept_
    return LimitReader(weight, bias)


def share_read_right(reader: LimitReader, wishes: Sequence[LimitWish]) -> float:
    """Return how often a model reads limits on the side, or the sides, that are meant, or none."""
    return float(np.mean([wish.is_met_by(limit_in(wish.plain, reader)) for wish in wishes]))
