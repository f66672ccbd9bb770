"""Tones: directions of wording between passages in a tone and the same content told plainly."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crm.encoder import sentence_encoder
from crm.representation import Tone

TONES_FILE = Path(__file__).with_name("tones.json")


@dataclass(frozen=True)
class ToneContrast:
    """A tone with the early encoder states of its contrast pairs.

    Attributes:
        tone: Phrases for explanations.
        toned: States of the passages in the tone ``[N, 384]``.
        plain: States of the same passages without it ``[N, 384]``.
    """

    tone: Tone
    toned: NDArray[np.float32]
    plain: NDArray[np.float32]


def read_tone_contrasts(path: Path = TONES_FILE) -> list[ToneContrast]:
    """Read and encode the contrast pairs."""
    encoder = sentence_encoder()
    return [
        ToneContrast(
            Tone(entry["more"], entry["less"]),
            encoder.encode([toned for toned, _ in entry["pairs"]]).state,
            encoder.encode([plain for _, plain in entry["pairs"]]).state,
        )
        for entry in json.loads(path.read_text(encoding="utf-8"))
    ]
