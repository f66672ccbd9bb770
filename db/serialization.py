"""The forms in which texts and arrays are stored: storable text with its SHA-256, and arrays as bytes."""

import hashlib
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from db.errors import DatabaseError
from parsing.files import check_sizes

# The beginning of an array of `pack`: the .npy format, version 1.0, with the header as numpy writes it.
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)"
    rb"\{'descr': '(?P<dtype>[<|>][A-Za-z]\d+(\[\d*[a-zA-Z]+\])?)', "
    rb"'fortran_order': (?P<fortran>False|True), 'shape': \((?P<shape>[\d, ]*)\), \} *\n",
    re.DOTALL,
)


def storable_text(text: str) -> str:
    """Return the text as both databases can hold it.

    PostgreSQL refuses NUL and neither database takes lone surrogates, yet public corpora contain both: each
    becomes U+FFFD. Any other text is returned unchanged.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def text_sha256(text: str) -> str:
    """Return the SHA-256 (64 hex digits) of the storable text in UTF-8, by which queries are joined."""
    return hashlib.sha256(storable_text(text).encode()).hexdigest()


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Pack named arrays of any shape into npz bytes; equal arrays give equal bytes.

    They are compressed, but for large ones that hardly shrink: unpacking these would take most of the time
    that a ranking takes.

    Raises:
        DatabaseError: an array holds Python objects.
    """
    buffer = io.BytesIO()
    try:
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in sorted(arrays):
                array = np.asanyarray(arrays[name])
                member = zipfile.ZipInfo(f"{name}.npy")
                member.compress_type = zipfile.ZIP_DEFLATED if _shrinks(array) else zipfile.ZIP_STORED
                with archive.open(member, "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
    except ValueError as error:
        raise DatabaseError(f"The arrays cannot be stored: {error}.") from error
    return buffer.getvalue()


_LARGE = 2**18
"""Bytes of an array from which on it is looked at whether it shrinks, and of it that are looked at."""
_HARDLY_SHRUNK = 0.65
"""Of its bytes: features of responses come to 0.75, passages to 0.5 and counts to 0.2."""


def _shrinks(array: NDArray[Any]) -> bool:
    if array.nbytes < _LARGE or array.dtype.hasobject:
        return True
    sample = np.ravel(array)[: _LARGE // array.itemsize].tobytes()
    return len(zlib.compress(sample, 1)) < _HARDLY_SHRUNK * len(sample)


def packed_names(payload: bytes) -> tuple[str, ...]:
    """Return the names of the arrays of `pack`. Raises DatabaseError: the bytes are damaged."""
    with _reading(len(payload)), zipfile.ZipFile(io.BytesIO(payload)) as archive:
        return tuple(name.removesuffix(".npy") for name in archive.namelist())


def unpack(payload: bytes, only: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the named arrays of `pack`, with their shapes and dtypes.

    Args:
        only: the arrays that are wanted; by default all.

    Raises:
        DatabaseError: the bytes are damaged or were not made by `pack`.
    """
    return {name: array.copy(order="K") for name, array in unpacked_views(payload, only).items()}


def unpacked_views(payload: bytes, only: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return what `unpack` does, but read-only, and as parts of the payload where that is not compressed.

    Raises as `unpack`.
    """
    with _reading(len(payload)):
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            names = archive.namelist()
        content = memoryview(payload)
        found = packed_arrays(lambda start, size: content[start : start + size], len(payload))
        if [f"{name}.npy" for name in found] != names:
            raise ValueError("other arrays than are listed")
        return {name: array.unpacked() for name, array in found.items() if only is None or name in only}


def same_arrays(one: bytes, other: bytes) -> bool:
    """Return whether two payloads of `pack` hold the same arrays, compressed or not; none that is damaged."""
    if one == other:
        return True
    try:
        first, second = unpacked_views(one), unpacked_views(other)
    except DatabaseError:
        return False
    return first.keys() == second.keys() and all(
        array.dtype == second[name].dtype
        and array.shape == second[name].shape
        and array.tobytes() == second[name].tobytes()
        for name, array in first.items()
    )


@dataclass(frozen=True)
class PackedArray:
    """One of the arrays of `pack`, as it stands in the payload.

    Attributes:
        content: its bytes, compressed unless `method` is that of ZIP for none.
        size: the number of them when unpacked.
        crc: their CRC-32.
        payload_size: bytes of the whole payload.
    """

    content: bytes | memoryview
    method: int
    size: int
    crc: int
    payload_size: int

    def unpacked(self) -> NDArray[Any]:
        """Return the array, read-only. Raises DatabaseError: the bytes are damaged."""
        with _reading(self.payload_size):
            content = memoryview(self.content)
            if self.method == zipfile.ZIP_DEFLATED:
                # It gives no more bytes than it says, whatever is in it.
                stream = zlib.decompressobj(-zlib.MAX_WBITS)
                content = memoryview(stream.decompress(content, max(1, self.size)))
            if len(content) != self.size or zlib.crc32(content) != self.crc:
                raise ValueError("not what was packed")
            return _array(content)


_LOCAL_HEADER = struct.Struct("<4s2xHH4xLLLHH")
"""Before each member of a ZIP archive: signature, flags, method, CRC-32, sizes of content, name, extras."""
_SIGNATURE = b"PK\x03\x04"
_AFTER_MEMBERS = (b"PK\x01\x02", b"PK\x05\x06")
"""Signatures of the list of members and of the archive's end."""
_NAME_IS_UTF_8 = 0x800
_LARGE_SIZES = struct.Struct("<HHQQ")
"""The extras as numpy writes them: number and size of the field, then the sizes of the content."""


def packed_arrays(
    read: Callable[[int, int], bytes | memoryview], payload_size: int, only: Collection[str] | None = None
) -> dict[str, PackedArray]:
    """Return arrays of `pack` without reading the others, in the order of the payload.

    Args:
        read: returns so many bytes of the payload from a place on.
        payload_size: how many it has.
        only: the arrays that are wanted; by default all. What lies beyond the last of them is not read.

    Raises:
        DatabaseError: the bytes are damaged or were not made by `pack`.
    """
    found: dict[str, PackedArray] = {}
    place, unread = 0, None if only is None else set(only)
    with _reading(payload_size):
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
                raise ValueError("not as pack writes it")
            place += len(rest)
            name = rest[:name_size].decode().removesuffix(".npy")
            if unread is None or name in unread:
                found[name] = PackedArray(read(place, packed_size), method, size, crc, payload_size)
            place += packed_size
            if unread is not None:
                unread.discard(name)
        check_sizes((array.size for array in found.values()), payload_size)
    return found


@contextmanager
def _reading(payload_size: int) -> Iterator[None]:
    """Raise a DatabaseError for whatever is wrong with a payload of so many bytes."""
    try:
        yield
    # Damaged bytes make zipfile, zlib and numpy raise a dozen unrelated kinds.
    except Exception as error:
        raise DatabaseError(f"The {payload_size} stored bytes are not a readable set of arrays.") from error


def _array(member: memoryview) -> NDArray[Any]:
    # Not by numpy.load: it reads headers with ast.literal_eval, which fails now and then where several
    # threads parse (CPython 3.11, gh-106905), and arrays are unpacked by several threads.
    header = _NPY.match(member)
    if header is None or header.end() != 10 + int.from_bytes(header["length"], "little"):
        raise ValueError("no array as numpy writes it")
    shape = tuple(int(size) for size in header["shape"].split(b",") if size.strip())
    flat = np.frombuffer(member, np.dtype(header["dtype"].decode()), offset=header.end())
    return flat.reshape(shape, order="F" if header["fortran"] == b"True" else "C")
