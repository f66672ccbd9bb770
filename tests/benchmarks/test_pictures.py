"""The README's animation: every frame, for its time, within a size."""

import io

import numpy as np
import pytest
from PIL import Image, ImageSequence

from benchmarks.first_paint import MeasurementError
from benchmarks.pictures import Frame, animated


def frames(n: int, *, noisy: bool = False) -> list[Frame]:
    pixels = np.random.default_rng(0).integers(0, 256, (n, 60, 90, 3), dtype=np.uint8)
    if not noisy:
        pixels[:] = (np.arange(n, dtype=np.uint8) * 50)[:, None, None, None]
    return [Frame(Image.fromarray(each), 100 * (number + 1)) for number, each in enumerate(pixels)]


def test_every_frame_is_shown_for_its_time() -> None:
    made = ImageSequence.Iterator(Image.open(io.BytesIO(animated(frames(4)))))
    shown = [(frame.convert("L").getpixel((5, 5)), frame.info["duration"]) for frame in made]
    assert [time for _, time in shown] == [100, 200, 300, 400]
    assert [tone for tone, _ in shown] == pytest.approx([0, 50, 100, 150], abs=4)


def test_it_is_made_as_poor_as_its_size_asks_for() -> None:
    best = animated(frames(5, noisy=True))
    poorer = animated(frames(5, noisy=True), len(best) - 1)
    assert len(poorer) < len(best)
    with pytest.raises(MeasurementError, match="show fewer frames"):
        animated(frames(5, noisy=True), 1000)
