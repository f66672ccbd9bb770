"""The representation ``minilm-style-1``: what the embedded CRM stores of a response instead of its text.

A response becomes a vector φ of three parts, each scaled to about unit spread and stored as one byte
a feature:

- *content*: the sentence embedding (384);
- *wording*: the encoder's early mean hidden state, projected onto its main axes of variation and
  onto *tones*: directions between sentences written in a tone and the same sentences written plainly;
- *style*: counted properties (see ``crm.style``), whose raw counts are kept beside φ so that an
  explanation can quote them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.encoder import DIMENSIONS, Encoded, Progress, sentence_encoder
from crm.errors import WeightsError
from crm.paths import REPRESENTATION_FILE
from crm.style import NAMES, count_style, transform_style

NAME = "minilm-style-1"
MISSING = np.uint64(0)
"""Digest in place of a response that an LLM did not give."""

_EMBEDDING_SPREAD = DIMENSIONS**-0.5
_CLIP = 5.0
_STEP = _CLIP / 127
_ARRAYS = (
    "state_mean",
    "projection",
    "style_mean",
    "style_spread",
    "style_names",
    "tone_more",
    "tone_less",
)


@dataclass(frozen=True)
class Tone:
    """A direction of wording, with the phrases that an explanation uses for more and less of it."""

    more: str
    less: str


@dataclass(frozen=True)
class Representation:
    """How texts become features; fitted once, then fixed under a name, as stored vectors depend on it.

    Attributes:
        state_mean: Mean early state of the fitting responses ``[384]``.
        projection: From centred early states to wording features ``[384, W]``; the tones come last.
        tones: The named tones.
        style_mean: Mean transformed style of the fitting responses ``[S]``.
        style_spread: Standard deviation of the same ``[S]``.
        digest: SHA-256 of the arrays, in hex, that weights trained on this representation quote.
    """

    state_mean: NDArray[np.float32]
    projection: NDArray[np.float32]
    tones: tuple[Tone, ...]
    style_mean: NDArray[np.float32]
    style_spread: NDArray[np.float32]

    @property
    def content(self) -> slice:
        """Columns of φ that hold the sentence embedding."""
        return slice(0, DIMENSIONS)

    @property
    def wording(self) -> slice:
        """Columns of φ that hold the projected early state, tones last."""
        return slice(DIMENSIONS, DIMENSIONS + len(self.projection.T))

    @property
    def style(self) -> slice:
        """Columns of φ that hold the counted style features."""
        return slice(self.wording.stop, self.wording.stop + len(NAMES))

    @property
    def size(self) -> int:
        """Number of features D."""
        return DIMENSIONS + len(self.projection.T) + len(NAMES)

    @property
    def step(self) -> float:
        """Value of one unit of a stored feature."""
        return _STEP

    @property
    def digest(self) -> str:
        """SHA-256 of the fitted arrays, in hex: weights name the representation they were trained on."""
        arrays = (self.state_mean, self.projection, self.style_mean, self.style_spread)
        return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()

    def encode(
        self, texts: Sequence[str | None], progress: Progress | None = None
    ) -> dict[str, NDArray[Any]]:
        """The arrays stored for N responses; a missing one (None) has digest ``MISSING``.

        Returns:
            ``features`` int8 ``[N, D]``, ``style`` float16 ``[N, S]`` raw counts, ``digest`` uint64 ``[N]``.
        """
        given = [text or "" for text in texts]
        encoded = sentence_encoder().encode(given, bulk=True, progress=progress)
        counts = count_style(given)
        digests = [MISSING if text is None else text_digest(text) for text in texts]
        return {
            "features": self.quantise(encoded, counts),
            "style": np.minimum(counts, np.finfo(np.float16).max).astype(np.float16),
            "digest": np.array(digests, dtype=np.uint64),
        }

    def quantise(self, encoded: Encoded, counts: NDArray[np.float32]) -> NDArray[np.int8]:
        """φ of N encoded responses in steps of ``step``, int8 ``[N, D]``."""
        wording = (encoded.state - self.state_mean) @ self.projection
        style = (transform_style(counts) - self.style_mean) / self.style_spread
        features = np.concatenate([encoded.embedding / _EMBEDDING_SPREAD, wording, style], axis=1)
        quantised: NDArray[np.int8] = np.rint(np.clip(features, -_CLIP, _CLIP) / _STEP).astype(np.int8)
        return quantised

    def save(self, path: Path) -> None:
        """Write the fitted arrays to an ``.npz`` file."""
        np.savez_compressed(
            path,
            state_mean=self.state_mean,
            projection=self.projection,
            style_mean=self.style_mean,
            style_spread=self.style_spread,
            style_names=np.array(NAMES),
            tone_more=np.array([tone.more for tone in self.tones]),
            tone_less=np.array([tone.less for tone in self.tones]),
        )

    @classmethod
    def load(cls, path: Path) -> Representation:
        """Read the fitted arrays.

        Raises:
            WeightsError: The file is absent, damaged or made for other style features.
        """
        arrays = load_arrays(path, *_ARRAYS)
        if tuple(arrays["style_names"].tolist()) != NAMES:
            raise WeightsError(f"{path.name} was fitted for other style features: fit it again.")
        return cls(
            arrays["state_mean"],
            arrays["projection"],
            tuple(map(Tone, arrays["tone_more"].tolist(), arrays["tone_less"].tolist())),
            arrays["style_mean"],
            arrays["style_spread"],
        )


def text_digest(text: str) -> np.uint64:
    """First eight bytes of the text's SHA-256: tells whether a stored representation is still current."""
    value = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return np.uint64(max(value, 1))


def load_arrays(path: Path, *needed: str) -> Mapping[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file, all of them read.

    Raises:
        WeightsError: There is no such file, it is damaged, or it lacks one of the ``needed``.
    """
    if not path.is_file():
        raise WeightsError(f"There is no file {path}: check the path, or restore it from the repository.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
    except Exception as error:
        raise WeightsError(f"{path} is damaged and cannot be read ({error}): restore it.") from error
    if missing := [name for name in needed if name not in arrays]:
        raise WeightsError(f"{path} lacks the array {missing[0]!r}: restore it, or train it again.")
    return arrays


@lru_cache(maxsize=1)
def representation() -> Representation:
    """The bundled representation."""
    return Representation.load(REPRESENTATION_FILE)
