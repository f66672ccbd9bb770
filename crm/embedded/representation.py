"""Representations: what the embedded CRM stores of a response instead of its text.

A response becomes a vector φ of parts, each scaled to about unit spread and stored as one byte a feature:

- *content*: the sentence embedding (384);
- *wording*: the encoder's early mean hidden state, projected onto its main axes of variation and
  onto *tones*: directions between sentences written in a tone and the same sentences written plainly;
- *style*: counted properties (see ``crm.embedded.style``), whose raw counts are kept beside φ so that an
  explanation can quote them;
- *relevance*: how the response relates to the query;
- *manner*: axes of what a small network hears in single tokens (``crm.embedded.token_axes``).

Beside φ lie the exact counts (``crm.embedded.counts``), by which wishes that can be counted are judged, and
its passages (``crm.embedded.passages``), for wishes that a sentence meets.

A representation is fitted once and then fixed under its name, as stored vectors depend on it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.embedded.counts import count_names, exact_counts
from crm.embedded.encoder import DIMENSIONS, MAX_WINDOWS, Encoded, ProgressCallback, sentence_encoder
from crm.embedded.passages import MAX_PASSAGES, PassageSpace
from crm.embedded.style import StyleSheet, style_sheet, words
from crm.embedded.token_axes import TOKEN_ARRAYS, TokenAxes
from crm.errors import UnavailableError
from crm.paths import REPRESENTATION_FILE
from parsing.arrays import read_arrays, read_some_arrays
from parsing.limits import ParseError


@dataclass(frozen=True)
class RelevanceFeature:
    """A way in which a response can relate to the query, with phrases for more and less of it."""

    name: str
    more: str
    less: str


RELEVANCE = (
    RelevanceFeature("similarity", "closer to the query", "further from the query"),
    RelevanceFeature("coverage", "more of the query's words taken up", "fewer of the query's words taken up"),
    RelevanceFeature("echo", "made of the query's words", "made of its own words"),
    RelevanceFeature("restated", "it begins by restating the query", "it begins without restating the query"),
)
"""Similarity is the cosine of the sentence embeddings; the others are shares of distinct content words."""

_SHORT = 3
"""Words of so many letters or fewer carry no content."""


def relevance_features(
    responses: Sequence[str], queries: Sequence[str], embedding: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the relevance of N responses to their queries ``[N, len(RELEVANCE)]``; 0 for a blank query.

    The embeddings are unit sentence embeddings of the responses ``[N, 384]``.
    """
    asked = _embedded(tuple(dict.fromkeys(queries)))
    values = np.zeros((len(responses), len(RELEVANCE)), dtype=np.float32)
    for row, (response, query) in enumerate(zip(responses, queries, strict=True)):
        if query.strip():
            values[row] = (embedding[row] @ asked[query], *_shared_words(response, query))
    return values


def _shared_words(response: str, query: str) -> tuple[float, float, float]:
    given, wanted = _content(response), _content(query)
    start = _content(re.split(r"(?<=[.!?:])\s|\n", response.strip(), maxsplit=1)[0])
    both = len(given & wanted)
    return (both / max(1, len(wanted)), both / max(1, len(given)), len(start & wanted) / max(1, len(start)))


def _content(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in words(text) if len(word) > _SHORT)


@lru_cache(maxsize=64)
def _embedded(queries: tuple[str, ...]) -> dict[str, NDArray[np.float32]]:
    """Embeddings of distinct queries.

    A benchmark asks for the same ones once an LLM, in blocks that jobs cut alike; 64 blocks of 1,000 queries
    take 100 MB.
    """
    return dict(zip(queries, sentence_encoder().encode(queries, bulk=True).embedding, strict=True))


NAME = "minilm-style-7"
"""Under which vectors of the bundled representation are stored."""
MISSING = np.uint64(0)
"""Digest in place of a response that an LLM did not give."""

_EMBEDDING_SPREAD = DIMENSIONS**-0.5
_CLIP = 5.0
_STEP = _CLIP / 127
_ALL = 0
"""Stands for all windows in a file."""
_ARRAYS = (
    "state_mean",
    "projection",
    "style_mean",
    "style_spread",
    "style_names",
    "tone_more",
    "tone_less",
    "relevance_mean",
    "relevance_spread",
    "max_windows",
    *TOKEN_ARRAYS,
    *(f"passage_{each.name}" for each in fields(PassageSpace)),
)


