import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.documents import read_json, read_toml
from parsing.limits import MAX_DEPTH, MAX_DIGITS, ParseError
from parsing.yaml_text import read_yaml

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
SYMBOLS = [*"[]{}\":,\\ \n-a=.'#_|", "\\ud800", "\\udc00", "9" * 400, "1e999", "NaN", "Infinity"]
OF_YAML = ["!!int", "!x ", "&a ", "*a", "<<", "? ", "1:1", "0x"]
PIECES = st.lists(st.sampled_from([*SYMBOLS, *OF_YAML]), max_size=30).map("".join)


@given(VALUES, st.booleans())
def test_json_is_read_as_it_was_written(value: object, ascii_only: bool) -> None:
    assert read_json(json.dumps(value, ensure_ascii=ascii_only)) == value


@given(PIECES | st.text() | st.binary())
def test_anything_else_is_refused_in_words(text: str | bytes) -> None:
    for read in (read_json, read_toml, lambda text: read_yaml(_bytes(text), depth=9)):
        try:
            json.dumps(read(text), ensure_ascii=False, default=str, skipkeys=True)
        except ParseError as error:
            assert str(error)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 900, 200_000])
def test_what_is_nested_too_deeply_is_refused(levels: int) -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        read_json(nested(levels))
    with pytest.raises(ParseError, match="nested too deeply"):
        read_toml(f"a = {nested(levels)}")
    with pytest.raises(ParseError, match="nested too deeply"):
        read_yaml(nested(levels).encode(), depth=24)


def test_brackets_in_texts_are_no_levels() -> None:
    assert read_json(json.dumps(["[" * 900 + '"\\'])) == ["[" * 900 + '"\\']
    assert read_json(nested(MAX_DEPTH)) == json.loads(nested(MAX_DEPTH))
    assert read_json("[" + "[]," * 900 + "[]]") == [[]] * 901


def test_names_of_many_parts_are_refused_at_once() -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        read_toml(f"[{'.'.join('a' * 1_000_000)}]\nx = 1")
    text = "a" * 1_000_000 + ". " * 1_000
    assert read_toml(f"[a.b]\nc = '{text}'") == {"a": {"b": {"c": text}}}


@pytest.mark.parametrize("digits", [MAX_DIGITS + 1, 4_000, 6_000])
def test_numbers_of_too_many_digits_are_refused(digits: int) -> None:
    for text in ("9" * digits, f"[1, -{'9' * digits}]"):
        with pytest.raises(ParseError, match="more than 300 digits"):
            read_json(text)
        with pytest.raises(ParseError, match="more than 300 digits"):
            read_toml(f"a = {text}")
        with pytest.raises(ParseError, match="more than 300 digits"):
            read_yaml(text.encode(), depth=9)
    assert float(read_json("9" * MAX_DIGITS)) == pytest.approx(1e300)


def test_numbers_too_large_for_a_float_are_refused() -> None:
    for read in (read_json, lambda text: read_toml(f"a = {text}")):
        with pytest.raises(ParseError, match="infinite, or too large"):
            read("1e999")
    with pytest.raises(ParseError, match="infinite"):
        read_toml("a = inf")


def test_nan_is_read_where_it_does_no_harm() -> None:
    assert str(read_json("[NaN, Infinity]")) == "[nan, inf]"
    with pytest.raises(ParseError, match="infinite"):
        read_json("[NaN]", finite=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\ud800"', "a\ufffd"),
        (r'"\udc00\ud83d"', "\ufffd\ufffd"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\\ud800"', r"\ud800"),
        (r'{"\uD800": "\\\ud800"}', {"\ufffd": "\\\ufffd"}),
    ],
)
def test_halves_of_characters_become_replacements(text: str, value: Any) -> None:
    assert read_json(text) == value


def test_halves_are_kept_for_those_who_clean_them() -> None:
    assert read_json(r'"a\ud800"', keep_halves=True) == "a\ud800"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [1, 1]\nb: &y [*x, *x]\nc: [*y, *y]", r"references \(\*x\) are not allowed"),
        ("1" + ":1" * 500_000, "more than 300 digits"),
        ("!!bool x", "tags .* are not allowed"),
        ("!!int '_'", "tags .* are not allowed"),
        ("!!timestamp x", "tags .* are not allowed"),
        ("!!python/object/apply:os.system [id]", "tags .* are not allowed"),
        ("2026-13-45", "a value cannot be read"),
        (".inf", "infinite"),
        ("[" + "a," * 500_000 + "]", "more than 500,000 values"),
    ],
)
def test_yaml_that_grows_or_takes_long_is_refused_at_once(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        read_yaml(text.encode(), depth=24)


def test_errors_of_toml_say_where() -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads("a = [")
    with pytest.raises(ParseError, match="at end of document"):
        read_toml("a = [")
