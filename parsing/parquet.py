"""Parquet files, in which a few bytes can stand for any number of rows, and for any length of each."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsing.files import check_regular, most_unpacked, unpacks_to_more
from parsing.limits import MAX_COLUMNS, ParseError

_MAX_BATCH = 256 * 2**20
"""Bytes that the rows read at a time may have."""
_ROW = 8
"""Bytes that a row counts for at least: files have nulls, and repeats of a value, for nothing."""


@contextmanager
def open_parquet(path: Path) -> Iterator[ParquetTable]:
    """Open a file whose rows are read a few at a time, so that a file may be larger than memory.

    Raises:
        OSError: It cannot be read, or is no regular file.
        ParseError: It is no Parquet file, or says that it holds more than is read; damage may also be
            found while rows are read.
    """
    check_regular(path)
    # Mapped into memory, a row group need not fit into it.
    with _opened(path, path.stat().st_size, memory_map=True) as table:
        yield table


@contextmanager
def parquet_in(content: bytes) -> Iterator[ParquetTable]:
    """Open a file that is in memory; a ParseError as of `open_parquet`."""
    with _opened(io.BytesIO(content), len(content), memory_map=False) as table:
        yield table


@contextmanager
def _opened(source: Path | io.BytesIO, size: int, *, memory_map: bool) -> Iterator[ParquetTable]:
    from pyarrow import ArrowException, parquet  # noqa: PLC0415

    try:
        with parquet.ParquetFile(source, memory_map=memory_map) as file:
            table = ParquetTable(file, most_unpacked(size, most=None))
            table.check()
            yield table
    except (ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # of the file system, not of what is in the file
            raise
        raise ParseError(" ".join(str(error).split()).rstrip(".")) from error


@dataclass(frozen=True)
class ParquetTable:
    """An open Parquet file; ``most`` is how many bytes it may unpack to."""

    file: Any
    most: int

    @property
    def schema(self) -> Any:
        """Names and types of its columns, as PyArrow has them."""
        return self.file.schema_arrow

    @property
    def names(self) -> list[str]:
        """Names of its columns."""
        return list(self.schema.names)

    @property
    def n_rows(self) -> int:
        """Number of its rows."""
        return int(self.file.metadata.num_rows)

    def batches(self, columns: Sequence[str], at_a_time: int) -> Iterator[Any]:
        """Yield the rows as PyArrow's record batches, of so many rows at most.

        Raises ParseError: They are more than a file of this size may hold.
        """
        # A value may stand once in the file and in every row: with so few rows at a time, all fit even then.
        largest = max(self._group_sizes(), default=0)
        rows = max(1, min(at_a_time, _MAX_BATCH // max(1, largest)))
        unpacked = 0
        for batch in self.file.iter_batches(batch_size=rows, columns=list(columns)):
            unpacked += batch.nbytes
            if unpacked > self.most:
                raise unpacks_to_more(self.most)
            yield batch

    def check(self) -> None:
        """Raise a ParseError if the file says that it holds more than is read of one of its size."""
        if self.file.metadata.num_columns > MAX_COLUMNS:
            raise ParseError(f"more than {MAX_COLUMNS:,} columns")
        if max(_ROW * self.n_rows, sum(self._group_sizes())) > self.most:
            raise unpacks_to_more(self.most)

    def _group_sizes(self) -> list[int]:
        """Return how many bytes every group of rows unpacks to, each value that is repeated counted once."""
        # Asking for the metadata of a single column ends the process where they are damaged (PyArrow 26).
        metadata = self.file.metadata
        return [int(metadata.row_group(group).total_byte_size) for group in range(metadata.num_row_groups)]
