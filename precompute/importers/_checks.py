"""Checks that several importers share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from db import storable_text
from precompute.errors import ImportFileError

_KINDS = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


def folder(path: Path) -> Path:
    """Returns the path, which must be a folder.

    Raises:
        ImportFileError: it is none.
    """
    if not path.is_dir():
        raise ImportFileError(path, "there is no such folder.")
    return path


def text_of(path: Path, row: int, record: Mapping[str, Any], column: str, *, empty: bool = False) -> str:
    """Returns the text in a column that must have one.

    Args:
        path: the file, for the message.
        row: the row, for the message.
        record: the row's values by column.
        column: the column.
        empty: whether the text may be empty.

    Raises:
        ImportFileError: the column is missing, holds no text, or an empty one.
    """
    if column not in record:
        raise ImportFileError(path, f"the column {column!r} is missing.", row)
    value = record[column]
    if value is None and not empty:
        raise ImportFileError(path, f"{column!r} is empty.", row)
    if not isinstance(value, str):
        raise ImportFileError(path, f"{column!r} is {_kind(value)}, not a text.", row)
    if not empty and not value.strip():
        raise ImportFileError(path, f"{column!r} is empty.", row)
    return value


def name_of(path: Path, row: int, record: Mapping[str, Any], column: str) -> str:
    """Returns the name in a column that must have one, without spaces around it.

    Raises:
        ImportFileError: the column is missing, holds no text, an empty one, or one that cannot be a name.
    """
    name = text_of(path, row, record, column).strip()
    if storable_text(name) != name or not name.isprintable():
        raise ImportFileError(path, f"{column!r} holds a character that no name can have.", row)
    return name


def optional_name_of(path: Path, row: int, record: Mapping[str, Any], column: str) -> str | None:
    """Returns the name in a column, None where the column is absent or empty.

    Raises:
        ImportFileError: the column holds something else than a name.
    """
    value = record.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return name_of(path, row, record, column)


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "empty" if value is None else f"a value of type {type(value).__name__}")
