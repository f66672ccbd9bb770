"""Storable texts and packed arrays."""

import ast
import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from db.errors import DatabaseError
from db.serialization import pack, storable_text, text_sha256, unpack


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])))
def test_ordinary_text_is_untouched(text):
    assert storable_text(text) == text
    assert text_sha256(text) == hashlib.sha256(text.encode()).hexdigest()


def test_what_databases_refuse_is_replaced():
    assert storable_text("a\x00b") == "a\ufffdb"
    assert storable_text("a\ud800b") == "a\ufffdb"
    assert storable_text("\ud83d\ude00") == "\U0001f600"


@given(st.text(st.characters()))
def test_the_hash_of_a_text_is_that_of_its_stored_form(text):
    assert text_sha256(storable_text(text)) == text_sha256(text)
    storable_text(text).encode()


DTYPES = st.sampled_from(
    ["f2", "f4", "f8", ">f4", "i8", "u1", "?", "c8", "U5", "S3", "M8[s]", "M8[25ms]", "m8[D]"]
).map(np.dtype)
ARRAYS = st.dictionaries(
    st.from_regex(r"[a-z]{1,8}", fullmatch=True).filter(lambda name: name != "file"),
    hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)),
    max_size=3,
)


def assert_same(actual, expected):
    assert sorted(actual) == sorted(expected)
    for name, array in expected.items():
        assert actual[name].dtype == array.dtype
        assert actual[name].shape == array.shape
        np.testing.assert_array_equal(actual[name], array)


@given(ARRAYS)
def test_unpack_returns_what_was_packed(arrays):
    assert_same(unpack(pack(arrays)), arrays)


@given(ARRAYS)
def test_equal_arrays_give_equal_bytes_whatever_their_order(arrays):
    assert pack(dict(reversed(arrays.items()))) == pack(arrays)


@given(ARRAYS)
def test_arrays_in_column_order_come_back(arrays):
    turned = {name: np.asarray(array, order="F") for name, array in arrays.items()}
    assert_same(unpack(pack(turned)), arrays)


def test_several_threads_unpack_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # CPython 3.11's ast.literal_eval, which numpy.load calls, fails now and then in threads (gh-106905).
    monkeypatch.setattr(ast, "literal_eval", None)
    expected = [{"phi": np.full((place, 3), place, np.float32)} for place in range(200)]
    with ThreadPoolExecutor(8) as pool:
        for actual, arrays in zip(pool.map(unpack, map(pack, expected)), expected, strict=True):
            assert_same(actual, arrays)


@given(st.data())
def test_damaged_bytes_are_refused_or_harmless(data):
    arrays = {"phi": np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)}
    payload = bytearray(pack(arrays))
    place = data.draw(st.integers(0, len(payload) - 1))
    payload[place] ^= data.draw(st.integers(1, 255))
    try:
        unpacked = unpack(bytes(payload))
    except DatabaseError:
        return
    for array in unpacked.values():
        np.testing.assert_array_equal(array, arrays["phi"])


@pytest.mark.parametrize("payload", [b"", b"no zip", pack({"a": np.ones(3)})[:40], b"\x93NUMPY\x01\x00"])
def test_foreign_bytes_are_refused_in_one_sentence(payload):
    with pytest.raises(DatabaseError, match=r"^The \d+ stored bytes are not a readable set of arrays\.$"):
        unpack(payload)


def test_a_bare_array_is_no_payload():
    import io

    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    with pytest.raises(DatabaseError, match="not a readable set of arrays"):
        unpack(buffer.getvalue())


def test_python_objects_are_never_pickled():
    with pytest.raises(DatabaseError, match="cannot be stored"):
        pack({"a": np.array([{}], dtype=object)})
