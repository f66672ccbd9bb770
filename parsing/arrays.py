"""Arrays as numpy packs them into an ``.npz`` archive, each found without reading the others.

Unpacked and checked by ISA-L, which takes a third of zlib's time, in threads if one likes.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from parsing.files import check_regular, check_sizes, read_bytes
from parsing.limits import ParseError

# The beginning of an array: the .npy format, version 1.0, with the header as numpy writes it.
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)"
    rb"\{'descr': '(?P<dtype>[<|>][A-Za-z]\d+(\[\d*[a-zA-Z]+\])?)', "
    rb"'fortran_order': (?P<fortran>False|True), 'shape': \((?P<shape>[\d, ]*)\), \} *\n",
    re.DOTALL,
)
_LOCAL_HEADER = struct.Struct("<4s2xHH4xLLLHH")
"""Before each member of a ZIP archive: signature, flags, method, CRC-32, sizes of content, name, extras."""
_SIGNATURE = b"PK\x03\x04"
_AFTER_MEMBERS = (b"PK\x01\x02", b"PK\x05\x06")
"""Signatures of the list of members and of the archive's end."""
_NAME_IS_UTF_8 = 0x800
_LARGE_SIZES = struct.Struct("<HHQQ")
"""The extras as numpy writes them: number and size of the field, then the sizes of the content."""


@dataclass(frozen=True)
class PackedArray:
    """One of the arrays of an archive, as it stands there.

    Attributes:
        content: its bytes, compressed unless `method` is that of ZIP for none.
        size: the number of them when unpacked.
        crc: their CRC-32.
    """

    content: bytes | memoryview
    method: int
    size: int
    crc: int

    def unpacked(self) -> NDArray[Any]:
        """Return the array, read-only. Raises ParseError: the bytes are damaged."""
        with _reading():
            content = memoryview(self.content)
            if self.method == zipfile.ZIP_DEFLATED:
                # It gives no more bytes than it says, whatever is in it.
                stream = isal_zlib.decompressobj(-isal_zlib.MAX_WBITS)
                content = memoryview(stream.decompress(content, max(1, self.size)))
            if len(content) != self.size or isal_zlib.crc32(content) != self.crc:
                raise ValueError("not what was packed")
            return _array(content)


def packed_arrays(
    read: Callable[[int, int], bytes | memoryview], archive_size: int, only: Collection[str] | None = None
) -> dict[str, PackedArray]:
    """Return arrays of an archive without reading the others, in the archive's order.

    Args:
        read: returns so many bytes of the archive from a place on.
        archive_size: how many it has.
        only: the arrays that are wanted; by default all. What lies beyond the last of them is not read.

    Raises:
        ParseError: the bytes are damaged or are not as numpy writes them.
    """
    found: dict[str, PackedArray] = {}
    place, unread = 0, None if only is None else set(only)
    with _reading():
        while unread is None or unread:
            header = bytes(read(place, _LOCAL_HEADER.size))
            if header[: len(_SIGNATURE)] in _AFTER_MEMBERS:
                break
            signature, flags, method, crc, _, _, name_size, extra_size = _LOCAL_HEADER.unpack(header)
            place += _LOCAL_HEADER.size
            rest = bytes(read(place, name_size + extra_size))
            field, _, size, packed_size = _LARGE_SIZES.unpack(rest[name_size:])
            is_known = signature == _SIGNATURE and field == 1 and not flags & ~_NAME_IS_UTF_8
            if not is_known or method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("not as numpy writes it")
            place += len(rest)
            name = rest[:name_size].decode().removesuffix(".npy")
            if unread is None or name in unread:
                found[name] = PackedArray(read(place, packed_size), method, size, crc)
            place += packed_size
            if unread is not None:
                unread.discard(name)
        check_sizes((array.size for array in found.values()), archive_size)
    return found


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file, read-only.

    Raises:
        OSError: It cannot be read.
        ParseError: It is damaged or is not as numpy writes it.
    """
    return unpacked_arrays(read_bytes(path))


def read_some_arrays(path: Path, *only: str) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """Return the names of all arrays of an ``.npz`` file, and some of the arrays; raises as `read_arrays`.

    Nothing else is read, and damage to it is not seen.
    """
    check_regular(path)
    with _reading(), zipfile.ZipFile(path) as listed, path.open("rb") as file:
        names = [name.removesuffix(".npy") for name in listed.namelist()]

        def read(start: int, size: int) -> bytes:
            file.seek(start)
            return file.read(size)

        found = packed_arrays(read, path.stat().st_size, only)
        return names, {name: array.unpacked() for name, array in found.items()}


def unpacked_arrays(archive: bytes, only: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return arrays of an archive, read-only, and as parts of its bytes where they are not compressed.

    Args:
        archive: the whole of it; one that lacks its end is seen to do so.
        only: the arrays that are wanted; by default all.

    Raises:
        ParseError: the bytes are damaged or are not as numpy writes them.
    """
    with _reading():
        with zipfile.ZipFile(io.BytesIO(archive)) as listed:
            names = listed.namelist()
        content = memoryview(archive)
        found = packed_arrays(lambda start, size: content[start : start + size], len(content))
        if [f"{name}.npy" for name in found] != names:
            raise ValueError("other arrays than are listed")
        return {name: array.unpacked() for name, array in found.items() if only is None or name in only}


@contextmanager
def _reading() -> Iterator[None]:
    """Raise a ParseError for whatever is wrong with an archive."""
    try:
        yield
    except (ParseError, OSError):
        raise
    # Damaged bytes make ISA-L and numpy raise a dozen unrelated kinds.
    except Exception as error:
        raise ParseError("it is not a readable set of arrays") from error


def _array(member: memoryview) -> NDArray[Any]:
    # Not by numpy.load: it reads headers with ast.literal_eval, which fails now and then where several
    # threads parse (CPython 3.11, gh-106905), and arrays are unpacked by several threads.
    header = _NPY.match(member)
    if header is None or header.end() != 10 + int.from_bytes(header["length"], "little"):
        raise ValueError("no array as numpy writes it")
    shape = tuple(int(size) for size in header["shape"].split(b",") if size.strip())
    flat = np.frombuffer(member, np.dtype(header["dtype"].decode()), offset=header.end())
    return flat.reshape(shape, order="F" if header["fortran"] == b"True" else "C")
