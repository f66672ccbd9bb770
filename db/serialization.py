"""The forms in which texts and arrays are stored: storable text with its SHA-256, and arrays as bytes."""

import hashlib
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from db.errors import DatabaseError
from parsing.files import check_archive

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
    try:
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            return tuple(name.removesuffix(".npy") for name in archive.namelist())
    except Exception as error:
        raise DatabaseError(f"The {len(payload)} stored bytes are not a readable set of arrays.") from error


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
    try:
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            check_archive(archive, len(payload))
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        wanted = members if only is None else [name for name in members if name in only]
        return {name: _array(_content(payload, members[name])) for name in wanted}
    # Damaged bytes make zipfile and numpy raise a dozen unrelated kinds, from zlib.error to
    # NotImplementedError.
    except Exception as error:
        raise DatabaseError(f"The {len(payload)} stored bytes are not a readable set of arrays.") from error


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


_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""What stands before a member by the ZIP specification: a signature, and how long its name and extras are."""


def _content(payload: bytes, member: zipfile.ZipInfo) -> memoryview:
    """Return a member of an archive, without the copies that zipfile makes of it."""
    header = payload[member.header_offset : member.header_offset + _LOCAL_HEADER.size]
    signature, name_length, extra_length = _LOCAL_HEADER.unpack(header)
    if signature != b"PK\x03\x04":
        raise ValueError("no member where it should be")
    start = member.header_offset + _LOCAL_HEADER.size + name_length + extra_length
    packed = memoryview(payload)[start : start + member.compress_size]
    if member.compress_type == zipfile.ZIP_STORED:
        content = packed
    elif member.compress_type == zipfile.ZIP_DEFLATED:
        # It gives no more bytes than the archive says, whatever is in it.
        content = memoryview(zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, max(1, member.file_size)))
    else:
        raise ValueError("compressed in another way than by pack")
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise ValueError("not what was packed")
    return content


def _array(member: memoryview) -> NDArray[Any]:
    # Not by numpy.load: it reads headers with ast.literal_eval, which fails now and then where several
    # threads parse (CPython 3.11, gh-106905), and arrays are unpacked by several threads.
    header = _NPY.match(member)
    if header is None or header.end() != 10 + int.from_bytes(header["length"], "little"):
        raise ValueError("no array as numpy writes it")
    shape = tuple(int(size) for size in header["shape"].split(b",") if size.strip())
    flat = np.frombuffer(member, np.dtype(header["dtype"].decode()), offset=header.end())
    return flat.reshape(shape, order="F" if header["fortran"] == b"True" else "C")
