"""Rows of CSV."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from parsing.limits import MAX_COLUMNS, ParseError

_MAX_FIELD = 2**27
"""Characters of one field; csv's own limit, 131,072, is less than the longest responses have."""

csv.field_size_limit(_MAX_FIELD)


class RowError(ParseError):
    """A row that cannot be read.

    Attributes:
        row: Its number, counted from 1.
    """

    def __init__(self, reason: str, row: int) -> None:
        super().__init__(reason)
        self.row = row


def csv_rows(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the fields of each row; a file for it is opened with ``newline=""``.

    Raises:
        RowError: It is no CSV, or the row has too many columns.
    """
    number = 0
    try:
        for number, fields in enumerate(csv.reader(lines, strict=True), start=1):
            if len(fields) > MAX_COLUMNS:
                raise RowError(f"a row of more than {MAX_COLUMNS:,} columns", number)
            yield fields
    except csv.Error as error:
        raise RowError(str(error), number + 1) from error


def named_twice(columns: Sequence[str]) -> str | None:
    """Return the first column whose name another has too; None where there is none."""
    return next((name for name, count in Counter(columns).items() if name and count > 1), None)
