from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from parsing.arrays import packed_arrays, read_arrays, read_some_arrays
from parsing.limits import ParseError

NOISE = np.random.default_rng(0).integers(-99, 99, (5_000, 120), dtype=np.int8)
ARRAYS: dict[str, NDArray[Any]] = {
    "few": np.arange(9, dtype=np.float32),
    "names": np.array(["φ", "style"]),
    "noise": NOISE,
    "number": np.array(3),
}


def packed(save: Callable[..., None] = np.savez_compressed) -> bytes:
    archive = io.BytesIO()
    save(archive, **ARRAYS)
    return archive.getvalue()


@given(st.sets(st.sampled_from([*ARRAYS, "another"])), st.sampled_from([np.savez, np.savez_compressed]))
def test_arrays_are_found_without_reading_the_others(only: set[str], save: Callable[..., None]) -> None:
    archive, read = packed(save), []

    def reading(start: int, size: int) -> bytes:
        read.append((start, size))
        return archive[start : start + size]

    found = packed_arrays(reading, len(archive), only)
    assert found.keys() == only - {"another"}
    for name, array in found.items():
        np.testing.assert_array_equal(array.unpacked(), ARRAYS[name])
    wanted = sum(len(array.content) for array in found.values())
    assert sum(size for _, size in read) <= wanted + 200 * (len(ARRAYS) + 1)


def test_what_lies_beyond_the_wanted_arrays_is_not_read() -> None:
    archive, read = packed(), []

    def reading(start: int, size: int) -> bytes:
        read.append(start + size)
        return archive[start : start + size]

    assert [*packed_arrays(reading, len(archive), ("few",))] == ["few"]
    assert max(read) < 1_000


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_file_of_numpy_is_read_whole(tmp_path: Path, save: Callable[..., None]) -> None:
    file = tmp_path / "arrays.npz"
    file.write_bytes(packed(save))
    found = read_arrays(file)
    assert found.keys() == ARRAYS.keys()
    for name, array in found.items():
        assert array.dtype == ARRAYS[name].dtype
        assert array.shape == ARRAYS[name].shape
        np.testing.assert_array_equal(array, ARRAYS[name])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("kept", [0, 40, 5_000, -100, -1])
def test_a_file_that_breaks_off_is_refused(tmp_path: Path, save: Callable[..., None], kept: int) -> None:
    file = tmp_path / "arrays.npz"
    file.write_bytes(packed(save)[:kept])
    with pytest.raises(ParseError, match="not a readable set of arrays"):
        read_arrays(file)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_changed_bit_is_seen(tmp_path: Path, save: Callable[..., None]) -> None:
    archive = bytearray(packed(save))
    archive[len(archive) // 2] ^= 1
    file = tmp_path / "arrays.npz"
    file.write_bytes(archive)
    with pytest.raises(ParseError, match="not a readable set of arrays"):
        read_arrays(file)


def test_python_objects_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "arrays.npz"
    np.savez(file, objects=np.array([{}], dtype=object))
    with pytest.raises(ParseError, match="not a readable set of arrays"):
        read_arrays(file)


def test_some_arrays_are_read_with_the_names_of_all(tmp_path: Path) -> None:
    file = tmp_path / "arrays.npz"
    archive = bytearray(packed(np.savez))
    file.write_bytes(archive)
    names, found = read_some_arrays(file, "few", "another")
    assert names == [*ARRAYS]
    assert found.keys() == {"few"}
    np.testing.assert_array_equal(found["few"], ARRAYS["few"])
    file.write_bytes(archive[:-9])
    with pytest.raises(ParseError, match="not a readable set of arrays"):
        read_some_arrays(file, "few")
