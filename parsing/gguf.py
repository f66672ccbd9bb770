"""GGUF files, in which llama.cpp and others keep a model: its shape, its tokens, and its weights in few bits.

The format is that of ggml's ``docs/gguf.md``, version 3. The ``gguf`` package reads it too, and takes two
seconds of a processor for the tokens alone: too long for a page on which somebody waits.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parsing.files import check_regular
from parsing.limits import ParseError

_MAGIC, _VERSION = b"GGUF", 3
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q")
"""Before each string."""
_F32, _Q4_1, _Q8_0 = 0, 3, 8
GROUP = 32
"""Weights of a row that share a scale."""
_BYTES = {_F32: 4 * GROUP, _Q4_1: 4 + GROUP // 2, _Q8_0: 2 + GROUP}
"""Of so many weights."""
_MAX_DIMENSIONS = 4
_ALIGNMENT = 32


@dataclass(frozen=True)
class Quantised:
    """A matrix of N rows of M weights in a few bits: ``weight = number · scale + least``.

    Attributes:
        numbers: From 0 to 15 ``[N, M]``.
        scale: Of each group of ``GROUP`` weights ``[N, M / GROUP]``.
        least: Likewise.
    """

    numbers: NDArray[np.uint8]
    scale: NDArray[np.float32]
    least: NDArray[np.float32]


@dataclass(frozen=True)
class StoredWeights:
    """A tensor in the format that it is stored in.

    Attributes:
        shape: The last dimension is the one that lies together in the file.
    """

    shape: tuple[int, ...]
    kind: int
    stored: NDArray[np.uint8]

    def rows(self, chosen: Any = slice(None)) -> NDArray[np.float32]:
        """Return the chosen rows of the first dimension, or all, in full precision."""
        if len(self.shape) == 1:
            return self.stored.view(np.float32).copy()
        stored = np.ascontiguousarray(self.stored.reshape(self.shape[0], -1)[chosen])
        return _unpacked(stored, self.kind).reshape(len(stored), *self.shape[1:])

    def quantised(self) -> Quantised:
        """Return all rows of a matrix as they are stored.

        Raises:
            ParseError: It is not stored in four bits with a scale and a least weight.
        """
        if self.kind != _Q4_1:
            raise ParseError("its weights are not in the format Q4_1")
        return _four_bits(self.stored.reshape(self.shape[0], -1))


@dataclass(frozen=True)
class GGUFFile:
    """What a file holds; weights stay on the disk until they are asked for.

    Attributes:
        metadata: Numbers, texts, and lists of them by their names.
        weights: Tensors by their names.
    """

    metadata: Mapping[str, Any]
    weights: Mapping[str, StoredWeights]
    content: mmap.mmap

    def forget(self) -> None:
        """Give back the memory of what was read of the weights; what is asked for is read again."""
        if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            self.content.madvise(mmap.MADV_DONTNEED)


def read_gguf(path: Path) -> GGUFFile:
    """Read a file's metadata, and where its weights are.

    Raises:
        OSError: It cannot be read, or is no regular file.
        ParseError: It is no such file, breaks off, or has weights in a format that is not read.
    """
    check_regular(path)
    with path.open("rb") as file:
        if path.stat().st_size < len(_MAGIC):
            raise ParseError("it is no GGUF file")
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        return _Reader(content).read()
    except (struct.error, IndexError, UnicodeDecodeError, OverflowError) as error:
        raise ParseError("it is damaged, or breaks off") from error


class _Reader:
    """Goes through a file from its beginning."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._at = content, 0

    def read(self) -> GGUFFile:
        if self._content[: len(_MAGIC)] != _MAGIC:
            raise ParseError("it is no GGUF file")
        self._at = len(_MAGIC)
        if (version := self._scalar("I")) != _VERSION:
            raise ParseError(f"it is of version {version}, and {_VERSION} is read")
        n_tensors, n_fields = self._scalar("Q"), self._scalar("Q")
        metadata = {self._string(): self._value(self._scalar("I")) for _ in range(n_fields)}
        described = [self._description() for _ in range(n_tensors)]
        alignment = metadata.get("general.alignment", _ALIGNMENT)
        start = -(-self._at // alignment) * alignment
        content = np.frombuffer(self._content, np.uint8)
        weights = {}
        for name, shape, kind, offset in described:
            size = int(np.prod(shape)) // GROUP * _BYTES[kind]
            stored = content[start + offset : start + offset + size]
            if len(stored) != size:
                raise ParseError("it is damaged, or breaks off")
            weights[name] = StoredWeights(shape, kind, stored)
        return GGUFFile(metadata, weights, self._content)

    def _scalar(self, form: str) -> Any:
        (value,) = struct.unpack_from(f"<{form}", self._content, self._at)
        self._at += struct.calcsize(form)
        return value

    def _string(self) -> str:
        length = self._scalar("Q")
        text = self._content[self._at : self._at + length]
        if len(text) != length:
            raise IndexError
        self._at += length
        return text.decode("utf-8")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            inner, length = self._scalar("I"), self._scalar("Q")
            if length > len(self._content):
                raise IndexError
            return self._strings(length) if inner == _STRING else self._values(inner, length)
        if kind not in _SCALARS:
            raise ParseError(f"a field is of the unknown kind {kind}")
        return self._scalar(_SCALARS[kind])

    def _values(self, kind: int, length: int) -> list[Any]:
        """Return so many values of one kind; numbers, of which a vocabulary has thousands, at once."""
        if kind not in _SCALARS:
            return [self._value(kind) for _ in range(length)]
        form = f"<{length}{_SCALARS[kind]}"
        numbers = struct.unpack_from(form, self._content, self._at)
        self._at += struct.calcsize(form)
        return [*numbers]

    def _strings(self, length: int) -> list[str]:
        """Return so many strings: those of a vocabulary, which take most of a file's reading."""
        read, content, at = _LENGTH.unpack_from, self._content, self._at
        found = []
        for _ in range(length):
            (size,) = read(content, at)
            at += _LENGTH.size
            text = content[at : at + size]
            if len(text) != size:
                raise IndexError
            at += size
            found.append(text.decode())
        self._at = at
        return found

    def _description(self) -> tuple[str, tuple[int, ...], int, int]:
        """Name, shape, format and place of a tensor; the file names its dimensions from the last on."""
        name, n_dimensions = self._string(), self._scalar("I")
        if n_dimensions > _MAX_DIMENSIONS:
            raise IndexError
        shape = tuple(self._scalar("Q") for _ in range(n_dimensions))[::-1]
        kind, offset = self._scalar("I"), self._scalar("Q")
        if kind not in _BYTES:
            raise ParseError(f"its weights are in the format {kind}, and F32, Q4_1 and Q8_0 are read")
        return name, shape, kind, offset


def _unpacked(rows: NDArray[np.uint8], kind: int) -> NDArray[np.float32]:
    """Return stored rows ``[N, bytes]`` in full precision ``[N, weights]``."""
    if kind == _F32:
        return rows.view(np.float32)
    if kind == _Q4_1:
        found = _four_bits(rows)
        grouped = found.numbers.reshape(*found.scale.shape, GROUP)
        weights = grouped * found.scale[..., None] + found.least[..., None]
    else:
        groups = rows.reshape(len(rows), -1, _BYTES[kind])
        weights = groups[..., 2:].view(np.int8) * _halves(groups[..., :2])[..., None]
    return np.asarray(weights, dtype=np.float32).reshape(len(rows), -1)


def _four_bits(rows: NDArray[np.uint8]) -> Quantised:
    """Return what rows ``[N, bytes]`` in the format Q4_1 hold."""
    groups = rows.reshape(len(rows), -1, _BYTES[_Q4_1])
    packed = groups[..., 4:]
    numbers = np.concatenate([packed & 15, packed >> 4], axis=-1).reshape(len(rows), -1)
    return Quantised(numbers, _halves(groups[..., :2]), _halves(groups[..., 2:4]))


def _halves(stored: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return numbers of two bytes ``[..., 2]`` in full precision ``[...]``."""
    return stored.copy().view(np.float16)[..., 0].astype(np.float32)
