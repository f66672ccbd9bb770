"""Named arrays to bytes and back: the form in which representations and score matrices are stored."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from db.errors import PayloadError


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Packs named arrays of any shape into compressed npz bytes; equal arrays give equal bytes.

    Raises:
        PayloadError: an array holds Python objects.
    """
    buffer = io.BytesIO()
    try:
        np.savez_compressed(buffer, allow_pickle=False, **{name: arrays[name] for name in sorted(arrays)})
    except ValueError as error:
        raise PayloadError(f"The arrays cannot be stored: {error}.") from error
    return buffer.getvalue()


def unpack(payload: bytes) -> dict[str, NDArray[Any]]:
    """Returns the named arrays of `pack`, with their shapes and dtypes.

    Raises:
        PayloadError: the bytes are damaged or were not made by `pack`.
    """
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    # Damaged bytes make numpy and zipfile raise a dozen unrelated kinds, from zlib.error to
    # NotImplementedError.
    except Exception as error:
        raise PayloadError(f"The {len(payload)} stored bytes are not a readable set of arrays.") from error
