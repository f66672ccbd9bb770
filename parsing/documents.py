"""JSON and TOML."""

from __future__ import annotations

import json
import math
import re
import tomllib
from itertools import accumulate
from typing import Any

from parsing.limits import (
    MAX_DEPTH,
    MAX_DIGITS,
    ParseError,
    check_value,
    not_finite,
    too_deep,
    too_long_number,
)

_BYTE_ORDER_MARK = "\ufeff"
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NO_BRACKET = re.compile(r"[^\[\]{}]+")
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_DOTTED = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MAX_DEPTH + 1}}}")
"""A name such as a.b.c of so many parts, which take quadratic time."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:(?P<pair>u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})"
    r"|(?P<half>u[dD][89a-fA-F][\da-fA-F]{2})|.)",
    re.DOTALL,
)


def read_json(text: str | bytes, *, finite: bool = False, keep_halves: bool = False) -> Any:
    """Return the value of a JSON text.

    Args:
        finite: Whether NaN and Infinity, which Python and others write, are refused.
        keep_halves: Whether halves of surrogate pairs, which can be neither stored nor shown, stay, for those
            who clean or refuse them. By default each becomes U+FFFD, as in the database.

    Raises:
        ParseError: It is no JSON, or does not keep to the limits.
    """
    text = _decoded(text)
    _check_depth(text)
    if not keep_halves and _HALF.search(text):
        text = _ESCAPE.sub(_whole, text)
    try:
        return json.loads(
            text,
            parse_int=_whole_number,
            parse_float=_number,
            parse_constant=_no_constant if finite else float,
        )
    except json.JSONDecodeError as error:
        raise ParseError(str(error)) from None


def read_toml(text: str | bytes) -> dict[str, Any]:
    """Return the tables of a TOML text; all its numbers are finite.

    Raises:
        ParseError: It is no TOML, or does not keep to the limits.
    """
    text = _decoded(text)
    if _DOTTED.search(text):
        raise too_deep()
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParseError(str(error)) from None
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:  # a number that Python will not read
        raise too_long_number() from error
    check_value(tables)
    return tables


def _decoded(text: str | bytes) -> str:
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise ParseError("the text is not in UTF-8") from error
    return text.removeprefix(_BYTE_ORDER_MARK)


def _check_depth(text: str) -> None:
    """Count the brackets outside of strings, before a parser follows them."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    brackets = _NO_BRACKET.sub("", _STRING.sub("", text))
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH:
        raise too_deep()


def _whole(escape: re.Match[str]) -> str:
    return r"\ufffd" if escape["half"] else escape[0]


def _whole_number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise too_long_number()
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise not_finite()
    return value


def _no_constant(_: str) -> float:
    raise not_finite()
