"""The forms in which texts and arrays are stored: storable text with its SHA-256, and arrays as bytes."""

import hashlib
import io
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from db.errors import DatabaseError
from parsing.archives import member_names
from parsing.arrays import unpacked_arrays


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
    with reading_payload(len(payload)):
        return tuple(name.removesuffix(".npy") for name in member_names(payload))


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
    with reading_payload(len(payload)):
        return unpacked_arrays(payload, only)


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


@contextmanager
def reading_payload(size: int) -> Iterator[None]:
    """Raise a DatabaseError for whatever is wrong with a payload of so many bytes."""
    try:
        yield
    # Damaged bytes make numpy raise a dozen unrelated kinds.
    except Exception as error:
        raise DatabaseError(f"The {size} stored bytes are not a readable set of arrays.") from error
