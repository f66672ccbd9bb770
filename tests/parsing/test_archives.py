import io
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.archives import member_names, opened_archive
from parsing.limits import ParseError


def packed(*members: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, member in enumerate(members):
            archive.writestr(str(number), member)
    return content.getvalue()


def test_members_of_a_file_and_of_bytes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(packed(b"one", b"two"))
    for source in (path, path.read_bytes()):
        with opened_archive(source) as archive:
            assert archive.names == ("0", "1")
            assert (archive.read("0"), archive.read("1", 2)) == (b"one", b"tw")
            with pytest.raises(KeyError):
                archive.read("2")
    assert member_names(path.read_bytes()) == ("0", "1")


def test_an_archive_is_held_to_what_it_says_of_itself() -> None:
    content = packed(*5 * [bytes(2**24)])
    with pytest.raises(ParseError, match="unpacks to more than 64 MB"), opened_archive(content):
        pass
    with opened_archive(content, whole=False) as archive:
        assert len(archive.read("4", 9)) == 9


def test_only_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, said in (("pipe", "Not a regular file"), (".", "Is a directory"), ("absent", "No such file")):
        with pytest.raises(OSError, match=said), opened_archive(tmp_path / path):
            pass


def test_a_locked_member_is_known_as_one() -> None:
    locked = bytearray(packed(b"one"))
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    with opened_archive(bytes(locked)) as archive:
        assert archive.is_locked("0")
        with pytest.raises(ParseError, match="encrypted"):
            archive.read("0")


def test_a_member_that_is_cut_off_is_told_as_one() -> None:
    beyond = bytearray(packed(b"one"))
    beyond[29] = 2  # so that its content would begin 512 bytes later, which is behind the archive
    with opened_archive(bytes(beyond)) as archive, pytest.raises(ParseError, match="ends in the middle"):
        archive.read("0")


WHOLE = packed(b"a few words, " * 20, bytes(range(256)))


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=4), st.integers(0))
def test_damaged_bytes_are_refused_and_nothing_else_is_raised(
    changes: list[tuple[int, int]], end: int
) -> None:
    damaged = bytearray(WHOLE)
    for place, byte in changes:
        damaged[place] = byte
    try:
        with opened_archive(bytes(damaged[: end or None])) as archive:
            for name in archive.names:
                archive.read(name)
    except ParseError as error:
        assert str(error)
