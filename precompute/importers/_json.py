"""JSON and JSON Lines files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from precompute.errors import ImportFileError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_json(path: Path) -> object:
    """Returns the value in a JSON file.

    Raises:
        ImportFileError: the file cannot be read or is no JSON.
    """
    return _parse(path, _bytes(path))


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the number of each line, from 1, and the object in it; blank lines are passed over.

    Raises:
        ImportFileError: the file cannot be read, or a line is no JSON object.
    """
    # Only "\n" ends a line: str.splitlines would also cut at the U+2028 that JSON texts may hold unescaped.
    for number, line in enumerate(_bytes(path).split(b"\n"), start=1):
        if line.strip():
            value = _parse(path, line, number)
            if not isinstance(value, dict):
                raise ImportFileError(path, "this is no JSON object.", number)
            yield number, value


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes().removeprefix(_BYTE_ORDER_MARK)
    except FileNotFoundError:
        raise ImportFileError(path, "there is no such file.") from None
    except OSError as error:
        raise ImportFileError(path, f"it cannot be read ({error.strerror}).") from error


def _parse(path: Path, data: bytes, row: int | None = None) -> object:
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError:
        raise ImportFileError(path, "these bytes are not UTF-8.", row) from None
    except (ValueError, RecursionError) as error:
        raise ImportFileError(path, f"this is not valid JSON ({error}).", row) from error
