"""The rows of CSV, JSON, JSON Lines and Parquet files, without a look at what they mean.

JSON and JSON Lines may be compressed by gzip, if the file's name ends in `.gz`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from parsing import documents
from parsing.files import gunzipped, read_bytes
from parsing.limits import ParseError
from parsing.parquet import open_parquet
from parsing.tables import RowError, csv_rows, named_twice
from precompute.errors import file_error

Row = tuple[int, dict[str, Any]]
"""The number of a row, as an error message gives it, and its values by column."""

Choose = Callable[[Sequence[str]], Sequence[str]]
"""From the columns of a file to those to be read; raises `ValueError` with the reason if they will not do."""

_ROWS_AT_A_TIME = 1_000


def read_rows(path: Path, choose: Choose, also: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the rows of the file, read as its suffix says.

    Rows are counted from 1; in CSV the header is row 1.

    Args:
        choose: asked for the columns; in JSON Lines, where every row has its own, for each row.
        also: suffixes that the caller reads itself, for the message.

    Raises:
        PrecomputeError: the suffix is unknown, the file cannot be read, or its columns will not do.
    """
    readers: dict[str, Callable[[Path, Choose], Iterator[Row]]] = {
        ".csv": _csv_rows,
        ".jsonl": _json_rows,
        ".parquet": _parquet_rows,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise file_error(path, f"its name must end in {', '.join((*also, *readers))}.")
    if not path.is_file():
        raise file_error(path, "there is no such file.")
    return reader(path, choose)


def _csv_rows(path: Path, choose: Choose) -> Iterator[Row]:
    header: list[str] | None = None
    # Bytes that are not UTF-8 become lone surrogates, so that the row they are in can be named.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        for number, fields in enumerate(_readable(path, csv_rows(file)), start=1):
            if not all(map(_is_utf8, fields)):
                raise file_error(path, "these bytes are not UTF-8.", number)
            if header is None:
                header = [name.strip() for name in fields]
                _chosen(path, choose, header, row=1)
            elif fields and len(fields) != len(header):
                reason = f"there are {len(fields)} fields under {len(header)} columns."
                raise file_error(path, reason, number)
            elif fields:
                yield number, dict(zip(header, fields, strict=True))


def _readable(path: Path, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from reader
    except RowError as error:
        raise file_error(path, f"this is not valid CSV ({error}).", error.row) from error
    except OSError as error:
        raise file_error(path, f"it cannot be read ({error.strerror}).") from error


def _is_utf8(field: str) -> bool:
    try:
        field.encode()
    except UnicodeEncodeError:
        return False
    return True


def _json_rows(path: Path, choose: Choose) -> Iterator[Row]:
    for number, record in read_json_lines(path):
        _chosen(path, choose, list(record), number)
        yield number, record


def _parquet_rows(path: Path, choose: Choose) -> Iterator[Row]:
    number = 0
    try:
        with open_parquet(path) as table:
            columns = _chosen(path, choose, table.names)
            for batch in table.batches(columns, _ROWS_AT_A_TIME):
                for values in zip(*(batch.column(name) for name in columns), strict=True):
                    number += 1
                    yield number, {name: value.as_py() for name, value in zip(columns, values, strict=True)}
    except UnicodeDecodeError:
        raise file_error(path, "these bytes are not UTF-8.", number) from None
    except (ParseError, OSError) as error:
        raise file_error(path, f"this is not a readable Parquet file ({error}).") from error


def _chosen(path: Path, choose: Choose, names: Sequence[str], row: int | None = None) -> Sequence[str]:
    try:
        columns = choose(names)
    except ValueError as error:
        raise file_error(path, str(error), row) from None
    if twice := named_twice(names):
        raise file_error(path, f"the column {twice!r} occurs twice.", row)
    return columns


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_json(path: Path) -> object:
    """Return the value in a JSON file. Raises PrecomputeError: the file cannot be read or is no JSON."""
    return _parse(path, _bytes(path))


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line, from 1, and the object in it; blank lines are passed over.

    Raises:
        PrecomputeError: the file cannot be read, or a line is no JSON object.
    """
    # Only "\n" ends a line: str.splitlines would also cut at the U+2028 that JSON texts may hold unescaped.
    for number, line in enumerate(_bytes(path).split(b"\n"), start=1):
        if line.strip():
            value = _parse(path, line, number)
            if not isinstance(value, dict):
                raise file_error(path, "this is no JSON object.", number)
            yield number, value


def _bytes(path: Path) -> bytes:
    try:
        data = read_bytes(path)
        return (gunzipped(data) if path.suffix == ".gz" else data).removeprefix(_BYTE_ORDER_MARK)
    except FileNotFoundError:
        raise file_error(path, "there is no such file.") from None
    except ParseError as error:
        raise file_error(path, f"{error}.") from error
    except OSError as error:
        raise file_error(path, f"it cannot be read ({error.strerror}).") from error


def _parse(path: Path, data: bytes, row: int | None = None) -> object:
    try:
        return documents.read_json(data.decode(), keep_halves=True)
    except UnicodeDecodeError:
        raise file_error(path, "these bytes are not UTF-8.", row) from None
    except ParseError as error:
        raise file_error(path, f"this is not valid JSON ({error}).", row) from error
