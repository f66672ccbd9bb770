"""A picture to draw texts and bars on, without a browser.

Letters are those of Source Sans, which Streamlit ships and the pages use; it has Latin, Greek and Cyrillic.
What it lacks is never drawn as a box: letters leave ``OMITTED`` behind, signs such as emojis are left out.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from enum import Enum
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

OMITTED = "[…]"
"""In the place of letters that the font lacks."""
ELLIPSIS = "…"
_FONT = "static/static/media/SourceSansVF-Upright*.woff2"
_FINER = 2
"""Everything is drawn so many times as large and then reduced, so that edges are smooth."""
_NO_LETTER = "\U0010ffff"
_LETTERS = "LMN"
"""Unicode's categories of what carries meaning: letters, marks on them, numbers."""


class Weight(Enum):
    """How bold letters are."""

    REGULAR = 400
    SEMIBOLD = 600
    BOLD = 700


class Canvas:
    """A picture of a fixed size; places and sizes are in its pixels, texts stand on their baseline."""

    def __init__(self, width: int, height: int, background: str) -> None:
        self._image = Image.new("RGB", (_FINER * width, _FINER * height), background)
        self._draw = ImageDraw.Draw(self._image)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        *,
        colour: str,
        weight: Weight = Weight.REGULAR,
        width: float = float("inf"),
        right: bool = False,
    ) -> float:
        """Write a line, shortened with an ellipsis to ``width``, and return how wide it is.

        Args:
            x: Its left end, or the right one if ``right``.
        """
        shown = fitted(text, size, width, weight)
        place = _FINER * x, _FINER * y
        self._draw.text(place, shown, colour, font=_font(size, weight), anchor="rs" if right else "ls")
        return width_of(shown, size, weight)

    def lines(
        self,
        x: float,
        y: float,
        lines: Sequence[str],
        size: int,
        *,
        colour: str,
        leading: int,
        weight: Weight = Weight.REGULAR,
    ) -> float:
        """Write lines, the first of them at ``y``, and return where one more would stand."""
        for number, line in enumerate(lines):
            self.text(x, y + number * leading, line, size, colour=colour, weight=weight)
        return y + len(lines) * leading

    def bar(self, box: tuple[float, float, float, float], colour: str, *, radius: int = 0) -> None:
        """Fill a box (left, top, right, bottom), if it has a width, with corners of a radius."""
        left, _, right, _ = box
        if right > left:
            finer = [_FINER * edge for edge in box]
            self._draw.rounded_rectangle(finer, min(radius, (right - left) / 2) * _FINER, colour)

    def dot(self, x: float, y: float, radius: float, colour: str) -> None:
        """Fill a circle."""
        box = tuple(_FINER * edge for edge in (x - radius, y - radius, x + radius, y + radius))
        self._draw.ellipse(box, colour)

    def to_png(self) -> bytes:
        """Return the picture as a PNG file."""
        file = io.BytesIO()
        self._image.reduce(_FINER).save(file, "PNG", optimize=True)
        return file.getvalue()


def drawable(text: str) -> str:
    """Return a text as it can be written here: what the font lacks is left out, letters for ``OMITTED``."""
    clean = unicodedata.normalize("NFC", " ".join(text.split()))
    runs = [(known, "".join(run)) for known, run in groupby(clean, _is_known)]
    parts = [run if known else OMITTED if any(map(_has_meaning, run)) else "" for known, run in runs]
    return " ".join("".join(parts).split()).replace(" ”", "”")


def width_of(text: str, size: int, weight: Weight = Weight.REGULAR) -> float:
    """Return how wide a line is."""
    return _font(size, weight).getlength(text) / _FINER


def fitted(text: str, size: int, width: float, weight: Weight = Weight.REGULAR) -> str:
    """Return a text, shortened with an ellipsis where it is wider than that."""
    if width_of(text, size, weight) <= width:
        return text
    kept = next(
        (n for n in range(len(text) - 1, 0, -1) if width_of(text[:n] + ELLIPSIS, size, weight) <= width), 0
    )
    return f"{text[:kept].rstrip(' ,;:(“')}{ELLIPSIS}"


def wrapped(text: str, size: int, width: float, most: int, weight: Weight = Weight.REGULAR) -> list[str]:
    """Return a text in at most so many lines, the last one shortened where there would be more."""
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < most - 1:
        taken = 1
        while taken < len(words) and width_of(" ".join(words[: taken + 1]), size, weight) <= width:
            taken += 1
        if taken == 1 and width_of(words[0], size, weight) > width:
            break  # a word that no line holds: the rest goes into a line that is shortened
        lines.append(" ".join(words[:taken]))
        words = words[taken:]
    return [*lines, fitted(" ".join(words), size, width, weight)] if words else lines


@cache
def _font(size: int, weight: Weight) -> ImageFont.FreeTypeFont:
    font = ImageFont.truetype(_font_file(), _FINER * size, layout_engine=ImageFont.Layout.BASIC)
    font.set_variation_by_axes([weight.value])
    return font


@cache
def _font_file() -> Path:
    """Return the file of the font; FileNotFoundError where Streamlit ships it no longer."""
    spec = find_spec("streamlit")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    if found := sorted(folder.glob(_FONT)):
        return found[0]
    raise FileNotFoundError(f"Streamlit has no font {_FONT}: install the version of requirements.txt.")


@cache
def _is_known(letter: str) -> bool:
    """Return whether the font has a letter; what it lacks is drawn like a code that is none."""
    font = _font(16, Weight.REGULAR)
    return letter.isspace() or bytes(font.getmask(letter)) != bytes(font.getmask(_NO_LETTER))


def _has_meaning(letter: str) -> bool:
    return unicodedata.category(letter)[0] in _LETTERS
