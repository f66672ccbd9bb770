import gzip
import os
from pathlib import Path

import pytest

from parsing.files import gunzipped, read_bytes
from parsing.limits import ParseError
from parsing.tables import RowError, csv_rows, named_twice


def test_what_gzip_packed_comes_back() -> None:
    assert gunzipped(gzip.compress(b"text")) == b"text"
    for damaged in (b"not gzip", gzip.compress(b"text")[:-3]):
        with pytest.raises(ParseError, match="not a readable gzip file"):
            gunzipped(damaged)


def test_a_small_file_that_unpacks_without_end_is_refused() -> None:
    member = gzip.compress(bytes(2**20))
    with pytest.raises(ParseError, match="unpacks to more than 64 MB"):
        gunzipped(member * 100)


def test_only_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="Not a regular file"):
            read_bytes(path)
    (tmp_path / "large").write_bytes(bytes(2**20 + 1))
    with pytest.raises(OSError, match="Larger than 1 MB"):
        read_bytes(tmp_path / "large", 2**20)
    assert len(read_bytes(tmp_path / "large")) == 2**20 + 1


def test_rows_have_a_thousand_columns_at_most() -> None:
    assert list(csv_rows(["a,b\n", '"1,\n', '2",3\n'])) == [["a", "b"], ["1,\n2", "3"]]
    with pytest.raises(RowError, match="more than 1,000 columns") as raised:
        list(csv_rows(["a\n", "," * 1_000]))
    assert raised.value.row == 2
    with pytest.raises(RowError, match="expected after") as raised:
        list(csv_rows(["a\n", '"b"c\n']))
    assert raised.value.row == 2


def test_a_field_may_be_as_long_as_a_long_response() -> None:
    assert list(csv_rows(["x" * 1_000_000])) == [["x" * 1_000_000]]


def test_names_that_occur_twice_are_found_in_one_go() -> None:
    assert named_twice(["", "a", "", "b", "a"]) == "a"
    assert named_twice(list(map(str, range(300_000)))) is None