@dataclass(frozen=True)
class Tone:
    """A direction of wording, with the phrases that an explanation uses for more and less of it."""

    more: str
    less: str


@dataclass(frozen=True)
class Representation:
    """How texts become features.

    Attributes:
        name: Under which vectors are stored.
        sheet: The counted style features.
        state_mean: Mean early state of the fitting responses ``[384]``.
        projection: From centred early states to wording features ``[384, W]``; the tones come last.
        style_mean: Mean transformed style of the fitting responses ``[S]``.
        style_spread: Standard deviation of the same ``[S]``.
        relevance_mean: Mean relevance features of the fitting responses ``[R]``.
        relevance_spread: Standard deviation of the same ``[R]``.
        token_axes: What hears the manner of its tokens.
        passages: The space in which its passages are stored.
        max_windows: Of a response, at most so many windows are read, spread over it; None for all. Counts and
            passages are of the whole.
    """

    name: str
    sheet: StyleSheet
    state_mean: NDArray[np.float32]
    projection: NDArray[np.float32]
    tones: tuple[Tone, ...]
    style_mean: NDArray[np.float32]
    style_spread: NDArray[np.float32]
    relevance_mean: NDArray[np.float32]
    relevance_spread: NDArray[np.float32]
    token_axes: TokenAxes
    passages: PassageSpace
    max_windows: int | None = MAX_WINDOWS

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
        return slice(self.wording.stop, self.wording.stop + len(self.style_mean))

    @property
    def relevance(self) -> slice:
        """Columns of φ that hold the relevance to the query."""
        return slice(self.style.stop, self.style.stop + len(self.relevance_mean))

    @property
    def manner(self) -> slice:
        """Columns of φ that hold the axes of tokens."""
        return slice(self.relevance.stop, self.relevance.stop + self.token_axes.size)

    @property
    def size(self) -> int:
        """Number of features D."""
        size: int = self.manner.stop
        return size

    @property
    def step(self) -> float:
        """Value of one unit of a stored feature."""
        return _STEP

    @property
    def digest(self) -> str:
        """SHA-256 of the fitted arrays, in hex: weights name the representation they were trained on."""
        arrays = (
            *(self.state_mean, self.projection, self.style_mean, self.style_spread),
            *(self.relevance_mean, self.relevance_spread),
            *self.token_axes.arrays().values(),
            *self.passages.arrays().values(),
        )
        read = f"windows {self.max_windows}".encode()
        return hashlib.sha256(b"".join(array.tobytes() for array in arrays) + read).hexdigest()

    def encode(
        self, texts: Sequence[str | None], queries: Sequence[str], progress: ProgressCallback | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the arrays stored for N responses; a missing one (None) has digest ``MISSING``.

        Args:
            queries: What each of them answers; blank where that is unknown.

        Returns:
            ``features`` int8 ``[N, D]``, ``style`` float16 ``[N, S]`` raw style counts, ``counts`` float16
            ``[N, C]`` exact counts, ``passages`` int8 ``[N, MAX_PASSAGES, E]``, ``digest`` uint64 ``[N]``.
        """
        given = [text or "" for text in texts]
        encoded = sentence_encoder().encode(
            given, bulk=True, max_windows=self.max_windows, listener=self.token_axes, progress=progress
        )
        counts = self.sheet.count(given)
        digests = [MISSING if text is None else text_digest(text) for text in texts]
        return {
            "features": self.quantise(encoded, counts, self.relate(given, queries, encoded)),
            "style": _half(counts),
            "counts": _half(exact_counts(given)),
            "passages": self.passages.encode(given),
            "digest": np.array(digests, dtype=np.uint64),
        }

    def relate(self, texts: Sequence[str], queries: Sequence[str], encoded: Encoded) -> NDArray[np.float32]:
        """Relevance of N responses ``[N, R]``, average where the query is blank."""
        related = relevance_features(texts, queries, encoded.embedding)
        related[[not query.strip() for query in queries]] = self.relevance_mean
        return related

    def quantise(
        self, encoded: Encoded, counts: NDArray[np.float32], related: NDArray[np.float32]
    ) -> NDArray[np.int8]:
        """φ of N encoded responses in steps of ``step``, int8 ``[N, D]``."""
        wording = (encoded.state - self.state_mean) @ self.projection
        style = (self.sheet.transform(counts) - self.style_mean) / self.style_spread
        close = (related - self.relevance_mean) / self.relevance_spread
        manner = self.token_axes.along(encoded.heard)
        content = encoded.embedding / _EMBEDDING_SPREAD
        features = np.concatenate([content, wording, style, close, manner], axis=1)
        quantised: NDArray[np.int8] = np.rint(np.clip(features, -_CLIP, _CLIP) / _STEP).astype(np.int8)
        return quantised

    def blank(self, n: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of n missing responses."""
        return {
            "features": np.zeros((n, self.size), dtype=np.int8),
            "style": np.zeros((n, len(self.style_mean)), dtype=np.float16),
            "counts": np.zeros((n, len(count_names())), dtype=np.float16),
            "passages": np.zeros((n, MAX_PASSAGES, self.passages.size), dtype=np.int8),
            "digest": np.full(n, MISSING, dtype=np.uint64),
        }

    def save(self, path: Path) -> None:
        """Write the fitted arrays to an ``.npz`` file."""
        np.savez_compressed(
            path,
            state_mean=self.state_mean,
            projection=self.projection,
            style_mean=self.style_mean,
            style_spread=self.style_spread,
            style_names=np.array(self.sheet.names),
            tone_more=np.array([tone.more for tone in self.tones]),
            tone_less=np.array([tone.less for tone in self.tones]),
            relevance_mean=self.relevance_mean,
            relevance_spread=self.relevance_spread,
            max_windows=np.array(_ALL if self.max_windows is None else self.max_windows),
            **self.token_axes.arrays(),  # type: ignore[arg-type]
            **self.passages.arrays(),  # type: ignore[arg-type]
        )

    @classmethod
    def load(cls, path: Path) -> Representation:
        """Read the fitted arrays.

        Raises:
            UnavailableError: The file is absent, damaged or made for other style features.
        """
        arrays = load_arrays(path, *_ARRAYS)
        if tuple(arrays["style_names"].tolist()) != style_sheet().names:
            raise UnavailableError(f"{path.name} was fitted for other style features: fit it again.")
        return cls(
            NAME,
            style_sheet(),
            arrays["state_mean"],
            arrays["projection"],
            tuple(map(Tone, arrays["tone_more"].tolist(), arrays["tone_less"].tolist())),
            arrays["style_mean"],
            arrays["style_spread"],
            arrays["relevance_mean"],
            arrays["relevance_spread"],
            TokenAxes.from_arrays(arrays),
            PassageSpace.from_arrays(arrays),
            int(arrays["max_windows"]) or None,
        )


def _half(counts: NDArray[np.float32]) -> NDArray[np.float16]:
    return np.minimum(counts, np.finfo(np.float16).max).astype(np.float16)


def text_digest(text: str) -> np.uint64:
    """First eight bytes of the text's SHA-256: tells whether a stored representation is still current."""
    value = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return np.uint64(max(value, 1))


def load_arrays(path: Path, *needed: str) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file, all of them read; they are read-only.

    Raises:
        UnavailableError: There is no such file, it is damaged, or it lacks one of the ``needed``.
    """
    with _loading(path):
        arrays = read_arrays(path)
    _check_needed(path, arrays, needed)
    return arrays


def load_some_arrays(path: Path, *needed: str) -> tuple[list[str], Mapping[str, NDArray[Any]]]:
    """Return the names of a file's arrays, and those that are ``needed``; raises as ``load_arrays``."""
    with _loading(path):
        names, arrays = read_some_arrays(path, *needed)
    _check_needed(path, arrays, needed)
    return names, arrays


@contextmanager
def _loading(path: Path) -> Iterator[None]:
    if not path.is_file():
        raise UnavailableError(f"There is no file {path}: check the path, or install the project again.")
    try:
        yield
    except (OSError, ParseError) as error:
        raise UnavailableError(
            f"{path} is damaged and cannot be read ({error}): install the project again."
        ) from error


def _check_needed(path: Path, arrays: Mapping[str, NDArray[Any]], needed: Sequence[str]) -> None:
    if missing := [name for name in needed if name not in arrays]:
        raise UnavailableError(
            f"{path} lacks the array {missing[0]!r}: train it again, or install the project again."
        )


@cache
def representation(name: str = NAME) -> Representation:
    """Return the bundled representation, by the name that a weights file or a table gives.

    Raises:
        UnavailableError: There is none of this name, or its file is damaged.
    """
    if name != NAME:
        raise UnavailableError(f"There is no representation named {name!r}: choose one of {NAME}.")
    return Representation.load(REPRESENTATION_FILE)
