"""YAML of plain values: without references, which can grow when they are read, and without tags."""

from __future__ import annotations

import re
from typing import Any

import yaml

from parsing.limits import MAX_DIGITS, MAX_YAML_VALUES, ParseError, check_value, too_long_number

# The C version reads ten thousand queries in a fraction of a second; not every build of PyYAML has it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER = re.compile(r"[-+.\d][\da-fA-FxX_:.+-]*+")


def read_yaml(content: bytes, *, depth: int) -> Any:
    """Return the value of a YAML file.

    Args:
        depth: Levels of lists and objects in each other that it may have.

    Raises:
        ParseError: It is no YAML, or does not keep to the limits; the message is a clause.
    """
    try:
        _check_events(content, depth)
        value = yaml.load(content, Loader=_Loader)  # which is a safe one
    except yaml.YAMLError as error:
        raise ParseError(f"it is no YAML: {_problem(error)}") from None
    except ParseError:
        raise
    except (ValueError, OverflowError) as error:  # a day that is none
        raise ParseError(f"a value cannot be read: {error}") from None
    try:
        check_value(value)
    except ParseError as error:
        raise ParseError(f"a value cannot be read: {error}") from None
    return value


def _check_events(content: bytes, deepest: int) -> None:
    """Return if nothing in the file could grow when it is read, take long, or nest too deeply."""
    depth = 0
    for number, event in enumerate(yaml.parse(content, Loader=_Loader)):
        if number > MAX_YAML_VALUES:
            raise ParseError(f"it has more than {MAX_YAML_VALUES:,} values")
        if isinstance(event, yaml.AliasEvent):
            raise ParseError(f"references (*{event.anchor}) are not allowed: write out what is meant")
        if getattr(event, "tag", None) is not None:
            raise ParseError(f"it is no YAML of plain values: tags ({event.tag}) are not allowed")
        if isinstance(event, yaml.ScalarEvent):
            _check_scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > deepest:
                raise ParseError(f"it is nested too deeply, more than {deepest} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_scalar(event: Any) -> None:
    """Return if a value is no number of many digits: YAML reads 1:1:1 to the base 60, in quadratic time."""
    plain, _ = event.implicit
    if plain and len(event.value) > MAX_DIGITS and _NUMBER.fullmatch(event.value):
        raise ParseError(f"a value cannot be read: {too_long_number()}")


def _problem(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}, {error.problem}"
    return " ".join(str(error).split())
