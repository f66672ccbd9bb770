import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.errors import ConfigError
from db.errors import BundleError
from leaderboard.errors import UploadError
from parsing.messages import shown
from precompute.errors import PrecomputeError

LONG = "x" * 5_000


@pytest.mark.parametrize("quoted", [f"'{LONG}'", f'"{LONG}"', f"“{LONG}”", LONG, f"'{LONG} {LONG}'"])
def test_what_is_quoted_is_made_short_and_the_advice_stays(quoted: str) -> None:
    message = shown(f"The name {quoted} is that of another file: choose another.")

    assert message.startswith("The name ")
    assert message.endswith(" is that of another file: choose another.")
    assert len(message) < 400
    assert "…" in message


def test_an_ordinary_message_is_shown_as_it_is() -> None:
    message = "The judge's name 'no “so”' is unknown, café 👩‍🔬: it's one of 'a', 'b'."
    assert shown(message) == message


def test_characters_that_do_something_are_escaped() -> None:
    assert shown("a\x1b[31m\x00\u202eb\ud800") == r"a\x1b[31m\x00\u202eb\ud800"


@given(st.text(), st.integers(1, 3_000))
def test_every_message_can_be_printed_and_is_short(text: str, times: int) -> None:
    message = shown(text * times)
    message.encode()
    assert len(message) <= 1_503
    assert shown(message) == message or len(message) > 300


def test_errors_of_every_package_are_fit_to_be_shown() -> None:
    hostile = f"\u202e\x1b{LONG}"
    for error in (
        ConfigError(hostile),
        BundleError(hostile),
        PrecomputeError(hostile),
        UploadError(hostile, hostile),
    ):
        assert len(str(error)) < 400
        assert str(error).isprintable()
