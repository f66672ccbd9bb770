"""What is read at most, and the error where something is more."""

from __future__ import annotations

import math

MAX_DEPTH = 100
"""Levels of lists and objects in each other; logs of agents, the deepest files known, have some 30."""
MAX_DIGITS = 300
"""Digits of a whole number: one more could be too large for a float."""
MAX_COLUMNS = 1_000
"""Columns of a table."""
MAX_YAML_VALUES = 500_000
"""Texts, lists and objects of a YAML file, which is read slowly: 10,000 queries with texts have 70,000."""

_LARGEST = 10**MAX_DIGITS


class ParseError(ValueError):
    """What cannot be read, or will not be; the message is a part of a sentence without a full stop."""


def too_deep() -> ParseError:
    """Return the error that lists and objects are nested too deeply."""
    return ParseError(f"nested too deeply, more than {MAX_DEPTH} levels")


def too_long_number() -> ParseError:
    """Return the error that a number has too many digits."""
    return ParseError(f"a number of more than {MAX_DIGITS} digits")


def not_finite() -> ParseError:
    """Return the error that a number is infinite or none."""
    return ParseError("a number that is infinite, or too large to be stored")


def check_value(value: object) -> None:
    """Return if a value that any parser made keeps to the limits; its floats must be finite.

    Raises:
        ParseError: It does not.
    """
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        for item in level:
            _check_number(item)
        level = [inner for item in level for inner in _inside(item)]
        if not level:
            return
    raise too_deep()


def _check_number(value: object) -> None:
    if isinstance(value, int) and not -_LARGEST < value < _LARGEST:
        raise too_long_number()
    if isinstance(value, float) and not math.isfinite(value):
        raise not_finite()


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
