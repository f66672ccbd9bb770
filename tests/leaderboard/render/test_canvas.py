"""Texts on pictures: nothing the font lacks becomes a box, nothing runs out of its place."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from leaderboard.render.canvas import OMITTED, Canvas, Weight, drawable, fitted, width_of, wrapped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Concise, “crisp” – naïve café", "Concise, “crisp” – naïve café"),
        ("по-русски, Ελληνικά", "по-русски, Ελληνικά"),
        ("用中文回答", OMITTED),
        ("answers in 中文 please", f"answers in {OMITTED} please"),
        ("no emojis 🙂🙂", "no emojis"),
        ("“thanks 🙂”", "“thanks”"),
        ("e\u0301", "é"),
        ("two\nlines", "two lines"),
        ("", ""),
    ],
)
def test_what_the_font_lacks_is_marked_or_left_out(text: str, shown: str) -> None:
    assert drawable(text) == shown


@given(st.text(max_size=60), st.integers(40, 400))
def test_a_fitted_text_fits_and_is_whole_where_it_can_be(text: str, width: int) -> None:
    clean = drawable(text)
    shown = fitted(clean, 20, width)
    assert width_of(shown, 20) <= width
    assert (shown == clean) == (width_of(clean, 20) <= width) or shown == clean


def test_shortened_texts_end_in_an_ellipsis() -> None:
    assert fitted("A wish that is far too long", 20, 90, Weight.BOLD).endswith("…")


def test_words_fill_lines_and_the_last_is_shortened() -> None:
    text = "one two three four five six seven eight nine ten"
    whole = wrapped(text, 20, 120, 9)
    assert " ".join(whole) == text
    assert all(width_of(line, 20) <= 120 for line in whole)
    assert wrapped(text, 20, 120, 2)[0] == whole[0]
    assert wrapped(text, 20, 120, 2)[1].endswith("…")
    assert wrapped("x" * 200, 20, 120, 3)[0].endswith("…")
    assert wrapped("", 20, 120, 3) == []


def test_a_text_is_drawn_where_it_is_asked_for_and_no_wider() -> None:
    canvas = Canvas(200, 60, "#ffffff")
    canvas.text(40, 40, "W" * 50, 20, colour="#000000", width=100)
    image = Image.open(io.BytesIO(canvas.to_png())).convert("L")
    box = image.point(lambda value: 255 * (value < 200)).getbbox()
    assert image.size == (200, 60)
    assert box is not None
    left, top, right, bottom = box
    assert 38 <= left <= 44
    assert right <= 141
    assert 20 <= top <= 30
    assert bottom <= 42
