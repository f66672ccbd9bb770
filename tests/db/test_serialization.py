"""Storable texts and packed arrays."""

import ast
import hashlib
import io
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from db.errors import DatabaseError
from db.serialization import (
    pack,
    same_arrays,
    storable_text,
    text_sha256,
    unpack,
    unpacked_views,
)


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
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    with pytest.raises(DatabaseError, match="not a readable set of arrays"):
        unpack(buffer.getvalue())


def test_python_objects_are_never_pickled():
    with pytest.raises(DatabaseError, match="cannot be stored"):
        pack({"a": np.array([{}], dtype=object)})


NOISE = np.random.default_rng(0).integers(-99, 99, (5_000, 120), dtype=np.int8)
PLAIN = np.zeros((5_000, 120), dtype=np.int8)


def test_large_arrays_that_hardly_shrink_are_not_compressed():
    with zipfile.ZipFile(io.BytesIO(pack({"noise": NOISE, "plain": PLAIN, "few": NOISE[:9]}))) as archive:
        compressed = {member.filename: member.compress_type for member in archive.infolist()}
    assert compressed == {
        "few.npy": zipfile.ZIP_DEFLATED,
        "noise.npy": zipfile.ZIP_STORED,
        "plain.npy": zipfile.ZIP_DEFLATED,
    }


def test_arrays_that_are_not_compressed_come_back_and_damage_to_them_is_seen():
    payload = pack({"noise": NOISE})
    assert_same(unpack(payload), {"noise": NOISE})
    with pytest.raises(DatabaseError, match="not a readable set of arrays"):
        unpack(payload[:99_000] + bytes([payload[99_000] ^ 1]) + payload[99_001:])


def test_payloads_that_compress_everything_are_read_and_are_the_same():
    arrays = {"noise": NOISE, "plain": PLAIN}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    before = buffer.getvalue()
    assert_same(unpack(before), arrays)
    assert before != pack(arrays)
    assert same_arrays(before, pack(arrays))
    assert not same_arrays(before, pack(arrays | {"plain": PLAIN + np.int8(1)}))
    assert not same_arrays(before, before[:-9])


def test_views_are_of_the_same_arrays_and_cannot_be_written():
    arrays = {"noise": NOISE, "plain": PLAIN}
    views = unpacked_views(pack(arrays), ("noise",))
    assert_same(views, {"noise": NOISE})
    assert not views["noise"].flags.writeable


def test_no_member_gives_more_bytes_than_the_archive_says():
    payload = pack({"plain": PLAIN})
    size = (PLAIN.nbytes + 128).to_bytes(4, "little")
    assert payload.count(size) == 2
    with pytest.raises(DatabaseError, match="not a readable set of arrays"):
        unpack(payload.replace(size, (1_000).to_bytes(4, "little")))


def test_names_may_be_of_any_script():
    assert_same(unpack(pack({"φ": NOISE})), {"φ": NOISE})
