import hashlib

from hypothesis import given
from hypothesis import strategies as st

from db import storable_text, text_sha256


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
