"""The forms in which texts and arrays are stored: storable text with its SHA-256, and arrays as bytes."""

import hashlib
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from db.errors import DatabaseError


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


def unpack(payload: bytes) -> dict[str, NDArray[Any]]:
    """Return the named arrays of `pack`, with their shapes and dtypes.

    Raises:
        DatabaseError: the bytes are damaged or were not made by `pack`.
    """
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    # Damaged bytes make numpy and zipfile raise a dozen unrelated kinds, from zlib.error to
    # NotImplementedError.
    except Exception as error:
        raise DatabaseError(f"The {len(payload)} stored bytes are not a readable set of arrays.") from error
