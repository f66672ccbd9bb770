"""Bytes of files, and what packed ones unpack to."""

from __future__ import annotations

import errno
import gzip
import io
import stat
import zlib
from collections.abc import Iterable
from pathlib import Path

from parsing.limits import ParseError

MAX_SETTINGS = 16 * 2**20
"""Bytes of a file that a person writes, such as ``crms.toml``."""
MAX_DATA = 2 * 2**30
"""Bytes of a file of data that is read as a whole."""
_ALWAYS = 64 * 2**20
"""Bytes that anything may unpack to."""
_MAX_RATIO = 100
"""How much larger than itself something may be unpacked; texts come to 20, and arrays to less."""
_PIECE = 2**20


def read_bytes(path: Path, most: int = MAX_DATA) -> bytes:
    """Return the bytes of a file; a pipe or a device, which might never end, is not opened.

    Raises:
        OSError: It cannot be read, is no regular file, or has more than so many bytes.
    """
    if check_regular(path) > most:
        raise OSError(errno.EFBIG, f"Larger than {most // 2**20:,} MB", str(path))
    return path.read_bytes()


def check_regular(path: Path) -> int:
    """Return the bytes of a file or folder; an OSError if it is a pipe or a device, or not there."""
    known = path.stat()
    if not stat.S_ISREG(known.st_mode) and not stat.S_ISDIR(known.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return known.st_size


def gunzipped(packed: bytes) -> bytes:
    """Return what gzip packed.

    Raises:
        ParseError: It is no gzip, only a part of one, or packed suspiciously well.
    """
    most = most_unpacked(len(packed))
    content = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            while len(content) <= most and (piece := file.read(_PIECE)):
                content += piece
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ParseError("this is not a readable gzip file, or only a part of one") from error
    if len(content) > most:
        raise unpacks_to_more(most)
    return bytes(content)


def joined(pieces: Iterable[bytes], most: int) -> bytes:
    """Return bytes that arrive piece by piece.

    Raises:
        ParseError: There are more than so many; no more of them are asked for.
    """
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) > most:
            raise too_large(most)
    return bytes(content)


def too_large(most: int) -> ParseError:
    """Return the error that there are more than so many bytes."""
    return ParseError(f"more than {most // 2**20:,} MB")


def check_sizes(sizes: Iterable[int], packed: int) -> None:
    """Return if so many bytes unpack to parts of these sizes and no more than is read of them.

    Raises:
        ParseError: They unpack to more.
    """
    most = most_unpacked(packed)
    if sum(sizes) > most:
        raise unpacks_to_more(most)


def most_unpacked(packed: int, most: int | None = MAX_DATA) -> int:
    """Return to how many bytes so many may unpack.

    Args:
        most: Bytes that are read of anything; None for what is read a piece at a time.
    """
    allowed = max(_ALWAYS, _MAX_RATIO * packed)
    return allowed if most is None else min(most, allowed)


def unpacks_to_more(most: int) -> ParseError:
    """Return the error that something unpacks to more than so many bytes."""
    return ParseError(f"it unpacks to more than {most // 2**20:,} MB, or is packed suspiciously well")
