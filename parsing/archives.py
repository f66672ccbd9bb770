"""ZIP archives: their members listed, and unpacked no further than is wanted."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parsing.files import check_regular, check_sizes
from parsing.limits import ParseError

_ENCRYPTED = 0x1


class Archive:
    """An opened ZIP archive.

    Attributes:
        names: Of its members, in its order.
    """

    def __init__(self, listed: zipfile.ZipFile) -> None:
        self._listed = listed
        self.names = tuple(listed.namelist())

    def is_locked(self, name: str) -> bool:
        """Return whether a member needs a password; a KeyError if there is none of this name."""
        return bool(self._listed.getinfo(name).flag_bits & _ENCRYPTED)

    def packed_size(self, name: str) -> int:
        """Return the bytes that a member is packed into, as the archive says; a KeyError as `is_locked`."""
        return self._listed.getinfo(name).compress_size

    def read(self, name: str, most: int | None = None) -> bytes:
        """Return what a member holds.

        Args:
            most: Only so many bytes, its first ones; by default as many as the archive says that it has.

        Raises:
            KeyError: There is no member of this name.
            ParseError: It is damaged or locked.
        """
        member = self._listed.getinfo(name)
        with _readable(), self._listed.open(member) as packed:
            return packed.read(-1 if most is None else most)


@contextmanager
def opened_archive(source: Path | bytes, *, whole: bool = True) -> Iterator[Archive]:
    """Yield an archive that is a file, or bytes; members are read while it is open.

    Args:
        whole: All of its members may be read, so that together they must not unpack to more than is read.

    Raises:
        OSError: The file cannot be read, or is no regular one.
        ParseError: It is no ZIP archive, or unpacks to more.
    """
    packed = check_regular(source) if isinstance(source, Path) else len(source)
    with _readable("it is not a zip file"):
        listed = zipfile.ZipFile(source if isinstance(source, Path) else io.BytesIO(source))
    with listed:
        if whole:
            # No member gives more bytes than the archive says, so that what it says can be held to the limit.
            check_sizes((member.file_size for member in listed.infolist()), packed)
        yield Archive(listed)


def member_names(archive: bytes) -> tuple[str, ...]:
    """Return the names of an archive's members. Raises ParseError: it is no ZIP archive."""
    with opened_archive(archive, whole=False) as opened:
        return opened.names


@contextmanager
def _readable(otherwise: str | None = None) -> Iterator[None]:
    """Raise a ParseError for whatever is wrong with an archive, but not with reading its file."""
    try:
        yield
    # Damaged bytes make zipfile and zlib raise a dozen unrelated kinds.
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise
        raise ParseError(otherwise or str(error) or "it ends in the middle of a file") from error
