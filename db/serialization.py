"""The forms in which texts and arrays are stored: storable text with its SHA-256, and arrays as bytes."""

import hashlib
import io
import re
import zipfile
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
    """Pack named arrays of any shape into compressed npz bytes; equal arrays give equal bytes.

    Raises:
        DatabaseError: an array holds Python objects.
    """
    buffer = io.BytesIO()
    try:
        np.savez_compressed(buffer, allow_pickle=False, **{name: arrays[name] for name in sorted(arrays)})
    except ValueError as error:
        raise DatabaseError(f"The arrays cannot be stored: {error}.") from error
    return buffer.getvalue()


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
    try:
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            check_archive(archive, len(payload))
            names = {name.removesuffix(".npy"): name for name in archive.namelist()}
            wanted = names if only is None else [name for name in names if name in only]
            return {name: _array(archive.read(names[name])) for name in wanted}
    # Damaged bytes make zipfile and numpy raise a dozen unrelated kinds, from zlib.error to
    # NotImplementedError.
    except Exception as error:
        raise DatabaseError(f"The {len(payload)} stored bytes are not a readable set of arrays.") from error


def _array(member: bytes) -> NDArray[Any]:
    # Not by numpy.load: it reads headers with ast.literal_eval, which fails now and then where several
    # threads parse (CPython 3.11, gh-106905), and arrays are unpacked by several threads.
    header = _NPY.match(member)
    if header is None or header.end() != 10 + int.from_bytes(header["length"], "little"):
        raise ValueError("no array as numpy writes it")
    shape = tuple(int(size) for size in header["shape"].split(b",") if size.strip())
    flat = np.frombuffer(member, np.dtype(header["dtype"].decode()), offset=header.end()).copy()
    return flat.reshape(shape, order="F" if header["fortran"] == b"True" else "C")
