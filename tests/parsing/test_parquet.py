import os
import sys
from pathlib import Path
from subprocess import run

import pyarrow as pa
import pytest
from pyarrow import parquet

from parsing.limits import ParseError
from parsing.parquet import open_parquet

ROOT = Path(__file__).parents[2]


def written(folder: Path, **columns: pa.Array) -> Path:
    """A file as anybody writes one: each distinct value once."""
    path = folder / "table.parquet"
    parquet.write_table(pa.table(columns), path, store_schema=False)
    return path


def repeated(value: object, times: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), times), pa.array([value]))


def n_read(path: Path, at_a_time: int = 100) -> int:
    with open_parquet(path) as table:
        return sum(batch.num_rows for batch in table.batches(table.names, at_a_time))


def test_rows_come_as_they_are_and_only_the_columns_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, a=pa.array(["one", None, "three"]), b=pa.array([1, 2, 3]))
    with open_parquet(path) as table:
        assert (table.names, table.n_rows) == (["a", "b"], 3)
        rows = [row for batch in table.batches(["a"], 2) for row in batch.to_pylist()]
    assert rows == [{"a": "one"}, {"a": None}, {"a": "three"}]


def test_a_text_that_stands_once_in_the_file_and_in_every_row_is_refused_before_memory_is_full(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, response=repeated("x" * 2**20, 10_000))
    assert path.stat().st_size < 2**20
    before = pa.total_allocated_bytes()
    with open_parquet(path) as table, pytest.raises(ParseError, match="unpacks to more than 64 MB"):
        for batch in table.batches(["response"], 10_000):
            assert batch.num_rows <= 256
    assert pa.total_allocated_bytes() - before < 2**30
    assert n_read(written(tmp_path, response=repeated("x" * 1_000, 50_000))) == 50_000


@pytest.mark.parametrize("column", [pa.nulls(10_000_000, pa.string()), repeated("", 10_000_000)])
def test_rows_that_take_no_place_in_a_file_are_counted(tmp_path: Path, column: pa.Array) -> None:
    path = written(tmp_path, response=column)
    assert path.stat().st_size < 2**16
    with pytest.raises(ParseError, match="unpacks to more than 64 MB"):
        n_read(path)


def test_what_a_file_says_of_itself_is_held_against_its_size(tmp_path: Path) -> None:
    path = tmp_path / "zeros.parquet"
    table = pa.table({"zeros": pa.array([bytes(2**20)] * 100)})
    parquet.write_table(table, path, use_dictionary=False, compression="zstd")
    with pytest.raises(ParseError, match="unpacks to more than 64 MB"):
        n_read(path)


def test_a_file_has_a_thousand_columns_at_most(tmp_path: Path) -> None:
    path = written(tmp_path, **{f"c{number}": pa.array([1]) for number in range(1_001)})
    with pytest.raises(ParseError, match="more than 1,000 columns"):
        n_read(path)


def test_what_is_no_parquet_file_is_said_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, a=pa.array(list(map(str, range(10_000)))))
    whole = path.read_bytes()
    for damaged in (b"", b"PAR1", whole[:-9], whole[:4] + bytes(2_000) + whole[2_004:], whole[::-1]):
        path.write_bytes(damaged)
        with pytest.raises(ParseError) as raised:
            n_read(path)
        assert "\n" not in str(raised.value)


def test_a_damaged_footer_ends_no_process(tmp_path: Path) -> None:
    """PyArrow ends the process where the metadata of one column are asked for and are damaged."""
    path = written(tmp_path, a=pa.array(["one", "two"]), b=pa.array(["three", None]))
    read_all_damages = """
import sys
from pathlib import Path
from parsing.limits import ParseError
from parsing.parquet import open_parquet
path = Path(sys.argv[1])
whole = path.read_bytes()
footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
for place in range(footer, len(whole)):
    for changed in (0, 6, 255):
        path.write_bytes(whole[:place] + bytes([changed]) + whole[place + 1:])
        try:
            with open_parquet(path) as table:
                list(table.batches(table.names, 10))
        except (ParseError, OSError, UnicodeDecodeError):
            pass
"""
    run([sys.executable, "-c", read_all_damages, str(path)], check=True, cwd=ROOT)


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(OSError, match="Not a regular file"):
        n_read(tmp_path / "pipe.parquet")
