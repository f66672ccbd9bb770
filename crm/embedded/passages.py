"""Passages: a response part by part, for wishes that one of its sentences meets.

“Names specific landmarks” is decided by a sentence or two, which the average of a response does not show. A
response is cut into at most twelve passages, each embedded by itself and stored in a few bytes. A criterion
is held against each of them, and what counts are the nearest passage, a soft maximum and the mean: late
interaction, as in ColBERT (Khattab & Zaharia 2020), with passages in place of words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.embedded.encoder import DIMENSIONS, sentence_encoder
from crm.embedded.functions import gelu
from crm.embedded.projection import project
from crm.protocol import Floats

MAX_PASSAGES = 12
"""Passages stored of a response; where it has fewer sentences, they are repeated in turn."""
_FEW_WORDS = 4
"""A piece of fewer words belongs to what stands before it."""
_MOST_SENTENCES = 160
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
SHARPNESS = 10.0
"""Of the soft maximum ``log mean exp``."""
_AT_ONCE = 65_536
"""Responses whose similarities are in memory together."""
_BLOCK_ROWS = 4096
"""Of these so many are looked at together, so that they stay in the processor's cache."""


def passages(text: str) -> list[str]:
    """Cut a text into at most ``MAX_PASSAGES`` of about equal length, at the ends of sentences and lines.

    An empty text is one empty passage. What lies beyond 160 sentences is left out.
    """
    sentences: list[str] = []
    for line in text.splitlines():
        for sentence in _SENTENCE_END.split(line.strip()) if line.strip() else ():
            if sentences and len(sentences[-1].split()) < _FEW_WORDS:
                sentences[-1] += f" {sentence}"
            else:
                sentences.append(sentence)
    sentences = sentences[:_MOST_SENTENCES] or [""]
    if len(sentences) <= MAX_PASSAGES:
        return sentences
    lengths = np.array([len(sentence.split()) + 1 for sentence in sentences])
    middles = np.cumsum(lengths) - lengths / 2
    part = np.minimum(MAX_PASSAGES * middles / lengths.sum(), MAX_PASSAGES - 1).astype(int)
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    return [" ".join(sentences[start:stop]) for start, stop in pairwise([*starts.tolist(), len(sentences)])]


def passages_in_turn(texts: Sequence[str]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct passages of N texts, and which of them each text has, repeated in turn
    ``[N, MAX_PASSAGES]``."""
    cut = [passages(text) for text in texts]
    distinct = list(dict.fromkeys(passage for each in cut for passage in each))
    number_of = {passage: number for number, passage in enumerate(distinct)}
    places = [[number_of[each[turn % len(each)]] for turn in range(MAX_PASSAGES)] for each in cut]
    return distinct, np.array(places, dtype=np.intp).reshape(-1, MAX_PASSAGES)


STEP = np.float32(4.0 / 127)
"""Value of one unit of what is stored of a passage."""


@dataclass(frozen=True)
class PassageSpace:
    """A space of E axes in which passages and criteria are held against each other.

    What a criterion looks for is ``c Q + gelu(c W₁ + b₁) W₂ + b₂`` of its unit embedding c.

    Attributes:
        mean: Mean embedding of passages ``[384]``.
        projection: From centred embeddings of passages to axes of unit spread ``[384, E]``.
        queries: Q ``[384, E]``.
        hidden_weight: W₁ ``[384, H]``, on embeddings scaled to unit spread.
        hidden_bias: b₁ ``[H]``.
        output_weight: W₂ ``[H, E]``.
        output_bias: b₂ ``[E]``.
    """

    mean: Floats
    projection: Floats
    queries: Floats
    hidden_weight: Floats
    hidden_bias: Floats
    output_weight: Floats
    output_bias: Floats

    @property
    def size(self) -> int:
        """Number of axes E."""
        return int(self.projection.shape[1])

    def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Return what is stored of the passages of N texts ``[N, MAX_PASSAGES, E]``."""
        distinct, places = passages_in_turn(texts)
        return self.quantise(sentence_encoder().encode(distinct, bulk=True).embedding)[places]

    def quantise(self, embedding: Floats) -> NDArray[np.int8]:
        """Return embeddings of passages ``[N, 384]`` in steps of ``STEP``, int8 ``[N, E]``."""
        along = (embedding - self.mean) @ self.projection
        stored: NDArray[np.int8] = np.rint(np.clip(along / STEP, -127, 127)).astype(np.int8)
        return stored

    def asked(self, embeddings: Floats) -> Floats:
        """Return what K criteria look for, ``[K, 384]`` unit embeddings to ``[K, E]``."""
        scaled: Floats = embeddings * np.float32(DIMENSIONS**0.5)
        hidden = gelu(np.asarray(scaled @ self.hidden_weight + self.hidden_bias))
        asked: Floats = embeddings @ self.queries + hidden @ self.output_weight + self.output_bias
        return asked

    def margins(self, stored: NDArray[np.int8], asked: Floats, weights: Floats) -> Floats:
        """Return how near responses come to what K criteria ask for, in log-odds ``[..., K]``.

        Args:
            stored: Passages of responses ``[..., MAX_PASSAGES, E]``.
            asked: ``[K, E]``.
            weights: Log-odds per unit of each likeness ``[3]``.
        """
        rows = stored.reshape(-1, *stored.shape[-2:])
        margins = np.empty((len(rows), len(asked)), dtype=np.float32)
        for start in range(0, len(rows), _AT_ONCE):
            likeness = self.likenesses(rows[start : start + _AT_ONCE], asked)
            margins[start : start + _AT_ONCE] = np.tensordot(weights, likeness, axes=1)
        return margins.reshape(*stored.shape[:-2], len(asked))

    def likenesses(self, stored: NDArray[np.int8], asked: Floats) -> Floats:
        """Return similarities of K criteria with N responses: of the nearest passage, its soft maximum and
        the mean ``[3, N, K]``."""
        similarity = project(stored, asked.T * STEP)
        found = np.empty((3, len(stored), len(asked)), dtype=np.float32)
        for start in range(0, len(stored), _BLOCK_ROWS):
            # Passages first: a maximum over an axis of a dozen numbers takes several times as long.
            of_passage = np.ascontiguousarray(similarity[start : start + _BLOCK_ROWS].swapaxes(0, 1))
            nearest = of_passage.max(axis=0)
            soft = np.exp(np.float32(SHARPNESS) * (of_passage - nearest)).mean(axis=0)
            softly = nearest + np.log(soft) / np.float32(SHARPNESS)
            found[:, start : start + _BLOCK_ROWS] = nearest, softly, of_passage.mean(axis=0)
        return found

    def of_unit_spread(self, embedding: Floats) -> PassageSpace:
        """Return the same space with axes on which passages ``[M, 384]`` have unit spread."""
        spread = ((embedding - self.mean) @ self.projection).std(axis=0)
        return replace(
            self,
            projection=self.projection / spread,
            queries=self.queries * spread,
            output_weight=self.output_weight * spread,
            output_bias=self.output_bias * spread,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a representation's file stores."""
        return {f"passage_{each.name}": getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> PassageSpace:
        """Return what a representation's file stores."""
        return cls(*(arrays[f"passage_{each.name}"] for each in fields(cls)))
